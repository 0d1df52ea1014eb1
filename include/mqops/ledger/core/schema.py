"""The shape of the messages on the ledger queue: types, lengths, ranges. A message that does not fit is not a
marker and not a lane token.

The bounds are far above what mqops writes: they keep nonsense out, they do not describe a plan. Nesting is bounded by
the schema itself; pydantic's JSON parser refuses what is nested deeper than 200 levels. Checking ends at the first
member that does not fit: a list of all errors would take a thousand times the memory of the message.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, FailFast, Field, TypeAdapter, ValidationError

from mqops.errors import LedgerBroken
from mqops.formats import refuse_newer_body
from mqops.run_key import is_run_key

MOST_LANES = 100_000
MOST = 2**53 - 1
Number: TypeAlias = Annotated[int, Field(ge=0, le=MOST)]
Text: TypeAlias = Annotated[str, Field(max_length=1000)]
Hex: TypeAlias = Annotated[str, Field(pattern=r"^([0-9a-f]{2})*\z", max_length=64)]
Unit: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{48}\z")]


def _run(text: str) -> str:
    if not is_run_key(text):
        raise ValueError
    return text


Run: TypeAlias = Annotated[str, AfterValidator(_run)]
Lane: TypeAlias = Annotated[int, Field(ge=0, lt=MOST_LANES)]
Scalar: TypeAlias = Annotated[str, Field(max_length=1_000_000)] | int | float | bool | None
Row: TypeAlias = Annotated[tuple[Number, Text, Hex, Text, Text, Text, Text, Number | None, Text], FailFast()]
Numbers: TypeAlias = Annotated[tuple[Number, ...], FailFast()]


class _Body(BaseModel):
    model_config = ConfigDict(defer_build=True, strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    v: Literal[1]
    run: Run
    plan: Text


class _Marker(_Body):
    unit: Unit
    at: Text


class Issued(_Marker):
    """The marker of kind "issued": the plan's lane tokens were put."""

    kind: Literal["issued"]
    lanes: Annotated[Numbers, Field(max_length=MOST_LANES)]
    about: Annotated[dict[Text, Scalar], FailFast()]


class Dealt(_Marker):
    """The marker of a unit of work: what it did ("acted"), or which tries failed ("failed")."""

    kind: Literal["acted", "failed"]
    lane: Lane
    first: Number
    next: Number
    last: bool
    rows: Annotated[tuple[Row, ...], FailFast()]
    absent: Numbers
    left: Annotated[dict[Text, Numbers], FailFast()] = {}


class LaneTokenBody(_Body):
    """A lane token: `next` is the position where the lane goes on, `behind` the order keys that wait."""

    kind: Literal["ticket"]
    lane: Lane
    next: Number
    behind: Annotated[tuple[Text, ...], FailFast(), Field(max_length=100_000)] = ()


class Claim(BaseModel):
    """What the beginning of a message without a valid signature says of itself."""

    model_config = ConfigDict(defer_build=True, strict=True, extra="ignore")

    run: Run
    plan: Text
    kind: Literal["issued", "acted", "failed", "ticket"]


_MESSAGE: TypeAdapter[Issued | Dealt | LaneTokenBody] = TypeAdapter(
    Annotated[Issued | Dealt | LaneTokenBody, Field(discriminator="kind")], config=ConfigDict(defer_build=True)
)


def check(body: bytes) -> Issued | Dealt | LaneTokenBody:
    """A message, of the types that the schema says.

    Raises:
        LedgerBroken: it does not fit the schema. The text names the first member that does not, and shows nothing of
            the message.
        NewerFormat: a newer version wrote it.
    """
    try:
        return _MESSAGE.validate_json(body)
    except ValidationError as error:
        refuse_newer_body("marker", "A message of a run on MQOPS.LEDGER", body)
        first = error.errors(include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"] if part in _MEMBERS) or "body"
        raise LedgerBroken(f"{place}: {first['type']}") from None


_MEMBERS = {name for model in (Issued, Dealt, LaneTokenBody) for name in model.model_fields}
