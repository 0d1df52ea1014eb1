"""Figures as OpenMetrics text 1.0. All that is written here is valid in the text format of Prometheus, too.

1. The lines of a family are its TYPE, its UNIT if it has one, its HELP, then its samples.
2. A name with a unit ends in it: `_bytes`, `_seconds`.
3. In label values and HELP a backslash, a double quote and a line feed are escaped: `\\\\`, `\\"`, `\\n`.
4. The text ends with `# EOF`.

Source: the OpenMetrics specification 1.0.0 (prometheus.io/docs/specs/om/open_metrics_spec).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """A family of gauges. `samples` are (labels, value); no two have the same labels."""

    name: str
    help: str
    unit: str = ""
    samples: tuple[tuple[Mapping[str, str], int | float], ...]


def text_of(families: Iterable[Gauge]) -> str:
    """The text of these families; those without samples are left out."""
    lines = [line for family in families if family.samples for line in _lines(family)]
    return "\n".join([*lines, "# EOF"]) + "\n"


def escaped(text: str) -> str:
    """Rule 3. Lone surrogates become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").translate(_ESCAPES)


def _lines(family: Gauge) -> list[str]:
    head = [f"# TYPE {family.name} gauge"]
    head += [f"# UNIT {family.name} {family.unit}"] if family.unit else []
    head += [f"# HELP {family.name} {escaped(family.help)}"]
    return head + [f"{family.name}{_labels(labels)} {value}" for labels, value in family.samples]


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{escaped(value)}"' for name, value in labels.items()) + "}" if labels else ""
