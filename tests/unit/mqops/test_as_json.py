"""The JSON of values: objects of fields, arrays, and what has no JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

from mqops.actions import Action
from mqops.as_json import as_json, json_object


class Place(NamedTuple):
    queue: str
    row: int | None


@dataclass(frozen=True, kw_only=True)
class Found:
    action: Action
    places: tuple[Place, ...] = ()
    counts: dict[Action, int] = field(default_factory=dict)


def test_dataclasses_and_named_tuples_are_objects_at_any_depth_and_other_sequences_are_arrays() -> None:
    found = Found(action=Action.FWD, places=(Place("A", 1), Place("B", None)), counts={Action.RETRY: 2})
    places = [{"queue": "A", "row": 1}, {"queue": "B", "row": None}]
    assert json_object(found) == {"action": "FWD", "places": places, "counts": {"RETRY": 2}}
    assert list(json_object(found)) == ["action", "places", "counts"]
    assert as_json([(1, 2.5), True, None, Place("C", 3)]) == [[1, 2.5], True, None, {"queue": "C", "row": 3}]


@pytest.mark.parametrize("value", [b"payload", Path("a"), {1}, object()])
def test_what_json_does_not_have_is_no_value_of_it(value: object) -> None:
    with pytest.raises(TypeError, match="has no JSON"):
        as_json({"found": [value]})
