"""The plan's digest from the digests of its rows, which Arrow computes (`mqops.decide.arrow`), and Spark the same
(`mqops.decide.spark.digest`).

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
from collections.abc import Iterable, Mapping

BUCKET_DIGITS = 2


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
