"""Identity and origin context: made, passed, set, left out."""

from __future__ import annotations

import getpass
import os
import sys
from pathlib import Path

import pymqi
import pytest
from mqlite_support import BROWSE, INPUT, OUTPUT, Application, make, refused, run_mqsc
from pymqi import CMQC

from mqlite.connections.connection import connection_of

SAVE = INPUT | CMQC.MQOO_SAVE_ALL_CONTEXT
IDENTITY = {"UserIdentifier": b"somebody", "AccountingToken": b"T" * 32, "ApplIdentityData": b"identity data"}
ORIGIN = {
    "PutApplType": CMQC.MQAT_CICS, "PutApplName": b"elsewhere", "PutDate": b"20200102", "PutTime": b"03040506",
    "ApplOriginData": b"orig",
}  # fmt: skip


def fields_of(md: pymqi.MD, names: dict[str, object]) -> dict[str, object]:
    """The same fields of a descriptor, without padding."""
    found = {name: md[name] for name in names}
    return {
        name: value.rstrip(b" ") if isinstance(value, bytes) and name != "AccountingToken" else value
        for name, value in found.items()
    }


def test_default_context(application: Application) -> None:
    application.put("Q1", UserIdentifier=b"liar", PutApplName=b"liar", PutDate=b"19990101")
    md, _ = application.get("Q1")
    assert md.UserIdentifier.strip().decode() == getpass.getuser()[:12]
    assert md.PutApplType == CMQC.MQAT_UNIX
    assert md.PutApplName.strip() not in (b"", b"liar")
    assert md.PutDate > b"20200101"
    assert md.PutTime.isdigit()
    assert md.ApplIdentityData.strip() == b""


def test_no_context(application: Application) -> None:
    application.put("Q1", options=CMQC.MQPMO_NO_CONTEXT | CMQC.MQPMO_NO_SYNCPOINT)
    md, _ = application.get("Q1")
    assert md.PutApplType == CMQC.MQAT_NO_CONTEXT
    assert md.UserIdentifier.strip() == md.PutApplName.strip() == md.PutDate.strip() == b""


def test_set_all_context(application: Application) -> None:
    opened = application.open("Q1", OUTPUT | CMQC.MQOO_SET_ALL_CONTEXT)
    md = pymqi.MD(**IDENTITY, **ORIGIN)
    opened.put(b"x", md, pymqi.PMO(Options=CMQC.MQPMO_SET_ALL_CONTEXT | CMQC.MQPMO_NO_SYNCPOINT))
    got, _ = application.get("Q1")
    assert fields_of(got, IDENTITY) == IDENTITY
    assert fields_of(got, ORIGIN) == ORIGIN


def test_set_identity_context(application: Application) -> None:
    opened = application.open("Q1", OUTPUT | CMQC.MQOO_SET_IDENTITY_CONTEXT)
    md = pymqi.MD(**IDENTITY, **ORIGIN)
    opened.put(b"x", md, pymqi.PMO(Options=CMQC.MQPMO_SET_IDENTITY_CONTEXT | CMQC.MQPMO_NO_SYNCPOINT))
    got, _ = application.get("Q1")
    assert fields_of(got, IDENTITY) == IDENTITY
    assert got.PutApplName.strip() != b"elsewhere"


@pytest.mark.parametrize(("name", "passes_origin"), [("ALL", True), ("IDENTITY", False)])
def test_passed_context(application: Application, name: str, passes_origin: bool) -> None:
    run_mqsc("DEFINE QLOCAL(Q2)")
    opened = application.open("Q1", OUTPUT | CMQC.MQOO_SET_ALL_CONTEXT)
    opened.put(b"x", pymqi.MD(**IDENTITY, **ORIGIN), pymqi.PMO(Options=CMQC.MQPMO_SET_ALL_CONTEXT))
    source = application.open("Q1", SAVE)
    application.get(source)
    target = application.open("Q2", OUTPUT | getattr(CMQC, f"MQOO_PASS_{name}_CONTEXT"))
    pmo = pymqi.PMO(Options=getattr(CMQC, f"MQPMO_PASS_{name}_CONTEXT"), Context=source.get_handle())
    target.put(b"x", pymqi.MD(), pmo)
    got, _ = application.get("Q2")
    assert fields_of(got, IDENTITY) == IDENTITY
    assert (fields_of(got, ORIGIN) == ORIGIN) is passes_origin


