"""An extended rules table on a queue manager, and on the snapshot that its run left."""

from __future__ import annotations

import json

from click.testing import CliRunner
from mq_support import DLQ, dead_letter

from mqops.cli import main
from mqwire.rfh2 import MQRFH2

TABLE = """\
* MQOPS EXTENSIONS
BODY(JSON '$.order.country' = 'DE') ACTION(FWD) FWDQ(GERMAN) HEADER(NO)
BODY('*Grüße*') ACTION(FWD) FWDQ(GERMAN) HEADER(NO)
BODY(XPATH '/order/@country' = 'DE') ACTION(FWD) FWDQ(GERMAN) HEADER(NO)
PROP('usr.country' = 'DE') ACTION(FWD) FWDQ(GERMAN) HEADER(NO)
SIZE(>=1K) AGE(>1d) ACTION(RETRY)
AGE(<1d) ACTION(DISCARD)
ACTION(IGNORE)
"""
RFH2 = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders("<usr><country>DE</country></usr>").pack()


def test_an_extended_table_moves_what_it_says_and_is_tried_on_the_snapshot(queue_manager, tmp_path, monkeypatch):
    manager = queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(GERMAN)\n")
    for name, value in manager.environment.items():
        monkeypatch.setenv(name, value)
    bodies = [
        b'{"order": {"country": "DE"}}',
        "Schöne Grüße".encode("cp500"),
        "<order country='DE'/>".encode("utf-16-le"),
        RFH2 + b"text",
        b"x" * 1024,
        b"<!DOCTYPE order><order country='DE'/>",
    ]
    described = [("MQSTR", 546, 1208), ("MQSTR", 546, 500), ("MQSTR", 546, 1200), ("MQHRF2", 546, 1208)]
    described += [("MQSTR", 546, 1208)] * 2
    manager.put(DLQ, [dead_letter("A", body, inner=inner) for body, inner in zip(bodies, described, strict=True)])

    def mqops(*arguments, text=""):
        return CliRunner().invoke(main, arguments, input=text)

    done = mqops("dlq", "run", "--once", DLQ, "QM1", "--lake", str(tmp_path / "lake"), "--json", text=TABLE)
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert (summary["moved"], summary["left"], summary["balanced"]) == (5, 1, True)
    assert [rule["rule_line"] for rule in summary["rules"] if rule["planned"]] == [2, 3, 4, 5, 6, 8]
    assert manager.bodies("GERMAN") == bodies[:4]
    assert manager.bodies("A") == [bodies[4]]

    (run,) = (tmp_path / "lake" / "QM1" / "runs").iterdir()
    (tmp_path / "extended.rules").write_text(TABLE)
    (tmp_path / "plain.rules").write_text("ACTION(RETRY)\n")
    tables = [str(tmp_path / "extended.rules"), str(tmp_path / "plain.rules")]
    found = json.loads(mqops("rules", "diff", *tables, "--snapshot", str(run), "--json").output)
    assert (found["messages"], found["changed"]) == (6, 5)
    checked = mqops("rules", "check", tables[0], "--runs", str(run.parent)).output
    assert [line for line in checked.splitlines() if "matched no message" in line] == [
        f"{tables[0]}:7:1: warning: this rule matched no message in 1 recorded run"
    ]
