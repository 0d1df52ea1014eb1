"""Character sets: every page whole and exact, and nothing decoded by guess."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import suppress
from hashlib import sha256

import pytest

from mqwire.ccsid import codec_for, decode, encode, is_known
from mqwire.errors import NotText, UnknownCcsid, UnknownEncoding, WireError

ALL_BYTES = bytes(range(256))

# Digests of the 256 characters of each page, taken when the tables agreed with Java's and glibc's converters.
EBCDIC = {
    37: "5324efcff066",
    273: "94a3e74dcd70",
    277: "a7a6c231acce",
    278: "5c7f2e963562",
    280: "68a9559ece04",
    284: "e4e1b3169e05",
    285: "0a6b91e49780",
    297: "42f8c93f7361",
    500: "1fc831a58bad",
    870: "30165e7d5863",
    871: "07c93216243d",
    1025: "494bcdefed9c",
    1026: "24118262f3ec",
    1047: "2453a52a523b",
    1140: "b762cd7f5def",
    1141: "cc360ac8a89a",
    1142: "f8d46b56235d",
    1143: "73eeec95ab98",
    1144: "0f086a1ebf7a",
    1145: "7802d72607c7",
    1146: "e2275156f1ec",
    1147: "507c29608cf1",
    1148: "be4d8140ca9d",
    1149: "093c419fcb94",
}


@pytest.mark.parametrize("ccsid", EBCDIC)
def test_ebcdic_pages_are_whole_exact_and_unchanged(ccsid: int) -> None:
    codec = codec_for(ccsid)
    page = codec.decode(ALL_BYTES)
    assert len(set(page)) == 256
    assert codec.encode(page) == ALL_BYTES
    assert codec.blank == b"\x40"
    assert sha256(page.encode()).hexdigest()[:12] == EBCDIC[ccsid]


# Where glibc differs from IBM's tables: page -> bytes
GLIBC_DIFFERS = {278: {0x71, 0xE0}, 285: {0xA1}, 870: {0xB0}, 871: {0x4A, 0xC0}, 1026: {0x9D, 0xBC}}


@pytest.mark.parametrize("ccsid", EBCDIC)
def test_ebcdic_pages_are_what_iconv_says(ccsid: int) -> None:
    iconv = shutil.which("iconv")
    if iconv is None:
        pytest.skip("no iconv")
    name = f"IBM{ccsid:03}" if ccsid != 1047 else "IBM-1047"
    said = subprocess.run([iconv, "-f", name, "-t", "UTF-16BE"], input=ALL_BYTES, capture_output=True)
    if said.returncode:
        pytest.skip(f"iconv does not know {name}")
    page = said.stdout.decode("utf-16-be")
    mine = codec_for(ccsid).decode(ALL_BYTES)
    assert {i for i in range(256) if page[i] != mine[i]} == GLIBC_DIFFERS.get(ccsid, set())


@pytest.mark.parametrize(
    ("ccsid", "text", "raw"),
    [
        (37, "[]^|!¬", "babbb04f5a5f"),
        (500, "[]^|!¬", "4a5a5fbb4fba"),
        (1047, "[]^|!¬", "adbd5f4f5ab0"),
        (273, "ÄÖÜäöüß@", "4ae05ac06ad0a1b5"),
        (1141, "Ä€", "4a9f"),
        (1140, "€", "9f"),
        (1148, "€", "9f"),
        (1142, "€", "5a"),  # Denmark and Norway have the euro elsewhere
        (819, "é", "e9"),
        (923, "€", "a4"),
        (912, "Łč", "a3e8"),  # ISO 8859-2: Polish, Czech
        (913, "Ħĉ", "a1e6"),  # 8859-3: Maltese, Esperanto
        (914, "Ąą", "a1b1"),  # 8859-4: Baltic
        (915, "Жя", "b6ef"),  # 8859-5: Cyrillic
        (1089, "عم", "d9e5"),  # 8859-6: Arabic
        (813, "Ωλ", "d9eb"),  # 8859-7: Greek
        (916, "את", "e0fa"),  # 8859-8: Hebrew
        (920, "Ğş", "d0fe"),  # 8859-9: Turkish
        (921, "Ųž", "d8fe"),  # 8859-13: Baltic
        (878, "Жя", "f6d1"),  # KOI8-R
        (1168, "Єї", "b4a7"),  # KOI8-U
        (850, "é", "82"),
        (1252, "€", "80"),
        (5348, "€", "80"),
        (1208, "é€", "c3a9e282ac"),
        (1202, "é", "e900"),
        (1201, "é", "00e9"),
        (943, "キュー", "834c8385815b"),
        (943, "髙﨑ⅰ纊", "fbfcfab1fa40fa5c"),  # IBM's extension: names of people
        (943, "①Ⅰ㈱￢", "87408754878a81ca"),
    ],
)
def test_known_text(ccsid: int, text: str, raw: str) -> None:
    assert encode(text, ccsid).hex() == raw
    assert decode(bytes.fromhex(raw), ccsid) == text


SECOND_CODES = [
    (943, "eee0ed95", "髙﨑"),  # selected by NEC, beside IBM's
    (943, "fa5487908754", "￢≒Ⅰ"),
    (950, "a2cca2cef9f9", "十卅═"),
    (937, "0e454a48410fc1", "十一A"),
    (1371, "0e47a20f", "€"),
    (1390, "0e42e10f", "€"),
    (964, "a4bea7a1", "十一"),
    (942, "fe", "\\"),
]


@pytest.mark.parametrize(("ccsid", "raw", "text"), SECOND_CODES)
def test_a_second_code_of_a_character_is_text_and_nothing_that_is_written_back(ccsid: int, raw: str, text: str) -> None:
    """Some pages have two codes for one character. Each says which it is; only one of them is written."""
    assert decode(bytes.fromhex(raw), ccsid) == text
    with pytest.raises(UnicodeError):
        codec_for(ccsid, encoding=785).decode(bytes.fromhex(raw))
    assert decode(encode(text, ccsid), ccsid) == text


USER_DEFINED = [
    # CCSID -> first code of a range, Unicode of it, how many
    (950, "8e40", 0xE311, 63), (950, "fa40", 0xE000, 63), (950, "fea1", 0xE2B3, 94),
    (1386, "aaa1", 0xE000, 94), (1386, "f8a1", 0xE234, 94), (1386, "a140", 0xE4C6, 63),
    (1363, "c9a1", 0xE000, 94), (970, "fea1", 0xE05E, 94), (943, "f040", 0xE000, 63),
]  # fmt: skip


@pytest.mark.parametrize(("ccsid", "first", "character", "count"), USER_DEFINED)
def test_characters_that_users_define_are_text(ccsid: int, first: str, character: int, count: int) -> None:
    """IBM's tables give them the private use area of Unicode: names of people and places have such characters."""
    codes = range(int(first, 16), int(first, 16) + count)
    raw = b"A" + b"".join(one.to_bytes(2, "big") for one in codes)
    text = "A" + "".join(map(chr, range(character, character + count)))
    assert (decode(raw, ccsid), encode(text, ccsid), codec_for(ccsid, encoding=546).decode(raw)) == (text, raw, text)


