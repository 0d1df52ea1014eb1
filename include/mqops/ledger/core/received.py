"""What a message on the ledger queue is: a marker, a lane token, or a stranger (any other message).

1. A marker or a lane token is signed (`mqops.ledger.core.seal`) by a holder of the ledger's key, fits the schema, and
   has the MsgId and the CorrelId that follow from its content. With other identifiers it is a copy.
2. A stranger is never acted on. Only its first bytes are read. If it begins like a marker or a lane token, it claims
   to belong to a plan: signed with an unknown key it may come from another lake (which has its own keys) or from a
   process with a wrong key, else it is forged. If it begins otherwise, it is not a marker.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import ValidationError
from pydantic_core import from_json

from mqops.errors import LedgerBroken
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import LaneToken, Marker, unpack
from mqops.ledger.core.seal import LONGEST, BadSignature, Seal, read_message
from mqwire.structures import MQMD_LAYOUT

_ids = MQMD_LAYOUT.reader("msg_id", "correl_id")
_context = MQMD_LAYOUT.reader(
    "user_identifier", "accounting_token", "put_appl_type", "put_appl_name", "put_date", "put_time"
)
BEGINNING = 4096
"""Bytes of a stranger that are read: a marker and a lane token name run, plan and kind in their first 3 KB."""


class StrangerKind(StrEnum):
    """What a stranger is."""

    NOT_A_MARKER = "not a marker"
    FORGED = "forged"
    COPIED = "copied"


class Stranger(Exception):
    """A message on the ledger queue that is not one of this lake's markers and lane tokens. Its text says why.

    Attributes: `kind`; `claims` the plan it says it belongs to, None without the shape of a marker or a lane token;
    `is_marker` whether it claims to be a marker; `foreign` whether it is signed, by a key that is not known.
    """

    def __init__(
        self,
        kind: StrangerKind,
        why: str,
        claims: PlanIdentity | None = None,
        *,
        is_marker: bool = False,
        foreign: bool = False,
    ) -> None:
        super().__init__(why)
        self.foreign = foreign
        self.kind = kind
        self.claims = claims
        self.is_marker = is_marker


def receive(md: bytes, body: bytes, seal: Seal) -> Marker | LaneToken:
    """The marker or the lane token that a message is. Parameters: `md` its MQMD, 364 bytes; `body` what follows.

    Raises:
        Stranger: it is neither.
    """
    try:
        found = unpack(read_message(seal, body))
    except BadSignature as error:
        raise _unsigned(body, error) from None
    except LedgerBroken as error:
        raise Stranger(StrangerKind.NOT_A_MARKER, f"signed, but {error}") from None
    if not has_own_identifiers(found, md):
        is_marker = isinstance(found, Marker)
        raise Stranger(StrangerKind.COPIED, "put again under other identifiers", plan_of(found), is_marker=is_marker)
    return found


def plan_of(message: Marker | LaneToken) -> PlanIdentity:
    """The plan that a marker or a lane token is of."""
    return PlanIdentity(run=message.run, digest=message.plan)


def put_by(md: bytes) -> dict[str, str]:
    """Who put a message and when, by the context that the queue manager set in its MQMD (IBM MQ, Message context).

    `user`, `application`, `application_type` (MQAT_ number), `accounting_token` (hex), `date` (YYYYMMDD) and `time`
    (HHMMSSTH), UTC.
    """
    user, token, kind, application, date, time = _context(md)
    return {
        "user": _text(user),
        "application": _text(application),
        "application_type": str(kind),
        "accounting_token": bytes(token).hex(),
        "date": _text(date),
        "time": _text(time),
    }


def who_put(md: bytes) -> str:
    """As `put_by`, the user and the program in words."""
    said = put_by(md)
    return f"{said['user'] or 'unknown'} ({said['application'] or 'unknown program'})"


def _text(value: bytes | str) -> str:
    text = value if isinstance(value, str) else value.decode("latin-1")
    return text.rstrip(" \0")


def _unsigned(body: bytes, error: BadSignature) -> Stranger:
    if len(body) > LONGEST:
        return Stranger(StrangerKind.NOT_A_MARKER, str(error))
    from mqops.ledger.core.schema import Claim  # noqa: PLC0415 - few messages of the ledger queue have no signature

    try:
        said = Claim.model_validate(from_json(body[:BEGINNING], allow_partial=True))
    except (ValidationError, ValueError):
        return Stranger(StrangerKind.NOT_A_MARKER, f"{error}, and it does not begin as a marker or a lane token")
    claims = PlanIdentity(run=said.run, digest=said.plan)
    return Stranger(StrangerKind.FORGED, str(error), claims, is_marker=said.kind != "ticket", foreign=error.foreign)


def has_own_identifiers(found: Marker | LaneToken, md: bytes) -> bool:
    """Whether the MsgId and the CorrelId of a message follow from its content. Parameters: `md` its MQMD."""
    msg_id, correl_id = _ids(md)
    plan = plan_of(found)
    if isinstance(found, LaneToken):
        return bool(correl_id == plan.lane_token_id(found.lane))
    return (msg_id.hex(), correl_id) == (found.unit, plan.markers())
