"""What mqops needs of a queue manager: queues with their attributes, and the least authorities of its user.

The authorities are those of docs/ledger_trust.md, "Least authorities", for an account that runs all workflows. On z/OS
the external security manager gives them, not the queue manager.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from mqops.ledger.queue import MAX_DEPTH, MAX_MESSAGE_LENGTH, NAME
from mqops.mq.authority import Grantee
from mqops.mqsc import mqsc_name
from mqops.queue_names import selected
from mqwire import constants as c


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """An attribute of a local queue that mqops needs.

    Parameters: `keyword` in MQSC; `selector` MQIA_*; `value` that is needed; `words` its values in MQSC, without them
    it is a number, and a larger one will do.
    """

    keyword: str
    selector: int
    value: int
    words: Mapping[int, str] | None = None

    def fits(self, found: int) -> bool:
        """Whether this value will do."""
        return found == self.value if self.words else found >= self.value

    def mqsc(self, value: int) -> str:
        """The attribute with a value as MQSC writes it: `MAXDEPTH(5000)`, `SHARE`."""
        if self.words is None:
            return f"{self.keyword}({value})"
        word = self.words.get(value, str(value))
        return f"{self.keyword}({word})" if self.keyword else word


PERSISTENCE = {c.MQPER_NOT_PERSISTENT: "NO", c.MQPER_PERSISTENT: "YES"}
SHARING = {c.MQQA_NOT_SHAREABLE: "NOSHARE", c.MQQA_SHAREABLE: "SHARE"}
USAGE = {c.MQUS_NORMAL: "NORMAL", c.MQUS_TRANSMISSION: "XMITQ"}
_KEPT = Attribute(keyword="DEFPSIST", selector=c.MQIA_DEF_PERSISTENCE, value=c.MQPER_PERSISTENT, words=PERSISTENCE)
_DEEP = Attribute(keyword="MAXDEPTH", selector=c.MQIA_MAX_Q_DEPTH, value=MAX_DEPTH)
_LONG = Attribute(keyword="MAXMSGL", selector=c.MQIA_MAX_MSG_LENGTH, value=MAX_MESSAGE_LENGTH)
_SHARED = Attribute(keyword="", selector=c.MQIA_SHAREABILITY, value=c.MQQA_SHAREABLE, words=SHARING)
_NORMAL = Attribute(keyword="USAGE", selector=c.MQIA_USAGE, value=c.MQUS_NORMAL, words=USAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededQueue:
    """A local queue that must be there, and what it is for.

    Parameters: `attributes` that it must have; `at_first` those that a new one gets besides.
    """

    name: str
    description: str
    attributes: tuple[Attribute, ...]
    at_first: tuple[Attribute, ...] = ()

    def definition(self) -> str:
        """The MQSC command that defines it. An object that stands is not replaced."""
        words = " ".join(one.mqsc(one.value) for one in (*self.attributes, *self.at_first))
        return f"DEFINE QLOCAL({mqsc_name(self.name)}) {words} DESCR('{self.description}')"

    def differences(self, found: Mapping[int, int]) -> list[Attribute]:
        """The attributes that do not fit. Parameters: `found` selector → value; others are passed over."""
        return [one for one in self.attributes if one.selector in found and not one.fits(found[one.selector])]

    def change(self, differences: Iterable[Attribute]) -> str:
        """The MQSC command that gives it these attributes."""
        return f"ALTER QLOCAL({mqsc_name(self.name)}) {' '.join(one.mqsc(one.value) for one in differences)}"


LEDGER = NeededQueue(
    name=NAME, description="mqops: markers of units of work", attributes=(_KEPT, _DEEP, _LONG, _SHARED, _NORMAL)
)
"""The ledger queue. On z/OS the default local queue has NOSHARE: then two processes of mqops could not work."""


def held_back(name: str) -> NeededQueue:
    """The queue for messages that a gate holds back."""
    return NeededQueue(name=name, description="mqops: a check failed", attributes=(_KEPT, _DEEP))


def quarantine(name: str) -> NeededQueue:
    """The queue for messages that were replayed too often."""
    return NeededQueue(name=name, description="mqops: replayed too often", attributes=(_KEPT, _DEEP))


def initiation_queue(name: str) -> NeededQueue:
    """A queue for trigger messages. A new one keeps them when the queue manager ends (T17)."""
    return NeededQueue(
        name=name, description="mqops: trigger messages", attributes=(_SHARED, _NORMAL), at_first=(_KEPT,)
    )


ALTERNATE_USER = "ALTUSR"
QUEUE_MANAGER_WORDS = ("CONNECT", "INQ", "DSP", "SETALL", ALTERNATE_USER)
LEDGER_WORDS = ("BROWSE", "GET", "INQ", "PUT", "DSP")
WORK_WORDS = ("BROWSE", "GET", "INQ", "PUT", "PASSALL", "PASSID", "SETALL", "DSP")
"""On the queues that messages are taken from and put on: an undo takes them from where they went."""
LOOK_WORDS = ("BROWSE", "INQ", "DSP")
"""On the queues that expiry scans, snapshots and data quality look at."""
SHOW_WORDS = ("DSP",)
"""On every queue where backout queues are found by their definitions: each queue can name one."""
COUNT_WORDS = ("DSP", "CHG")
"""On queues whose puts and gets are counted (IBM MQ, "Authorizations for PCF commands", Reset queue statistics). CHG
lets the user alter the queue, too."""
MONITOR_WORDS = ("BROWSE", "GET", "INQ", "DSP")
"""On initiation queues."""
SWITCH_WORDS = ("INQ", "SET")
"""On queues with TRIGTYPE(DEPTH), which a run switches on again."""
PROCESS_WORDS = ("INQ", "DSP")
"""On processes: `mqops trigger explain` and `audit`."""
COMMAND_QUEUE, MODEL_QUEUE = "SYSTEM.ADMIN.COMMAND.QUEUE", "SYSTEM.DEFAULT.MODEL.QUEUE"
AUTHORITIES: Mapping[str, int] = {
    "ALTUSR": c.MQAUTH_ALT_USER_AUTHORITY,
    "BROWSE": c.MQAUTH_BROWSE,
    "CHG": c.MQAUTH_CHANGE,
    "CONNECT": c.MQAUTH_CONNECT,
    "DSP": c.MQAUTH_DISPLAY,
    "GET": c.MQAUTH_INPUT,
    "INQ": c.MQAUTH_INQUIRE,
    "PASSALL": c.MQAUTH_PASS_ALL_CONTEXT,
    "PASSID": c.MQAUTH_PASS_IDENTITY_CONTEXT,
    "PUT": c.MQAUTH_OUTPUT,
    "SET": c.MQAUTH_SET,
    "SETALL": c.MQAUTH_SET_ALL_CONTEXT,
}
"""Word of MQSC → MQAUTH_*."""
OBJECT_TYPES: Mapping[str, int] = {
    "QMGR": c.MQOT_Q_MGR,
    "QUEUE": c.MQOT_Q,
    "PROCESS": c.MQOT_PROCESS,
    "CHANNEL": c.MQOT_CHANNEL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """What the user of mqops needs on an object. `profile` is blank for the queue manager, `words` are empty for a
    profile that gives nothing: it takes names out of a wider one."""

    kind: Literal["QMGR", "QUEUE", "PROCESS", "CHANNEL"]
    profile: str
    words: tuple[str, ...]

    def mqsc(self, to: Grantee) -> str:
        """The MQSC command that gives it to a user or group."""
        profile = f"PROFILE('{self.profile}') " if self.profile else ""
        return f"SET AUTHREC {profile}OBJTYPE({self.kind}) {to} AUTHADD({','.join(self.words) or 'NONE'})"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedQueues:
    """The queues of one queue manager that mqops uses: names, or profiles of authority records.

    Attributes: `worked` messages are taken from them or put on them; `looked_at` browsed only; `shown` their
    definitions are inquired; `initiation` the trigger monitor serves them; `switched` triggering is switched on again
    there; `counted` their puts and gets are.
    """

    worked: tuple[str, ...] = ()
    looked_at: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    initiation: tuple[str, ...] = ()
    switched: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()

    def words(self) -> dict[str, tuple[str, ...]]:
        """Name or profile → the authorities that are needed there."""
        found: dict[str, dict[str, None]] = {}
        for names, words in (
            (self.worked, WORK_WORDS),
            (self.looked_at, LOOK_WORDS),
            (self.shown, SHOW_WORDS),
            (self.initiation, MONITOR_WORDS),
            (self.switched, SWITCH_WORDS),
            (self.counted, COUNT_WORDS),
        ):
            for name in names:
                found.setdefault(name, {}).update(dict.fromkeys(words))
        needed = {name: tuple(words) for name, words in found.items()}
        return {name: tuple(dict.fromkeys((*words, *self._of_wider(name, needed)))) for name, words in needed.items()}

    def _of_wider(self, name: str, needed: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
        """What wider profiles give where puts and gets are counted: of several profiles the most specific one counts
        alone (IBM MQ, "Profile priorities"), so a record for one queue would take away what they give."""
        for profile, words in needed.items() if self.counted else ():
            begins, star, _ = profile.partition("*")
            if star and profile != name and selected(name, (f"{begins}*",)):
                yield from words


EVERYTHING, OWN_OF_THE_QUEUE_MANAGER = "**", "SYSTEM.**"


def profile_of(pattern: str) -> str:
    """The profile of authority records that a pattern of the estate stands for (IBM MQ, "Using OAM generic profiles").

    A pattern is a name, or a beginning and `*`, which stands for anything. In a profile `*` ends at the next period and
    `**` stands for any number of qualifiers, none as well.
    """
    if not pattern.endswith("*"):
        return pattern
    begins = pattern[:-1]
    if not begins or begins.endswith("."):
        return f"{begins}**"
    return f"{begins}*.**"


def authorities(queues: UsedQueues) -> Iterator[Authority]:
    """The least authorities."""
    words = queues.words()
    yield Authority(kind="QMGR", profile="", words=QUEUE_MANAGER_WORDS)
    yield Authority(kind="QUEUE", profile=NAME, words=LEDGER_WORDS)
    for queue, needed in words.items():
        yield Authority(kind="QUEUE", profile=queue, words=needed)
    if EVERYTHING in words and OWN_OF_THE_QUEUE_MANAGER not in words:
        yield Authority(kind="QUEUE", profile=OWN_OF_THE_QUEUE_MANAGER, words=())
    yield Authority(kind="QUEUE", profile=COMMAND_QUEUE, words=("PUT",))
    yield Authority(kind="QUEUE", profile=MODEL_QUEUE, words=("GET", "DSP"))
    yield Authority(kind="PROCESS", profile=EVERYTHING, words=PROCESS_WORDS)
    yield Authority(kind="CHANNEL", profile=EVERYTHING, words=("DSP",))