def test_nothing_has_been_got_whose_context_could_be_passed(application: Application) -> None:
    application.put("Q1")
    source = application.open("Q1", SAVE | BROWSE)
    application.get(source, CMQC.MQGMO_BROWSE_NEXT)  # a browse saves no context
    target = application.open("Q1", OUTPUT | CMQC.MQOO_PASS_ALL_CONTEXT)
    with refused(CMQC.MQRC_CONTEXT_NOT_AVAILABLE):
        target.put(b"x", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_PASS_ALL_CONTEXT, Context=source.get_handle()))
    not_saving = application.open("Q1", INPUT)
    for handle in (not_saving.get_handle(), 999):
        with refused(CMQC.MQRC_CONTEXT_HANDLE_ERROR):
            target.put(b"x", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_PASS_ALL_CONTEXT, Context=handle))


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("PASS_ALL", CMQC.MQRC_NOT_OPEN_FOR_PASS_ALL),
        ("PASS_IDENTITY", CMQC.MQRC_NOT_OPEN_FOR_PASS_IDENT),
        ("SET_ALL", CMQC.MQRC_NOT_OPEN_FOR_SET_ALL),
        ("SET_IDENTITY", CMQC.MQRC_NOT_OPEN_FOR_SET_IDENT),
    ],
)
def test_not_opened_for_it(application: Application, option: str, reason: int) -> None:
    with refused(reason):
        application.open("Q1", OUTPUT).put(
            b"x", pymqi.MD(), pymqi.PMO(Options=getattr(CMQC, f"MQPMO_{option}_CONTEXT"))
        )


@pytest.mark.parametrize(("platform", "user"), [("unix", getpass.getuser()[:12]), ("zos", "other")])
def test_an_alternate_user_puts_in_its_name_on_zos_only(home: object, platform: str, user: str) -> None:
    make("QM1", "DEFINE QLOCAL(Q1)", platform=platform)
    application = Application()
    run_mqsc("SET AUTHREC PROFILE(Q1) OBJTYPE(QUEUE) PRINCIPAL('other') AUTHADD(PUT)")
    options = OUTPUT | CMQC.MQOO_ALTERNATE_USER_AUTHORITY
    opened = application.open("Q1", options, AlternateUserId=b"other")
    opened.put(b"x", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT))
    assert application.get("Q1")[0].UserIdentifier.strip().decode() == user
    application.manager.disconnect()


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("/opt/app/pay.py", "/opt/app/pay.py"),
        ("/opt/a_long_folder/of_programs/pay.py", "ng_folder/of_programs/pay.py"),
        ("/opt/größe/für.py", "/opt/größe/für.py"),
        ("/srv/płatności/wpłata.py", "/srv/płatności/wpłata.py"),
        ("/srv/日本日本日本日本日本/1支払.py", "本日本日本/1支払.py"),  # no half characters
        ("/srv/αβγδ/" + os.fsdecode(b"\xff") + ".py", "/srv/αβγδ/" + os.fsdecode(b"\xff") + ".py"),
    ],
)
def test_the_name_of_a_program_is_the_end_of_its_path_byte_for_byte(
    home: Path, monkeypatch: pytest.MonkeyPatch, program: str, name: str
) -> None:
    make("QM1", "DEFINE QLOCAL(Q1)")
    monkeypatch.setattr(sys, "argv", [program])
    application = Application()
    md = application.put("Q1")
    assert md["PutApplName"] == os.fsencode(name).ljust(28)
    shown = "".join(run_mqsc("DISPLAY CONN(*) APPLTAG"))
    assert f"APPLTAG({os.fsencode(name).decode(errors='replace')})" in shown
    application.manager.disconnect()


def test_a_program_that_an_earlier_version_connected_is_shown(application: Application) -> None:
    """It wrote the path in plain text; a program of it may still be there."""
    number = application.manager.get_handle()
    connection = connection_of(number)
    with connection.store.write():
        connection.store.execute("UPDATE main.connection SET application = ?", ("/srv/płatności/x.py",))
    assert "APPLTAG(/srv/płatności/x.py)" in "".join(run_mqsc("DISPLAY CONN(*) APPLTAG"))


@pytest.mark.parametrize(("user", "identity"), [("jürgen", "für 5 €"), ("łukasz", "日本"), ("clerk", "plain")])
def test_identity_of_a_subscription_is_in_the_character_set_of_programs(
    application: Application, user: str, identity: str
) -> None:
    """A publication could not be put where one subscription had an identity that is not Latin-1."""
    run_mqsc(f"DEFINE SUB(S) TOPICSTR('t') DEST(Q1) SUBUSER('{user}') PUBAPPID('{identity}')")
    topic = pymqi.Topic(application.manager, topic_string=b"t", open_opts=OUTPUT)
    topic.pub(b"x")
    topic.close()
    md, _ = application.get("Q1")
    assert md.UserIdentifier == user.encode().ljust(12)
    assert md.ApplIdentityData == identity.encode().ljust(32)


@pytest.mark.parametrize("user", ["jürgen", "łukasz"])
def test_an_alternate_user_is_in_the_character_set_of_programs(application: Application, user: str) -> None:
    run_mqsc(f"SET AUTHREC PROFILE(Q1) OBJTYPE(QUEUE) PRINCIPAL('{user}') AUTHADD(PUT)")
    options = OUTPUT | CMQC.MQOO_ALTERNATE_USER_AUTHORITY
    application.open("Q1", options, AlternateUserId=user.encode()).put(b"x")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        application.open("Q1", options, AlternateUserId=b"nobody")
