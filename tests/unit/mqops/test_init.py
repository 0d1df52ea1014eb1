"""`mqops init`: MQSC that a queue manager takes as it is printed, or defined by PCF; nothing that stands is changed."""

from __future__ import annotations

import json

import pytest
from mq_support import DLQ, Manager, dead_letter

from mqlite.security.authority import profile_matches
from mqops.clock import utc
from mqops.doctor.needs import profile_of
from mqops.look.figures import figures
from mqops.mq.connection import MqConnection
from mqops.observe.statistics import statistics

ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_qm1
    dlq_rules: {rules: dlq.rules}
    backout_reprocess: {rules: backout.rules, quarantine: My.Quarantine}
"""
APP = {"queue_manager": "QM1", "user": "app", "password": "secret"}


@pytest.fixture
def manager(queue_manager) -> Manager:
    made = queue_manager(mqsc="DELETE QLOCAL(MQOPS.LEDGER)\nDEFINE QLOCAL(A)\n")
    made.mqlite("user", "add", "QM1", "app", text="secret\n")
    return made


@pytest.fixture
def init(manager, mqops_here, tmp_path, monkeypatch):
    """Runs `mqops init QM1`; gives what stands on standard output."""
    (tmp_path / "estate.yaml").write_text(ESTATE)
    (tmp_path / "dlq.rules").write_text("ACTION(FWD) FWDQ(A)\n")
    (tmp_path / "backout.rules").write_text("ACTION(RETRY)\n")
    monkeypatch.setenv("MQOPS_ESTATE", str(tmp_path / "estate.yaml"))

    def run(*options: str, text: str = "", expect: int = 0, **more: str) -> str:
        return mqops_here("init", "QM1", *options, text=text, expect=expect, **more).stdout

    return run


def states(init, *options: str, expect: int = 0) -> dict[str, int]:
    """State → number of steps."""
    found: dict[str, int] = {}
    for step in json.loads(init("--user", "app", "--json", *options, expect=expect))["steps"]:
        found[step["state"]] = found.get(step["state"], 0) + 1
    return found


@pytest.mark.parametrize(
    ("pattern", "profile", "fits", "others"),
    [
        ("PAY.IN", "PAY.IN", ["PAY.IN"], ["PAY.IN.X", "PAY"]),
        ("*", "**", ["A", "A.B.C"], []),
        ("PAY.*", "PAY.**", ["PAY.A", "PAY.A.B"], ["PAYROLL.A", "XPAY.A"]),
        ("PAY*", "PAY*.**", ["PAY", "PAYROLL", "PAY.A.B", "PAYROLL.A.B"], ["XPAY", "PA"]),
        ("A.PAY*", "A.PAY*.**", ["A.PAY", "A.PAYX.B"], ["A.B.PAY", "PAY"]),
    ],
)
def test_a_pattern_of_the_estate_becomes_a_profile_with_the_same_queues(pattern, profile, fits, others):
    assert profile_of(pattern) == profile
    assert [profile_matches(profile, name) for name in (*fits, *others)] == [True] * len(fits) + [False] * len(others)


def test_what_is_printed_is_mqsc_that_the_queue_manager_takes(init, manager, tmp_path):
    text = init("--user", "app", "--queue", "PAY.**")
    assert "DEFINE QLOCAL(MQOPS.LEDGER) DEFPSIST(YES) MAXDEPTH(999999) MAXMSGL(4194304) SHARE" in text
    assert "DEFINE QLOCAL('My.Quarantine') DEFPSIST(YES) MAXDEPTH(999999)" in text
    assert states(init) == {"missing": 13}
    manager.mqsc(text)
    assert states(init) == {"stands": 13}
    again = init("--user", "app", "--queue", "PAY.**")
    assert all(line.startswith("*") for line in again.splitlines())
    manager.mqsc(again)


def test_it_defines_by_pcf_what_a_run_as_that_user_then_needs(init, manager, mqops_here):
    """The least authorities are enough for a run of rules, a retry among them, and for the undo of it."""
    done = init("--user", "app", "--queue", "RETRY.*", "--run", "--yes")
    assert done.endswith("* 14 commands carried out on QM1\n")
    assert states(init) == {"stands": 13}
    manager.mqsc("DEFINE QLOCAL(RETRY.B)\n")
    manager.put(DLQ, [dead_letter("A", b"forwarded"), dead_letter("RETRY.B", b"tried again")])
    app = json.dumps(APP)
    table = "DESTQ(RETRY.B) ACTION(RETRY)\nACTION(FWD) FWDQ(A)\n"
    answer = mqops_here("dlq", "run", DLQ, "QM1", "--once", "--json", text=table, MQOPS_CONNECTION=app)
    summary = json.loads(answer.stdout.splitlines()[-1])
    assert (summary["moved"], summary["reasons"]) == (2, {})
    undone = json.loads(mqops_here("undo", summary["run"], "--yes", "--json", MQOPS_CONNECTION=app).stdout)
    assert undone["moved"] == 2
    assert manager.depth(DLQ) == 2


@pytest.mark.parametrize(("answer", "expect", "there"), [("n\n", 1, False), ("y\n", 0, True)])
def test_it_asks_before_it_defines(init, manager, answer, expect, there):
    asked = init("--run", text=answer, expect=expect)
    assert "Carry out 2 commands on QM1?" in asked
    manager.mqsc("DEFINE QLOCAL(MARK)\n")
    assert states(init).get("missing", 0) == (11 if there else 13)


def test_a_queue_that_stands_otherwise_is_told_and_never_changed(init, manager):
    manager.mqsc(
        "DEFINE QLOCAL(MQOPS.LEDGER) MAXDEPTH(7) NOSHARE DEFPSIST(YES)\nDEFINE QALIAS('My.Quarantine') TARGET(A)\n"
    )
    manager.put("MQOPS.LEDGER", [({}, b"mine")])
    text = init("--user", "app", "--run", "--yes", expect=1)
    assert (
        "* MQOPS.LEDGER has MAXDEPTH(7) NOSHARE, and mqops needs MAXDEPTH(999999) SHARE. It is left as it is; this "
        "command changes it\n* ALTER QLOCAL(MQOPS.LEDGER) MAXDEPTH(999999) SHARE\n"
    ) in text
    assert "* My.Quarantine is there, and it is not a local queue" in text
    assert states(init, expect=1) == {"differs": 2, "stands": 11}
    assert manager.bodies("MQOPS.LEDGER") == [b"mine"]


def test_authorities_are_added_and_none_is_taken_away(init, manager):
    manager.mqsc("SET AUTHREC PROFILE('A') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(SET,BROWSE)\n")
    init("--user", "app", "--run", "--yes")
    record = manager.mqlite("mqsc", "QM1", text="DISPLAY AUTHREC PROFILE(A) OBJTYPE(QUEUE) PRINCIPAL('app')\n")
    assert all(word in record for word in ("SET", "BROWSE", "PASSALL", "SETALL"))


def test_what_is_refused_says_how_far_it_came(init, manager, mqops_here):
    manager.mqsc("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ,DSP)\n")
    manager.mqsc("SET AUTHREC PROFILE('SYSTEM.**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT,GET,DSP)\n")
    done = mqops_here("init", "QM1", "--run", "--yes", "--json", expect=1, MQOPS_CONNECTION=json.dumps(APP))
    error = json.loads(done.stdout)["error"]
    assert "0 commands were carried out before it" in error["message"]
    assert "DEFINE QLOCAL(MQOPS.LEDGER)" in error["message"]


def test_without_a_user_the_authorities_are_comments(init):
    lines = init().splitlines()
    assert [line[:14] for line in lines if not line.startswith("*")] == ["DEFINE QLOCAL(", "DEFINE QLOCAL("]
    assert (
        "* SET AUTHREC PROFILE('MQOPS.LEDGER') OBJTYPE(QUEUE) PRINCIPAL('user') AUTHADD(BROWSE,GET,INQ,PUT,DSP)"
        in lines
    )


def test_a_queue_manager_that_is_not_reached_is_told_all_that_it_may_need(init, mqops_here):
    done = mqops_here("init", "QM9", "--group", "ops")
    assert "So it is not known what is there already" in done.stderr
    assert "SET AUTHREC OBJTYPE(QMGR) GROUP('ops') AUTHADD(CONNECT,INQ,DSP,SETALL,ALTUSR)" in done.stdout
    mqops_here("init", "QM9", "--run", "--yes", expect=1)


def test_the_queues_that_are_told_about_are_to_be_browsed(init, manager, tmp_path):
    manager.mqsc("DEFINE QLOCAL(PAY.BOQ)\nDEFINE QLOCAL(PAY) BOQNAME(PAY.BOQ)\n")
    section = "    expiry_scan: {queues: [OFFERS], tell_from: 3}\n    storage: ['KEEP.*']\n"
    text = "lake: lake\nqueue_managers:\n  QM1:\n    connection: mq_qm1\n"
    (tmp_path / "estate.yaml").write_text(text + section)
    said = init("--user", "app")
    for profile in ("OFFERS", "PAY.BOQ", "KEEP.**"):
        assert f"SET AUTHREC PROFILE('{profile}') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(BROWSE,INQ,DSP)" in said
    assert "PROFILE('**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(DSP)" in said
    (tmp_path / "estate.yaml").write_text((text + section).replace(", tell_from: 3", ""))
    assert "PAY.BOQ" not in init("--user", "app")


def test_on_zos_there_are_no_authority_records(queue_manager, mqops_here, tmp_path, monkeypatch):
    zos = queue_manager(name="MVS1", platform="zos", mqsc="DELETE QLOCAL(MQOPS.LEDGER)\n")
    monkeypatch.setenv("MQLITE_HOME", str(zos.home))
    text = mqops_here("init", "MVS1", "--user", "app", "--run", "--yes").stdout
    assert "AUTHREC" not in text
    assert "* z/OS: give the user of mqops its authorities by the external security manager" in text
    assert zos.depth("MQOPS.LEDGER") == 0


@pytest.mark.parametrize(
    "options", [("--user", "a') AUTHADD(ALL"), ("--queue", "A B"), ("--user", "a", "--group", "b")]
)
def test_names_that_are_none_are_refused(init, options):
    init(*options, expect=2)


def test_json_asks_no_question(init):
    init("--run", "--json", expect=2)


def test_a_queue_whose_puts_and_gets_are_counted_can_be_changed_and_keeps_what_wider_profiles_give(
    init, manager, tmp_path
):
    manager.mqsc("DEFINE QLOCAL(PAY.IN)\n")
    text = "lake: .\nqueue_managers:\n  QM1:\n    connection: mq_qm1\n    expiry_scan: {queues: ['*', PAY.IN]}\n"
    (tmp_path / "estate.yaml").write_text(text + "    reset_statistics: [A, 'PAY.*']\n")
    said = init("--user", "app")
    for profile, words in (
        ("A", "DSP,CHG,BROWSE,INQ"), ("PAY.**", "DSP,CHG,BROWSE,INQ"), ("PAY.IN", "BROWSE,INQ,DSP,CHG"),
    ):  # fmt: skip
        assert f"SET AUTHREC PROFILE('{profile}') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD({words})" in said
    init("--user", "app", "--run", "--yes")
    app = MqConnection(**APP, environment=manager.connection.environment)
    assert not figures(app, tmp_path, "QM1").unreachable
    found = statistics(tmp_path / "QM1", utc())
    assert (set(found.samples[-1].of), found.refused, found.failed) == ({"A", "PAY.IN"}, {}, "")
    assert "stands" in states(init)
    assert len(states(init)) == 1
