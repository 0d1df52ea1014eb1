"""`mqops message show` and `find`, on a live queue and on its snapshot: the same view, masked but for whom it names."""

from __future__ import annotations

import getpass
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mq_support import DLQ, dead_letter
from pymqi import CMQC

from mqops.lake.run import find_run
from mqops.ledger.file import LedgerFile
from mqops.look import find
from mqops.look.core.taken_apart import NEVER_SHOWN, UNNAMED
from mqops.mq.browse import browse
from mqops.mq.connection import connect
from mqwire import constants as c
from mqwire.folder import folder
from mqwire.header_fields import MQCIH_REST, MQIIH_REST, MQSAPH_REST, MQWIH_REST
from mqwire.headers import MQH
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQMD, MQMDE, MQTM, MQXQH

GROUPED = {"MsgFlags": CMQC.MQMF_MSG_IN_GROUP, "MsgSeqNumber": 1}
SECRET = "Grüße, IBAN DE89"
TABLE = """\
* MQOPS EXTENSIONS
REASON(MQRC_UNKNOWN_OBJECT_NAME) DESTQ(A*) ACTION(RETRY)
BODY('*NOTHING*') PROP('usr.country' = 'FR') ACTION(DISCARD)
DESTQ(A) ACTION(RETRY) RETRY(3)
APPLNAME(*) ACTION(IGNORE)
ACTION(FWD) FWDQ(B)
"""


@pytest.fixture
def mqops(mqops_here):
    return mqops_here


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(B)\n")


def rfh2(body: bytes, *, inner: str = "MQSTR", ccsid: int = 1208) -> bytes:
    header = MQRFH2(format=inner, encoding=c.MQENC_NATIVE, coded_char_set_id=ccsid)
    usr = folder("usr", {"country": "DE", "customer": "Müller"})
    return header.with_folders(usr, folder("jms", {"Dst": "queue:///A"})).pack() + body


def estate(tmp_path: Path, *reveal: str) -> str:
    path = tmp_path / "reveal_estate.yaml"
    (tmp_path / "t.rules").write_text(TABLE)
    manager = {"connection": "mq_qm1", "reveal": list(reveal), "dlq_rules": {"rules": "t.rules"}}
    path.write_text(json.dumps({"lake": str(tmp_path / "lake"), "queue_managers": {"QM1": manager}}))
    return str(path)


@pytest.fixture(params=["live", "snapshot"])
def view(request, manager, mqops, tmp_path):
    """`view("show"|"find", QUEUE, ...)` on the live queue, or on a snapshot of it made then."""
    made: list[str] = []
    env = {"MQOPS_ESTATE": estate(tmp_path)}

    def look(what: str, queue: str, *words: str, expect: int = 0, again: bool = False) -> Any:
        if request.param == "snapshot" and not (again and made):
            folder_of = json.loads(mqops("snapshot", queue, "-m", "QM1", "--json").stdout)["folder"]
            made.append(Path(folder_of).name)
        source = ["--snapshot", made[-1]] if request.param == "snapshot" else ["-m", "QM1"]
        done = mqops("message", what, queue, *words, *source, "--json", expect=expect, **env)
        return json.loads(done.stdout)

    look.text = lambda what, queue, *words: (
        mqops(  # type: ignore[attr-defined]
            *("message", what, queue, *words),
            *(["--snapshot", made[-1]] if request.param == "snapshot" else ["-m", "QM1"]),
            **env,
        ).stdout
    )
    return look


def header(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in found["headers"] if one["name"] == name)


def test_a_report_without_data_is_not_broken(manager, view):
    """It has the Format of its original (IBM MQ, "Conversion of report messages")."""
    asked = {"Format": b"MQHRF2", "Report": c.MQRO_COA, "ReplyToQ": b"B"}
    manager.put("A", [(asked, rfh2(b"data"))])
    found = view("find", "B", "--text", "data", expect=1)
    assert (found["messages"], found.get("passed_over", {})) == ([], {})
    ((md, body),) = manager.messages("B")
    assert (md["MsgType"], md["Format"].strip(), body) == (c.MQMT_REPORT, b"MQHRF2", b"")
    shown = view("show", "B", md["MsgId"].hex())
    assert (shown.get("broken", ""), shown["headers"], shown["body"]["text"], shown["body"]["no_text"]) == (
        "",
        [],
        "",
        "",
    )


