"""The keywords of a rules table, one entry each: the parser, the linter, both matchers, the command line and the
documentation read this table and no other. `docs/adding_a_keyword.md` shows how to add one, here or in a distribution
of your own (`not_loaded`).

Source of IBM's keywords: IBM MQ, "DLQ rules table patterns and actions".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from math import inf

from mqops import outside
from mqops.actions import Action
from mqops.errors import SettingsError
from mqops.rules.keyword import COMPARISON, MAX_NUMBER, Entry, Form, Keyword, ValueKind, compared
from mqwire import constants as c

MAX_EXTENSION_NUMBER = 999_999
"""Largest number of messages (or messages a second) an extension of the action accepts."""


_PATTERN = "characters, `*` and `?`"
_QUOTED = "'pattern'"
_NUMBER_OF_MESSAGES = f"`n`, from 1 to {MAX_EXTENSION_NUMBER}"
_FORWARDED, _PUT = (Action.FWD,), (Action.FWD, Action.RETRY)


def _wild(name: str, length: int, column: str, meaning: str) -> Keyword:
    """A pattern for a text of the message. Parameters: `length` of the field in characters."""
    return Keyword(
        name=name,
        entry=Entry.PATTERN,
        kind=ValueKind.WILD,
        columns=(column,),
        length=length,
        blank=True,
        forms=(Form(_PATTERN, meaning),),
    )


def _number(
    name: str,
    column: str,
    meaning: str,
    prefixes: tuple[str, ...],
    *,
    also: tuple[str, ...] = (),
    unnamed: tuple[tuple[int, int], ...] = (),
    never: tuple[int, ...] = (),
) -> Keyword:
    """A pattern for a number that has symbolic names."""
    return Keyword(
        name=name,
        entry=Entry.PATTERN,
        kind=ValueKind.NUMBER,
        columns=(column,),
        prefixes=prefixes,
        also=also,
        unnamed=unnamed,
        never=never,
        forms=(Form(f"a number or {' or '.join(f'`{prefix}_*`' for prefix in prefixes)}", meaning),),
    )


def _name(name: str, entry: Entry, meaning: str, *ampersands: str, blank: bool) -> Keyword:
    return Keyword(
        name=name,
        entry=entry,
        kind=ValueKind.NAME,
        length=48,
        choices=ampersands,
        blank=blank,
        only_with=_FORWARDED if entry is Entry.ACTION else (),
        forms=(Form(" or ".join(["a name", *(f"`{one}`" for one in ampersands)]), meaning),),
    )


def _choice(name: str, meaning: str, *words: str, only_with: tuple[Action, ...] = ()) -> Keyword:
    written = " or ".join(f"`{word}`" for word in words)
    return Keyword(
        name=name,
        entry=Entry.ACTION,
        kind=ValueKind.CHOICE,
        choices=words,
        only_with=only_with,
        forms=(Form(written, meaning),),
    )


def _condition(
    name: str,
    kind: ValueKind,
    *forms: Form,
    columns: tuple[str, ...],
    noun: str = "",
    every: tuple[float, float] | None = None,
    changes: bool = False,
) -> Keyword:
    """An extension: a condition of a kind of its own."""
    return Keyword(
        name=name,
        entry=Entry.PATTERN,
        kind=kind,
        extension=True,
        columns=columns,
        every=every,
        changes=changes,
        noun=noun,
        forms=forms,
    )


def _handling(name: str, kind: ValueKind, *forms: Form, choices: tuple[str, ...] = ()) -> Keyword:
    """An extension of the action: how messages are put."""
    return Keyword(
        name=name,
        entry=Entry.ACTION,
        kind=kind,
        extension=True,
        choices=choices,
        least=1,
        most=MAX_EXTENSION_NUMBER,
        only_with=_PUT,
        forms=forms,
    )


_APPLICATION_FEEDBACK = ((c.MQFB_IMS_FIRST, c.MQFB_IMS_LAST), (c.MQFB_APPL_FIRST, MAX_NUMBER))
"""Feedback of IMS (IBM MQ, "MQDLH - Dead-letter header"), and what applications give themselves."""

KEYWORDS: dict[str, Keyword] = {
    keyword.name: keyword
    for keyword in (
        _name("INPUTQ", Entry.CONTROL, "the queue that the table reads", blank=True),
        _name("INPUTQM", Entry.CONTROL, "its queue manager", blank=True),
        Keyword(
            name="RETRYINT",
            entry=Entry.CONTROL,
            kind=ValueKind.COUNT,
            forms=(Form("a number", "seconds between two tries"),),
        ),
        Keyword(
            name="WAIT",
            entry=Entry.CONTROL,
            kind=ValueKind.CHOICE_OR_COUNT,
            choices=("YES", "NO"),
            forms=(Form("`YES`, `NO` or a number", "whether, or how many seconds, to wait for messages"),),
        ),
        _wild("APPLIDAT", 32, "appl_identity_data", "MQMD.ApplIdentityData"),
        _wild("APPLNAME", 28, "put_appl_name", "MQMD.PutApplName, not that of the MQDLH"),
        _number(
            "APPLTYPE",
            "put_appl_type",
            "MQMD.PutApplType",
            ("MQAT",),
            unnamed=((c.MQAT_USER_FIRST, MAX_NUMBER),),
        ),
        _wild("DESTQ", 48, "dlh_dest_q", "MQDLH.DestQName"),
        _wild("DESTQM", 48, "dlh_dest_q_mgr", "MQDLH.DestQMgrName"),
        _number(
            "FEEDBACK",
            "feedback",
            "MQMD.Feedback",
            ("MQFB",),
            also=("MQRC",),  # the Feedback of an exception report is a reason code
            unnamed=_APPLICATION_FEEDBACK,
        ),
        _wild("FORMAT", 8, "dlh_format", "MQDLH.Format: of the data behind the MQDLH"),
        _number("MSGTYPE", "msg_type", "MQMD.MsgType", ("MQMT",), unnamed=((c.MQMT_APPL_FIRST, MAX_NUMBER),)),
        _number(
            "PERSIST",
            "persistence",
            "MQMD.Persistence",
            ("MQPER",),
            never=(c.MQPER_PERSISTENCE_AS_Q_DEF,),  # for MQPUT only: on a queue a message has that of the queue
        ),
        _number("REASON", "dlh_reason", "MQDLH.Reason", ("MQRC", "MQFB"), unnamed=_APPLICATION_FEEDBACK),
        _wild("REPLYQ", 48, "reply_to_q", "MQMD.ReplyToQ"),
        _wild("REPLYQM", 48, "reply_to_q_mgr", "MQMD.ReplyToQMgr"),
        _wild("USERID", 12, "user_identifier", "MQMD.UserIdentifier"),
        _choice("ACTION", "what is done with a message", Action.DISCARD, Action.IGNORE, Action.RETRY, Action.FWD),
        _name("FWDQ", Entry.ACTION, "the queue to forward to", "&DESTQ", "&REPLYQ", blank=False),
        _name("FWDQM", Entry.ACTION, "its queue manager; blank is this one", "&DESTQM", "&REPLYQM", blank=True),
        _choice("HEADER", "whether the MQDLH stays", "YES", "NO", only_with=_FORWARDED),
        _choice("PUTAUT", "by whose authority a message is put", "DEF", "CTX", only_with=_PUT),
        Keyword(
            name="RETRY",
            entry=Entry.ACTION,
            kind=ValueKind.COUNT,
            least=1,
            forms=(Form("a number", "how often the action is tried"),),
        ),
        _condition(
            "AGE",
            ValueKind.AGE,
            Form(
                f"{COMPARISON}, and `s` `m` `h` or `d`",
                "time from the put date and time of the MQDLH (without a valid one: of the MQMD) to the snapshot, in "
                "whole seconds; if neither is valid, nothing matches",
                ">15m",
            ),
            columns=("observed_at", "dlh_encoding", "dlh_put_date", "dlh_put_time", "put_date", "put_time"),
            noun="age",
            changes=True,
        ),
        _condition(
            "SIZE",
            ValueKind.SIZE,
            Form(
                f"{COMPARISON}, and nothing, `K` (1024) or `M`", "bytes of the message data without the MQDLH", ">=64K"
            ),
            columns=("body_length", "dlh_encoding"),
            noun="size",
            every=(0, inf),
        ),
        compared(
            "BACKOUT",
            column="backout_count",
            meaning="MQMD.BackoutCount",
            noun="backout count",
            example=">3",
            every=(0, inf),
            changes=True,
        ),
        compared(
            "PRIORITY",
            column="priority",
            meaning="MQMD.Priority",
            noun="priority",
            example="<=3",
            most=9,
            every=(0, 9),
        ),
        _condition(
            "PROP",
            ValueKind.PROPERTY,
            Form(
                f"`'folder.name' = {_QUOTED}`",
                "a property in an MQRFH2, by folder and name; the first of several",
                "'usr.country' = 'DE'",
            ),
            columns=("properties",),
        ),
        _condition(
            "BODY",
            ValueKind.BODY,
            Form(f"`{_QUOTED}`", "the data behind all headers as text, the whole of it", "'*text*'"),
            Form(
                f"`JSON '$.name[0].name' = {_QUOTED}`",
                "a value in JSON: a text, an integer of 64 bits, `true`, `false`",
                "JSON '$.order.id' = '7'",
            ),
            Form(
                f"`XPATH '/name[1]/name/@name' = {_QUOTED}`",
                "an element (all text in it) or attribute in XML, the first that the path selects",
                "XPATH '/order/@id' = '7'",
            ),
            columns=("body", "text_offset", "text_kind", "text_decoded"),
        ),
        _handling(
            "CANARY",
            ValueKind.COUNT,
            Form(_NUMBER_OF_MESSAGES, "n messages are put first; the others only when those went well", "5"),
        ),
        _handling(
            "PACE", ValueKind.RATE, Form(f"{_NUMBER_OF_MESSAGES}, or `n/s`", "at most n messages a second", "10/s")
        ),
        _handling("MAXREPLAY", ValueKind.COUNT, Form(_NUMBER_OF_MESSAGES, "a message is put at most n times", "3")),
        _handling(
            "BACKOFF",
            ValueKind.WAITS,
            Form(
                "times in single quotes, with commas between: a number, and `s` `m` `h` or `d`",
                "how long a message waits that was put before and came again: after its first put, after its second, "
                "and so on; the last time holds for all further puts",
                "'1m,5m,30m,2h'",
            ),
        ),
        _handling(
            "ORDER",
            ValueKind.KEY,
            Form(
                "`GROUPID`, `CORRELID`, or a property in single quotes such as `'usr.customer'`",
                "messages with the same key keep their order",
                "'usr.customer'",
            ),
            choices=("GROUPID", "CORRELID"),
        ),
    )
}
"""Every keyword: IBM's in the order IBM lists them, then the extensions. Once a table with extensions was read,
those of other distributions are behind them."""
OWN_KEYWORDS = frozenset(KEYWORDS)
"""Those of mqops."""

PATTERN_KEYWORDS: Mapping[str, Keyword] = {
    keyword.name: keyword for keyword in KEYWORDS.values() if keyword.entry is Entry.PATTERN and not keyword.extension
}
"""IBM's keywords that a message is matched by."""


