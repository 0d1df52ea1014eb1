"""The authority records of the docker composition: every workflow works as that user, and each authority is needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from ledger_opened import act_undo, prove
from mq_support import DLQ, Manager, create, dead_letter, let_expire
from pymqi import CMQC

from mqlite.security import authority
from mqops.decide.preflight_record import read_preflight
from mqops.deciders.age_out import AGE_OUT, AgeOutRequest
from mqops.deciders.backout import BACKOUT, BackoutRequest
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.recover import RECOVER, Do, RecoverRequest
from mqops.deciders.run import carry_out, new_run_key, plan_run
from mqops.errors import PermanentMQError
from mqops.expiry.scan import run_scan
from mqops.lake.run import RunFolder
from mqops.model import RunSummary
from mqops.mq.connection import MqConnection, connect
from mqops.rules import parse
from mqops.trigger.audit import audit
from mqops.trigger.core import explain
from mqops.trigger.look import manager as of_manager
from mqops.trigger.look import triggered_queue
from mqops.trigger.monitor import TriggerMonitor
from mqops.trigger.work import handle_messages
from mqops.undo import in_process as undo

ACCESS = Path(__file__).resolve().parents[3] / "include" / "docker" / "qm1_access.mqsc"
RECORDS = [line for line in ACCESS.read_text(encoding="utf-8").splitlines() if line.startswith("SET AUTHREC")]
QUEUES = """\
DEFINE QLOCAL(A)
DEFINE QLOCAL(B)
DEFINE QLOCAL(REALLY.DEAD.QUEUE)
DEFINE QLOCAL(MQOPS.QUARANTINE)
DEFINE QLOCAL(PAY) BOTHRESH(2) BOQNAME(PAY.BOQ)
DEFINE QLOCAL(PAY.BOQ)
DEFINE QLOCAL(OFFERS)
DEFINE QLOCAL(REPORTS)
DEFINE QLOCAL(SHUT) PUT(DISABLED)
DEFINE QLOCAL(QM2) USAGE(XMITQ)
DEFINE CHANNEL(QM1.QM2) CHLTYPE(SDR) CONNAME('localhost(1)') XMITQ(QM2)
DEFINE QREMOTE(REMOTE) RNAME(A) RQMNAME(QM2)
STOP CHANNEL(QM1.QM2)
SET AUTHREC PROFILE(B) OBJTYPE(QUEUE) PRINCIPAL('alice') AUTHADD(PUT)
SET AUTHREC PROFILE(REPORTS) OBJTYPE(QUEUE) PRINCIPAL('alice') AUTHADD(PUT)
SET AUTHREC PROFILE(SHUT) OBJTYPE(QUEUE) PRINCIPAL('alice') AUTHADD(PUT)
"""
RULES = """\
DESTQ(A) ACTION(RETRY)
DESTQ(B) ACTION(RETRY) PUTAUT(CTX)
DESTQ(DROP) ACTION(DISCARD)
DESTQ(AGAIN) ACTION(FWD) FWDQ(SYSTEM.DEAD.LETTER.QUEUE)
ACTION(FWD) FWDQ(REALLY.DEAD.QUEUE) HEADER(YES)
"""
ALL_CONTEXT = CMQC.MQOO_SET_ALL_CONTEXT


@dataclass
class Site:
    """A queue manager, its lake, and user app's connection to it."""

    manager: Manager
    lake: Path
    foreseen: tuple[str, ...] = ()

    @property
    def app(self) -> MqConnection:
        return replace(self.manager.connection, user="app", password="app's own")

    def plan(self, text: str) -> tuple[DeadLetterRequest, RunFolder, Any]:
        what = DeadLetterRequest(connection=self.app, lake=self.lake, table=parse(text).table, text=text)
        return (what, *plan_run(DEAD_LETTERS, what))

    def run(self, text: str) -> tuple[RunFolder, RunSummary]:
        what, run, plan = self.plan(text)
        return run, carry_out(DEAD_LETTERS, what, run, plan)

    def undo(self, run: RunFolder) -> tuple[int, dict[str, int]]:
        """How many messages an undo put back, and the reasons of those it could not, which were foreseen."""
        folder = RunFolder.at(self.lake, "QM1", new_run_key())
        undo.plan_undo(self.app, run, folder)
        found = read_preflight(folder)
        assert found
        self.foreseen = tuple(one.what for one in found.findings if "SETALL" in one.what)
        act_undo(self.app, folder)
        summary = prove(self.app, folder)
        return summary.moved, dict(summary.reasons)


