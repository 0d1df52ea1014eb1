"""`mqops ledger verify`, `show` and `export` on ledger files: no queue manager."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
import multiprocessing
import os
import stat

import pytest
from click.testing import CliRunner

from mqops.cli import main
from mqops.errors import SettingsError
from mqops.ledger.core.chain import Head, write_line
from mqops.ledger.core.history import COLUMNS
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker
from mqops.ledger.core.seal import LINE, LONGEST, BadSignature, Key, Keys, read_message, sign_message
from mqops.ledger.file import LedgerFile
from mqops.ledger.signing import add_key, make_key
from mqops.ledger.writer import head_on_disk, writer_of

ABOUT = {"queue": "DLQ", "table_digest": "7a" * 32, "requested_by": "alice", "approved_by": "bob", "workflow": "dlq"}


SHOW = ["ledger", "show", f"{2:048x}"]


def plan(run: str) -> PlanIdentity:
    return PlanIdentity(run=run, digest="ab" * 32)


def issued(run: str, at: str) -> Marker:
    unit = plan(run).issued_id().hex()
    return Marker(unit=unit, run=run, plan=plan(run).digest, kind="issued", at=at, lanes=(2,), about=ABOUT)


def unit(run: str, at: str, number: int, kind: str = "acted") -> Marker:
    reason = 2053 if kind == "failed" else None
    row = (number, f"key{number}", f"{number:048x}", "FWD", "rule-1", "Ä, 'Q'", "QM", reason, "cd" * 16)
    return Marker(
        **{"unit": plan(run).marker_id(0, number, kind).hex(), "run": run, "plan": plan(run).digest, "kind": kind},
        **{"at": at, "first": number, "next": number + 1, "rows": (row,)},
    )


@pytest.fixture
def lake(tmp_path):
    """Two ledgers: QM1 with two runs of two days, QM2 with one."""
    clock = itertools.count()
    for name, markers in {
        "QM1": [
            issued("r1", "2026-03-01T10:00:00.000000Z"),
            unit("r1", "2026-03-01T10:00:01.000000Z", 1),
            unit("r1", "2026-03-01T10:00:02.000000Z", 2, "failed"),
            issued("r2", "2026-03-02T00:00:00.000000Z"),
            unit("r2", "2026-03-02T00:00:00.000000Z", 2),
        ],
        "QM2": [unit("r1", "2026-03-03T00:00:00.000000Z", 3)],  # its "issued" line is missing: an old ledger
    }.items():
        with writer_of(LedgerFile(tmp_path / name, lambda: f"t{next(clock)}")) as writer:
            writer.add(markers)
    return tmp_path


def ledger(lake, *arguments):
    return CliRunner().invoke(main, ["ledger", *arguments, "--lake", str(lake)])


def exported(lake, *arguments):
    result = ledger(lake, "export", *arguments)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.output.splitlines()]


def test_verify_checks_all_ledgers_or_those_named(lake):
    assert ledger(lake, "verify").output == "QM1: 5 lines, unbroken\nQM2: 1 line, unbroken\n"
    assert ledger(lake, "verify", "QM2").output == "QM2: 1 line, unbroken\n"


def test_verify_names_the_first_broken_line(lake):
    path = LedgerFile(lake / "QM1", str).path
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[3], lines[2], lines[4].replace(b"FWD", b"IGN")]))
    result = ledger(lake, "verify")
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        "QM1: 2 lines, Line 3 of the ledger does not follow the one before: lines were removed or added",
        "QM2: 1 line, unbroken",
    ]


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1',
        b'{"a":1,"seq":"6","recorded_at":"t","prev":"%s"' % (b"0" * 64),
        b'{"a":,"seq":6,"recorded_at":"t","prev":"%(head)s"',
        b'{"a":' + b"[" * 100_000 + b',"seq":6,"recorded_at":"t","prev":"%(head)s"',
        b'{"a":"\xff","seq":6,"recorded_at":"t","prev":"%(head)s"',
    ],
)
def test_a_line_with_the_right_hash_and_signature_that_mqops_did_not_write_is_named(lake, text):
    file = LedgerFile(lake / "QM1", str)
    text = text.replace(b"%(head)s", head_on_disk(file).hash.encode())
    digest, key = hashlib.sha256(text).hexdigest().encode(), file.keys.newest()
    signature = f'","key":"{key.id}","hmac":"{key.hmac(LINE, digest)}"}}\n'.encode()
    file.path.write_bytes(file.path.read_bytes() + text + b',"hash":"' + digest + signature)
    result = ledger(lake, "verify")
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        "QM1: 5 lines, Line 6 of the ledger is damaged or has been changed",
        "QM2: 1 line, unbroken",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"ledger_seq": 3}', "{path} is not what mqops wrote: it does not say where the ledger ended"),
        ("[]", "{path} is not what mqops wrote: it does not say where the ledger ended"),
        ('{"run":"x","ledger_seq":"3","ledger_head":"z"}', "{path} is not what mqops wrote: it does not say where"),
        ('{"run":"x","ledger_seq":3}', "{path} is not what mqops wrote: it does not say where the ledger ended"),
        ("", "{path} is not JSON: "),
    ],
)
@pytest.mark.parametrize("name", ["QM1", "QM0"])  # one that has a ledger, one that has none
def test_a_summary_that_is_not_what_was_written_is_named(lake, name, text, expected):
    path = lake / name / "runs" / "r1" / "summary.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    result = ledger(lake, "verify")
    assert result.exit_code == 1
    lines = result.output.splitlines()
    if name == "QM1":
        assert lines[0].startswith(f"QM1: 5 lines, {expected.format(path=path)}")
        assert lines[1:] == ["QM2: 1 line, unbroken"]
    else:
        assert lines[0] == f"QM0: 0 lines, there is no ledger {lake}/QM0/ledger/ledger.jsonl"
        assert lines[1:] == ["QM1: 5 lines, unbroken", "QM2: 1 line, unbroken"]


def test_verify_of_a_ledger_that_is_not_there_is_no(lake, tmp_path):
    result = ledger(lake, "verify", "QM9")
    assert result.exit_code == 1
    assert result.output == f"QM9: 0 lines, there is no ledger {lake}/QM9/ledger/ledger.jsonl\n"
    assert ledger(tmp_path / "empty", "verify").output == f"{tmp_path}/empty: no ledgers\n"


@pytest.mark.parametrize("length", [1, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_a_torn_line_of_any_length_is_measured(lake, length):
    path = LedgerFile(lake / "QM2", str).path
    with path.open("ab") as stream:
        stream.write(b"x" * length)
    assert f"QM2: {length:,} byte" in ledger(lake, "verify", "QM2").output


def test_a_torn_last_line_is_told_and_no_error(lake):
    path = LedgerFile(lake / "QM1", str).path
    path.write_bytes(path.read_bytes()[:-30])
    torn = len(path.read_bytes().splitlines()[-1])
    result = ledger(lake, "verify", "QM1")
    assert result.exit_code == 0
    assert result.output == (
        "QM1: 4 lines, unbroken\n"
        f"QM1: {torn:,} bytes of a half-written last line: a crash; its marker is still on the ledger queue, and the "
        "next prove or drain writes the line again\n"
    )
    (document,) = json.loads(ledger(lake, "verify", "QM1", "--json").output)["ledgers"]
    assert (document["ok"], document["lines"], document["torn"]) == (True, 4, torn)
    assert [event["run"] for event in exported(lake, "-m", "QM1")] == ["r1", "r1"]
    assert ledger(lake, "show", f"{3:048x}").exit_code == 0
    with writer_of(LedgerFile(lake / "QM1", str)) as writer:  # the marker comes again
        assert writer.add([unit("r2", "2026-03-02T00:00:00.000000Z", 2)]) == 1
    assert ledger(lake, "verify", "QM1").output == "QM1: 5 lines, unbroken\n"


def test_show_says_what_and_why(lake):
    result = ledger(lake, "show", f"{2:048x}")
    assert result.exit_code == 0
    unit_id = plan("r1").marker_id(0, 2, "failed").hex()
    assert result.output.split("2026-03-02")[0] == (
        "2026-03-01T10:00:02.000000Z  QM1  FWD Ä, 'Q'@QM failed: MQRC_Q_FULL  run r1\n"
        f"    message   {2:048x} of DLQ, body {'cd' * 16}\n"
        f"    rule      key rule-1, table {'7a' * 32}\n"
        "    asked     alice; approved: bob\n"
        f"    plan      {'ab' * 32}, row 2\n"
        f"    unit      {unit_id}, line 3 of the ledger\n"
    )
    assert [line[:10] for line in result.output.splitlines() if line[0] != " "] == ["2026-03-01", "2026-03-02"]


def test_show_of_an_old_ledger_says_what_it_does_not_know(lake):
    output = ledger(lake, "show", f"{3:048x}").output
    assert f"{3:048x} of an unknown queue" in output
    assert "rule      key rule-1, table unknown\n    asked     not recorded; approved: by nobody\n" in output


def test_show_of_a_message_nobody_knows_is_exit_1(lake):
    result = ledger(lake, "show", "FFFF")
    assert (result.exit_code, result.output) == (1, f"no ledger, plan or snapshot in {lake} knows a message FFFF\n")


def test_show_checks_the_ledger_and_says_what_stands_before_the_changed_line(lake):
    path = LedgerFile(lake / "QM1", str).path
    lines = path.read_bytes().splitlines(keepends=True)
    for changed, shown in ((5, 1), (3, 0), (2, 0)):  # the last two: lines of the message, a line of another before them
        anew = [line.replace(b"FWD", b"IGN") if at == changed else line for at, line in enumerate(lines, start=1)]
        path.write_bytes(b"".join(anew))
        result = ledger(lake, "show", f"{2:048x}")
        assert result.exit_code == 1
        assert result.output.count("line 3 of the ledger") == result.output.count("    message ") == shown
        assert "IGN" not in result.output
        expected = (
            f"QM1: Line {changed} of the ledger is damaged or has been changed, in {path}. What runs did with the "
            "message from there on is not known: restore the file from a copy, and check it with "
            "`mqops ledger verify QM1`"
        )
        assert result.output.splitlines()[-1] == f"mqops: {expected}"
        document = json.loads(CliRunner().invoke(main, [*SHOW, "--json", "--lake", str(lake)]).stdout)
        assert (len(document["events"]), document["errors"]) == (shown, [expected])
    path.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    result = ledger(lake, "show", f"{2:048x}")
    assert result.exit_code == 1
    assert "QM1: Line 3 of the ledger does not follow the one before: lines were removed or added" in result.output
    assert ledger(lake, "show", f"{3:048x}").output.startswith("2026-03-03")  # of the other ledger


def test_show_names_a_damaged_line(lake):
    path = LedgerFile(lake / "QM2", str).path
    path.write_bytes(path.read_bytes().replace(b'"rows":[[', b'"rows":[[,'))
    result = ledger(lake, "show", f"{3:048x}")
    assert result.exit_code == 1
    assert "Line 1 of the ledger is damaged or has been changed" in result.output


def test_export_is_every_event_of_every_ledger(lake):
    events = exported(lake)
    assert [(event["queue_manager"], event["run"], event["msg_id"][-1], event["outcome"]) for event in events] == [
        *[("QM1", "r1", "1", "acted"), ("QM1", "r1", "2", "failed"), ("QM1", "r2", "2", "acted")],
        ("QM2", "r1", "3", "acted"),
    ]
    assert list(events[0]) == list(COLUMNS)
    assert (events[0]["table"], events[0]["requested_by"], events[0]["approved_by"]) == ("7a" * 32, "alice", "bob")
    assert [event["reason"] for event in events] == ["", "MQRC_Q_FULL", "", ""]


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        (("--run", "r1"), "123"),
        (("--queue-manager", "QM1"), "122"),
        (("-m", "QM2", "-m", "QM1"), "3122"),
        (("--since", "2026-03-02"), "23"),
        (("--since", "2026-03-01T10:00:02"), "223"),
        (("--since", "2026-03-02", "--run", "r1"), "3"),
        (("--run", "nothing"), ""),
    ],
)
def test_export_filters(lake, arguments, numbers):
    assert "".join(event["msg_id"][-1] for event in exported(lake, *arguments)) == numbers


def test_export_as_csv(lake):
    result = ledger(lake, "export", "--format", "csv", "--run", "r2")
    (row,) = csv.DictReader(io.StringIO(result.output))
    assert tuple(row) == COLUMNS
    assert (row["dest_q"], row["line"], row["reason"]) == ("Ä, 'Q'", "5", "")


def test_export_stops_at_a_broken_line(lake):
    path = LedgerFile(lake / "QM1", str).path
    path.write_bytes(path.read_bytes().replace(b'"acted"', b'"other"', 1))
    result = ledger(lake, "export")
    assert result.exit_code == 1
    assert result.output == "mqops: Line 2 of the ledger is damaged or has been changed\n"


def test_export_usage(lake):
    assert ledger(lake, "export", "--since", "yesterday").exit_code == 2
    assert ledger(lake, "export", "--format", "xml").exit_code == 2


def rewritten(lake, keys=None, *, change=b"bob"):
    """QM1's ledger written anew with right hashes; signed with other keys, or not at all, as an earlier version did."""
    file, head, anew = LedgerFile(lake / "QM1", str), Head(), []
    strange = Keys([Key(id="ab" * 8, secret=b"not the ledger's")])
    for entry in map(json.loads, file.path.read_bytes().replace(b"bob", change).splitlines()):
        line, head = write_line(head, Marker.from_json(entry), entry["recorded_at"], keys or strange)
        anew.append(line if keys else line[: line.index(b',"key":"')] + b"}\n")
    file.path.write_bytes(b"".join(anew))
    return file


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        (None, "not signed"),
        (Keys([Key(id="ab" * 8, secret=b"x")]), f"signed with key {'ab' * 8}, which this lake does not have"),
    ],
)
def test_a_ledger_written_anew_without_its_key_is_found(lake, keys, why):
    rewritten(lake, keys, change=b"eve")
    expected = f"Line 1 of the ledger was not written by a holder of its key: {why}"
    assert ledger(lake, "verify", "QM1").output == f"QM1: 0 lines, {expected}\n"
    assert "eve" not in ledger(lake, "show", f"{2:048x}").output
    assert ledger(lake, "export").output == f"mqops: {expected}\n"


