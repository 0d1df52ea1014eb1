"""The data of a revealed message as a person sees it: laid out, and never changed (issue 37 B4)."""

from __future__ import annotations

import pytest

from mqops.errors import SettingsError
from mqops.look.core.laid_out import DEEPEST, LaidOut, laid_out
from mqops.look.core.taken_apart import taken_apart
from mqops.look.reveal import MOST_WHY, why_of
from mqwire.structures import MQMD

DECLARED = '<?xml version="1.0" encoding="IBM-1047"?>'
BOMB = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]><a>&c;</a>'


def shown(raw: bytes, *, ccsid: int = 1208, most: int = 65536) -> LaidOut:
    md = MQMD(format="MQSTR", coded_char_set_id=ccsid, encoding=546).pack()
    return laid_out(taken_apart(md, raw, revealed=True).body, most)


@pytest.mark.parametrize(
    ("text", "form", "lines"),
    [
        (
            '{"a":1.10,"a":[],"b":{"c":"x, {y}"}}',
            "JSON",
            ["{", '  "a": 1.10,', '  "a": [],', '  "b": {', '    "c": "x, {y}"', "  }", "}"],
        ),
        ('["\\"]", 12345678901234567890]', "JSON", ["[", '  "\\"]",', "  12345678901234567890", "]"]),
        ("[1" + "0" * 6000 + "]", "JSON", ["[", "  1" + "0" * 6000, "]"]),
        ("<a><b x='&lt;'>t</b><c/><d> </d></a>", "XML", ["<a>", "  <b x='&lt;'>t</b>", "  <c/>", "  <d> </d>", "</a>"]),
        (f"{DECLARED}<a>x<b/>y</a>", "XML", [DECLARED, "<a>x<b/>y</a>"]),
        ("<a><![CDATA[<b>]]></a>", "XML", ["<a><![CDATA[<b>]]></a>"]),
        (BOMB, "", [BOMB]),  # nothing declares an entity, so none is resolved
        ("<a>&b;</a>", "", ["<a>&b;</a>"]),
        ("<a", "", ["<a"]),
        ("{not json", "", ["{not json"]),
        ("[" * 100_000, "", ["[" * 65536]),
        ("[" * 30_000, "", ["[" * 30_000]),
        ("[" * (DEEPEST + 1) + "1" + "]" * (DEEPEST + 1), "", None),
        ("[" * DEEPEST + "1,1," * 9_000 + "1" + "]" * DEEPEST, "", None),  # it would grow 50 times
        ("<a>" * 8_000 + "</a>" * 8_000, "", None),
        ("PAY 100\nEUR", "", ["PAY 100", "EUR"]),
        ("", "", []),
    ],
)  # fmt: skip
def test_json_and_xml_stand_in_lines_and_nothing_of_them_is_changed(
    text: str, form: str, lines: list[str] | None
) -> None:
    found = shown(text.encode())
    assert (found.form, list(found.lines)) == (form, [text] if lines is None else lines)


def test_a_document_in_ebcdic_is_laid_out_and_its_hex_has_its_characters() -> None:
    found = shown('{"pay":100}'.encode("cp037"), ccsid=37)
    assert found.lines == ("{", '  "pay": 100', "}")
    assert [tuple(one) for one in found.rows] == [(0, "c07f9781 a87f7af1 f0f0d0", '{"pay":100}')]


def test_what_is_no_character_is_a_point_beside_its_hex() -> None:
    (row,) = shown(b"A\0\x1b\xff\xc3\xa4\x7f\xe2\x80\xae").rows
    assert (row.hex, row.text) == ("41001bff c3a47fe2 80ae", "A.........")
    assert shown(b"abc", ccsid=99999).rows[0].text == "..."


def test_what_is_long_is_cut_and_says_so() -> None:
    found = shown(b"x" * 100, most=32)
    assert (found.lines, found.shown, found.cut, len(found.rows)) == (("x" * 32,), 32, True, 2)


def test_a_reason_is_one_line_of_bounded_length() -> None:
    assert why_of("  the customer\n asks ") == "the customer asks"
    for wrong, said in (
        ("", "A reason is needed"),
        (" \n", "A reason is needed"),
        ("x" * (MOST_WHY + 1), "501 characters"),
    ):
        with pytest.raises(SettingsError, match=said):
            why_of(wrong)


@pytest.mark.parametrize("wrong", ["a\u202eb", "a\0b", "a\x1b[2J", "\u200b", "\ufeff"])
def test_a_reason_hides_nothing(wrong: str) -> None:
    """It stands in the ledger for whoever asks later why."""
    with pytest.raises(SettingsError, match="has a character that cannot be seen"):
        why_of(wrong)


@pytest.mark.parametrize("wrong", ["-", " . ", "???"])
def test_a_reason_has_words(wrong: str) -> None:
    with pytest.raises(SettingsError, match="A reason is needed"):
        why_of(wrong)


def test_of_data_that_is_cut_a_divided_character_is_left_out() -> None:
    """50 MB are neither made hex nor text where a page shows 64 KiB of them."""
    md = MQMD(format="MQSTR", coded_char_set_id=1208).pack()
    for before in range(4):
        raw = b"a" * (64 - before) + "\N{GRINNING FACE}".encode() * 1000
        found = taken_apart(md, raw, revealed=True, most=64).body
        assert found.text == "a" * (64 - before)
        assert (found.hex, found.length, found.bad_bytes) == (raw[:64].hex(), len(raw), ())
    masked = taken_apart(md, b"a" * 100, most=64).body
    assert (masked.masked, masked.length) == (True, 100)
