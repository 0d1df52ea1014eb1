"""What authority records allow users who are not the queue manager's owner: MQCONN, MQOPEN, MQCLOSE, MQSUB."""

from __future__ import annotations

import getpass
import pwd
from pathlib import Path
from typing import Any

import pymqi
import pytest
from mqlite_support import Application, Clerk, add_user, allow, make, refused, run_mqsc
from pymqi import CMQC

BROWSE, INPUT, OUTPUT, INQUIRE, SET = (
    CMQC.MQOO_BROWSE, CMQC.MQOO_INPUT_SHARED, CMQC.MQOO_OUTPUT, CMQC.MQOO_INQUIRE, CMQC.MQOO_SET,
)  # fmt: skip
OTHER = CMQC.MQOO_ALTERNATE_USER_AUTHORITY


def test_connect(home: object) -> None:
    make("QM1")
    add_user("clerk")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        Clerk()
    allow("", "CONNECT", kind="QMGR")
    Clerk().manager.disconnect()
    run_mqsc("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('clerk') AUTHRMV(CONNECT)")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        Clerk()


def test_the_owner_may_do_everything(application: Application) -> None:
    application.open("Q1", INPUT | BROWSE | OUTPUT | INQUIRE | SET | CMQC.MQOO_SET_ALL_CONTEXT).close()


def test_a_password_user_of_the_owners_name_is_the_owner(home: object) -> None:
    make("QM1", "DEFINE QLOCAL(Q1)")
    add_user(getpass.getuser())
    owner = Clerk(getpass.getuser().encode())
    owner.put("Q1")
    owner.manager.disconnect()


@pytest.mark.parametrize(
    ("options", "authority"),
    [
        (BROWSE, "BROWSE"),
        (INPUT, "GET"),
        (CMQC.MQOO_INPUT_EXCLUSIVE, "GET"),
        (CMQC.MQOO_INPUT_AS_Q_DEF, "GET"),
        (OUTPUT, "PUT"),
        (INQUIRE, "INQ"),
        (SET, "SET"),
        (INPUT | BROWSE, "GET,BROWSE"),
        (OUTPUT | CMQC.MQOO_PASS_IDENTITY_CONTEXT, "PUT,PASSID"),
        (OUTPUT | CMQC.MQOO_PASS_ALL_CONTEXT, "PUT,PASSALL"),
    ],
)
def test_each_open_option_has_its_authority(clerk: Application, options: int, authority: str) -> None:
    everything = {"BROWSE", "GET", "PUT", "INQ", "SET", "PASSID", "PASSALL", "SETID", "SETALL", "CHG", "DSP"}
    for missing in authority.split(","):
        run_mqsc("SET AUTHREC PROFILE(Q1) OBJTYPE(QUEUE) PRINCIPAL('clerk') AUTHRMV(ALL)")
        allow("Q1", ",".join(sorted(everything - {missing})))
        with refused(CMQC.MQRC_NOT_AUTHORIZED):
            clerk.open("Q1", options)
    run_mqsc("DELETE AUTHREC PROFILE(Q1) OBJTYPE(QUEUE) PRINCIPAL('clerk')")
    allow("Q1", authority)
    clerk.open("Q1", options).close()


@pytest.mark.parametrize(
    ("option", "authority"), [(CMQC.MQOO_SET_IDENTITY_CONTEXT, "SETID"), (CMQC.MQOO_SET_ALL_CONTEXT, "SETALL")]
)
def test_setting_context_is_allowed_by_queue_and_queue_manager(clerk: Application, option: int, authority: str) -> None:
    allow("Q1", f"PUT,{authority}")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        clerk.open("Q1", OUTPUT | option)
    allow("", authority, kind="QMGR")
    clerk.open("Q1", OUTPUT | option).close()


def test_put1(clerk: Application) -> None:
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        clerk.put("Q1")
    allow("Q1", "PUT")
    assert clerk.put("Q1").UserIdentifier.strip() == b"clerk"