def dead_letters(site: Site) -> object:
    site.manager.put(DLQ, [dead_letter(name, name.encode()) for name in ("A", "DROP", "AGAIN", "GONE")])
    site.manager.put(DLQ, [dead_letter("B", b"B", UserIdentifier="alice")], options=ALL_CONTEXT)
    _run, summary = site.run(RULES)
    return summary.moved, summary.discarded, dict(summary.reasons)


def undone(site: Site) -> object:
    """What was moved is got where it went, what was discarded is proved absent; both are put back."""
    site.manager.put(DLQ, [dead_letter(name, name.encode()) for name in ("DROP", "GONE")])
    run, _summary = site.run("DESTQ(DROP) ACTION(DISCARD)\nDESTQ(GONE) ACTION(FWD) FWDQ(REALLY.DEAD.QUEUE)\n")
    return site.undo(run)


def remote_destination(site: Site) -> object:
    site.manager.put(DLQ, [dead_letter("REMOTE", b"x")])
    _what, run, _plan = site.plan("DESTQ(REMOTE) ACTION(RETRY)\n")
    found = read_preflight(run)
    assert found
    return [one.what for one in found.findings]


def backed_out(site: Site) -> object:
    """What was put back for another try, and an undo of that."""
    site.manager.put("PAY.BOQ", [({"Format": "MQSTR"}, b"one")])
    text = "ACTION(RETRY)\n"
    table = parse(text, origins=True).table
    assert table
    what = BackoutRequest(connection=site.app, lake=site.lake, table=table, text=text)
    run, plan = plan_run(BACKOUT, what)
    return carry_out(BACKOUT, what, run, plan).moved, site.undo(run)


def aged_out(site: Site) -> object:
    """One report is sent; the other one's queue is shut, so it goes to the dead-letter queue."""
    asks = {
        "PutDate": "20200101",
        "PutTime": "12000000",
        "Report": CMQC.MQRO_EXPIRATION,
        "MsgType": 8,
        "UserIdentifier": "alice",
    }
    messages = [({**asks, "ReplyToQ": queue}, b"offer") for queue in ("REPORTS", "SHUT")]
    site.manager.put("OFFERS", messages, options=ALL_CONTEXT)
    before = site.manager.depth(DLQ)
    what = AgeOutRequest(connection=site.app, lake=site.lake, queues=("OFFERS",), limit=timedelta(days=1))
    summary = carry_out(AGE_OUT, what, *plan_run(AGE_OUT, what))
    return summary.discarded, site.manager.depth("REPORTS"), site.manager.depth(DLQ) - before


def expired(site: Site) -> object:
    site.manager.put("OFFERS", [({"Expiry": 1}, b"gone")])
    let_expire(1)
    found, summary = run_scan(site.app, site.lake, ["*", DLQ], recheck=timedelta(hours=1), all_filled=True)
    return sum(one.discarded for one in summary.queues), [name for name in found.why if name.startswith("SYSTEM.")]


def triggers(site: Site) -> object:
    """Explained and audited; the trigger monitor gets the trigger message."""
    site.manager.mqsc(
        "DEFINE QLOCAL(MQOPS.INITQ)\nDEFINE PROCESS(P) APPLTYPE(UNIX) APPLICID('orders')\n"
        "DEFINE QLOCAL(TRIGGERED) TRIGGER TRIGTYPE(EVERY) INITQ(MQOPS.INITQ) PROCESS(P)\n"
    )
    monitor = TriggerMonitor(site.app, ["MQOPS.INITQ"])
    monitor.open()
    with connect(site.app) as session:
        explained = explain(triggered_queue(session, "TRIGGERED", of_manager(session)))
        audited = audit(session).broken
        site.manager.put("TRIGGERED", [({}, b"one")])
        told = next(filter(None, (monitor.look() for _ in range(20))))
        errors = list(handle_messages(session, "MQOPS.INITQ", lambda _seen: None))
    monitor.close()
    return explained.would_trigger, audited, told, errors, site.manager.depth("MQOPS.INITQ")


STOPPED = "channel QM1.QM2 behind QM2 is STOPPED: the messages wait there for it"
WORKFLOWS: dict[Callable[[Site], object], object] = {
    dead_letters: (4, 1, {}),
    undone: (2, {}),
    remote_destination: [STOPPED],
    backed_out: (1, (1, {})),
    aged_out: (2, 1, 1),
    expired: (1, [DLQ]),
    triggers: (True, (), ("MQOPS.INITQ",), [], 0),
}


@dataclass
class Worked:
    """What the workflows came to as user app, and the (object type, name, authority) that were asked of it."""

    site: Site
    results: dict[Callable[[Site], object], object]
    asked: set[tuple[str, str, str]]


