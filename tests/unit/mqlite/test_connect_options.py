"""The options of MQCONNX, and the user and password behind its pointers and offsets."""

from __future__ import annotations

import ctypes
import getpass
from itertools import combinations
from typing import Any

import pytest
from mqi_calls import Answer, Mqi, Structure
from mqlite_support import PASSWORD, add_user, make, run_mqsc
from pymqi import CMQC

from mqlite.c_interface.calls import ONE_OF
from mqwire import mqi

OWNER = getpass.getuser()[:12].encode()
REFUSED = (CMQC.MQCC_FAILED, CMQC.MQRC_OPTIONS_ERROR)


def connected(cno: Any) -> Answer:
    """What MQCONNX answers; a connection that is made is ended."""
    handle = ctypes.c_int()
    answer = Mqi(b"QM1".ljust(48)).call("MQCONNX", cno, ctypes.byref(handle))
    if answer[0] != CMQC.MQCC_FAILED:
        Mqi(ctypes.byref(handle)).done("MQDISC")
    return answer


def options(value: int, version: int = 0) -> Answer:
    return connected(Structure(mqi.MQCNO, version, Options=value))


@pytest.mark.parametrize("version", mqi.MQCNO.versions)
def test_options_that_are_none(home: object, version: int) -> None:
    make()
    assert options(CMQC.MQCNO_HANDLE_SHARE_BLOCK, version) == (0, 0)
    for unknown in (1 << 17, 1 << 22, 1 << 23, 1 << 29, 1 << 30, -(1 << 31)):
        assert options(unknown, version) == REFUSED


@pytest.mark.parametrize(
    "asked",
    [
        CMQC.MQCNO_SERIALIZE_CONN_TAG_Q_MGR,
        CMQC.MQCNO_SERIALIZE_CONN_TAG_QSG,
        CMQC.MQCNO_RESTRICT_CONN_TAG_Q_MGR,
        CMQC.MQCNO_RESTRICT_CONN_TAG_QSG,
    ],
)
@pytest.mark.parametrize("platform", ["unix", "zos"])
def test_a_program_that_wants_to_be_alone_with_its_tag_is_not_let_in_beside_others(
    home: object, asked: int, platform: str
) -> None:
    make(platform=platform)
    assert options(asked) == REFUSED


def test_options_that_exclude_each_other(home: object) -> None:
    make()
    for group in ONE_OF:
        single = [1 << bit for bit in range(32) if group & 1 << bit]
        assert [options(one)[1] for one in single if one != CMQC.MQCNO_CLIENT_BINDING].count(2046) == 0
        for two in combinations(single, 2):
            assert options(sum(two)) == REFUSED


class Credentials:
    """An MQCNO and an MQCSP behind it in one piece of memory, so that each can be found by its offset."""

    def __init__(self, *, by_offset: bool, user: bytes = OWNER, password: bytes = PASSWORD, **fields: Any) -> None:
        cno, csp = mqi.MQCNO.size, mqi.MQCSP.size
        self.memory = ctypes.create_string_buffer(cno + csp + 200)
        self.csp = Structure(mqi.MQCSP, **{"AuthenticationType": CMQC.MQCSP_AUTH_USER_ID_AND_PWD, **fields})
        begin = ctypes.addressof(self.memory)
        for name, value, at in (("User", user, csp), ("Password", password, csp + 100)):
            self.memory[cno + at : cno + at + len(value)] = value
            field = {"User": "CSPUserId", "Password": "CSPPassword"}[name]
            if f"{field}Length" not in fields:
                self.csp[f"{field}Length"] = len(value)
            self.csp[f"{field}Offset" if by_offset else f"{field}Ptr"] = at if by_offset else begin + cno + at
        head = Structure(mqi.MQCNO)
        head["SecurityParmsOffset" if by_offset else "SecurityParmsPtr"] = cno if by_offset else begin + cno
        self.memory[:cno] = head.memory[:cno]
        self.memory[cno : cno + csp] = self.csp.memory[:csp]

    def answer(self) -> int:
        return connected(self.memory)[1]


@pytest.mark.parametrize("by_offset", [False, True])
def test_user_and_password_by_pointer_and_by_offset(home: object, by_offset: bool) -> None:
    """IBM MQ, "MQCSP" and "MQCNO": each by a pointer, or by the offset from the beginning of the structure."""
    make()
    add_user(OWNER.decode())
    run_mqsc("ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) CHCKLOCL(REQUIRED)")
    assert Credentials(by_offset=by_offset).answer() == CMQC.MQRC_NONE
    assert Credentials(by_offset=by_offset, password=b"wrong").answer() == CMQC.MQRC_NOT_AUTHORIZED


@pytest.mark.parametrize(
    "fields",
    [
        {"AuthenticationType": 2},  # MQCSP_AUTH_ID_TOKEN: nothing here would look at the token
        {"AuthenticationType": 3},
        {"AuthenticationType": -1},
        {"CSPUserIdLength": -1},
        {"CSPUserIdLength": 100_000_000},
        {"CSPPasswordLength": -1},
        {"CSPPasswordLength": 100_000_000},
    ],
)
def test_credentials_that_cannot_be_checked_do_not_connect(home: object, fields: dict[str, int]) -> None:
    """IBM MQ, "2595 (0A23) (RC2595): MQRC_CSP_ERROR"."""
    make()
    assert Credentials(by_offset=False, **fields).answer() == CMQC.MQRC_CSP_ERROR
