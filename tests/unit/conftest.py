"""What several of these tests begin with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from wheel_support import runs_with_part, unpack


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an unpacked wheel."""
    return unpack(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def with_part(unpacked: Path) -> Callable[..., Any]:
    """As `wheel_support.runs_with_part`, with that wheel."""
    return runs_with_part(unpacked)
