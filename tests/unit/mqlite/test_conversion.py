"""MQGET with MQGMO_CONVERT: what begins with a header of IBM MQ, or is PCF, is what a program of the other machine
would have written itself. The fields of each header are written down here once more, from IBM's pages.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import pymqi
import pytest
from mqlite_support import Application, application, home, make, refused
from pymqi import CMQC, CMQCFC

__all__ = ["application", "home"]
CONVERT = CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_CONVERT
INHERIT = CMQC.MQCCSI_INHERIT
TEXT = "Grüße, 10 €"


class Machine(NamedTuple):
    """How a program's machine writes numbers and text."""

    encoding: int
    ccsid: int
    codec: str
    order: str


LITTLE_ASCII = Machine(546, 923, "iso8859-15", "<")
BIG_ASCII = Machine(273, 1252, "cp1252", ">")
LITTLE_EBCDIC = Machine(546, 1140, "cp1140", "<")
HOST = Machine(785, 1140, "cp1140", ">")
LINUX = Machine(546, 1208, "utf-8", "<")
MACHINES = [LITTLE_ASCII, BIG_ASCII, LITTLE_EBCDIC, HOST]
Part = int | str | bytes | tuple[str, int]  # a number, text as it is, bytes, text in a field
Say = tuple[Part, ...]  # a number for Encoding and for CCSID of what follows: those of the machine


def wire(machine: Machine, *parts: Any) -> bytes:
    """The parts as a machine writes them."""
    found = []
    for part in parts:
        if isinstance(part, int):
            found.append(struct.pack(f"{machine.order}i", part))
        elif isinstance(part, bytes):
            found.append(part)
        else:
            text, width = part
            raw = text.encode(machine.codec)
            found.append(raw + " ".encode(machine.codec) * (width - len(raw)))
    return b"".join(found)


def text(machine: Machine) -> bytes:
    return TEXT.encode(machine.codec)


def string(machine: Machine, words: str) -> bytes:
    return words.encode(machine.codec)


def begin(name: str, length: int, machine: Machine, ccsid: int, format_name: str, *, version: int = 1) -> list[Any]:
    """StrucId to Flags."""
    return [(name, 4), version, length, machine.encoding, ccsid, (format_name, 8), 0]


def pcf(machine: Machine) -> bytes:
    """A command with every kind of parameter, a group among them; one string says its own CCSID."""
    words = string(machine, "QUEUE.1 ")
    listed = string(machine, "ONE TWO ")
    return wire(
        machine, 1, 36, 3, 9, 1, 1, 0, 0, 8,
        3, 16, 1001, 7,
        4, 28, 2001, 0, 8, words,
        5, 24, 1002, 2, 5, 6,
        6, 32, 2002, 0, 2, 4, listed,
        9, 20, 7001, 4, b"\1\2\3\4",
        13, 20, 1003, 2, 9,
        14, 32, 2003, 18, 0, 8, words,
        20, 16, 8001, 1, 3, 16, 1004, 8,
    )  # fmt: skip


def dlh(machine: Machine, format_name: str = "MQSTR") -> bytes:
    return wire(
        machine, ("DLH", 4), 1, 2053, ("APP.Q", 48), ("QM2", 48), machine.encoding, machine.ccsid, (format_name, 8),
        6, ("orders", 28), ("20261120", 8), ("10111213", 8),
    )  # fmt: skip


def with_dlh(machine: Machine) -> bytes:
    return dlh(machine) + text(machine)


def xqh(machine: Machine) -> bytes:
    descriptor = wire(
        machine, ("MD", 4), 1, 0, 8, -1, 0, machine.encoding, machine.ccsid, ("MQSTR", 8), 5, 1, b"M" * 24, b"C" * 24,
        0, ("REPLY", 48), ("QM3", 48), ("user", 12), b"T" * 32, ("identity", 32), 6, ("orders", 28),
        ("20261120", 8), ("10111213", 8), ("orig", 4),
    )  # fmt: skip
    return wire(machine, ("XQH", 4), 1, ("APP.Q", 48), ("QM2", 48)) + descriptor + text(machine)


