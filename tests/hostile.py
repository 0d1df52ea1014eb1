"""Texts and bodies that make a careless parser slow: each shape by name, as long as it is asked for.

Many attributes, deep nesting, empty elements, long runs of one character, what is never closed, long chains of headers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import lru_cache

from mqwire import constants as c
from mqwire import pcf
from mqwire.headers import HEADERS, MQH
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQDLH, MQMD, MQMDE, MQXQH

Text = Callable[[int], str]


def run(unit: str, before: str = "", after: str = "") -> Text:
    """A shape of one unit again and again, between two texts."""
    return lambda size: before + unit * max(1, size // len(unit)) + after


def counted(unit: str, before: str = "", after: str = "") -> Text:
    """The same with `{}` in the unit replaced by a number that is never the same."""
    return lambda size: before + "".join(map(unit.format, range(max(1, size // (len(unit) + 3))))) + after


def nested(begin: str, end: str, levels: int, before: str = "", after: str = "") -> Text:
    """Towers of so many levels, side by side."""
    return run(begin * levels + end * levels, before, after)


FOLDERS: Mapping[str, Text] = {
    "attributes": counted('a{}="" ', "<usr><a ", "/></usr>"),
    "elements with attributes": run('<b dt="i4" xsi:nil="true"/>', "<usr>", "</usr>"),
    "deep": run("<a>"),
    "towers": nested("<a>", "</a>", 60, "<usr>", "</usr>"),
    "empty elements": run("<a/>", "<usr>", "</usr>"),
    "empty folders": run("<a/>"),
    "elements": counted("<p{0}>v</p{0}>", "<usr>", "</usr>"),
    "long path": counted("<p{}/>", "<usr>" + f"<{'n' * 60}>" * 60, f"</{'n' * 60}>" * 60 + "</usr>"),
    "a path that grows": lambda size: (
        f"<{'n' * (size // 99)}>" * 32
        + "".join(f"<p{number}/>" for number in range(size // 18))
        + f"</{'n' * (size // 99)}>" * 32
    ),
    "escapes": run("&amp;", "<usr><a>", "</a></usr>"),
    "ampersands": run("&", "<usr><a>", "</a></usr>"),
    "an escape without end": run("a", "<usr><a>&", "</a></usr>"),
    "opening": run("<"),
    "character references": run("&#x41;", "<usr><a>", "</a></usr>"),
    "a long character reference": run("1", "<usr><a>&#", ";</a></usr>"),
    "comments": run("<!---->", "<usr>", "</usr>"),
    "comments without end": run("<!--", "<usr>", "</usr>"),
    "CDATA": run("<![CDATA[<]]>", "<usr><a>", "</a></usr>"),
    "CDATA without end": run("<![CDATA[", "<usr><a>", "</a></usr>"),
    "instructions": run("<?a?>"),
    "text beside elements": run("a<b/>", "<usr>", "</usr>"),
    "blanks": run(" ", "<usr><a", "/></usr>"),
    "blanks between": run(" <b/>", "<usr>", "</usr>"),
    "a long name": run("n", "<usr><", "/></usr>"),
    "a long value": run("v", "<usr><a>", "</a></usr>"),
    "an open quote": run("v", '<usr><a b="'),
    "quotes": run("'\"", "<usr><a b="),
    "padding": run(" ", "<usr></usr>"),
    "NULs": run("\0", "<usr></usr>"),
    "a long number": run("1", '<usr><a dt="i8">', "</a></usr>"),
    "long hexadecimal": run("0f", '<usr><a dt="bin.hex">', "</a></usr>"),
}

JSON: Mapping[str, Text] = {
    "opening brackets": run("["),
    "opening objects": run('{"a":'),
    "towers": lambda size: "[" + ",".join(["[" * 400 + "]" * 400] * max(1, size // 801)) + "]",
    "numbers as long as they may be": run("1" * 500 + ",", "[", "0]"),
    "a long number": run("1", "[", "]"),
    "signs": run("-+.eE", '["', '"]'),
    "names": counted('"k{}":0,', "{", '"":0}'),
    "one name": run('"k":0,', "{", '"k":0}'),
    "texts": run('"",', "[", "0]"),
    "escapes": run("\\u00e9", '["', '"]'),
    "half surrogates": run("\\ud83d", '["', '"]'),
    "backslashes": run("\\\\", '["', '"]'),
    "a text without end": run("a", '["'),
    "blanks": run(" ", "[", "]"),
    "blanks before": run(" ", "", "{}"),
    "words": run("true,", "[", "true]"),
    "commas": run(",", "["),
}

XML: Mapping[str, Text] = {
    "opening": run("<"),
    "deep": run("<a>"),
    "towers": nested("<a>", "</a>", 90, "<a>", "</a>"),
    "empty elements": run("<a/>", "<a>", "</a>"),
    "attributes": counted('a{}="" ', "<a ", "/>"),
    "elements with attributes": lambda size: (
        "<a>" + ("<b " + " ".join(f'a{i}=""' for i in range(90)) + "/>") * max(1, size // 700) + "</a>"
    ),
    "prefixes": counted('<p:b{0} xmlns:p="u{0}"/>', "<a>", "</a>"),
    "words as long as they may be": run("w" * 499 + " ", "<a>", "</a>"),
    "a long word": run("w", "<a>", "</a>"),
    "a long name": run("n", "<", "/>"),
    "escapes": run("&amp;", "<a>", "</a>"),
    "characters by number": run("&#65;", "<a>", "</a>"),
    "comments": run("<!---->", "<a>", "</a>"),
    "hyphens": run("- ", "<a><!--"),
    "sections": run("<![CDATA[]]>", "<a>", "</a>"),
    "brackets": run("]", "<a><![CDATA["),
    "instructions": run("<?a?>", "<a>", "</a>"),
    "a declaration of blanks": run(" ", "<?xml", "version='1.0'?><a/>"),
    "a declaration with blanks behind": run(" ", "<?xml version='1.0'", "<a/>"),
    "an open quote": run("v", '<a b="'),
    "declared attributes": lambda size: (
        "<!DOCTYPE a ["
        + "".join(f'<!ATTLIST b a{i} CDATA "">' for i in range(max(1, size // 50)))
        + "]><a>"
        + "<b/>" * max(1, size // 8)
        + "</a>"
    ),
    "as many declared attributes as there may be": lambda size: (
        "<!DOCTYPE a ["
        + "".join(f'<!ATTLIST b a{i} CDATA "">' for i in range(100))
        + "]><a>"
        + "<b/>" * max(1, size // 4)
        + "</a>"
    ),
    "declared elements": run("(", "<!DOCTYPE a [<!ELEMENT a "),
    "entities": counted('<!ENTITY e{} "&e0;&e0;">', "<!DOCTYPE a [", "]><a/>"),
}

TEXT: Mapping[str, Text] = {
    "a": run("a"),
    "ab": run("ab"),
    "almost": run("a", "", "b"),
    "blanks": run(" "),
    "blanks and an end": run(" ", "", "x"),
    "lines": run("\r\n"),
    "beyond ASCII": run("é"),
    "beyond the first plane": run("\U0001f600"),
    "stars": run("*"),
    "marks": run("?"),
}

MQSC: Mapping[str, Text] = {
    "keywords": counted("K{} ", "ALTER QLOCAL(Q1) "),
    "one keyword": run("MAXDEPTH(1) ", "ALTER QLOCAL(Q1) "),
    "names": counted("A{},", "DEFINE NAMELIST(NL) NAMES(", "A)"),
    "attributes to display": run("MAXDEPTH ", "DISPLAY QLOCAL(Q1) "),
    "opening": run("(", "DISPLAY QUEUE(*) WHERE("),
    "pairs of brackets": run("()", "DISPLAY QUEUE(*) "),
    "quotes": run("'", "DEFINE QLOCAL(Q1) DESCR("),
    "doubled quotes": run("''", "DEFINE QLOCAL(Q1) DESCR('", "')"),
    "a text without end": run("x", "DEFINE QLOCAL(Q1) DESCR('"),
    "a long text": run("x", "DEFINE QLOCAL(Q1) DESCR('", "')"),
    "a long name": run("X", "DISPLAY QUEUE(", ")"),
    "stars": run("*", "DISPLAY QUEUE(", ")"),
    "digits": run("1", "DEFINE QLOCAL(Q1) MAXDEPTH(", ")"),
    "blanks": run(" ", "DISPLAY QUEUE(*)", "ALL"),
    "commas": run(",", "DISPLAY QUEUE(", "*)"),
    "semicolons": run(";"),
    "commands": run("DISPLAY QMGR;"),
    "continued lines": run("A+\n"),
    "continued with blanks": run("     A-\n"),
    "comments": run("*\n"),
    "comments inside": run("* a\n", "DISPLAY +\n", "QMGR"),
    "authorities": run("GET,", "SET AUTHREC PROFILE(Q1) OBJTYPE(QUEUE) PRINCIPAL('u') AUTHADD(", "PUT)"),
}


def header(structure: type[MQDLH | MQMDE], format_name: str) -> bytes:
    """A header in this machine's byte order that says what follows."""
    return structure(format=format_name, encoding=c.MQENC_NATIVE, coded_char_set_id=1208).pack()


