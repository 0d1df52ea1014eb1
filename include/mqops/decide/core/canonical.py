"""The plan's digest, and the form of a row it is computed over. Spark computes the same (`mqops.decide.spark.digest`).

1. A row is the text of its columns in the order of `PlanRow`, each with a comma behind it: a number in decimal, a
   boolean as `true` or `false`, bytes as upper-case hex, a text as `<its length in UTF-8>:<text>`, a null as `-`.
   No two rows share a form.
2. A row's digest is the SHA-256 of that text in UTF-8, as hex.
3. Rows go into buckets by the first two digits of their digest. A bucket's digest is the SHA-256 of its rows' digests,
   sorted, one behind the other.
4. The plan's digest is the SHA-256 of `<bucket><bucket's digest>` of all buckets that are not empty, sorted.

So it depends on every row and not on their order, and no step needs all rows in one place.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import NoneType
from typing import Any

from mqops.actions import Action
from mqops.plan_row import PlanRow

BUCKET_DIGITS = 2


@lru_cache(maxsize=1024)
def _text(value: str) -> str:
    """Kept for a while: most texts of a row are those of the rows before it."""
    return f"{len(value) if value.isascii() else len(value.encode())}:{value},"


_FORMS: Mapping[type, Callable[[Any], str]] = {
    NoneType: lambda _none: "-,",
    bool: lambda value: "true," if value else "false,",
    int: "{},".format,
    str: _text,
    Action: _text,
    bytes: lambda value: f"{value.hex().upper()},",
    bytearray: lambda value: f"{value.hex().upper()},",
}


def canonical_row(row: PlanRow) -> str:
    """Rule 1."""
    return "".join([_FORMS[type(value)](value) for value in row])


def row_digest(row: PlanRow) -> str:
    """Rule 2."""
    return _sha256(canonical_row(row))


def plan_digest(row_digests: Iterable[str]) -> str:
    """Rules 3 and 4, from the digests of all rows in any order."""
    buckets: dict[str, list[str]] = defaultdict(list)
    for digest in row_digests:
        buckets[digest[:BUCKET_DIGITS]].append(digest)
    return joined_digest({bucket: _sha256("".join(sorted(digests))) for bucket, digests in buckets.items()})


def joined_digest(buckets: Mapping[str, str]) -> str:
    """Rule 4, from bucket → its digest."""
    return _sha256("".join(bucket + buckets[bucket] for bucket in sorted(buckets)))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