def mde(machine: Machine) -> bytes:
    """Behind an MQDLH: in front of the data the queue manager itself reads it at MQPUT."""
    fields = begin("MDE", 72, machine, machine.ccsid, "MQSTR", version=2)
    return dlh(machine, "MQHMDE") + wire(machine, *fields, b"G" * 24, 2, 100, 2, 300) + text(machine)


def rfh(machine: Machine) -> bytes:
    pairs = string(machine, 'MQPSCommand Publish Name "A B"  ')
    return wire(machine, *begin("RFH", 32 + len(pairs), machine, machine.ccsid, "MQSTR"), pairs) + text(machine)


def rfh2(machine: Machine) -> bytes:
    """Folders are in NameValueCCSID: UTF-8, and UTF-16 in the byte order of the numbers."""
    folders = [b"<usr><a>1</a></usr> "]
    fields = begin("RFH", 36 + 4 + len(folders[0]), machine, machine.ccsid, "MQSTR", version=2)
    return wire(machine, *fields, 1208, len(folders[0]), folders[0]) + text(machine)


def rfh2_utf16(machine: Machine) -> bytes:
    folder = "<usr><a>ä</a></usr> ".encode("utf-16-le" if machine.order == "<" else "utf-16-be")
    fields = begin("RFH", 36 + 4 + len(folder), machine, machine.ccsid, "MQSTR", version=2)
    return wire(machine, *fields, 1200, len(folder), folder) + text(machine)


def ims_items(machine: Machine) -> bytes:
    found = b""
    for words in ("TRANX first", "second"):
        raw = string(machine, words)
        found += struct.pack(f"{machine.order}h", 4 + len(raw)) + b"\x03\x00" + raw
    return found


def iih(machine: Machine) -> bytes:
    """Encoding and CodedCharSetId are reserved."""
    fields = [("IIH", 4), 1, 84, 0, 0, ("MQIMSVS", 8), 0, ("LTERM", 8), ("MFSMAP", 8), ("MQIMSVS", 8), ("", 8)]
    return wire(machine, *fields, b"\1" * 16, (" ", 1), ("0", 1), ("C", 1), (" ", 1)) + ims_items(machine)


def cih(machine: Machine) -> bytes:
    numbers = [0, 0, 0, 273, -2, 1, -1, 0, 0, 0, 0]
    codes = [("MQGE", 4), ("ABND", 4), ("", 8), ("", 8), ("MQSTR", 8), *((code, 4) for code in ("SYS1", "TRN1"))]
    codes += [("TRN2", 4), ("FACL", 4), ("ATTN", 4), ("S", 4), ("C", 4), ("NEXT", 4), ("", 8), ("", 8)]
    fields = [("CIH", 4), 2, 180, 0, 0, ("MQSTR", 8), 0, *numbers, b"F" * 8, *codes, 1, 2, 3, 0]
    return wire(machine, *fields) + text(machine)


def wih(machine: Machine) -> bytes:
    fields = begin("WIH", 120, machine, machine.ccsid, "MQSTR")
    return wire(machine, *fields, ("SERVICE", 32), ("STEP", 8), b"\7" * 16, ("", 32)) + text(machine)


def rmh(machine: Machine) -> bytes:
    """The names of files are where offsets lead to."""
    fields = begin("RMH", 128, machine, machine.ccsid, "MQSTR")
    places = [0, 0, 8, 108, 0, 0, 12, 116]
    names = string(machine, "file.one") + string(machine, "file.two.txt")
    return wire(machine, *fields, ("FLATFILE", 8), b"I" * 24, *places, 9, 0, 0, names) + text(machine)


