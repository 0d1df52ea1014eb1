"""Every attribute that can be set has an effect, promises none, or is refused and listed in docs/mqlite.md."""

from __future__ import annotations

import re
from pathlib import Path

import pymqi
import pytest
from mqlite_support import Application, make, refused, run_mqsc
from pymqi import CMQC, CMQCFC

from mqlite import attributes
from mqlite.attributes import CHANNEL_TYPES, QUEUE_KINDS, TABLE, Attribute, Integer, Kind, Text, Word, Words
from mqwire import constants as c

INCLUDE = Path(__file__).resolve().parents[3] / "include"
PAGE = (INCLUDE.parent / "docs" / "mqlite.md").read_text(encoding="utf-8")
TABLES = re.findall(r"^\| why \| without effect \|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
WITHOUT_EFFECT = set(re.findall(r"`(\w+)`", "".join(TABLES)))
# Listed, and yet named in the code: checked when defined; of other objects and records; REFRESH QMGR; selected by.
NAMED = {"QDEPTHHI", "QDEPTHLO", "PASSWORD", "USERID", "DESCR", "PROXYSUB", "STGCLASS"}
REQUIRED = {
    Kind.SUB: {"TOPICSTR": "TOPICSTR('s')", "DEST": "DEST(Q1)"},
    Kind.TOPIC: {"TOPICSTR": "TOPICSTR('t')"},
    Kind.AUTHINFO: {"AUTHTYPE": "AUTHTYPE(IDPWOS)"},
    Kind.LISTENER: {"TRPTYPE": "TRPTYPE(TCP)"},
}
KINDS = [(kind, subtype) for kind in Kind for subtype in (CHANNEL_TYPES if kind is Kind.CHANNEL else [None])]


def unbuilt(kind: Kind, subtype: str | None = None) -> dict[str, Attribute]:
    return {row.keyword: row for row in attributes.rows(kind, subtype=subtype) if row.unbuilt}


def define(kind: Kind, subtype: str | None, given: dict[str, str]) -> None:
    """DEFINE with what the kind requires and the given attributes."""
    required = REQUIRED.get(kind, {})
    if subtype:
        there = {row.keyword for row in attributes.rows(kind, subtype=subtype)}
        required = {"CHLTYPE": f"CHLTYPE({subtype})"}
        required |= {keyword: f"{keyword}(X)" for keyword in ("CONNAME", "XMITQ") if keyword in there}
    text = " ".join((required | given).values())
    run_mqsc(f"ALTER QMGR {text}" if kind is Kind.QMGR else f"DEFINE {kind}(X) REPLACE {text}")


def asking(row: Attribute) -> str:
    """The attribute with a value that asks for something."""
    match row.type:
        case Text():
            value = "X"
        case Integer(low=low):
            value = next(str(number) for number in (low, low + 1, low + 2) if number not in row.takes)
        case Word(words=words) | Words(words=words):
            value = next(word for word in words if row.type.canonical(row.keyword, word) not in row.takes)
        case _:
            raise AssertionError(row)
    return f"{row.keyword}({value})"


@pytest.mark.parametrize("kind", list(Kind))
def test_attributes_of_the_page_are_those_of_the_code(kind: Kind) -> None:
    kinds, label = (QUEUE_KINDS, "queues") if kind in QUEUE_KINDS else ((kind,), str(kind))
    there = {row.keyword for each in kinds for row in TABLE[each].values() if row.unbuilt or row.unbuilt_of}
    found = re.search(rf"^\| attributes of {label} \|(.*)\|(.*)\|$", PAGE, re.MULTILINE)
    listed = re.findall(r"`(\w+)`", found[1]) if found else []
    assert listed == sorted(there), f"docs/mqlite.md, row 'attributes of {label}'"
    assert found is None or int(found[2].split()[0]) == CMQCFC.MQRCCF_ATTR_VALUE_ERROR


def test_every_attribute_is_read_or_refused_or_listed_as_without_effect() -> None:
    code = "".join(path.read_text() for path in (INCLUDE / "mqlite").rglob("*.py") if path.parent.name != "attributes")
    rows = [row for table in TABLE.values() for row in table.values()]
    settable = {row.keyword for row in rows if not row.read_only and not row.unbuilt}
    unread = {keyword for keyword in settable if f'"{keyword}"' not in code}
    assert unread == WITHOUT_EFFECT - NAMED, "docs/mqlite.md, table 'why | without effect': what no code reads"
    assert settable >= NAMED


@pytest.mark.parametrize(("kind", "subtype"), [each for each in KINDS if unbuilt(*each)])
def test_what_is_not_there_is_refused(application: Application, kind: Kind, subtype: str | None) -> None:
    for keyword, row in unbuilt(kind, subtype).items():
        with pytest.raises(AssertionError, match=rf"AMQ8101S: IBM MQ error \({keyword}\(.*: mqlite does not have it"):
            define(kind, subtype, {keyword: asking(row)})


@pytest.mark.parametrize(("kind", "subtype"), KINDS)
def test_defaults_are_taken_as_DISPLAY_shows_them(application: Application, kind: Kind, subtype: str | None) -> None:
    required = {"CHLTYPE", "CONNAME", "XMITQ", *REQUIRED.get(kind, {})}
    shown = {
        keyword: attributes.display(kind, keyword, value).replace("( )", "(' ')")
        for keyword, value in attributes.defaults(kind, subtype=subtype).items()
        if keyword not in required and not TABLE[kind][keyword].read_only
    }
    define(kind, subtype, shown)


def test_what_asks_for_nothing_is_taken(application: Application) -> None:
    run_mqsc("ALTER QMGR STRSTPEV(DISABLED) ACTIVREC(DISABLED) MONCHL(NONE) STATQ(NONE)")
    run_mqsc("DEFINE QLOCAL(X) QDPMAXEV(DISABLED) STATQ(OFF) ACCTQ(OFF)")
    make("Z", "ALTER QMGR PERFMEV(ENABLED)", platform="zos")  # RESET QSTATS needs it


def test_no_client_is_disconnected_for_being_idle(application: Application) -> None:
    run_mqsc("DEFINE CHANNEL(X) CHLTYPE(SVRCONN) DISCINT(0)\nDEFINE CHANNEL(Y) CHLTYPE(SVRCONN)")
    for name in ("X", "Y"):
        assert "DISCINT(0)" in " ".join(run_mqsc(f"DISPLAY CHANNEL({name}) DISCINT"))
    for verb, name in (("DEFINE", "Z"), ("ALTER", "X")):
        with pytest.raises(AssertionError, match=r"AMQ8101S: IBM MQ error \(DISCINT\(60\)\): mqlite does not have it"):
            run_mqsc(f"{verb} CHANNEL({name}) CHLTYPE(SVRCONN) DISCINT(60)")
    run_mqsc("DEFINE CHANNEL(S) CHLTYPE(SDR) CONNAME(X) XMITQ(X) DISCINT(60)\nDEFINE CHANNEL(T) CHLTYPE(SDR) LIKE(S)")
    assert "DISCINT(60)" in " ".join(run_mqsc("DISPLAY CHANNEL(T) DISCINT"))


def test_ALTER_refuses_as_well(application: Application) -> None:
    with pytest.raises(AssertionError, match="mqlite does not have it"):
        run_mqsc("ALTER QLOCAL(Q1) STREAMQ(COPY)")


def test_it_is_refused_over_PCF(application: Application) -> None:
    pcf = pymqi.PCFExecute(application.manager)
    channel = {CMQCFC.MQCACH_CHANNEL_NAME: b"C", CMQCFC.MQIACH_CHANNEL_TYPE: CMQC.MQCHT_SVRCONN}
    compression = CMQCFC.MQIACH_MSG_COMPRESSION
    for more in ({CMQCFC.MQCACH_SSL_CIPHER_SPEC: b"ANY_TLS12"}, {compression: [c.MQCOMPRESS_RLE]}):
        with refused(CMQCFC.MQRCCF_ATTR_VALUE_ERROR):
            pcf.MQCMD_CREATE_CHANNEL({**channel, **more})
    with refused(CMQCFC.MQRCCF_ATTR_VALUE_ERROR):
        pcf.MQCMD_CHANGE_Q_MGR({CMQC.MQIA_CHLAUTH_RECORDS: CMQCFC.MQCHLA_ENABLED})
    pcf.MQCMD_CREATE_CHANNEL({**channel, compression: [c.MQCOMPRESS_NONE]})
    (found,) = pcf.MQCMD_INQUIRE_CHANNEL({CMQCFC.MQCACH_CHANNEL_NAME: b"C"})
    assert found[compression] == [c.MQCOMPRESS_NONE]
    pcf.disconnect()
