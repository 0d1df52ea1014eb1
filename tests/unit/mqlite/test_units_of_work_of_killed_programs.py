"""Units of work of programs that are killed, that fork, or that run side by side."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymqi
import pytest
from mqlite_support import Application, make, refused, run_mqsc
from pymqi import CMQC

GET = CMQC.MQGMO_SYNCPOINT
PUT = CMQC.MQPMO_SYNCPOINT
START = """
import os, signal, sys
import pymqi
from pymqi import CMQC
manager = pymqi.connect("QM1")
queue = pymqi.Queue(manager, "Q1", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT)
def get():
    return queue.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
def put(body):
    queue.put(body, pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
def say(word):
    print(word, flush=True)
    return sys.stdin.readline()
"""


def run(program: str) -> int:
    """Run a program of its own; returns how it ended."""
    return subprocess.run([sys.executable, "-c", START + program]).returncode


@contextmanager
def running(program: str) -> Iterator[subprocess.Popen[str]]:
    """A program that has said a word, and is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", START + program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


def test_P07_message_that_kills_its_consumer_at_once_is_counted(application: Application) -> None:
    application.put("Q1", b"poison")
    application.put("Q1", b"other")
    for count in range(1, 4):
        assert run("get(); os.kill(os.getpid(), signal.SIGKILL)") == -signal.SIGKILL
        opened = application.open("Q1")
        assert application.get(opened, CMQC.MQGMO_BROWSE_FIRST)[0].BackoutCount == count
        assert application.get(opened, CMQC.MQGMO_BROWSE_NEXT)[0].BackoutCount == 0
        opened.close()


def test_P07_every_message_of_a_killed_unit_of_work_is_counted_once(application: Application) -> None:
    for number in range(50):
        application.put("Q1", b"%d" % number)
    assert run("[get() for _ in range(20)]; put(b'new'); os.kill(os.getpid(), signal.SIGKILL)") == -signal.SIGKILL
    opened = application.open("Q1")
    counts = [application.get(opened, CMQC.MQGMO_BROWSE_NEXT)[0].BackoutCount for _ in range(50)]
    assert counts == [1] * 20 + [0] * 30
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        application.get(opened, CMQC.MQGMO_BROWSE_NEXT)
    assert application.depth("Q1") == 50


@pytest.mark.parametrize(
    ("program", "count"),
    [
        ("get(); manager.backout()", 1),  # asked for, and then it dies
        ("get(); manager.backout(); get()", 2),
        ("get(); queue.close()", 1),
    ],
)
def test_P07_backed_out_and_killed(application: Application, program: str, count: int) -> None:
    application.put("Q1", b"x")
    run(f"{program}; os.kill(os.getpid(), signal.SIGKILL)")
    opened = application.open("Q1")
    assert application.get(opened, CMQC.MQGMO_BROWSE_FIRST)[0].BackoutCount == count


def test_committed_get_of_a_killed_process_stays_committed(application: Application) -> None:
    application.put("Q1", b"x")
    application.put("Q1", b"y")
    run("get(); put(b'z'); manager.commit(); get(); os.kill(os.getpid(), signal.SIGKILL)")
    assert application.bodies("Q1") == [b"y", b"z"]


def test_others_see_at_once_what_a_unit_of_work_holds(application: Application) -> None:
    for body in (b"a", b"b", b"c"):
        application.put("Q1", body)
    with running("get(); get(); put(b'd'); say('done'); manager.commit(); say('committed')") as process:
        assert application.bodies("Q1") == [b"c"]
        assert application.depth("Q1") == 2
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline()
        assert application.bodies("Q1") == [b"c", b"d"]


def test_busy_application_between_its_calls_keeps_nobody_out(application: Application) -> None:
    with running("put(b'mine'); print('put', flush=True)\nwhile True: pass"):
        application.put("Q1", b"x")
        assert application.bodies("Q1") == [b"x"]
        assert application.depth("Q1") == 2
    assert application.depth("Q1") == 1


def test_two_units_of_work_side_by_side_in_one_thread(application: Application) -> None:
    other = Application()
    for number in range(100):
        (application, other)[number % 2].put("Q1", b"%d" % number, options=PUT)
    assert application.depth("Q1") == 100
    other.manager.backout()
    application.manager.commit()
    assert application.bodies("Q1") == [b"%d" % number for number in range(0, 100, 2)]
    other.manager.disconnect()


def test_fork_in_the_middle_of_a_unit_of_work(application: Application) -> None:
    application.put("Q1", b"a")
    opened = application.open("Q1")
    application.get(opened, GET)
    application.put("Q1", b"b", options=PUT)
    child = os.fork()
    if not child:
        try:
            Application().put("Q1", b"child")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert application.bodies("Q1") == [b"child"]
    application.manager.backout()
    assert sorted(application.bodies("Q1")) == [b"a", b"child"]


def test_P07_consumers_that_die_one_after_the_other_each_raise_the_count(home: Path, application: Application) -> None:
    application.put("Q1", b"poison")
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", START + "say('ready'); md = pymqi.MD(); "
             "queue.get(None, md, pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_WAIT, WaitInterval=60000)); "
             "print(md.BackoutCount, flush=True); os.kill(os.getpid(), signal.SIGKILL)"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(6)
    ]  # fmt: skip
    for program in programs:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
    for program in programs:
        assert program.stdin is not None
        program.stdin.write("\n")
        program.stdin.flush()
    seen = sorted(int(program.communicate()[0]) for program in programs)
    assert seen == [0, 1, 2, 3, 4, 5]
    assert application.get(application.open("Q1"), CMQC.MQGMO_BROWSE_FIRST)[0].BackoutCount == 6