def test_a_dead_letter_is_taken_apart_and_judged(manager, view):
    ebcdic = SECRET.encode("cp500")
    body = rfh2(ebcdic, ccsid=500)
    dead = dead_letter(
        "A", body, inner=("MQHRF2", c.MQENC_NATIVE, 1208), Report=c.MQRO_EXPIRATION | c.MQRO_PASS_MSG_ID, ReplyToQ="B"
    )
    (msg_id,) = manager.put(DLQ, [dead])
    found = view("show", DLQ, msg_id.hex())
    md = found["md"]
    assert (md["Persistence"], md["MsgType"], md["Feedback"]) == ("MQPER_PERSISTENT", "MQMT_DATAGRAM", "MQFB_NONE")
    assert (md["Report"], md["MsgId"]) == ("MQRO_PASS_MSG_ID + MQRO_EXPIRATION", msg_id.hex())
    assert [one["name"] for one in found["headers"]] == ["MQDLH", "MQRFH2"]
    assert list(header(found, "MQDLH")) == ["name", "offset", "length", "fields"]
    dlh = header(found, "MQDLH")["fields"]
    assert (dlh["Reason"], dlh["DestQName"], dlh["PutApplType"]) == ("MQRC_Q_FULL", "A", "MQAT_JAVA")
    usr, jms = header(found, "MQRFH2")["folders"]
    assert usr == {
        "name": "usr",
        "masked": True,
        "elements": [
            {"name": "country", "type": "", "value": "xx"},
            {"name": "customer", "type": "", "value": "xxxxxx"},
        ],
    }
    assert jms["elements"] == [{"name": "Dst", "type": "", "value": "queue:///A"}]
    shown = found["body"]
    assert (shown["text"], shown["hex"]) == ("xxxxx, xxxx xx99", "xx" * len(ebcdic))
    assert (shown["ccsid"], shown["encoding"], shown["format"], shown["masked"]) == (
        500,
        c.MQENC_NATIVE,
        "MQSTR",
        True,
    )
    assert (found["origin"]["queue"], found["origin"]["queue_manager"], found["origin"]["by"]) == ("A", "QM1", "MQDLH")
    verdicts = [(one["line"], one["verdict"], one["matches"], one["hidden_by"]) for one in found["rules"]]
    assert verdicts == [
        (2, "no match", False, 0),
        (3, "no match", False, 0),
        (4, "chosen", True, 0),
        (5, "after the chosen rule", True, 0),
        (6, "hidden", True, 5),
    ]
    assert found["rules"][0]["misses"] == [
        {"keyword": "REASON", "wanted": "MQRC_UNKNOWN_OBJECT_NAME", "found": "MQRC_Q_FULL"}
    ]
    assert [one["found"] for one in found["rules"][1]["misses"]] == ["xxxxx, xxxx xx99", "xx"]
    text = view.text("show", DLQ, msg_id.hex())
    assert "    Persistence       MQPER_PERSISTENT\n" in text
    assert "    line 6: FWD to B: matches, hidden by the IGNORE at line 5\n" in text
    assert "        REASON(MQRC_UNKNOWN_OBJECT_NAME): the message has MQRC_Q_FULL\n" in text
    for word in ("IBAN", "Grüße", "Müller", ebcdic.hex(), SECRET.encode().hex()):
        assert word not in text + json.dumps(found, ensure_ascii=False)


def test_transmission_headers_extensions_and_trigger_messages_are_decoded(manager, view):
    inner = MQMD(version=1, format=c.MQFMT_MD_EXTENSION, user_identifier="alice", persistence=1, coded_char_set_id=819)
    sent = MQXQH(remote_q_name="FAR", remote_q_mgr_name="QM9", msg_desc=inner).pack()
    mde = MQMDE(format="MQSTR", coded_char_set_id=819, encoding=c.MQENC_NATIVE, msg_seq_number=7).pack()
    trigger = MQTM(q_name="APP.IN", process_name="PROC", appl_type=11).pack()
    first, second = manager.put(
        "A",
        [
            ({"Format": c.MQFMT_XMIT_Q_HEADER, "CodedCharSetId": 819}, sent + mde + b"abc 1"),
            ({"Format": c.MQFMT_TRIGGER, "CodedCharSetId": 819}, trigger),
        ],
    )
    found = view("show", "A", first.hex())
    assert [one["name"] for one in found["headers"]] == ["MQXQH", "MQMDE"]
    described = header(found, "MQXQH")["fields"]["MsgDesc"]
    assert (described["UserIdentifier"], described["Persistence"]) == ("alice", "MQPER_PERSISTENT")
    assert "GroupId" not in described
    assert header(found, "MQMDE")["fields"]["MsgSeqNumber"] == 7
    assert (found["body"]["text"], found["body"]["length"]) == ("xxx 9", 5)
    assert found["origin"] == {"by": "MQXQH", "queue": "FAR", "queue_manager": "QM9"}
    assert found["rules"] == []
    found = view("show", "A", second.hex(), again=True)
    fields = header(found, "MQTM")["fields"]
    assert (fields["QName"], fields["ProcessName"], fields["ApplType"]) == ("APP.IN", "PROC", "MQAT_WINDOWS_NT")
    assert found["body"]["length"] == 0


# what an IMS or CICS bridge, a workload manager or an SAP link writes: name, StrucId, format, bytes behind the first 32
BRIDGES = {
    "MQIIH": (
        "IIH",
        c.MQFMT_IMS,
        MQIIH_REST.pack({"l_term_override": "LTERM1", "authenticator": "PASSTICK"}, ccsid=37),
    ),
    "MQCIH": (
        "CIH",
        c.MQFMT_CICS,
        MQCIH_REST.pack(
            {"authenticator": "PASSTICK", "transaction_id": "PAY1", "return_code": 3, "reason": 401},
            version=2,
            ccsid=37,
        ),
    ),
    "MQWIH": ("WIH", c.MQFMT_WORK_INFO_HEADER, MQWIH_REST.pack({"service_name": "WLMSERV"}, ccsid=37)),
    "MQSAPH": ("SAPH", "MQHSAP", MQSAPH_REST.pack({"user_id": "SAPUSER", "password": "PASSTICK"}, ccsid=37)),
}
SHOWN_OF = {
    "MQIIH": {"LTermOverride": "LTERM1", "Authenticator": NEVER_SHOWN, "TranInstanceId": "00" * 16},
    "MQCIH": {
        "Authenticator": NEVER_SHOWN,
        "TransactionId": "PAY1",
        "ReturnCode": "MQCRC_BRIDGE_ERROR",
        "Reason": "MQFB_CICS_INTERNAL_ERROR",
    },
    "MQWIH": {"ServiceName": "WLMSERV"},
    "MQSAPH": {"UserId": "SAPUSER", "Password": NEVER_SHOWN},
}