def keywords_of(*, extensions: bool) -> dict[str, Keyword]:
    """The keywords that a table may have. Parameters: `extensions` whether it begins with the header line; then also
    those of other distributions, which are in `KEYWORDS` from now on."""
    if extensions:
        not_loaded()
    return {name: keyword for name, keyword in KEYWORDS.items() if extensions or not keyword.extension}


@cache
def not_loaded() -> Mapping[str, str]:
    """Take the keywords that other distributions bring (`mqops.outside`), once in a process; the name of each that
    cannot be used → why. What names none of them works."""
    failed = {}
    for name, one in outside.not_taken(outside.Group.KEYWORDS, OWN_KEYWORDS).items():
        try:
            keyword = one.load(Keyword)
            if keyword != _as_compared(keyword):
                raise one.refused("is not made by mqops.rules.keyword.compared")
            KEYWORDS[name] = keyword
        except SettingsError as error:
            failed[name] = str(error)
    return failed


def _as_compared(keyword: Keyword) -> Keyword | None:
    """The keyword as `compared` makes it: what the matchers know to evaluate. None where its name or columns are not
    what a table can have."""
    if not (keyword.name.isascii() and keyword.name.isalpha() and keyword.name.isupper() and len(keyword.columns) == 1):
        return None
    return replace(keyword, entry=Entry.PATTERN, kind=ValueKind.COMPARED, extension=True, only_with=(), choices=())
