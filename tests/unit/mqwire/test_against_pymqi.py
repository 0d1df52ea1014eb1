"""pymqi packs and unpacks the same structures by itself: both must agree, both ways."""

from __future__ import annotations

from typing import Any

import pytest

from mqwire import constants as c
from mqwire import mqi, pcf
from mqwire.layout import Layout
from mqwire.pcf import MQCFGR, MQCFH, MQCFIL, MQCFIN, MQCFIN64, MQCFSL, MQCFST, Message
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQMD, MQTM, MQTMC2, MQXQH

pymqi = pytest.importorskip("pymqi", exc_type=ImportError)
from pymqi import CMQC, CMQCFC  # noqa: E402


@pytest.mark.parametrize(
    ("structure", "layout"),
    [
        ("MD", mqi.MQMD),
        ("GMO", mqi.MQGMO),
        ("PMO", mqi.MQPMO),
        ("OD", mqi.MQOD),
        ("SD", mqi.MQSD),
        ("CMHO", mqi.MQCMHO),
        ("SMPO", mqi.MQSMPO),
        ("PD", mqi.MQPD),
        ("IMPO", mqi.MQIMPO),
        ("SRO", mqi.MQSRO),
    ],
)
def test_fields_are_where_pymqi_packs_them(structure: str, layout: Layout) -> None:
    theirs = getattr(pymqi, structure)()
    texts = {f.name: f"{i}"[:1] for i, f in enumerate(layout.fields) if f.kind == "char" and f.name != "StrucId"}
    numbers = {f.name: i for i, f in enumerate(layout.fields) if f.kind in {"long", "int64", "pointer"}}
    numbers["Version"] = layout.versions[-1]
    for name, value in {**numbers, **{k: v.encode() for k, v in texts.items()}}.items():
        theirs[name] = value
    found = layout.unpack(theirs.pack())
    assert {name: found[layout.field(name).key] for name in numbers} == numbers
    assert {name: found[layout.field(name).key].rstrip("\0") for name in texts} == texts


def test_client_connection_of_pymqi_is_found() -> None:
    theirs = pymqi.CD(ChannelName=b"DEV.APP", ConnectionName=b"host(1414)", SSLCipherSpec=b"ANY_TLS12")
    raw = theirs.pack()
    assert mqi.MQCD.reader("ChannelName", "ConnectionName", "SSLCipherSpec", "SharingConversations")(raw) == (
        b"DEV.APP".ljust(20, b"\0"),
        b"host(1414)".ljust(264, b"\0"),
        b"ANY_TLS12".ljust(32, b"\0"),
        10,
    )


def test_descriptor_packed_here_is_read_there() -> None:
    theirs = pymqi.MD()
    mine = MQMD(msg_id=b"M" * 24, reply_to_q="REPLY", expiry=600, format="MQSTR", msg_flags=8)
    theirs.unpack(mine.pack())
    assert (theirs.MsgId, theirs.ReplyToQ, theirs.Expiry, theirs.MsgFlags) == (b"M" * 24, b"REPLY".ljust(48), 600, 8)
    assert theirs.pack() == mine.pack()


@pytest.mark.parametrize(("structure", "mine"), [("TM", MQTM), ("TMC2", MQTMC2)])
def test_T06_trigger_messages(structure: str, mine: Any) -> None:
    theirs = getattr(pymqi, structure)()
    theirs.unpack(
        mine(q_name="Q1", process_name="P", trigger_data="T", appl_id="run", env_data="e", user_data="u").pack()
    )
    assert (theirs.QName.rstrip(), theirs.ProcessName.rstrip(), theirs.UserData.rstrip()) == (b"Q1", b"P", b"u")
    found = mine.unpack(theirs.pack())
    assert (found.q_name, found.appl_id, found.env_data) == ("Q1", "run", "e")


def test_transmission_header() -> None:
    raw = MQXQH(remote_q_name="Q", remote_q_mgr_name="QM2", msg_desc=MQMD(version=1)).pack()
    theirs = pymqi.XQH()
    theirs.unpack(raw[:104])
    assert (theirs.RemoteQName.rstrip(), theirs.RemoteQMgrName.rstrip()) == (b"Q", b"QM2")


@pytest.mark.parametrize("encoding", [546, 273])
def test_rules_and_formatting_header(encoding: int) -> None:
    theirs = pymqi.RFH2(NameValueCCSID=1208, Format=b"MQSTR   ", Encoding=273, CodedCharSetId=1208)
    theirs.add_folder(b"<usr><color>red</color></usr>")
    theirs.add_folder(b"<jms><Dst>queue:///Q</Dst></jms>")
    raw = theirs.pack(encoding=encoding) if encoding == 273 else theirs.pack()
    mine = MQRFH2.unpack(raw, encoding=encoding)
    assert mine.pack(encoding=encoding) == raw
    assert [element.name for element in mine.elements(encoding)] == ["usr", "jms"]