def test_a_guessed_signature_is_found(lake):
    file = LedgerFile(lake / "QM1", str)
    rewritten(lake, Keys([Key(id=file.keys.newest().id, secret=b"guessed")]))
    assert "holder of its key: forged: the signature is not one of key" in ledger(lake, "verify", "QM1").output


def test_a_ledger_of_an_earlier_version_goes_on_and_its_lines_are_counted(lake):
    file = LedgerFile(lake / "QM1", str)
    file.keys.path.unlink()
    (file.folder / "signed_by.json").unlink()
    rewritten(lake)
    assert ledger(lake, "verify", "QM1").output == (
        "QM1: 5 lines, unbroken\n"
        "QM1: 5 lines are older than the ledger's key: the hashes are checked, not who wrote them\n"
    )
    with writer_of(LedgerFile(lake / "QM1", str)) as writer:
        writer.add([unit("r3", "2026-03-04T00:00:00.000000Z", 4)])
    assert ledger(lake, "verify", "QM1").output.startswith("QM1: 6 lines, unbroken\nQM1: 5 lines are older than")
    lines = file.path.read_bytes().splitlines(keepends=True)
    file.path.write_bytes(b"".join([*lines[:5], lines[5][: lines[5].index(b',"key":"')] + b"}\n"]))
    assert "QM1: 5 lines, Line 6 of the ledger was not written by a holder" in ledger(lake, "verify", "QM1").output
    file.path.write_bytes(b"".join(lines[:3]))  # no proof of a run says that there were more
    assert "QM1: 3 lines are older than" in ledger(lake, "verify", "QM1").output