def test_an_unknown_queue_is_unknown_and_not_forbidden(clerk: Application) -> None:
    with refused(CMQC.MQRC_UNKNOWN_OBJECT_NAME):
        clerk.open("NO.SUCH", OUTPUT)


def test_a_zos_like_queue_manager_checks_the_same_records(home: object) -> None:
    make("QM1", "DEFINE QLOCAL(Q1)", platform="zos")
    add_user("clerk")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        Clerk()
    allow("", "CONNECT", kind="QMGR")
    clerk = Clerk()
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        clerk.put("Q1")
    allow("Q1", "PUT")
    clerk.put("Q1")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        clerk.open("Q1", INPUT)
    clerk.manager.disconnect()


def test_an_owner_without_a_name_is_its_number(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make("QM1", "DEFINE QLOCAL(Q1)")
    number = str((home / "QM1").stat().st_uid)
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
    monkeypatch.setenv("LOGNAME", "somebody")
    add_user(number)
    owner = Clerk(number.encode())
    owner.open("Q1", INPUT).close()
    owner.manager.disconnect()
    add_user("clerk")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        Clerk()


def test_an_open_handle_keeps_its_rights(clerk: Application) -> None:
    allow("Q1", "PUT")
    opened = clerk.open("Q1", OUTPUT)
    run_mqsc("SET AUTHREC PROFILE(Q1) OBJTYPE(QUEUE) PRINCIPAL('clerk') AUTHRMV(ALL)")
    opened.put(b"still")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        clerk.open("Q1", OUTPUT)


def test_the_definition_that_is_named_counts(clerk: Application) -> None:
    run_mqsc(
        "DEFINE QALIAS(ALIAS) TARGET(Q1)\nDEFINE QLOCAL(QM2) USAGE(XMITQ)\n"
        "DEFINE QREMOTE(REMOTE) RNAME(THERE) RQMNAME(QM2)"
    )
    allow("ALIAS", "PUT")
    allow("REMOTE", "PUT")
    clerk.put("ALIAS")
    clerk.put("REMOTE")
    for queue in ("Q1", "QM2"):
        with refused(CMQC.MQRC_NOT_AUTHORIZED):
            clerk.put(queue)
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        clerk.open("THERE", OUTPUT, ObjectQMgrName=b"QM2")
    allow("QM2", "PUT")
    clerk.open("THERE", OUTPUT, ObjectQMgrName=b"QM2").close()


def test_a_definition_that_does_not_lead_there_does_not_count(clerk: Application) -> None:
    run_mqsc("DEFINE QLOCAL(QM2) USAGE(XMITQ)\nDEFINE QLOCAL(OTHER) USAGE(XMITQ)")
    run_mqsc("DEFINE QREMOTE(REMOTE) RNAME(THERE) RQMNAME(QM3) XMITQ(OTHER)")
    allow("REMOTE", "PUT")
    clerk.open("REMOTE", OUTPUT).close()
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        clerk.open("REMOTE", OUTPUT, ObjectQMgrName=b"QM2")


@pytest.mark.parametrize(
    ("profile", "name", "fits"),
    [
        ("**", "A.B.C", True),
        ("A.**", "A.B.C", True),
        ("A.**", "A", True),  # no qualifier is any number of them
        ("A.**.C", "A.C", True),
        ("**.C", "A.B.C", True),
        ("**.C", "A.B", False),
        ("*", "A", True),
        ("*", "A.B", False),  # one qualifier
        ("A.*", "A.B", True),
        ("A.*", "A", False),
        ("A.*.C", "A.B.C", True),
        ("A.B*", "A.B", True),  # none or more characters of a qualifier
        ("A.B*", "A.BC.D", False),
        ("A.?", "A.B", True),
        ("A.?", "A.BC", False),
        ("A.B", "A.B", True),
        ("A.B", "A.BC", False),
        ("*A*A*A*A*A*A*A*A*A*A*B", "A" * 48, False),  # answered at once, however many asterisks
        ("*A*A*A*A*A*A*A*A*A*A*B", "A" * 47 + "B", True),
        ("?*A?*.**.?*B", "AAA.X.Y.AB", True),
    ],
)
def test_generic_profiles(clerk: Application, profile: str, name: str, fits: bool) -> None:
    run_mqsc(f"DEFINE QLOCAL({name})")
    allow(profile, "PUT")
    if fits:
        clerk.put(name)
    else:
        with refused(CMQC.MQRC_NOT_AUTHORIZED):
            clerk.put(name)


def test_the_most_specific_profile_decides(clerk: Application) -> None:
    run_mqsc("DEFINE QLOCAL(AB.CD)\nDEFINE QLOCAL(AB.X)")
    allow("**", "GET")
    allow("AB.*", "PUT")
    allow("AB.C*", "INQ")
    clerk.open("AB.CD", INQUIRE).close()
    clerk.open("AB.X", OUTPUT).close()
    clerk.open("Q1", INPUT).close()
    for name, option in (("AB.CD", OUTPUT), ("AB.CD", INPUT), ("AB.X", INPUT)):
        with refused(CMQC.MQRC_NOT_AUTHORIZED):
            clerk.open(name, option)
    allow("AB.X", "NONE")  # an explicit nothing
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        clerk.open("AB.X", OUTPUT)


def test_a_users_groups_give_what_they_have(home: object) -> None:
    make("QM1", "DEFINE QLOCAL(Q1)")
    add_user("daemon")  # a user of every Unix machine, in a group of its name
    allow("", "CONNECT", kind="QMGR", entity="GROUP('daemon')")
    allow("Q1", "PUT", entity="GROUP('daemon')")
    allow("Q1", "INQ", entity="PRINCIPAL('daemon')")
    member = Clerk(b"daemon")
    member.open("Q1", OUTPUT | INQUIRE).close()
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        member.open("Q1", INPUT)
    member.manager.disconnect()


def test_a_model_queue_and_the_queue_made_of_it(clerk: Application) -> None:
    model = "SYSTEM.DEFAULT.MODEL.QUEUE"
    allow(model, "GET")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):  # DSP as well
        clerk.open(model, CMQC.MQOO_INPUT_EXCLUSIVE, DynamicQName=b"REPLY.*")
    allow(model, "DSP")
    made = clerk.open(model, CMQC.MQOO_INPUT_EXCLUSIVE, DynamicQName=b"REPLY.ONE")
    clerk.put("REPLY.ONE")  # who made it may do everything with it
    made.close()
    run_mqsc("DEFINE QLOCAL(REPLY.ONE)")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):  # that went with the queue
        clerk.put("REPLY.ONE")