def commands() -> list[Any]:
    """Parameters of every type as pymqi makes them."""
    return [
        pymqi.CFST(Parameter=c.MQCA_Q_NAME, String=b"Q.*"),
        pymqi.CFIL(Parameter=c.MQIACF_Q_ATTRS, Values=[c.MQIACF_ALL, c.MQIA_CURRENT_Q_DEPTH]),
        pymqi.CFIN(Parameter=c.MQIA_Q_TYPE, Value=c.MQQT_LOCAL),
        pymqi.CFIN64(Parameter=c.MQIA_MAX_Q_DEPTH, Value=-1),
        pymqi.CFIL64(Parameter=c.MQIA_MAX_Q_DEPTH, Values=[2**40, 1]),
        pymqi.CFSL(Parameter=c.MQCACF_Q_NAMES, Strings=[b"ONE", b"THREE"]),
        pymqi.CFBS(Parameter=c.MQBACF_MSG_ID, String=b"\x01\x02\x03"),
        pymqi.CFIF(Parameter=c.MQIA_CURRENT_Q_DEPTH, Operator=c.MQCFOP_GREATER, FilterValue=0),
        pymqi.CFSF(Parameter=c.MQCA_Q_DESC, Operator=c.MQCFOP_LIKE, FilterValue=b"a*"),
        pymqi.CFBF(Parameter=c.MQBACF_MSG_ID, Operator=c.MQCFOP_EQUAL, FilterValue=b"\x01"),
        pymqi.CFGR(Parameter=c.MQGACF_Q_STATISTICS_DATA, ParameterCount=1),
        pymqi.CFIN(Parameter=c.MQIA_USAGE, Value=1),
    ]


def test_commands_packed_by_pymqi_are_understood_and_kept_byte_for_byte() -> None:
    parameters = commands()
    header = pymqi.CFH(Version=3, Command=c.MQCMD_INQUIRE_Q, ParameterCount=len(parameters) - 1)
    raw = header.pack() + b"".join(parameter.pack() for parameter in parameters)
    found = pcf.decode(raw)
    assert pcf.encode(found) == raw
    assert found.header == MQCFH(command=c.MQCMD_INQUIRE_Q, version=3)
    assert found.value(c.MQCA_Q_NAME) == "Q.*"
    assert found.value(c.MQCACF_Q_NAMES) == ("ONE", "THREE")  # NUL padded by pymqi
    assert found.value(c.MQGACF_Q_STATISTICS_DATA) == (MQCFIN(parameter=c.MQIA_USAGE, value=1),)


def test_responses_encoded_here_are_read_by_pymqi() -> None:
    response = Message(
        header=MQCFH(command=c.MQCMD_INQUIRE_Q, type=c.MQCFT_RESPONSE, control=c.MQCFC_LAST),
        parameters=(
            MQCFST(parameter=c.MQCA_Q_NAME, value="Q1", length=48),
            MQCFIN(parameter=c.MQIA_CURRENT_Q_DEPTH, value=3),
            MQCFIN64(parameter=c.MQIA_MAX_Q_DEPTH, value=2**40),
            MQCFIL(parameter=c.MQIACF_Q_ATTRS, value=(1, 2)),
            MQCFSL(parameter=c.MQCACF_Q_NAMES, value=("A", "BB"), length=48),
            MQCFGR(parameter=c.MQGACF_Q_STATISTICS_DATA, value=(MQCFIN(parameter=c.MQIA_USAGE, value=1),)),
        ),
    )
    values, header = pymqi.PCFExecute.unpack(pcf.encode(response))
    assert header.Control == CMQCFC.MQCFC_LAST
    assert values[CMQC.MQCA_Q_NAME] == b"Q1".ljust(48)
    assert values[CMQC.MQIA_CURRENT_Q_DEPTH] == 3
    assert values[CMQC.MQIA_MAX_Q_DEPTH] == 2**40
    assert values[CMQCFC.MQIACF_Q_ATTRS] == [1, 2]
    assert values[CMQCFC.MQCACF_Q_NAMES] == [b"A".ljust(48), b"BB".ljust(48)]
    assert values[CMQCFC.MQGACF_Q_STATISTICS_DATA] == [{CMQC.MQIA_USAGE: 1}]


def test_constants_are_pymqis() -> None:
    """Where both have a name they have one value: but for those that depend on the platform or the release."""
    differing = {
        "MQAT_DEFAULT", "MQPL_NATIVE", "MQ_MCA_USER_ID_LENGTH",  # pymqi's tables were made on Windows
        "MQCMDL_CURRENT_LEVEL", "MQIA_LAST_USED", "MQIACF_LAST_USED", "MQIACH_LAST_USED", "MQCACF_LAST_USED",
        "MQCSP_CURRENT_LENGTH", "MQSCO_CURRENT_LENGTH", "MQSCO_CURRENT_VERSION",
        "MQCD_CURRENT_LENGTH", "MQCD_CURRENT_VERSION", "MQCD_LENGTH_4", "MQCD_LENGTH_5", "MQCD_LENGTH_6",
    }  # fmt: skip
    theirs = {**vars(CMQCFC), **vars(CMQC)}
    found = {
        name: (value, theirs[name])
        for name, value in vars(c).items()
        if name.startswith("MQ") and isinstance(value, int) and isinstance(theirs.get(name), int)
        if (value - theirs[name]) % 2**32  # masks are unsigned there
    }
    assert found.keys() <= differing