def test_headers_of_bridges_are_shown_whole_and_their_data_is_text_but_never_a_password(manager, mqops, tmp_path):
    """IMS and CICS data is in the format of the header itself: its Encoding and CodedCharSetId are reserved."""
    messages = []
    for struc_id, format_name, rest in BRIDGES.values():
        ccsid = 37 if struc_id in {"WIH", "SAPH"} else 0
        version = 2 if struc_id == "CIH" else 1
        head = MQH(
            struc_id=struc_id, version=version, struc_length=32 + len(rest), format="MQSTR", coded_char_set_id=ccsid
        ).pack(ccsid=37)
        messages.append(({"Format": format_name, "CodedCharSetId": 37}, head + rest + "PAY 100 EUR".encode("cp037")))
    ids = manager.put("A", messages)
    env = {"MQOPS_ESTATE": estate(tmp_path, getpass.getuser())}
    for name, msg_id in zip(BRIDGES, ids, strict=True):
        words = ("message", "show", "A", msg_id.hex(), "-m", "QM1", "--reveal", "--why", "a customer asks")
        said = mqops(*words, "--json", **env).stdout
        found = json.loads(said)
        assert found["body"]["text"] == "PAY 100 EUR", name
        assert SHOWN_OF[name].items() <= header(found, name)["fields"].items()
        assert "PASSTICK" not in said + mqops(*words, **env).stdout
        assert b"PASSTICK".hex() not in said
        assert "PASSTICK".encode("cp037").hex() not in said
    assert (
        json.loads(mqops("message", "find", "A", "-m", "QM1", "--text", "PAY 100*", "--json").stdout)["looked_at"] == 4
    )


def test_names_and_values_of_an_mqrfh_are_shown_masked_and_what_is_unknown_in_hex(manager, mqops, view, tmp_path):
    string = b'MQPSCommand Publish customer "Jane ""J"" Doe"\0'
    rfh = MQH(struc_id="RFH", struc_length=32 + len(string), format="MQHOWN", encoding=546, coded_char_set_id=-2)
    own = MQH(struc_id="OWN", struc_length=36, format="MQSTR", encoding=546, coded_char_set_id=819).pack() + b"four"
    bad = replace(rfh, struc_length=35, format="MQSTR").pack() + b"abc"
    first, second = manager.put(
        "A",
        [
            ({"Format": c.MQFMT_RF_HEADER_1, "CodedCharSetId": 819}, rfh.pack() + string + own + b"text"),
            ({"Format": c.MQFMT_RF_HEADER_1, "CodedCharSetId": 819}, bad + b"text"),
        ],
    )
    found = view("show", "A", first.hex())
    (shown,) = header(found, "MQRFH")["folders"]
    assert [(one["name"], one["value"]) for one in shown["elements"]] == [
        ("MQPSCommand", "xxxxxxx"),
        ("customer", 'xxxx "x" xxx'),
    ]
    assert (shown["name"], shown["masked"]) == ("NameValueString", True)
    assert header(found, "MQHOWN")["fields"][UNNAMED] == "xxxxxxxx"
    assert found["body"]["text"] == "xxxx"
    broken = view("show", "A", second.hex(), again=True)
    why = "MQRFH.NameValueString at offset 32: 1 words are not pairs of a name and a value"
    assert header(broken, "MQRFH")["broken"] == why
    assert header(broken, "MQRFH")["fields"]["NameValueString"] == "xxxxxx"
    assert f"its names and values cannot be read: {why}" in view.text("show", "A", second.hex())
    env = {"MQOPS_ESTATE": estate(tmp_path, getpass.getuser())}
    text = mqops("message", "show", "A", first.hex(), "-m", "QM1", "--reveal", "--why", "a customer asks", **env).stdout
    assert '        customer = Jane "J" Doe\n' in text
    assert f"{UNNAMED:17} {b'four'.hex()}" in text


def test_reasons_of_the_ims_and_cics_bridges_are_named(manager, view):
    known = {
        300: "MQFB_IMS_ERROR",
        301: "IMS sense code 1 (X'0001')",
        331: "IMS sense code 31 (X'001F')",
        399: "IMS sense code 99 (X'0063')",
        401: "MQFB_CICS_INTERNAL_ERROR",
        413: "MQFB_CICS_UOW_BACKED_OUT",
        600: "IMS sense code 26 (X'001A'), reason code 0 (X'0000')",
        855: "IMS sense code 26 (X'001A'), reason code 255 (X'00FF')",
        856: 856,
    }
    ids = manager.put(DLQ, [dead_letter("A", b"x", reason=reason) for reason in known])
    for number, (reason, name) in enumerate(known.items()):
        assert header(view("show", DLQ, ids[number].hex(), again=True), "MQDLH")["fields"]["Reason"] == name, reason


def test_law7_what_is_broken_or_no_text_is_said_and_not_guessed(manager, view):
    cut = rfh2(b"x" * 40)[:60]
    first, second, third = manager.put(
        "A",
        [
            ({"Format": c.MQFMT_RF_HEADER_2, "CodedCharSetId": 1208}, cut),
            ({"Format": "MQSTR", "CodedCharSetId": 1208}, b"\xff\xfe secret"),
            (
                {"Format": c.MQFMT_RF_HEADER_1, "CodedCharSetId": 1208},
                b"SECR" + MQRFH2().pack()[4:8] + b"\x24\0\0\0SECRET".ljust(40, b"\0"),
            ),
        ],
    )
    found = view("show", "A", first.hex())
    assert (found["headers"], found["body"]["text"], found["body"]["length"]) == ([], None, 60)
    assert found["broken"].startswith("MQRFH2.StrucLength at offset 8")
    assert found["body"]["no_text"] == "a header before it is broken, so nothing says what it is"
    found = view("show", "A", second.hex(), again=True)
    assert (found["body"]["text"], found["body"]["no_text"]) == (".. xxxxxx", "")
    assert found["body"]["bad_bytes"] == [0, 1]
    found = view("show", "A", third.hex(), again=True)
    assert "SECR" not in json.dumps(found)
    assert found["broken"].startswith("MQRFH.")


