"""Expectations with arguments by chance, for properties of suites."""

from __future__ import annotations

import random
from typing import Any

from mqops.quality.columns import COLUMNS, ColumnKind
from mqops.quality.vocabulary import EXPECTATIONS, PAIR, Takes

NUMBERS = ("priority", "expiry", "dlh_reason", "age_seconds", "expires_in_seconds", "payload_length")
TEXTS = ("format", "reply_to_q", "dlh_format", "msg_id", "payload_kind")
FLAGS = ("body_text_valid", "dlh_valid", "rfh2_valid")


RANDOM = [name for name, one in EXPECTATIONS.items() if not (one.by or one.between)]


def random_check(number: int, name: str, chance: random.Random) -> dict[str, Any]:
    """An expectation with arguments that some messages satisfy, and some do not."""
    known, of = EXPECTATIONS[name], chance.choice((NUMBERS, TEXTS, FLAGS))
    fit = [one for one in (*NUMBERS, *TEXTS, *FLAGS) if COLUMNS[one].kind in known.kinds]
    fit = [one for one in of if one in fit] or fit
    columns = chance.sample(fit if known.domain != PAIR and not known.alike else list(NUMBERS), 2)
    found: dict[str, Any] = {"id": f"c{number}", "expect": name}
    if known.domain == ("column_list",):
        found["column_list"] = columns
    found |= {one: columns[place] for place, one in enumerate(known.domain) if one != "column_list"}
    kind = COLUMNS[columns[0]].kind
    values: list[Any] = {ColumnKind.NUMBER: [4, -1, 60, 2053, 10], ColumnKind.FLAG: [True]}.get(
        kind, ["MQSTR", "", "json"]
    )
    if "value_set" in known.arguments:
        found["value_set"] = chance.sample(values, chance.randint(1, len(values)))
    if "regex" in known.arguments:
        found["regex"] = chance.choice(("^MQ", "[A-Z]+$", "^$", "0"))
    if known.one_of:
        share = Takes.SHARE in known.arguments.values()
        least, most = (0.2, 0.8) if share else chance.choice(((0, 5), (1, 60), (4, 4), (40, 9000)))
        found |= chance.choice(({"min_value": least}, {"max_value": most}, {"min_value": least, "max_value": most}))
        found |= chance.choice(({}, {"strict_min": True}, {"strict_max": True}))
    if "regex_list" in known.arguments:
        found["regex_list"] = chance.sample(("^MQ", "[A-Z]+$", "^$", "0"), 2)
    if "value_pairs_set" in known.arguments:
        found["value_pairs_set"] = [[4, -1], [4, 6000], [4, 37]]
    if "value" in known.arguments:
        found["value"] = chance.choice((0, 4, 5, 8))
    if "quantile_ranges" in known.arguments:
        ranges = [chance.choice(([None, 4], [0, 60], [5, None])) for _ in range(3)]
        found["quantile_ranges"] = {"quantiles": [0, 0.5, 0.95], "value_ranges": ranges}
    chosen = {"sum_total": (3, 4, 41), "threshold": (1, 2), "double_sided": (True, False), "match_on": ("any", "all")}
    chosen |= {"method": ("iqr", "std"), "multiplier": (0.5, 1.5), "ties_okay": (True, False)}
    found |= {one: chance.choice(of) for one, of in chosen.items() if one in known.arguments}
    if "or_equal" in known.arguments:
        found["or_equal"] = chance.choice((True, False))
    if known.of_rows:
        found["mostly"] = chance.choice((1.0, 0.9, 0.5))
    where = (
        {"priority": 4},
        {"queue": {"like": "*.DEAD.*"}},
        {"expiry": {"not": -1}},
        {"dlh_reason": {"is_set": False}},
    )
    return found | chance.choice(({}, {}, {"where": chance.choice(where)}))