def xqh(format_name: str) -> bytes:
    """A transmission queue header whose embedded descriptor says what follows."""
    return MQXQH(msg_desc=MQMD(version=1, format=format_name, coded_char_set_id=819)).pack()


@lru_cache(maxsize=4096)
def rfh2(*folders: bytes | str, format_name: str = c.MQFMT_STRING) -> bytes:
    """An MQRFH2 of these folders, padded."""
    raw = [folder.encode() if isinstance(folder, str) else folder for folder in folders]
    padded = tuple(one.ljust(-(-len(one) // 4) * 4) for one in raw)
    return MQRFH2(format=format_name, encoding=c.MQENC_NATIVE, coded_char_set_id=1208, folders=padded).pack()


def _chain(format_name: str, link: bytes) -> Callable[[int], tuple[str, bytes]]:
    return lambda size: (format_name, link * max(1, size // len(link)))


_OTHER = MQH(struc_id="XXX", format="MQHXXX", encoding=c.MQENC_NATIVE, coded_char_set_id=1208, struc_length=32).pack()
CHAINS: Mapping[str, Callable[[int], tuple[str, bytes]]] = {
    "MQDLH": _chain(c.MQFMT_DEAD_LETTER_HEADER, header(MQDLH, c.MQFMT_DEAD_LETTER_HEADER)),
    "MQXQH": _chain(c.MQFMT_XMIT_Q_HEADER, xqh(c.MQFMT_XMIT_Q_HEADER)),
    "MQMDE": _chain(c.MQFMT_MD_EXTENSION, header(MQMDE, c.MQFMT_MD_EXTENSION)),
    "MQRFH2": _chain(c.MQFMT_RF_HEADER_2, rfh2("<usr/>", format_name=c.MQFMT_RF_HEADER_2)),
    "a header that nobody knows": _chain("MQHXXX", _OTHER),
    "folders": lambda size: (c.MQFMT_RF_HEADER_2, rfh2(*[b""] * (size // 4))),
    "as many headers as there may be": lambda size: (
        c.MQFMT_RF_HEADER_2,
        rfh2("<a/>" * (size // 4 // HEADERS), format_name=c.MQFMT_RF_HEADER_2) * (HEADERS - 1) + rfh2("<usr/>") + b"x",
    ),
}
"""Format and body of chains of headers."""


def _message(*parameters: pcf.Parameter) -> bytes:
    return pcf.encode(pcf.Message(header=pcf.MQCFH(command=c.MQCMD_INQUIRE_Q), parameters=parameters))


def _groups(size: int) -> bytes:
    inner: pcf.Parameter = pcf.MQCFIN(parameter=1, value=1)
    for _ in range(30):
        inner = pcf.MQCFGR(parameter=2, value=(inner,))
    return _message(*[inner] * max(1, size // 500))


def _strings(size: int) -> bytes:
    """A list of strings of one byte each."""
    number = size // 4 * 4
    fixed = struct.pack("=6i", c.MQCFT_STRING_LIST, 24 + number, c.MQCACF_Q_NAMES, 1208, number, 1)
    return _message(pcf.MQCFIN(parameter=1, value=1))[:36] + fixed + b"a" * number


PCF: Mapping[str, Callable[[int], bytes]] = {
    "integers": lambda size: _message(*(pcf.MQCFIN(parameter=i, value=i) for i in range(size // 16))),
    "one integer": lambda size: _message(*[pcf.MQCFIN(parameter=1, value=1)] * (size // 16)),
    "texts": lambda size: _message(*(pcf.MQCFST(parameter=i, value="ab") for i in range(size // 24))),
    "a long text": lambda size: _message(pcf.MQCFST(parameter=c.MQCA_Q_NAME, value="A" * size)),
    "stars": lambda size: _message(pcf.MQCFST(parameter=c.MQCA_Q_NAME, value="*" * size)),
    "NULs": lambda size: _message(pcf.MQCFST(parameter=c.MQCA_Q_NAME, value="\0" * size)),
    "a list of integers": lambda size: _message(
        pcf.MQCFST(parameter=c.MQCA_Q_NAME, value="*"),
        pcf.MQCFIL(parameter=c.MQIACF_Q_ATTRS, value=tuple(range(size // 4))),
    ),
    "a list of texts": _strings,
    "groups": _groups,
    "empty groups": lambda size: _message(*[pcf.MQCFGR(parameter=1, value=())] * (size // 16)),
    "filters": lambda size: _message(
        *(pcf.MQCFSF(parameter=i, operator=c.MQCFOP_LIKE, value="*a*a*a*b") for i in range(size // 32))
    ),
    "bytes": lambda size: _message(pcf.MQCFBS(parameter=c.MQBACF_CONNECTION_ID, value=bytes(size))),
}
