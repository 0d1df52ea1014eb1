"""A trigger message as a trigger monitor reads it, and what it starts. Nothing here asks a queue manager or Airflow.

1. The MQMD, or the last header, says Encoding and CCSID of the MQTM. Nothing is guessed. A message that is not a whole
   MQTM of version 1 or MQTMC2 of version 2 is unusable: MQFB_TM_ERROR.
2. What is started is a DAG. APPLTYPE must be UNIX, WINDOWSNT or a user's own number (`accepts`), else
   MQFB_APPL_TYPE_ERROR. An MQTMC2 may leave it blank.
3. APPLICID is the id of a DAG, whole. If it is another text, or a DAG that the estate does not allow:
   MQFB_APPL_CANNOT_BE_STARTED.
4. USERDATA, ENVRDATA, TRIGDATA and QNAME become values of the run's conf. Nothing evaluates them. No key of the conf
   comes from a message.
5. The run id is made from the identity of the message (law 3), so that a redelivered message names the same run.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from hashlib import sha256

from mqops.estate_values import DAG_ID
from mqops.ledger.core.identity import identity_key
from mqops.printable import printable
from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.fields import before_nul
from mqwire.headers import walk
from mqwire.structures import MQMD, MQMD_LAYOUT, MQTM, MQTMC2

LONGEST = 32 * 1024
"""Bytes of a message: an MQTM has 684, and headers in front of it a few hundred."""
CONF_KEY = "mq_trigger"
"""The one key of the run's conf."""
RUN_ID_PREFIX = "mq_trigger__"
_NOT_AT_FRONT = (c.MQFMT_DEAD_LETTER_HEADER, c.MQFMT_XMIT_Q_HEADER)
_identity = MQMD_LAYOUT.reader("msg_id", "correl_id", "put_date", "put_time")


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerMessage:
    """The fields of an MQTM or MQTMC2, each text up to its first NUL.

    Parameters: `appl_type` MQAT_*, None where an MQTMC2 leaves it blank.
    """

    q_name: str
    process_name: str
    trigger_data: str
    appl_type: int | None
    appl_id: str
    env_data: str
    user_data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """A trigger message that starts nothing.

    Parameters: `reason` for the MQDLH, MQFB_*; `why` in words; `q_name` the queue that it is for, if that is known.
    """

    reason: int
    why: str
    q_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A run that a trigger message starts."""

    dag_id: str
    run_id: str
    message: TriggerMessage

    @property
    def conf(self) -> dict[str, dict[str, str | int | None]]:
        """The run's conf, with IBM's names of the fields."""
        return {CONF_KEY: {_ibm_name(name): value for name, value in asdict(self.message).items()}}


def accepts(appl_type: int | None) -> bool:
    """Whether an ApplType (MQAT_*) may stand for a DAG."""
    if appl_type is None or appl_type in (c.MQAT_UNIX, c.MQAT_WINDOWS_NT):
        return True
    return c.MQAT_USER_FIRST <= appl_type <= c.MQAT_USER_LAST


def to_start(md: bytes, body: bytes, *, allowed: Collection[str], q_mgr_ccsid: int | None = None) -> Start | Unusable:
    """The run that a message of an initiation queue starts.

    Parameters: `md` the MQMD as got, and the `body` behind it; `allowed` the ids of the DAGs that may be started;
    `q_mgr_ccsid` what CCSID 0 stands for.
    """
    message = read(md, body, q_mgr_ccsid=q_mgr_ccsid)
    if isinstance(message, Unusable):
        return message
    process = f"the process {_shown(message.process_name)}"
    if not accepts(message.appl_type):
        why = f"{process} has APPLTYPE {message.appl_type}: a DAG needs APPLTYPE(UNIX)"
        return Unusable(reason=c.MQFB_APPL_TYPE_ERROR, why=why, q_name=message.q_name)
    if not DAG_ID.fullmatch(message.appl_id):
        return cannot_start(message, f"APPLICID {_shown(message.appl_id)} of {process} is no DAG id")
    if message.appl_id not in allowed:
        return cannot_start(message, f"the estate does not allow that trigger messages start the DAG {message.appl_id}")
    return Start(dag_id=message.appl_id, run_id=run_id(md, body), message=message)


def cannot_start(message: TriggerMessage, why: str) -> Unusable:
    """The message's DAG cannot be started."""
    return Unusable(reason=c.MQFB_APPL_CANNOT_BE_STARTED, why=why, q_name=message.q_name)


def read(md: bytes, body: bytes, *, q_mgr_ccsid: int | None = None) -> TriggerMessage | Unusable:
    """The trigger message in a message; parameters as in `to_start`."""
    try:
        return _read(MQMD.unpack(md), body, q_mgr_ccsid)
    except WireError as error:
        return Unusable(reason=c.MQFB_TM_ERROR, why=f"no valid trigger message: {printable(error)}")


def run_id(md: bytes, body: bytes) -> str:
    """The run id of a trigger message: the same whenever the message is delivered again."""
    return RUN_ID_PREFIX + identity_key(b"".join((*_identity(md), sha256(body).digest())))


def _read(md: MQMD, body: bytes, q_mgr_ccsid: int | None) -> TriggerMessage:
    if len(body) > LONGEST:
        raise WireError("MQTM", "StrucId", 0, f"its length is {len(body):,}, at most {LONGEST:,}")
    front = before_nul(md.format)
    if front in _NOT_AT_FRONT:
        raise WireError("MQMD", "Format", MQMD_LAYOUT.offset("format"), f"{front} is not MQTRIG")
    chain = walk(md.format, md.encoding, md.coded_char_set_id, body, q_mgr_ccsid=q_mgr_ccsid)
    if before_nul(chain.format) != c.MQFMT_TRIGGER:
        raise WireError("MQMD", "Format", MQMD_LAYOUT.offset("format"), f"{chain.format!r} is not MQTRIG")
    at, left = chain.payload_offset, len(body) - chain.payload_offset
    kind: type[MQTM | MQTMC2] = MQTMC2 if left == MQTMC2.LAYOUT.size else MQTM
    if left > kind.LAYOUT.size:
        raise WireError(kind.LAYOUT.name, "StrucId", at, f"its length is {left}, not {kind.LAYOUT.size}")
    found = kind.unpack(body, offset=at, encoding=chain.encoding, ccsid=chain.ccsid)
    return TriggerMessage(
        q_name=before_nul(found.q_name),
        process_name=before_nul(found.process_name),
        trigger_data=before_nul(found.trigger_data),
        appl_type=found.appl_type if isinstance(found, MQTM) else _in_characters(found.appl_type, at),
        appl_id=before_nul(found.appl_id),
        env_data=before_nul(found.env_data),
        user_data=before_nul(found.user_data),
    )


def _in_characters(value: str, at: int) -> int | None:
    digits = before_nul(value).strip()
    if digits and not (digits.isascii() and digits.isdigit()):
        raise WireError("MQTMC2", "ApplType", at + MQTMC2.LAYOUT.offset("appl_type"), f"{value!r} is not a number")
    return int(digits) if digits else None


def _shown(name: str) -> str:
    return printable(name) if name else "' '"


def _ibm_name(attribute: str) -> str:
    return "".join(word.capitalize() for word in attribute.split("_"))