def test_deleting_somebody_elses_dynamic_queue(clerk: Application) -> None:
    run_mqsc("DEFINE QMODEL(LASTING) DEFTYPE(PERMDYN)")
    owner = Application()
    owner.open("LASTING", OUTPUT, DynamicQName=b"KEPT").close()
    allow("KEPT", "PUT")
    opened = clerk.open("KEPT", OUTPUT)
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        opened.close(CMQC.MQCO_DELETE)
    allow("KEPT", "DLT")
    opened.close(CMQC.MQCO_DELETE)
    owner.manager.disconnect()


def test_alternate_user(clerk: Application) -> None:
    allow("Q1", "PUT", entity="PRINCIPAL('other')")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        clerk.open("Q1", OUTPUT | OTHER, AlternateUserId=b"other")
    allow("", "ALTUSR", kind="QMGR")
    opened = clerk.open("Q1", OUTPUT | OTHER, AlternateUserId=b"other")
    opened.put(b"by other")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        clerk.open("Q1", INPUT | OTHER, AlternateUserId=b"other")
    owner = Application()
    assert owner.get("Q1")[0].UserIdentifier.strip() == b"clerk"  # whose program it is, but on z/OS
    with refused(CMQC.MQRC_NOT_AUTHORIZED):  # nor may the owner do for somebody what that user may not do
        owner.open("Q1", INPUT | OTHER, AlternateUserId=b"stranger")
    owner.manager.disconnect()


