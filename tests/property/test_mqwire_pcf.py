"""Any PCF message in any byte order and character set comes back as it was."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mqwire import pcf
from mqwire.pcf import (
    MQCFBF,
    MQCFBS,
    MQCFGR,
    MQCFH,
    MQCFIF,
    MQCFIL,
    MQCFIL64,
    MQCFIN,
    MQCFIN64,
    MQCFSF,
    MQCFSL,
    MQCFST,
    Message,
    Parameter,
)

LONG = st.integers(-(2**31), 2**31 - 1)
LONG64 = st.integers(-(2**63), 2**63 - 1)
# Characters that exist in every character set below
TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=126) | st.just("é"), max_size=20).map(
    lambda t: t.rstrip(" ")
)
OWN = st.sampled_from((0, 0, 1208, 37, 1202))
LENGTH = st.none() | st.integers(20, 30).map(lambda n: n * 4)
DATA = st.binary(max_size=20)

PARAMETERS: st.SearchStrategy[Parameter] = st.one_of(
    st.builds(MQCFIN, parameter=LONG, value=LONG),
    st.builds(MQCFIN64, parameter=LONG, value=LONG64),
    st.builds(MQCFIL, parameter=LONG, value=st.lists(LONG, max_size=5).map(tuple)),
    st.builds(MQCFIL64, parameter=LONG, value=st.lists(LONG64, max_size=5).map(tuple)),
    st.builds(MQCFST, parameter=LONG, value=TEXT, ccsid=OWN, length=LENGTH),
    st.builds(
        MQCFSL, parameter=LONG, value=st.lists(TEXT, min_size=1, max_size=5).map(tuple), ccsid=OWN, length=LENGTH
    ),
    st.builds(MQCFSL, parameter=LONG, value=st.just(()), ccsid=OWN),
    st.builds(MQCFBS, parameter=LONG, value=DATA),
    st.builds(MQCFIF, parameter=LONG, operator=LONG, value=LONG),
    st.builds(MQCFSF, parameter=LONG, operator=LONG, value=TEXT, ccsid=OWN, length=LENGTH),
    st.builds(MQCFBF, parameter=LONG, operator=LONG, value=DATA),
)
NESTED: st.SearchStrategy[Parameter] = st.recursive(
    PARAMETERS,
    lambda inner: st.builds(MQCFGR, parameter=LONG, value=st.lists(inner, max_size=4).map(tuple)),
    max_leaves=12,
)
HEADERS = st.builds(
    MQCFH,
    command=LONG,
    type=LONG,
    version=st.sampled_from((1, 2, 3)),
    msg_seq_number=LONG,
    control=LONG,
    comp_code=LONG,
    reason=LONG,
)


@settings(deadline=None, max_examples=150)
@given(
    message=st.builds(Message, header=HEADERS, parameters=st.lists(NESTED, max_size=6).map(tuple)),
    encoding=st.sampled_from((273, 546, 785)),
    ccsid=st.sampled_from((819, 1208, 37, 500, 1047, 1141, 1148, 850, 1200, 13488)),
)
def test_decode_undoes_encode(message: Message, encoding: int, ccsid: int) -> None:
    raw = pcf.encode(message, encoding=encoding, ccsid=ccsid)
    found = pcf.decode(raw, encoding=encoding, ccsid=ccsid)
    assert pcf.encode(found, encoding=encoding, ccsid=ccsid) == raw
    assert found.header == message.header
    assert found.values() == message.values()