def test_law9_a_queue_manager_that_no_estate_names_needs_no_entry_and_the_ledger_says_who_saw(
    manager, mqops, lake, tmp_path
):
    (msg_id,) = manager.put(DLQ, [dead_letter("A", SECRET.encode())])
    path = tmp_path / "other_estate.yaml"
    path.write_text("lake: lake\nqueue_managers:\n  OTHER: {connection: mq_other}\n")
    show = ("message", "show", DLQ, msg_id.hex(), "-m", "QM1", "--reveal", "--why", "a customer asks", "--json")
    found = json.loads(mqops(*show, MQOPS_ESTATE=str(path)).stdout)
    assert found["body"]["text"] == SECRET
    (shown,) = (one for one in LedgerFile(lake / "QM1", str).entries() if one["kind"] == "revealed")
    assert shown["about"]["requested_by"].startswith(f"{getpass.getuser()}@")
    for settings in ("reveal: {airflow: [x]}", "reveal: {system: [x]}", "storage: [A]"):
        path.write_text(f"lake: lake\nqueue_managers:\n  QM1: {{connection: mq_qm1, {settings}}}\n")
        assert "account of this system" in mqops(*show, expect=1, MQOPS_ESTATE=str(path)).stdout
    path.write_text('lake: lake\nqueue_managers:\n  QM1: {connection: mq_qm1, reveal: {system: ["*"]}}\n')
    assert json.loads(mqops(*show, MQOPS_ESTATE=str(path)).stdout)["body"]["text"] == SECRET
    bare = tuple(word for word in show if word not in {"--why", "a customer asks"})  # as 0.1.0 had it
    said = mqops(*bare, MQOPS_ESTATE=str(path))
    assert json.loads(said.stdout)["body"]["text"] == SECRET
    assert "--reveal without a reason is deprecated: give --why TEXT" in said.stderr
    revealed = [one["about"] for one in LedgerFile(lake / "QM1", str).entries() if one["kind"] == "revealed"]
    assert [about.get("comment", "") for about in revealed] == ["a customer asks", "a customer asks", ""]


def test_law9_only_whom_the_estate_names_sees_payload_and_the_ledger_says_so(manager, mqops, lake, tmp_path):
    (msg_id,) = manager.put(DLQ, [dead_letter("A", rfh2(SECRET.encode()), inner=("MQHRF2", c.MQENC_NATIVE, 1208))])
    run = Path(json.loads(mqops("snapshot", DLQ, "-m", "QM1", "--json").stdout)["folder"]).name
    me = getpass.getuser()
    for source in (("-m", "QM1"), ("--snapshot", run)):
        for named in ((), ("somebody", "else"), (f"x{me}",)):
            env = {"MQOPS_ESTATE": estate(tmp_path, *named)}
            said = mqops(
                "message", "show", DLQ, msg_id.hex(), *source, "--reveal", "--why", "a customer asks", expect=1, **env
            )
            assert "`reveal` of QM1 in" in said.stderr
            assert f"names {', '.join(named) or 'nobody'}. Nothing was shown" in said.stderr
            assert ("Ask one of them" in said.stderr) == bool(named)
            assert said.stdout == ""
        assert not LedgerFile(lake / "QM1", str).path.exists() or source[0] == "--snapshot"
        env = {"MQOPS_ESTATE": estate(tmp_path, "somebody", me)}
        found = json.loads(
            mqops(
                "message", "show", DLQ, msg_id.hex(), *source, "--reveal", "--why", "a customer asks", "--json", **env
            ).stdout
        )
        assert (found["body"]["text"], found["body"]["hex"]) == (SECRET, SECRET.encode().hex())
        assert not found["body"]["masked"]
        assert header(found, "MQRFH2")["folders"][0]["elements"][1]["value"] == "Müller"
        assert found["ledger"][-1]["outcome"] == "revealed"
        assert (
            SECRET
            in mqops(
                "message", "show", DLQ, msg_id.hex(), *source, "--reveal", "--why", "a customer asks", **env
            ).stdout
        )
    shown = [entry for entry in LedgerFile(lake / "QM1", str).entries() if entry["kind"] == "revealed"]
    assert [entry["run"] for entry in shown] == ["", "", run, run]
    assert shown[0]["about"]["requested_by"].startswith(f"{me}@")
    assert "Müller" not in json.dumps(shown, ensure_ascii=False)
    assert mqops("ledger", "verify").stdout == "QM1: 4 lines, unbroken\n"
    assert f"its payload was shown to {me}@" in mqops("ledger", "show", msg_id.hex()).stdout
    exported = [json.loads(line) for line in mqops("ledger", "export").stdout.splitlines()]
    assert {(one["action"], one["outcome"], one["queue"]) for one in exported} == {("REVEAL", "revealed", DLQ)}
    path = LedgerFile(lake / "QM1", str).path
    path.write_bytes(path.read_bytes().replace(b'"revealed"', b'"issued"', 1))
    assert mqops("ledger", "verify", expect=1)


def test_a_message_without_an_mqdlh_says_where_it_came_from(manager, mqops, view):
    manager.mqsc("ALTER QLOCAL(A) BOQNAME(B) BOTHRESH(1)\nDEFINE QLOCAL(C)\n")
    first, second = manager.put(
        "B", [({"Format": c.MQFMT_RF_HEADER_2, "CodedCharSetId": 1208}, rfh2(b"x")), ({"Format": "MQSTR"}, b"y")]
    )
    assert view("show", "B", first.hex())["origin"] == {"by": "MQRFH2", "destination": "queue:///A"}
    assert "\nwhere JMS sent it, by its MQRFH2\n" in view.text("show", "B", first.hex())
    assert view("show", "B", second.hex(), again=True)["origin"] is None
    words = ("backout", "run", "B", "-m", "QM1", "--quarantine", "C", "--dry-run", "--json")
    run = Path(json.loads(mqops(*words, text="REASON(0) DESTQ(Z) ACTION(RETRY)\nACTION(RETRY)\n").stdout)["run"]).name
    found = json.loads(mqops("message", "show", second.hex(), "--snapshot", run, "--json").stdout)
    assert found["origin"] == {"by": "backout run", "queue": "A", "queue_manager": "QM1"}
    told = mqops("message", "show", second.hex(), "--snapshot", run).stdout
    assert "\nwhere it came from, by its backout run\n" in told
    assert [one["verdict"] for one in found["rules"]] == ["no match", "chosen"]