def test_a_key_that_is_gone_is_told_and_a_new_one_begins_behind_the_last_line(lake):
    file = LedgerFile(lake / "QM1", str)
    old = file.keys.newest().id
    file.keys.path.unlink()
    result = ledger(lake, "verify", "QM1")
    assert result.exit_code == 1
    assert f"Line 1 of the ledger was not written by a holder of its key: signed with key {old}" in result.output
    with pytest.raises(SettingsError, match=r"the key file .* is gone: put it back from a copy"), writer_of(file):
        pass
    assert ledger(lake, "rekey", "QM1").exit_code == 0
    with writer_of(file) as writer:
        writer.add([unit("r3", "2026-03-04T00:00:00.000000Z", 4)])
    assert ledger(lake, "verify", "QM1").output.startswith("QM1: 6 lines, unbroken\nQM1: 5 lines are older than")


def test_the_newest_key_signs_and_those_before_it_verify(lake):
    file = LedgerFile(lake / "QM1", str)
    first = file.keys.newest().id
    result = ledger(lake, "rekey", "QM1", "--json")
    second = json.loads(result.output)["key"]
    assert second not in {first, ""}
    with writer_of(file) as writer:
        writer.add([unit("r3", "2026-03-04T00:00:00.000000Z", 4)])
    assert [entry["key"] for entry in file.entries()] == [first] * 5 + [second]
    assert ledger(lake, "verify", "QM1").output == "QM1: 6 lines, unbroken\n"
    body = sign_message(Keys([file.keys.find(first)]), b'{"a":1}')
    assert read_message(file.keys, body) == b'{"a":1}'
    assert ledger(lake, "rekey", "QM1", "--revoke").exit_code == 0
    with pytest.raises(BadSignature, match=f"signed with key {first}, which is revoked"):
        read_message(LedgerFile(lake / "QM1", str).keys, body)
    body = sign_message(file.keys, b'{"a":1}')
    assert read_message(file.keys, body) == b'{"a":1}'
    add_key(file, revoke=True)
    with pytest.raises(BadSignature, match="which is revoked"):
        read_message(file.keys, body)
    assert ledger(lake, "verify", "QM1").output == "QM1: 6 lines, unbroken\n"
    assert ledger(lake, "rekey", "QM9").output.startswith(f"mqops: {lake} has no ledger of QM9")