@pytest.fixture(scope="module")
def worked(tmp_path_factory) -> Iterator[Worked]:
    """All workflows, one after the other on one queue manager, with the composition's records."""
    folder = tmp_path_factory.mktemp("least")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MQLITE_HOME", str(folder / "queue_managers"))
        manager = create(folder / "queue_managers", "QM1", QUEUES)
        manager.mqlite("user", "add", "QM1", "app", text="app's own\n")
        site, asked = Site(manager, folder / "lake"), set()
        with pytest.raises(PermanentMQError, match="MQRC_NOT_AUTHORIZED"):
            expired(site)
        manager.mqsc("\n".join(RECORDS) + "\n")
        require = authority.require

        def noted(engine: Any, user: str, object_type: str, name: str, wanted: set[str]) -> None:
            if user == "app":
                asked.update((object_type, name, word) for word in wanted)
            require(engine, user, object_type, name, wanted)

        patch.setattr(authority, "require", noted)
        yield Worked(site, {workflow: workflow(site) for workflow in WORKFLOWS}, asked)


@pytest.mark.parametrize(("workflow", "wanted"), list(WORKFLOWS.items()))
def test_a_workflow_does_its_work_with_the_authority_that_docker_gives(worked, workflow, wanted):
    assert worked.results[workflow] == wanted


def given() -> Iterator[tuple[str, str, str]]:
    """Object type, profile and authority of all that the records give."""
    for line in RECORDS:
        record = dict(re.findall(r"(OBJTYPE|PROFILE|AUTHADD)\('?([^')]*)'?\)", line))
        for word in record["AUTHADD"].split(","):
            if word != "NONE":
                yield record["OBJTYPE"], record.get("PROFILE", ""), word


def governing(object_type: str, name: str) -> str:
    """The profile of the records that decides about an object: the most specific one."""
    profiles = {profile for kind, profile, _word in given() if kind == object_type} | {"SYSTEM.**"}
    return next(one for one in (name, "SYSTEM.**", "**", "") if one in profiles and matches(one, name))


def matches(profile: str, name: str) -> bool:
    return profile in {name, "", "**"} or (profile == "SYSTEM.**" and name.startswith("SYSTEM."))


def test_no_more_authority_is_given_than_the_workflows_need(worked):
    needed = {(kind, governing(kind, name), word) for kind, name, word in worked.asked}
    unused = set(given()) - needed
    assert not unused


def test_an_undo_without_authority_says_which_one_is_missing(worked, caplog):
    """Nothing is lost: the message stays where it went, and the next undo puts it back."""
    site = worked.site
    site.manager.put(DLQ, [dead_letter("ONCE", b"x")])
    run, _summary = site.run("DESTQ(ONCE) ACTION(FWD) FWDQ(A)\n")
    site.manager.mqsc("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHRMV(SETALL)\n")
    assert site.undo(run) == (0, {"MQRC_NOT_AUTHORIZED": 1})
    assert site.foreseen == ("MQOPEN for puts with all context (SETALL) fails: MQRC_NOT_AUTHORIZED (2035)",)
    assert f"The connection's user lacks SETALL on {DLQ} or on the queue manager" in caplog.text
    caplog.clear()
    site.manager.mqsc(f"SET AUTHREC PROFILE({DLQ}) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHRMV(PUT)\n")
    assert site.undo(run) == (0, {"MQRC_NOT_AUTHORIZED": 1})
    assert f"The connection's user lacks PUT on {DLQ}, because an undo sets all context" in caplog.text
    assert f"SET AUTHREC PROFILE({DLQ}) OBJTYPE(QUEUE) PRINCIPAL(user) AUTHADD(PUT,SETALL)" in caplog.text
    site.manager.mqsc("\n".join(RECORDS) + "\n")
    assert site.undo(run) == (1, {})
    assert not site.foreseen


def test_a_copy_and_its_undo_need_no_authority_to_get_from_the_originals_queue(worked):
    site = worked.site
    site.manager.mqsc("\n".join(RECORDS) + "\n")
    site.manager.mqsc(
        "DEFINE QLOCAL(ORIGINALS)\nSET AUTHREC PROFILE(ORIGINALS) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(BROWSE,INQ)\n"
    )
    site.manager.put("ORIGINALS", [({}, b"one")])
    before = site.manager.depth("A")
    what = RecoverRequest(connection=site.app, lake=site.lake, do=Do.COPY, queue="ORIGINALS", everything=True, to="A")
    run, plan = plan_run(RECOVER, what)
    assert carry_out(RECOVER, what, run, plan).moved == 1
    assert site.manager.depth("A") == before + 1
    assert site.undo(run) == (0, {})
    assert (site.manager.depth("A"), site.manager.depth("ORIGINALS")) == (before, 1)