def test_a_blank_alternate_user_may_do_nothing(clerk: Application) -> None:
    allow("", "ALTUSR,INQ", kind="QMGR")
    allow("**", "ALL")
    run_mqsc("DEFINE TOPIC(FRUIT) TOPICSTR('fruit')\nDEFINE PROCESS(P)")
    allow("FRUIT", "PUB,SUB", kind="TOPIC")
    owner = Application()
    for program in (clerk, owner):  # nor for a program of the owner
        for options in (OUTPUT, INPUT, BROWSE, INQUIRE, SET):
            with refused(CMQC.MQRC_NOT_AUTHORIZED):
                program.open("Q1", options | OTHER)
        with refused(CMQC.MQRC_NOT_AUTHORIZED):
            program.open("", INQUIRE | OTHER, ObjectType=CMQC.MQOT_Q_MGR)
        with refused(CMQC.MQRC_NOT_AUTHORIZED):
            program.manager.put1("Q1", b"x", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_ALTERNATE_USER_AUTHORITY))
        topic = pymqi.Topic(program.manager, topic_string="fruit")
        with refused(CMQC.MQRC_NOT_AUTHORIZED):
            topic.open(open_opts=OUTPUT | OTHER)
        new = CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED | CMQC.MQSO_ALTERNATE_USER_AUTHORITY
        with refused(CMQC.MQRC_NOT_AUTHORIZED):
            subscribe(program, "fruit", new)
    owner.open("Q1", OUTPUT).close()
    owner.manager.disconnect()


CONTEXTS = {"PASS_IDENTITY": "PASSID", "PASS_ALL": "PASSALL", "SET_IDENTITY": "SETID", "SET_ALL": "SETALL"}


@pytest.mark.parametrize(("option", "authority"), CONTEXTS.items())
def test_context_is_the_programs_own_right_beside_an_alternate_user(
    clerk: Application, option: str, authority: str
) -> None:
    options = OUTPUT | OTHER | getattr(CMQC, f"MQOO_{option}_CONTEXT")
    allow("", "ALTUSR,SETID,SETALL", kind="QMGR")
    allow("", "SETID,SETALL", kind="QMGR", entity="PRINCIPAL('other')")
    allow("Q1", f"PUT,{authority}", entity="PRINCIPAL('other')")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        clerk.open("Q1", options, AlternateUserId=b"other")
    allow("Q1", authority)
    run_mqsc("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('other') AUTHRMV(ALL)")
    run_mqsc(f"SET AUTHREC PROFILE(Q1) OBJTYPE(QUEUE) PRINCIPAL('other') AUTHRMV({authority})")
    clerk.open("Q1", options, AlternateUserId=b"other").close()


def test_the_owner_passes_and_sets_context_beside_an_alternate_user(application: Application) -> None:
    allow("Q1", "PUT", entity="PRINCIPAL('other')")
    for option in CONTEXTS:
        options = OUTPUT | OTHER | getattr(CMQC, f"MQOO_{option}_CONTEXT")
        application.open("Q1", options, AlternateUserId=b"other").close()


def test_objects_for_inquiry(clerk: Application) -> None:
    run_mqsc("DEFINE PROCESS(P)\nDEFINE NAMELIST(N)")
    cases = ((CMQC.MQOT_Q_MGR, "QMGR", ""), (CMQC.MQOT_PROCESS, "PROCESS", "P"), (CMQC.MQOT_NAMELIST, "NAMELIST", "N"))
    for number, kind, name in cases:
        with refused(CMQC.MQRC_NOT_AUTHORIZED):
            clerk.open(name, INQUIRE, ObjectType=number)
        allow(name, "INQ", kind=kind)
        clerk.open(name, INQUIRE, ObjectType=number).close()