def test_a_message_as_long_as_the_ledger_queue_takes_is_read_and_no_longer_one(lake):
    keys = LedgerFile(lake / "QM1", str).keys
    longest = b'{"a":"%s"}' % (b"x" * (LONGEST - len(sign_message(keys, b'{"a":""}'))))
    assert read_message(keys, sign_message(keys, longest)) == longest
    with pytest.raises(BadSignature, match="longer than 4,194,304 bytes"):
        read_message(keys, sign_message(keys, longest[:-1] + b" }"))


def test_the_key_file_is_private_and_is_refused_where_it_is_not(lake, monkeypatch):
    file = LedgerFile(lake / "QM1", str)
    assert stat.S_IMODE(file.keys.path.stat().st_mode) == 0o600
    secret = json.loads(file.keys.path.read_text())["keys"][0]["secret"]
    assert secret not in repr(file.keys.newest())
    file.keys.path.chmod(0o640)
    result = ledger(lake, "verify", "QM1")
    assert f"Others may read or write the key file {file.keys.path}: chmod 600" in result.output
    file.keys.path.chmod(0o600)
    file.keys.path.write_text(file.keys.path.read_text().replace(secret, secret[:-1]))
    result = ledger(lake, "verify", "QM1")
    assert f"The key file {file.keys.path} is not valid: keys.0.secret: string_pattern_mismatch" in result.output
    assert secret[:-1] not in result.output
    file.keys.path.write_text("[]")
    assert f"The key file {file.keys.path} is not valid: file: " in ledger(lake, "verify", "QM1").output
    monkeypatch.setenv("MQOPS_LEDGER_KEYS", str(lake / "apart"))
    elsewhere = LedgerFile(lake / "QM3", str)
    with pytest.raises(SettingsError) as refused:
        elsewhere.keys.newest()
    assert str(refused.value) == (
        f"There is no key to sign with in {lake / 'apart' / 'QM3.json'}: if it was removed, put it back from a copy; "
        "if the lake is not on this machine, mount it; `mqops ledger rekey` makes a new key"
    )
    make_key(elsewhere)
    assert elsewhere.keys.path == lake / "apart" / "QM3.json"
    assert not (lake / "QM3" / "ledger" / "keys.json").exists()


def _first_use(folder):
    file = LedgerFile(folder, str)
    make_key(file)
    os.write(1, f"{file.keys.newest().id}\n".encode())


def test_processes_that_use_a_ledger_for_the_first_time_at_once_have_one_key(tmp_path, capfd):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_first_use, args=(tmp_path / "QM1",)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    ids = capfd.readouterr().out.split()
    assert (len(ids), len(set(ids))) == (4, 1)