def test_find_by_each_criterion(manager, mqops, view):
    manager.put(
        DLQ,
        [
            dead_letter("A", b"one", CorrelId=b"C" * 24, PutApplName="billing", UserIdentifier="alice"),
            dead_letter(
                "B", rfh2(b"two"), reason=2085, inner=("MQHRF2", c.MQENC_NATIVE, 1208), GroupId=b"G" * 24, **GROUPED
            ),
            dead_letter("B.OTHER", "Grüße".encode("utf-16-be"), inner=("MQSTR", 273, 1200), PutApplName="billing2"),
            ({"Format": "MQSTR", "CodedCharSetId": 1208, "PutDate": "20200101", "PutTime": "00000000"}, b"x" * 500),
        ],
        options=CMQC.MQOO_SET_ALL_CONTEXT,
    )
    listed = view("find", DLQ)
    ids = [one["msg_id"] for one in listed["messages"]]
    assert ([one["position"] for one in listed["messages"]], listed["looked_at"], listed["next"]) == (
        [0, 1, 2, 3],
        4,
        "",
    )
    second = listed["messages"][1]
    assert (second["reason"], second["dest_q"], second["dest_q_mgr"]) == ("MQRC_UNKNOWN_OBJECT_NAME", "B", "QM1")
    for words, wanted in (
        (("--msg-id", ids[2]), [2]),
        (("--msg-id", ids[2][:47]), None),
        (("--correl-id", "43" * 24), [0]),
        (("--correl-id", "4343"), [0]),
        (("--group-id", "47"), [1]),
        (("--destination", "B*"), [1, 2]),
        (("--destination", "b*"), []),
        (("--reason", "MQRC_Q_FULL"), [0, 2]),
        (("--reason", "2085"), [1]),
        (("--application", "billing"), [0]),
        (("--application", "billing?"), [2]),
        (("--user", "alice"), [0]),
        (("--since", "2019-12-31", "--until", "2020-01-02"), [3]),
        (("--size", ">=500"), [3]),
        (("--size", "<4", "--reason", "2053"), [0]),
        (("--age", ">1h"), [0, 1, 2, 3]),
        (("--age", "<1h"), []),
        (("--property", "usr.country=DE"), [1]),
        (("--property", "usr.customer=M?l*"), [1]),
        (("--property", "usr.customer=Mü*r"), [1]),
        (("--property", "usr.country=D"), []),
        (("--property", "usr.land=DE"), []),
        (("--text", "two"), [1]),
        (("--text", "rüß"), [2]),
        (("--where", "DESTQ(B*) REASON(MQRC_Q_FULL) SIZE(>1)"), [2]),
        (("--where", "PRIORITY(=0)", "--text", "x"), [3]),
    ):
        found = view("find", DLQ, *words, expect=0 if wanted is None or wanted else 1, again=True)["messages"]
        assert wanted is None or [one["position"] for one in found] == wanted, words
        assert wanted is not None or ids[2] in [one["msg_id"] for one in found]
    shown = view("show", DLQ, "--where", "DESTQ(B) ", again=True)
    assert shown["md"]["MsgId"] == ids[1]


def test_find_by_a_group_whose_fields_are_behind_the_mqdlh_or_the_mqxqh(manager, view):
    """IBM MQ, "MQMDE": of a segment with an MQDLH, and of each message of a group on a transmission queue."""
    manager.mqsc("DEFINE QLOCAL(QM2) USAGE(XMITQ)\nDEFINE QREMOTE(FAR) RNAME(PAY.IN) RQMNAME(QM2) XMITQ(QM2)\n")
    segment = {"GroupId": b"S1".ljust(24, b"\0"), "MsgFlags": CMQC.MQMF_SEGMENT}
    manager.put(DLQ, [dead_letter("A", b"single"), dead_letter("A", b"part", **segment)])
    found = view("find", DLQ, "--group-id", "5331")["messages"]
    assert [(one["position"], one["group_id"]) for one in found] == [(1, b"S1".ljust(24, b"\0").hex())]
    manager.put("FAR", [({}, b"single"), ({"GroupId": b"G1".ljust(24, b"\0"), **GROUPED}, b"member")])
    assert [one["position"] for one in view("find", "QM2", "--group-id", "4731")["messages"]] == [1]


def test_find_in_all_queues_passes_over_queues_of_answers_that_are_not_named(manager, mqops):
    """The question for the names of all queues has such a queue itself, which is gone when it is answered."""
    (given,) = manager.put("A", [({}, b"x")])
    found = json.loads(mqops("message", "find", "*", "-m", "QM1", "--json").stdout)["messages"]
    assert [(one["queue"], one["msg_id"]) for one in found] == [("A", given.hex())]


def test_find_gives_pages_and_never_passes_over_a_message_in_silence(manager, mqops, view):
    given = manager.put("A", [({}, b"%d" % number) for number in range(7)])
    first = view("find", "A", "--limit", "3")
    assert [one["position"] for one in first["messages"]] == [0, 1, 2]
    second = view("find", "A", "--limit", "3", "--after", first["next"], again=True)
    assert [one["msg_id"] for one in second["messages"]] == [one.hex() for one in given[3:6]]
    third = view("find", "A", "--limit", "3", "--after", second["next"], again=True)
    assert ([one["msg_id"] for one in third["messages"]], third["next"]) == ([given[6].hex()], "")
    text = view.text("find", "A", "--limit", "2")
    assert "2 messages of 2 looked at; to go on: --after 2-" in text
    wrong = view("find", "A", "--after", "x", expect=1, again=True)
    assert "is not what a page gave" in wrong["error"]["message"]