def subscribe(application: Application, topic: str, options: int, **strings: str) -> Any:
    """MQSUB."""
    descriptor = pymqi.SD(Options=options)
    for name, value in {"ObjectString": topic, **strings}.items():
        descriptor.set_vs(name, value)
    subscription = pymqi.Subscription(application.manager)
    subscription.sub(sub_desc=descriptor)
    return subscription


def publish(application: Application, topic: str) -> None:
    """MQOPEN of a topic and MQPUT."""
    opened = pymqi.Topic(application.manager, topic_string=topic)
    opened.open(open_opts=OUTPUT)
    opened.pub(b"news")
    opened.close()


def test_topics(clerk: Application) -> None:
    run_mqsc("DEFINE TOPIC(FRUIT) TOPICSTR('fruit')")
    new = CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        publish(clerk, "fruit/apple")
    allow("FRUIT", "PUB", kind="TOPIC")
    publish(clerk, "fruit/apple")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        publish(clerk, "vegetables")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        subscribe(clerk, "fruit/apple", new)
    allow("FRUIT", "SUB", kind="TOPIC")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):  # the model of the queue as well
        subscribe(clerk, "fruit/apple", new)
    allow("SYSTEM.NDURABLE.MODEL.QUEUE", "PUT")
    subscription = subscribe(clerk, "fruit/apple", new)
    publish(clerk, "fruit/apple")
    assert subscription.get() == b"news"
    subscription.close(close_sub_queue=True)


def test_resuming_needs_less_than_subscribing(clerk: Application) -> None:
    run_mqsc("DEFINE TOPIC(FRUIT) TOPICSTR('fruit')\nDEFINE SUB('s') TOPICSTR('fruit') DESTCLAS(MANAGED)")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        subscribe(clerk, "fruit", CMQC.MQSO_RESUME, SubName="s")
    allow("FRUIT", "RESUME", kind="TOPIC")
    subscribe(clerk, "fruit", CMQC.MQSO_RESUME, SubName="s").close(close_sub_queue=True)


def test_without_CONNAUTH_everybody_is_the_process(home: object) -> None:
    make("QM1", "DEFINE QLOCAL(Q1)\nALTER QMGR CONNAUTH(' ')")
    application = Clerk(b"anybody", b"unchecked")
    assert application.put("Q1").UserIdentifier.strip().decode() == getpass.getuser()[:12]
    application.manager.disconnect()


def test_ADOPTCTX_NO_checks_the_password_only(home: object) -> None:
    make("QM1", "DEFINE QLOCAL(Q1)\nALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) ADOPTCTX(NO)")
    add_user("clerk")
    application = Clerk()
    assert application.put("Q1").UserIdentifier.strip().decode() == getpass.getuser()[:12]
    application.manager.disconnect()
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        Clerk(password=b"wrong")


def test_MCAUSER_of_a_server_connection_channel(home: object) -> None:
    make("QM1", "DEFINE QLOCAL(Q1)\nDEFINE CHANNEL(APP) CHLTYPE(SVRCONN) MCAUSER('clerk')")
    allow("", "CONNECT", kind="QMGR")
    manager = pymqi.connect("QM1", "APP", "localhost(1414)")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        pymqi.Queue(manager, "Q1", OUTPUT)
    manager.disconnect()


def test_REQDADM_wants_a_password_of_the_privileged(home: object) -> None:
    make(
        "QM1",
        "ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) CHCKCLNT(REQDADM)\n"
        "DEFINE CHANNEL(ADM) CHLTYPE(SVRCONN)\nDEFINE CHANNEL(APP) CHLTYPE(SVRCONN) MCAUSER('clerk')",
    )
    allow("", "CONNECT", kind="QMGR")
    with refused(CMQC.MQRC_NOT_AUTHORIZED):
        pymqi.connect("QM1", "ADM", "localhost(1414)")
    pymqi.connect("QM1", "APP", "localhost(1414)").disconnect()