def test_child_of_a_fork_keeps_its_messages_when_the_parent_disconnects(home: Path) -> None:
    make("QM1", "DEFINE QLOCAL(Q1) DEFPSIST(YES)")
    program = """
queue.put(b"parent")
put(b"in a unit of work")
ready, say = os.pipe()
child = os.fork()
if not child:
    own = pymqi.connect("QM1")
    target = pymqi.Queue(own, "Q1", CMQC.MQOO_OUTPUT)
    os.write(say, b"x")
    sys.stdin.readline()
    target.put(b"child", pymqi.MD(Persistence=1))
    target.close()
    own.disconnect()
    os._exit(0)
os.read(ready, 1)
queue.close()
manager.disconnect()
print("parent", flush=True)
os.waitpid(child, 0)
"""
    with subprocess.Popen(
        [sys.executable, "-c", START + program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "parent\n"
        process.stdin.write("\n")
        process.stdin.flush()
    assert Application().bodies("Q1") == [b"parent", b"in a unit of work", b"child"]


def test_programs_that_end_in_a_unit_of_work_end(application: Application) -> None:
    programs = [subprocess.Popen([sys.executable, "-c", START + "put(b'x')"]) for _ in range(12)]
    assert [program.wait() for program in programs] == [0] * 12
    assert application.depth("Q1") == 12


def test_log_that_the_disk_does_not_take(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Application()
    other.put("Q1", b"x", options=PUT, Persistence=CMQC.MQPER_PERSISTENT)

    def refuse(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", refuse)
        with refused(CMQC.MQRC_CONNECTION_BROKEN):
            other.manager.commit()
    with refused(CMQC.MQRC_CONNECTION_BROKEN):  # whether the commit stays is not known: it does not say "backed out"
        other.manager.commit()
    assert application.bodies("Q1") == [b"x"]


def test_P07_messages_got_by_their_msg_id_are_counted(application: Application) -> None:
    ids = [application.put("Q1", b"%d" % number).MsgId for number in range(6)]
    program = f"""
for msg_id in {ids[:4]}:
    queue.get(None, pymqi.MD(MsgId=msg_id), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert run(program) == -signal.SIGKILL
    opened = application.open("Q1")
    assert [application.get(opened, CMQC.MQGMO_BROWSE_NEXT)[0].BackoutCount for _ in ids] == [1, 1, 1, 1, 0, 0]
    assert application.depth("Q1") == 6


def test_unit_of_work_that_the_disk_has_no_room_for(application: Application) -> None:
    """Each call that the disk has no room for fails alone: the others are in the unit of work, and nothing else is."""
    application.put("Q1", b"there")
    program = """
import resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
put(b"small")
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, limits[1]))
get()
done, reasons = 0, []
for _ in range(30):
    try:
        put(bytes(100_000))
        done += 1
    except pymqi.MQMIError as error:
        reasons.append(error.reason)
assert set(reasons) == {CMQC.MQRC_RESOURCE_PROBLEM}, reasons
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
manager.commit()
print(done)
"""
    ended = subprocess.run([sys.executable, "-c", START + program], check=True, stdout=subprocess.PIPE, text=True)
    done = int(ended.stdout)
    assert application.bodies("Q1") == [b"small", *[bytes(100_000)] * done]


def test_long_message_in_the_middle_of_a_unit_of_work_counts(application: Application) -> None:
    run_mqsc("ALTER QMGR MAXMSGL(10000000)\nALTER QLOCAL(Q1) MAXDEPTH(5) MAXMSGL(9000000)\nDEFINE QLOCAL(Q2)")
    queue, other = application.open("Q1"), application.open("Q2")
    syncpoint = pymqi.PMO(Options=PUT)
    other.put(b"x", pymqi.MD(), syncpoint)
    queue.put(bytes(5_000_000), pymqi.MD(), syncpoint)
    for _ in range(4):
        queue.put(b"x", pymqi.MD(), syncpoint)
    with refused(CMQC.MQRC_Q_FULL):
        queue.put(b"x", pymqi.MD(), syncpoint)
    application.manager.commit()
    assert application.depth("Q1") == 5


@pytest.mark.parametrize("work", ["put_asking_for_a_report()", "get()"])
def test_T10a_trigger_message_for_a_report_stays_when_its_cause_is_killed(application: Application, work: str) -> None:
    run_mqsc(
        "DEFINE QLOCAL(INIT)\nDEFINE PROCESS(P)\nDEFINE QLOCAL(R) TRIGGER TRIGTYPE(FIRST) INITQ(INIT) PROCESS(P)",
    )
    monitor = application.open("INIT", CMQC.MQOO_INPUT_SHARED)
    application.put("Q1", b"x", Report=CMQC.MQRO_COD, ReplyToQ=b"R")
    program = f"""
def put_asking_for_a_report():
    queue.put(b"y", pymqi.MD(Report=CMQC.MQRO_COA, ReplyToQ=b"R"), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
put(b"first")
{work}
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert run(program) == -signal.SIGKILL
    Application().manager.disconnect()
    assert (application.depth("INIT"), application.depth("R")) == (1, 0)
    monitor.close()


def test_unit_of_work_with_messages_of_a_dynamic_queue_that_is_gone(application: Application) -> None:
    opened = application.open("Q1")
    syncpoint = pymqi.PMO(Options=PUT)

    def dynamic() -> pymqi.Queue:
        return application.open("SYSTEM.DEFAULT.MODEL.QUEUE", CMQC.MQOO_OUTPUT, DynamicQName=b"A.*")

    temporary = dynamic()
    opened.put(b"x", pymqi.MD(), syncpoint)
    temporary.put(b"y", pymqi.MD(), syncpoint)
    temporary.close(CMQC.MQCO_DELETE_PURGE)
    dynamic()
    application.manager.commit()
    assert application.bodies("Q1") == [b"x"]


def test_fork_while_the_interpreter_ends(application: Application) -> None:
    early = """
import atexit, os
def fork():
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
atexit.register(fork)
"""
    program = subprocess.run([sys.executable, "-c", f"{early}{START}put(b'x'); manager.commit()"])
    assert program.returncode == 0
    assert application.bodies("Q1") == [b"x"]