def dh(machine: Machine) -> bytes:
    """Two destinations, each with a record of a message identifier and feedback."""
    fields = begin("DH", 48 + 2 * 96 + 2 * 28, machine, machine.ccsid, "MQSTR")
    records = [("Q1", 48), ("QM1", 48), ("Q2", 48), ("QM2", 48), b"A" * 24, 11, b"B" * 24, 12]
    return wire(machine, *fields, 1 | 8, 2, 48, 48 + 192, *records) + text(machine)


def eph(machine: Machine) -> bytes:
    data = pcf(machine)
    return wire(machine, *begin("EPH", 32 + len(data), machine, machine.ccsid, "MQSTR"), data) + text(machine)


def tm(machine: Machine) -> bytes:
    return wire(
        machine, ("TM", 4), 1, ("APP.Q", 48), ("PROC", 48), ("DATA", 64), 6, ("/bin/x", 256), ("ENV", 128), ("U", 128)
    )  # fmt: skip


HEADERS = {
    "MQDEAD": [with_dlh, mde],
    "MQXMIT": [xqh],
    "MQHRF": [rfh],
    "MQHRF2": [rfh2, rfh2_utf16],
    "MQIMS": [iih],
    "MQHREF": [rmh],
    "MQHDIST": [dh],
    "MQHEPCF": [eph],
    "MQTRIG": [tm],
    "MQADMIN": [pcf],
    "MQEVENT": [pcf],
    "MQPCF": [pcf],
    "MQIMSVS": [ims_items],
    "MQSTR": [text],
    "MQCMD1": [text],
    "MQCMD2": [text],
}
ZOS_ONLY = {"MQCICS": cih, "MQHWIH": wih}
ROWS = [(name, write) for name, writers in HEADERS.items() for write in writers]


def put(application: Application, machine: Machine, format_name: str, data: bytes) -> None:
    application.put("Q1", data, Format=format_name.encode(), Encoding=machine.encoding, CodedCharSetId=machine.ccsid)


@pytest.mark.parametrize(("format_name", "write"), ROWS, ids=[f"{name}-{write.__name__}" for name, write in ROWS])
def test_data_is_as_the_other_machine_would_have_written_it(
    application: Application, format_name: str, write: Any
) -> None:
    for source in MACHINES:
        for target in (LITTLE_ASCII, HOST):
            put(application, source, format_name, write(source))
            md, body = application.get("Q1", CONVERT, Encoding=target.encoding, CodedCharSetId=target.ccsid)
            assert body == write(target), (source, target)
            said = (target.encoding, target.ccsid)
            assert (md.Encoding, md.CodedCharSetId) == said or source == target


@pytest.mark.parametrize(("format_name", "write"), list(ZOS_ONLY.items()))
def test_some_headers_are_converted_on_zos_only(home: object, format_name: str, write: Any) -> None:
    make("Z", "DEFINE QLOCAL(Q1)", platform="zos")
    make("U", "DEFINE QLOCAL(Q1)")
    host, other = Application("Z"), Application("U")
    for source in MACHINES:
        put(host, source, format_name, write(source))
        assert host.get("Q1", CONVERT, Encoding=273, CodedCharSetId=1252)[1] == write(BIG_ASCII)
    put(other, HOST, format_name, write(HOST))
    with refused(CMQC.MQRC_FORMAT_ERROR) as caught:
        other.get("Q1", CONVERT, Encoding=546, CodedCharSetId=1208)
    assert caught.value.message == write(HOST)
    host.manager.disconnect()
    other.manager.disconnect()


def test_a_header_that_inherits_says_the_new_CCSID(application: Application) -> None:
    inherits = dlh(HOST).replace(wire(HOST, HOST.encoding, HOST.ccsid), wire(HOST, HOST.encoding, INHERIT))
    put(application, HOST, "MQDEAD", inherits + text(HOST))
    _, body = application.get("Q1", CONVERT, Encoding=546, CodedCharSetId=1208)
    assert body == dlh(LINUX) + TEXT.encode()