@pytest.mark.parametrize(
    ("ccsid", "raw", "text"),
    [
        (950, "fa401a1c7f5c", "\ue000\x1a\x1c\x7f\\"),
        (1363, "c9a15c1a1c7f", "\ue000\\\x1a\x1c\x7f"),
        (1386, "aaa11a1c7f5c", "\ue000\x1a\x1c\x7f\\"),
        (970, "fea15ca2e6", "\ue05e\\€"),
    ],
)
def test_a_character_that_users_define_changes_none_beside_it(ccsid: int, raw: str, text: str) -> None:
    """IBM's tables have controls, and a backslash, at other places than Python's: JSON would not be JSON any more."""
    assert (decode(bytes.fromhex(raw), ccsid), encode(text, ccsid).hex()) == (text, raw)
    assert (decode(bytes.fromhex(raw[4:]), ccsid), encode(text[1:], ccsid).hex()) == (text[1:], raw[4:])


@pytest.mark.parametrize(("ccsid", "text"), [(1363, "₩"), (1363, "\ue000₩")])
def test_no_character_is_written_where_another_one_would_be_read(ccsid: int, text: str) -> None:
    with pytest.raises(NotText, match=f"{text[-1]!r} does not exist in CCSID {ccsid}"):
        encode(text, ccsid)


