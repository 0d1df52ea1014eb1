"""What is set aside from the ledger queue: whole, until there is a lot of it."""

from __future__ import annotations

import base64
import errno
import hashlib
import os
import re

import pytest
from mq_support import read_lines

from mqops.errors import LakeError
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.received import Stranger, StrangerKind
from mqops.ledger.set_aside import BEGINNING, SetAside, counts, path_in, remark, set_aside


def test_bodies_are_cut_when_the_file_is_large(tmp_path, monkeypatch):
    monkeypatch.setattr("mqops.ledger.set_aside.LARGE", 20_000)
    body = bytes(range(256)) * 40
    message = SetAside(md=bytes(364), body=body, stranger=Stranger(StrangerKind.NOT_A_MARKER, "not signed"))
    for _batch in range(2):
        set_aside(tmp_path, [message] * 3, "now")
    kept = read_lines(path_in(tmp_path))
    assert all("length" not in one and "sha256" not in one for one in kept[:2])
    whole, cut = kept[:2], kept[2:]
    assert [base64.b64decode(one["body"]) for one in whole] == [body] * 2
    assert [base64.b64decode(one["body"]) for one in cut] == [body[:4096]] * 4
    assert {(one["length"], one["sha256"]) for one in cut} == {("10240", hashlib.sha256(body).hexdigest())}
    assert counts(tmp_path) == {"not a marker": 6}


def test_a_body_of_just_what_is_kept_is_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("mqops.ledger.set_aside.LARGE", 0)
    for length in (BEGINNING, BEGINNING + 1):
        stranger = Stranger(StrangerKind.NOT_A_MARKER, "not signed")
        set_aside(tmp_path, [SetAside(md=bytes(364), body=b"x" * length, stranger=stranger)], "now")
    whole, cut = read_lines(path_in(tmp_path))
    assert "length" not in whole
    assert cut["length"] == str(BEGINNING + 1)
    assert [len(base64.b64decode(one["body"])) for one in (whole, cut)] == [BEGINNING] * 2


def test_what_was_set_aside_is_counted_whatever_else_stands_in_the_file(tmp_path):
    def keep(stranger: Stranger) -> None:
        set_aside(tmp_path, [SetAside(md=bytes(364), body=b"x", stranger=stranger)], "now")

    for run in ("r1", "r1", "r2"):
        keep(Stranger(StrangerKind.FORGED, "forged", PlanIdentity(run=run, digest="d")))
    keep(Stranger(StrangerKind.NOT_A_MARKER, "why"))
    with path_in(tmp_path).open("ab") as stream:
        stream.write(b"[" * 100_000 + b"\n" + b"no JSON\n[]\n{}\n3\n")
    keep(Stranger(StrangerKind.NOT_A_MARKER, "why"))
    assert counts(tmp_path) == {"forged": 3, "not a marker": 2}
    assert counts(tmp_path, run="r1") == {"forged": 2}
    assert remark(tmp_path) == (
        "5 messages on MQOPS.LEDGER did not come from mqops (3 forged, 2 not a marker) and were not acted on: kept in "
        f"{path_in(tmp_path)}. Find out who may put on MQOPS.LEDGER"
    )
    assert remark(tmp_path, run="r2").startswith("1 message on MQOPS.LEDGER that claim run r2 did not come from mqops")
    assert (remark(tmp_path, run="r3"), remark(tmp_path / "other")) == ("", "")


def test_a_line_that_a_crash_left_half_written_does_not_spoil_the_next(tmp_path):
    message = SetAside(md=bytes(364), body=b"x", stranger=Stranger(StrangerKind.NOT_A_MARKER, "why"))
    set_aside(tmp_path, [message], "now")
    whole = path_in(tmp_path).read_bytes()
    path_in(tmp_path).write_bytes(whole + whole[:20])
    set_aside(tmp_path, [message], "now")
    assert path_in(tmp_path).read_bytes() == whole + whole[:20] + b"\n" + whole
    assert counts(tmp_path) == {"not a marker": 2}


def test_a_line_names_the_run_that_its_message_claims_and_none_where_it_claims_none(tmp_path):
    claims = (PlanIdentity(run="r1", digest="d"), None)
    strangers = [Stranger(StrangerKind.FORGED, "why", claim) for claim in claims]
    set_aside(tmp_path, [SetAside(md=bytes(364), body=b"x", stranger=one) for one in strangers], "now")
    assert [(one["run"], one["plan"]) for one in read_lines(path_in(tmp_path))] == [("r1", "d"), ("", "")]


def test_what_cannot_be_kept_is_an_error_that_names_the_file(tmp_path):
    path_in(tmp_path).mkdir(parents=True)
    message = SetAside(md=bytes(364), body=b"x", stranger=Stranger(StrangerKind.NOT_A_MARKER, "why"))
    with pytest.raises(LakeError, match=re.escape(str(path_in(tmp_path)))):
        set_aside(tmp_path, [message], "now")


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    message = SetAside(md=bytes(364), body=b"x", stranger=Stranger(StrangerKind.NOT_A_MARKER, "why"))
    set_aside(tmp_path, [message], "now")
    before = path_in(tmp_path).read_bytes()
    whole_write = os.write

    def full(descriptor, content):
        whole_write(descriptor, bytes(content)[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(LakeError, match="No space left on device"):
        set_aside(tmp_path, [message], "now")
    monkeypatch.undo()
    assert path_in(tmp_path).read_bytes() == before
    set_aside(tmp_path, [message], "now")
    assert len(read_lines(path_in(tmp_path))) == 2