def test_one_word_with_a_snapshot_is_its_queue_or_else_a_msgid(manager, mqops):
    manager.mqsc("DEFINE QLOCAL(FACE)\n")
    (on_face,) = manager.put("FACE", [({}, b"x")])
    (on_a,) = manager.put("A", [({}, b"y")])
    run = Path(json.loads(mqops("snapshot", "FACE", "A", "-m", "QM1", "--json").stdout)["folder"]).name
    for word, shown in (("FACE", on_face), (on_a.hex(), on_a)):
        found = json.loads(mqops("message", "show", word, "--snapshot", run, "--json").stdout)
        assert found["md"]["MsgId"].lower() == shown.hex()


def test_a_search_in_a_snapshot_is_of_the_queue_that_is_named(manager, mqops):
    manager.put(DLQ, [dead_letter("A", b"x")] * 2)
    manager.put("A", [({}, b"x")] * 4)
    run = Path(json.loads(mqops("snapshot", DLQ, "A", "-m", "QM1", "--json").stdout)["folder"]).name
    words = ("message", "find", "A", "--snapshot", run, "--limit", "3", "--json")
    first = json.loads(mqops(*words).stdout)
    assert [(one["queue"], one["position"]) for one in first["messages"]] == [("A", 0), ("A", 1), ("A", 2)]
    second = json.loads(mqops(*words, "--after", first["next"]).stdout)
    assert [(one["queue"], one["position"]) for one in second["messages"]] == [("A", 3)]


def test_a_page_of_a_snapshot_goes_on_where_a_batch_ends(manager, mqops, monkeypatch):
    """Messages are read by batches: a page can end with the last one of a batch, and in any other place."""
    monkeypatch.setattr(find, "_COLUMNS", 2)
    manager.put("A", [({}, b"%d" % number) for number in range(5)])
    run = Path(json.loads(mqops("snapshot", "A", "-m", "QM1", "--json").stdout)["folder"]).name
    for limit in ("1", "2", "3"):
        seen, after = [], [""]
        while after[-1] or not seen:
            words = ("message", "find", "A", "--snapshot", run, "--limit", limit, "--after", after[-1], "--json")
            page = json.loads(mqops(*words).stdout)
            seen += [one["position"] for one in page["messages"]]
            after.append(page["next"])
        assert seen == [0, 1, 2, 3, 4], limit


def test_a_page_of_a_live_queue_goes_on_behind_its_message_wherever_that_is_now(manager, mqops):
    import pymqi  # noqa: PLC0415

    given = manager.put("A", [({}, b"%d" % number) for number in range(6)])
    page = json.loads(mqops("message", "find", "A", "-m", "QM1", "--limit", "3", "--json").stdout)

    def consume(msg_id: bytes) -> None:
        with manager.connected() as connection:
            pymqi.Queue(connection, "A").get(None, pymqi.MD(MsgId=msg_id))
            connection.commit()

    consume(given[0])
    words = ("message", "find", "A", "-m", "QM1", "--after", page["next"], "--json")
    assert [one["msg_id"] for one in json.loads(mqops(*words).stdout)["messages"]] == [one.hex() for one in given[3:]]
    consume(given[2])
    assert "is not on the queue any more: begin again" in mqops(*words, expect=1).stderr


def test_a_whole_msg_id_is_matched_by_the_queue_manager(manager):
    given = manager.put("A", [({"CorrelId": bytes([number]) * 24}, b"%d" % number) for number in range(3)])
    with connect(manager.connection) as session:
        assert [one.body for one in browse(session, "A", msg_id=given[1])] == [b"1"]
        assert [one.body for one in browse(session, "A", correl_id=b"\2" * 24)] == [b"2"]
        assert [one.body for one in browse(session, "A", msg_id=given[1], correl_id=b"\2" * 24)] == []


def test_which_message_is_meant_must_be_clear(manager, mqops, view):
    given = manager.put("A", [({"MsgId": b"M" * 24}, b"1"), ({"MsgId": b"M" * 24}, b"22"), ({}, b"3")])
    several = view("show", "A", "4d", expect=1)["error"]["message"]
    assert "2 messages of" in several
    assert f"{given[0].hex()} (position 0 of A), {given[0].hex()} (position 1 of A)" in several
    assert view("show", "A", "4d", "--position", "1", again=True)["body"]["length"] == 2
    assert "has no such message" in view("show", "A", "ab" * 24, expect=1, again=True)["error"]["message"]
    assert "is not a MsgId in hex" in view("show", "A", "xyz", expect=1, again=True)["error"]["message"]
    bad = view("find", "A", "--where", "DESTQ(A B(", expect=1, again=True)["error"]
    assert bad["code"] == "RulesError"
    assert bad["errors"][0]["line"] == 1
    assert view("find", "A", "--where", "ACTION(DISCARD)", expect=1, again=True)["error"]["code"] == "RulesError"


