"""A value as the table of failures has it, in the words of Spark's cast to a string."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from mqops.observe.core.mask import masked_text


def shown(value: object) -> str:
    """A value of a column as text; `null` for None."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        text = value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
        return text.rstrip("0").rstrip(".")
    return _of_float(value) if isinstance(value, float) else str(value)


def masked(value: object) -> str:
    """The shape of a value of a payload; `null` for None. A number has the form in which messages have it: no exponent,
    and no zeros at the end."""
    text = f"{Decimal(repr(value)).normalize():f}" if isinstance(value, float) else shown(value)
    return masked_text(text) if value is not None else "null"


def _of_float(value: float) -> str:
    """As Java writes a double: from 10,000,000 on, and below 0.001, with an exponent."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    first, *rest = map(str, digits)
    return f"{'-' if sign else ''}{first}.{''.join(rest) or '0'}E{int(exponent) + len(rest)}"
