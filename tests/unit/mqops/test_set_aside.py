"""What is set aside from the ledger queue: whole, until there is a lot of it."""

from __future__ import annotations

import base64
import hashlib

from mq_support import read_lines

from mqops.ledger.core.received import Kind, Stranger
from mqops.ledger.set_aside import SetAside, counts, path_in, set_aside


def test_bodies_are_cut_when_the_file_is_large(tmp_path, monkeypatch):
    monkeypatch.setattr("mqops.ledger.set_aside.LARGE", 20_000)
    body = bytes(range(256)) * 40
    message = SetAside(md=bytes(364), body=body, stranger=Stranger(Kind.NOT_A_MARKER, "not signed"))
    for _batch in range(3):
        set_aside(tmp_path, [message, message], "now")
    kept = read_lines(path_in(tmp_path))
    whole, cut = kept[:2], kept[2:]
    assert [base64.b64decode(one["body"]) for one in whole] == [body] * 2
    assert [base64.b64decode(one["body"]) for one in cut] == [body[:4096]] * 4
    assert {(one["length"], one["sha256"]) for one in cut} == {("10240", hashlib.sha256(body).hexdigest())}
    assert counts(tmp_path) == {"not a marker": 6}