def test_data_without_a_format_is_left_as_it_is_behind_headers(application: Application) -> None:
    put(application, HOST, "MQDEAD", dlh(HOST, "") + b"\1\2\3")
    md, body = application.get("Q1", CONVERT, Encoding=546, CodedCharSetId=1208)
    left = dlh(LINUX, "").replace(wire(LINUX, 546, 1208), wire(LINUX, HOST.encoding, HOST.ccsid))
    assert (body, md.Encoding, md.CodedCharSetId) == (left + b"\1\2\3", 546, 1208)


def test_PCF_with_strings_of_their_own_CCSIDs(application: Application) -> None:
    def words(machine: Machine, ccsid: int) -> bytes:
        raw = string(machine, "QUEUE.1 ")
        return wire(machine, 1, 36, 3, 9, 1, 1, 0, 0, 1, 4, 28, 2001, ccsid, 8, raw)

    application.put(
        "Q1", words(HOST, 1140), Format=CMQC.MQFMT_ADMIN, Encoding=785, CodedCharSetId=CMQC.MQCCSI_EMBEDDED
    )  # fmt: skip
    md, body = application.get("Q1", CONVERT, Encoding=546, CodedCharSetId=1208)
    assert (body, md.CodedCharSetId) == (words(LINUX, 1208), 1208)
    application.put("Q1", words(HOST, 0), Format=CMQC.MQFMT_ADMIN, Encoding=785, CodedCharSetId=CMQC.MQCCSI_EMBEDDED)
    with refused(CMQC.MQRC_SOURCE_CCSID_ERROR):
        application.get("Q1", CONVERT, Encoding=546, CodedCharSetId=1208)


def test_headers_that_cannot_be_in_UTF16_are_in_the_queue_managers_character_set(application: Application) -> None:
    put(application, HOST, "MQDEAD", dlh(HOST) + text(HOST))
    with refused(CMQC.MQRC_PARTIALLY_CONVERTED) as caught:
        application.get("Q1", CONVERT, Encoding=273, CodedCharSetId=1200)
    says = wire(LINUX, 546, 1208), wire(LINUX, 273, 1200)
    assert caught.value.message == dlh(LINUX).replace(*says) + TEXT.encode("utf-16-be")


def test_a_report_without_data_has_nothing_to_convert(application: Application) -> None:
    """IBM MQ, "Conversion of report messages": its Format is that of its original; on the dead-letter queue, too."""
    for format_name, before, after in (("MQHRF2", b"", b""), ("MQDEAD", dlh(HOST, "MQHRF2"), dlh(LINUX, "MQHRF2"))):
        said = {"Format": format_name.encode(), "Encoding": HOST.encoding, "CodedCharSetId": HOST.ccsid}
        application.put("Q1", before, MsgType=CMQC.MQMT_REPORT, **said)
        assert application.get("Q1", CONVERT, Encoding=546, CodedCharSetId=1208)[1] == after


NL_TO_LF = [
    # from, to; what X'C1 15 C2 25 C3' is then
    *[(ccsid, to, b"A\nB\nC") for ccsid in (37, 273, 500, 1047, 1140, 930, 939, 1390, 1388, 1364, 1371)
      for to in (367, 819, 923, 437, 850, 1252, 5348, 1208, 943, 1386, 5488)],
    *[(ccsid, to, bytes.fromhex("c115c225c3")) for ccsid, to in ((500, 1047), (1140, 37), (939, 1399))],
    *[(ccsid, 1200, "A\x85B\nC".encode("utf-16-le")) for ccsid in (500, 1047, 939)],
]  # fmt: skip


@pytest.mark.parametrize(("ccsid", "to", "expected"), NL_TO_LF)
def test_the_NL_of_EBCDIC_is_the_LF_of_ASCII(application: Application, ccsid: int, to: int, expected: bytes) -> None:
    """IBM MQ, "AllQueueManagers stanza of the mqs.ini file": ConvEBCDICNewline is NL_TO_LF by default."""
    application.put("Q1", b"\xc1\x15\xc2\x25\xc3", Format=b"MQSTR   ", Encoding=785, CodedCharSetId=ccsid)
    assert application.get("Q1", CONVERT, Encoding=546, CodedCharSetId=to)[1] == expected