def test_looking_changes_nothing_and_what_a_run_did_is_shown(manager, mqops, lake, tmp_path):
    env = {"MQOPS_ESTATE": estate(tmp_path)}
    given = manager.put(DLQ, [dead_letter("GONE", b"1"), dead_letter("A", b"2")])
    before = manager.messages(DLQ)
    mqops("message", "find", "-m", "QM1")
    mqops("message", "show", DLQ, given[0].hex(), "-m", "QM1", **env)
    assert manager.messages(DLQ) == before
    table = "DESTQ(GONE) ACTION(RETRY) RETRY(1)\nDESTQ(GONE) ACTION(FWD) FWDQ(B) RETRY(2)\n"
    key = json.loads(mqops("dlq", "run", DLQ, "QM1", "--once", "--json", text=table, expect=1).stdout)["run"]
    run = find_run(lake, key=key)
    live = json.loads(mqops("message", "show", DLQ, given[0].hex(), "-m", "QM1", "--json", **env).stdout)
    assert [(one["outcome"], one["reason"]) for one in live["ledger"]] == [("failed", "MQRC_UNKNOWN_OBJECT_NAME")]
    rules = tmp_path / "other.rules"
    rules.write_text(table)
    words = ("message", "show", DLQ, given[0].hex(), "-m", "QM1", "--rules", str(rules), "--json")
    assert [(one["verdict"], one["failed"]) for one in json.loads(mqops(*words).stdout)["rules"]] == [
        ("tries used up", 1),
        ("chosen", 0),
    ]
    recorded = json.loads(mqops("message", "show", given[0].hex(), "--snapshot", run.run, "--json", **env).stdout)
    assert recorded["rules_source"].endswith("as its run read it")
    assert [one["verdict"] for one in recorded["rules"]] == ["chosen", "after the chosen rule"]


def test_law9_a_folder_that_is_not_valid_is_named_and_its_bytes_are_masked(manager, view):
    bad = "<audit><<4711 secret</audit>    "
    header = MQRFH2(format="MQSTR", encoding=c.MQENC_NATIVE, coded_char_set_id=1208)
    header = header.with_folders(
        "<jms><Dst>queue:///A</Dst></jms>", bad, "<usr content='properties'>4<a b='7'>8</a></usr>"
    )
    (msg_id,) = manager.put("A", [({"Format": "MQHRF2"}, header.pack() + b"x")])
    jms, audit, usr = view("show", "A", msg_id.hex())["headers"][0]["folders"]
    assert jms["elements"] == [{"name": "Dst", "type": "", "value": "queue:///A"}]
    assert (audit["name"], audit["offset"], audit["length"], audit["masked"]) == ("audit", 76, 32, True)
    assert audit["broken"] == "MQRFH2.NameValueData at offset 84 is not valid"
    assert audit["hex"] == "xx" * 32
    assert usr == {
        "name": "usr",
        "masked": True,
        "attributes": {"content": "properties"},
        "elements": [
            {"name": "", "type": "", "value": "9"},
            {"name": "a", "type": "", "value": "9", "attributes": {"b": "9"}},
        ],
    }
    text = view.text("show", "A", msg_id.hex())
    assert "    folder audit (masked) at 76, 32 bytes: not valid, so it" in text.splitlines()
    assert "4711" not in text
    found = view("find", "A", "--property", "usr.a=8", again=True)
    assert [one["msg_id"] for one in found["messages"]] == [msg_id.hex()]


def test_a_folder_that_is_not_valid_is_shown_to_who_may_see_it(manager, mqops, tmp_path):
    header = MQRFH2(format="MQSTR", encoding=c.MQENC_NATIVE, coded_char_set_id=1208, folders=(b"<<a>4711",))
    (msg_id,) = manager.put("A", [({"Format": "MQHRF2"}, header.pack() + b"x")])
    env = {"MQOPS_ESTATE": estate(tmp_path, getpass.getuser())}
    done = mqops(
        "message", "show", "A", msg_id.hex(), "-m", "QM1", "--reveal", "--why", "a customer asks", "--json", **env
    )
    (found,) = json.loads(done.stdout)["headers"][0]["folders"]
    assert (found["hex"], found["masked"]) == (b"<<a>4711".hex(), False)


def test_text_is_found_beside_NULs_and_bytes_that_are_none_and_the_rest_is_counted(manager, view):
    """Each text with what makes it no text for rules, and the offsets of what it shows with a mark."""
    sent: list[tuple[bytes, int, str, list[int] | None]] = [
        (b"Kunde Meier 42", 1208, "MQSTR", []),
        (b"\x81Kunde Meier 42", 1252, "MQSTR", [0]),  # a byte outside the code page
        (b"Kunde Meier 42 \xc3", 1208, "MQSTR", [15]),  # a cut last character
        (b"Kunde Meier 42\0", 1208, "MQSTR", []),  # a C string
        ("Kunde Meier 42".encode("cp500") + b"\0\x12\x3c", 500, "", []),  # a packed number in EBCDIC
        ("Kunde Meier 42".encode("utf-16-be") + b"\0", 1201, "MQSTR", [28]),
        (bytes(range(128, 256)) + b"Meier 42", 1208, "", None),  # too much of it is no text
        (b"Kunde Meier 42", 1208, "MQADMIN", None),
        (b"Kunde Mayer 42\0", 1208, "MQSTR", []),
    ]
    messages = [({"Format": form, "CodedCharSetId": ccsid}, data) for data, ccsid, form, _bad in sent]
    ids = [one.hex() for one in manager.put("A", messages)]
    found = view("find", "A", "--text", "Meier 42")
    assert [one["msg_id"] for one in found["messages"]] == ids[:6]
    assert found["passed_over"] == {"it is not text in CCSID 1208": 1, "Format MQADMIN is not text": 1}
    for msg_id, (_data, _ccsid, _form, bad) in zip(ids, sent, strict=True):
        body = view("show", "A", msg_id, again=True)["body"]
        assert (body["text"] is None, body["bad_bytes"]) == (bad is None, bad or [])
    assert "offset in the data 15" in view.text("show", "A", ids[2])
    strict = view("find", "A", "--where", "BODY('*Meier 42*')", again=True)
    assert [one["msg_id"] for one in strict["messages"]] == ids[:1]
    assert sum(strict["passed_over"].values()) == 8
    pages, after = [], []
    while not pages or pages[-1]["next"]:
        pages.append(view("find", "A", "--text", "Meier 42", "--limit", "4", *after, again=True))
        after = ["--after", pages[-1]["next"]]
    assert [len(page["messages"]) for page in pages] == [4, 2]
    assert [sum(page.get("passed_over", {}).values()) for page in pages] == [0, 2]
    assert ["passed_over" in page for page in pages] == [False, True]


