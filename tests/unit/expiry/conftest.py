"""The queue manager of these tests."""

from __future__ import annotations

from typing import Any

import pytest
from mq_support import Manager


@pytest.fixture
def manager(queue_manager: Any, request: pytest.FixtureRequest) -> Manager:
    """One with the queues that the module's MQSC defines."""
    found: Manager = queue_manager(mqsc=request.module.MQSC)
    return found
