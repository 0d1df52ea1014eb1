"""What is kept for the next call is bounded by its bytes, not by its number."""

from __future__ import annotations

import pytest

from mqops.kept import Kept, kept


def test_what_was_used_last_stays_as_far_as_there_is_room() -> None:
    known: Kept[bytes] = Kept(most=10, size=len)
    for key, size in (("a", 4), ("b", 4)):
        known.put(key, bytes(size))
    assert known.get("a") == bytes(4)
    known.put("c", bytes(4))  # b was not used since
    assert [known.get(key) for key in "abc"] == [bytes(4), None, bytes(4)]
    known.put("a", bytes(1))
    assert known.bytes == 5
    known.put("d", bytes(100))  # larger than all room: it alone
    assert ([known.get(key) for key in "acd"], known.bytes) == ([None, None, bytes(100)], 100)


def test_a_function_is_called_again_for_what_is_kept_no_longer() -> None:
    asked: list[int] = []

    @kept(most=10, size=len)
    def made(size: int) -> bytes:
        asked.append(size)
        if size < 0:
            raise ValueError(size)
        return bytes(size)

    assert [len(made(size)) for size in (4, 4, 6, 4, 8, 4)] == [4, 4, 6, 4, 8, 4]
    assert asked == [4, 6, 8, 4]
    for _ in range(2):
        with pytest.raises(ValueError, match="-1"):
            made(-1)
    assert asked[4:] == [-1, -1]
