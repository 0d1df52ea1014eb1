"""A strict reader of OpenMetrics text 1.0.0, for gauges: the ABNF of the specification, and its rules beyond the ABNF.

Written from the specification alone, knows nothing of the writer. Refuses by AssertionError.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r"[a-zA-Z_][a-zA-Z0-9_]*"
# normal-char: any Unicode character but LF, double quote and backslash; escaped: \n, \" and \\ only
STRING = r'(?:[^\n"\\\ud800-\udfff]|\\[n"\\])*'
NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:Inf|Infinity)|NaN"
TYPE_LINE = re.compile(rf"# TYPE ({NAME}) (counter|gauge|histogram|gaugehistogram|stateset|info|summary|unknown)")
UNIT_LINE = re.compile(rf"# UNIT ({NAME}) ([a-zA-Z0-9_:]+)")
HELP_LINE = re.compile(rf"# HELP ({NAME}) ({STRING})")
SAMPLE = re.compile(rf'({NAME})(?:\{{((?:{LABEL}="{STRING}"(?:,{LABEL}="{STRING}")*)?)\}})? ({NUMBER})')
PAIR = re.compile(rf'({LABEL})="({STRING})"')


@dataclass
class Family:
    """A metric family: its metadata and its samples, labels → value."""

    kind: str = ""
    unit: str = ""
    help: str = ""
    samples: dict[frozenset[tuple[str, str]], float] = field(default_factory=dict)


def read(text: str) -> dict[str, Family]:
    """Name → family."""
    assert text.endswith("# EOF\n"), "the text must end with # EOF and a line feed"
    lines = text.removesuffix("# EOF\n").split("\n")
    assert lines.pop() == ""
    families: dict[str, Family] = {}
    current = ""
    for line in lines:
        if line.startswith("#"):
            current = _metadata(line, current, families)
        else:
            _sample(line, current, families)
    for name, family in families.items():
        assert not family.unit or name.endswith(f"_{family.unit}"), f"{name} must end with its unit {family.unit}"
    return families


def _metadata(line: str, current: str, families: dict[str, Family]) -> str:
    found = TYPE_LINE.fullmatch(line) or UNIT_LINE.fullmatch(line) or HELP_LINE.fullmatch(line)
    assert found, f"no metadata: {line!r}"
    name, what = found[1], line.split(" ")[1].lower()
    if name != current:
        assert name not in families, f"{name} does not stand together"
        families[name] = Family()
    family = families[name]
    assert not family.samples, f"metadata behind samples: {line!r}"
    attribute = "kind" if what == "type" else what
    assert not getattr(family, attribute), f"twice: {line!r}"
    setattr(family, attribute, _plain(found[2]))
    return name


def _sample(line: str, current: str, families: dict[str, Family]) -> None:
    found = SAMPLE.fullmatch(line)
    assert found, f"no sample: {line!r}"
    assert found[1] == current, f"{found[1]} stands outside its family"
    assert families[current].kind == "gauge", "only gauges are read"
    pairs = [(pair[1], _plain(pair[2])) for pair in PAIR.finditer(found[2] or "")]
    labels = frozenset(pairs)
    assert len({name for name, _value in pairs}) == len(pairs), f"a label stands twice: {line!r}"
    assert labels not in families[current].samples, f"the series stands twice: {line!r}"
    families[current].samples[labels] = float(found[3])


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text)