def ims(machine: Machine, line: bytes) -> bytes:
    return struct.pack(f"{machine.order}H", 8) + b"\0\0" + string(machine, "A") + line + string(machine, "B ")


def pcf_lines(machine: Machine, line: bytes) -> bytes:
    words = string(machine, "A") + line + string(machine, "B ")
    return wire(machine, 1, 36, 1, 9, 1, 1, 0, 0, 2, 4, 24, 2001, 0, 4, words, 14, 28, 2003, 18, 0, 4, words)


def rfh_lines(machine: Machine, line: bytes) -> bytes:
    pairs = string(machine, "Name A") + line + string(machine, "B   ")
    return wire(machine, *begin("RFH", 32 + len(pairs), machine, machine.ccsid, "MQSTR"), pairs)


LINES = [("MQIMSVS", ims), ("MQPCF", pcf_lines), ("MQHRF", rfh_lines)]


@pytest.mark.parametrize(("format_name", "write"), LINES, ids=[name for name, _ in LINES])
def test_the_NL_of_EBCDIC_within_a_structure(application: Application, format_name: str, write: Any) -> None:
    put(application, HOST, format_name, write(HOST, b"\x15"))
    assert application.get("Q1", CONVERT, Encoding=273, CodedCharSetId=1252)[1] == write(BIG_ASCII, b"\n")


def test_zos_converts_the_NL_of_EBCDIC_by_its_tables(home: object) -> None:
    """ConvEBCDICNewline is not available on z/OS."""
    make("QM8", "DEFINE QLOCAL(Q1)", platform="zos")
    application = Application("QM8")
    application.put("Q1", b"\xc1\x15", Format=b"MQSTR   ", Encoding=785, CodedCharSetId=500)
    assert application.get("Q1", CONVERT, Encoding=546, CodedCharSetId=819)[1] == b"A\x85"


FAILURES = [
    # format, what is put, its Encoding and CCSID, those that are wanted, the reason
    ("", b"data", 546, 1208, 273, 1252, CMQC.MQRC_FORMAT_ERROR),
    (8 * "\0", b"data", 546, 1208, 273, 1252, CMQC.MQRC_FORMAT_ERROR),
    ("OURS", b"data", 546, 1208, 273, 1252, CMQC.MQRC_FORMAT_ERROR),
    ("MQDEAD", dlh(LINUX, "OURS") + b"x", 546, 1208, 273, 1252, CMQC.MQRC_FORMAT_ERROR),
    ("MQDEAD", dlh(LINUX)[:100], 546, 1208, 273, 1252, CMQC.MQRC_FORMAT_ERROR),  # cut short
    ("MQDEAD", b"XXXX" + dlh(LINUX)[4:], 546, 1208, 273, 1252, CMQC.MQRC_FORMAT_ERROR),
    ("MQTRIG", tm(LINUX)[:-1], 546, 1208, 273, 1252, CMQC.MQRC_FORMAT_ERROR),
    ("MQPCF", pcf(LINUX)[:-4], 546, 1208, 273, 1252, CMQC.MQRC_FORMAT_ERROR),
    ("MQIMSVS", b"\xff\x00\x03\x00x", 546, 1208, 273, 1252, CMQC.MQRC_FORMAT_ERROR),
    ("MQSTR", "ж".encode(), 546, 1208, 273, 1252, CMQC.MQRC_NOT_CONVERTED),  # has no place
    ("MQSTR", b"\xff", 546, 1208, 273, 1252, CMQC.MQRC_NOT_CONVERTED),  # is not text
    ("MQSTR", b"text", 546, 31337, 273, 1252, CMQC.MQRC_SOURCE_CCSID_ERROR),
    ("MQSTR", b"text", 546, 1208, 273, 31337, CMQC.MQRC_TARGET_CCSID_ERROR),
    ("MQDEAD", dlh(LINUX) + b"x", 546, 31337, 273, 1252, CMQC.MQRC_SOURCE_CCSID_ERROR),
    ("MQDEAD", dlh(LINUX) + b"x", 546, 1208, 273, 31337, CMQC.MQRC_TARGET_CCSID_ERROR),
    ("MQDEAD", dlh(LINUX) + b"x", 0x225, 1208, 273, 1252, CMQC.MQRC_SOURCE_INTEGER_ENC_ERROR),
    ("MQDEAD", dlh(LINUX) + b"x", 0, 1208, 273, 1252, CMQC.MQRC_SOURCE_INTEGER_ENC_ERROR),
    ("MQSTR", b"text", 0x252, 1208, 273, 1252, CMQC.MQRC_SOURCE_DECIMAL_ENC_ERROR),
    ("MQSTR", b"text", 0x722, 1208, 273, 1252, CMQC.MQRC_SOURCE_FLOAT_ENC_ERROR),
    ("MQDEAD", dlh(LINUX) + b"x", 546, 1208, 0x225, 1252, CMQC.MQRC_TARGET_INTEGER_ENC_ERROR),
    ("MQSTR", b"text", 546, 1208, 0x252, 1252, CMQC.MQRC_TARGET_DECIMAL_ENC_ERROR),
    ("MQSTR", b"text", 546, 1208, 0x722, 1252, CMQC.MQRC_TARGET_FLOAT_ENC_ERROR),
]