@pytest.mark.parametrize("ccsid", [943, 950, 954, 970, 1363, 1386])
def test_two_bytes_that_are_read_to_be_written_back_are_written_back(ccsid: int) -> None:
    codec, seen = codec_for(ccsid, encoding=546), 0
    for number in range(0x8140, 0xFEFF):
        raw = number.to_bytes(2, "big")
        with suppress(UnicodeError):
            seen += 1
            assert codec.encode(codec.decode(raw)) == raw
    assert seen


def test_the_euro_of_1386() -> None:
    assert (encode("10 €", 1386).hex(), decode(bytes.fromhex("a2e3"), 1386)) == ("313020a2e3", "€")


def test_all_of_943_is_as_in_IBMs_table() -> None:
    icu, codec = pytest.importorskip("icu"), codec_for(943, encoding=785)
    table, seen = "ibm-943_P15A-2003", 0
    for number in range(0x8140, 0xFC4C):
        raw = number.to_bytes(2, "big")
        try:
            text = str(icu.UnicodeString(raw, table, "strict"))
        except ValueError:
            continue
        if len(text) == 1:
            seen += 1
            assert codec.text(raw) == text
            assert codec.encode(text) == icu.UnicodeString(text).encode(table)
    assert seen > 9000


@pytest.mark.parametrize("ccsid", [1200, 13488, 17584])
def test_two_byte_characters_have_the_byte_order_of_the_encoding(ccsid: int) -> None:
    assert encode("Aé", ccsid, 273) == b"\x00A\x00\xe9"
    assert encode("Aé", ccsid, 546) == b"A\x00\xe9\x00"
    assert decode(b"\x00A", ccsid, 785) == "A"
    with pytest.raises(UnknownEncoding, match=f"byte order of CCSID {ccsid} unknown in encoding 0"):
        encode("A", ccsid, 0)


def test_a_byte_order_mark_is_data() -> None:
    assert decode(b"\xfe\xff\x00A", 1200, 273) == "\ufeffA"
    assert decode(b"\xef\xbb\xbfA", 1208) == "\ufeffA"


@pytest.mark.parametrize(
    ("raw", "ccsid", "offset", "said"),
    [
        (b"ab\xff", 1208, 10, "text at offset 12: not text in CCSID 1208: invalid start byte"),
        (b"\xc0\xaf", 1208, 0, "not text in CCSID 1208"),  # overlong
        (b"\xed\xa0\x80", 1208, 0, "not text in CCSID 1208"),  # a surrogate
        (b"a\x81", 1252, 0, "text at offset 1: not text in CCSID 1252"),
        (b"abc", 1202, 0, "not text in CCSID 1202"),  # half a character
        (b"\x00\xd8", 1202, 0, "not text in CCSID 1202"),  # half a pair
        (b"\x81\xad", 943, 0, "not text in CCSID 943"),
    ],
)
def test_bytes_that_are_not_text_are_refused(raw: bytes, ccsid: int, offset: int, said: str) -> None:
    with pytest.raises(WireError) as caught:
        decode(raw, ccsid, offset=offset)
    assert said in str(caught.value)


def test_characters_that_do_not_exist_are_refused() -> None:
    with pytest.raises(WireError, match="'€' does not exist in CCSID 37"):
        encode("a€", 37)
    with pytest.raises(WireError, match="'€' does not exist in CCSID 1047"):
        encode("a€", 1047)


@pytest.mark.parametrize("ccsid", [0, -1, -2, -3, -4, 31337, 10**12, 300])
def test_unknown_and_special_ccsids_are_refused(ccsid: int) -> None:
    assert not is_known(ccsid)
    with pytest.raises(UnknownCcsid):
        decode(b"", ccsid)


def test_known_ccsids() -> None:
    assert all(is_known(ccsid) for ccsid in (*EBCDIC, 1208, 1200, 1202, 13488, 17584, 819, 850, 437, 1252, 923))