def test_a_pattern_stands_for_the_queues_of_a_snapshot(manager, mqops, lake):
    """B13: as on a queue manager, and in the order of their names."""
    manager.mqsc("DEFINE QLOCAL(APP.B)\nDEFINE QLOCAL(APP.C)\n")
    for queue in ("A", "APP.C", "APP.B"):
        manager.put(queue, [({}, queue.encode())])
    run = json.loads(mqops("snapshot", "APP.C", "A", "APP.B", "-m", "QM1", "--json").stdout)["folder"]
    done = mqops("message", "find", "APP.*", "--snapshot", run, "--json")
    assert sorted(one["queue"] for one in json.loads(done.stdout)["messages"]) == ["APP.B", "APP.C"]
    done = mqops("message", "find", "PAY.*", "--snapshot", run, "--json", expect=1)
    told = "The snapshot has no queue whose name fits PAY.*: it has A, APP.B, APP.C"
    assert json.loads(done.stdout)["error"]["message"] == told


def test_bytes_are_found_and_law9_only_by_who_may_ask_for_payload(manager, view, mqops, tmp_path):
    ids = [one.hex() for one in manager.put("A", [({}, b"\x00\x12\x3c"), ({}, b"\x01\x23\xc0"), ({}, b"")])]
    assert [one["msg_id"] for one in view("find", "A", "--hex", "12 3C")["messages"]] == ids[:1]
    done = mqops("message", "find", "A", "-m", "QM1", "--hex", "123", "--json", expect=1)
    assert json.loads(done.stdout)["error"]["message"].startswith("These bytes are not pairs of hex digits")
    env = {"MQOPS_ESTATE": estate(tmp_path, "somebody-else")}
    for option in ("--hex", "--text"):
        done = mqops("message", "find", "A", "-m", "QM1", option, "12", "--json", expect=None, **env)
        assert json.loads(done.stdout)["error"]["code"] == "NotRevealed"


def test_what_an_MQXQH_says_is_found(manager, view):
    inner = MQMD(
        version=1, coded_char_set_id=819, format="MQHMDE", msg_id=b"AMQ QM1".ljust(24, b"x"), correl_id=b"c" * 24
    )
    extension = MQMDE(format="MQSTR", group_id=b"G1".ljust(24, b"\0"), msg_seq_number=1, msg_flags=8).pack()
    header = MQXQH(remote_q_name="PAY.IN", remote_q_mgr_name="QM2", msg_desc=inner).pack()
    sent = ({"Format": "MQXMIT", "CodedCharSetId": 819}, header + extension + b"of a group")
    ids = [one.hex() for one in manager.put("A", [sent, ({"Format": "MQSTR"}, b"another")])]
    for words in (
        ("--destination", "PAY.*"),
        ("--group-id", b"G1".hex()),
        ("--msg-id", inner.msg_id.hex()),
        ("--correl-id", b"cc".hex()),
        ("--msg-id", inner.msg_id.hex(), "--destination", "PAY.IN"),
    ):
        found = view("find", "A", *words, again=True)
        assert [one["msg_id"] for one in found["messages"]] == ids[:1], words
    assert not view("find", "A", "--destination", "OTHER", again=True, expect=1)["messages"]
    assert view("show", "A", inner.msg_id.hex(), again=True)["md"]["MsgId"] == ids[0]


def test_text_of_a_message_forges_no_line(manager, mqops, tmp_path):
    forged = "X\nrules of /etc/table\x1b[2J\u202e"
    body = rfh2(forged.encode())
    manager.put(
        DLQ,
        [dead_letter(forged, body, inner=("MQHRF2", c.MQENC_NATIVE, 1208), PutApplName=forged.encode()[:28])],
        options=CMQC.MQOO_SET_ALL_CONTEXT,
    )
    env = {"MQOPS_ESTATE": estate(tmp_path, getpass.getuser())}
    for words in (
        ("show", DLQ, "--position", "0"),
        ("show", DLQ, "--position", "0", "--reveal", "--why", "a customer asks"),
        ("find", DLQ),
    ):
        text = mqops("message", *words, "-m", "QM1", **env).stdout
        assert all(line.isprintable() for line in text.split("\n"))
        assert not [line for line in text.split("\n") if line.startswith("rules of /etc")]


@pytest.mark.parametrize("text", [b"<usr>4711 0815</usr>", b"<other>4711 0815</other>"])
def test_law9_text_directly_in_a_folder_is_masked(manager, view, text):
    header = MQRFH2(format="MQSTR", encoding=c.MQENC_NATIVE, coded_char_set_id=1208, folders=(text.ljust(24),))
    (msg_id,) = manager.put("A", [({"Format": "MQHRF2"}, header.pack() + b"x")])
    found = view("show", "A", msg_id.hex())
    shown = found["headers"][0]["folders"][-1]
    assert (shown["masked"], shown["elements"]) == (True, [{"name": "", "type": "", "value": "9999 9999"}])
    assert "4711" not in view.text("show", "A", msg_id.hex())


def test_a_dry_run_has_a_sum_for_each_rule_and_some_lines_of_each(manager, mqops):
    names = [f"AMQ.{0x674A1B2C00000000 + number:016X}" for number in range(15)]
    manager.put(DLQ, [dead_letter(name, b"reply") for name in names])
    words = ("dlq", "run", DLQ, "QM1", "--once", "--dry-run")
    text = mqops(*words, text="ACTION(FWD) FWDQ(B)\n").output
    assert "15  line 1: FWD in all  (15 groups; " in text
    assert text.count("  line 1: FWD to B") == 10
    assert "not shown: 5 more groups of these rules: --dry-run --all-groups shows them" in text
    assert mqops(*words, "--all", text="ACTION(FWD) FWDQ(B)\n").output.count("  line 1: FWD to B") == 15