@pytest.mark.parametrize(
    ("format_name", "data", "encoding", "ccsid", "to", "to_ccsid", "reason"),
    FAILURES,
    ids=[f"{number}-{row[-1]}" for number, row in enumerate(FAILURES)],
)
def test_what_cannot_be_converted_is_returned_as_it_is(  # noqa: PLR0917
    application: Application,
    format_name: str,
    data: bytes,
    encoding: int,
    ccsid: int,
    to: int,
    to_ccsid: int,
    reason: int,
) -> None:
    application.put("Q1", data, Format=format_name.encode(), Encoding=encoding, CodedCharSetId=ccsid)
    opened = application.open("Q1", CMQC.MQOO_INPUT_SHARED)
    md = pymqi.MD(Encoding=to, CodedCharSetId=to_ccsid)
    with refused(reason) as caught:
        opened.get(None, md, pymqi.GMO(Options=CONVERT))
    assert (caught.value.comp, caught.value.message) == (CMQC.MQCC_WARNING, data)
    assert (md.Encoding, md.CodedCharSetId, md.Format.strip(b" \0")) == (
        encoding,
        ccsid,
        format_name.strip("\0").encode(),
    )


def test_converted_data_that_does_not_fit(application: Application) -> None:
    opened = application.open("Q1", CMQC.MQOO_INPUT_SHARED)
    for options, reason, expected in (
        (CONVERT, CMQC.MQRC_CONVERTED_MSG_TOO_BIG, b"\xe4\xe4"),
        (CONVERT | CMQC.MQGMO_ACCEPT_TRUNCATED_MSG, CMQC.MQRC_TRUNCATED_MSG_ACCEPTED, "ä".encode()),
    ):
        application.put("Q1", b"\xe4\xe4", Format=CMQC.MQFMT_STRING, CodedCharSetId=819)
        with refused(reason) as caught:
            opened.get(2, pymqi.MD(CodedCharSetId=1208), pymqi.GMO(Options=options))
        assert caught.value.message == expected
    put(application, HOST, "MQDEAD", dlh(HOST) + text(HOST))
    md = pymqi.MD(Encoding=546, CodedCharSetId=1208)
    with refused(CMQC.MQRC_TRUNCATED_MSG_ACCEPTED) as caught:
        opened.get(175, md, pymqi.GMO(Options=CONVERT | CMQC.MQGMO_ACCEPT_TRUNCATED_MSG))
    assert (caught.value.message, md.CodedCharSetId) == ((dlh(LINUX) + TEXT.encode())[:175], 1208)
    assert CMQCFC.MQCFT_GROUP == 20
