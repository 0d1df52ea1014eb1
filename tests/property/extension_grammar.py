"""Generated extended tables, and raw messages that nearly match: every condition, bad dates, bodies of every sort."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from mqops.observe.core.decode import MD_COLUMNS
from mqops.rules.keyword import ValueKind
from mqops.rules.keywords import KEYWORDS
from mqwire import constants as c
from mqwire.ccsid import encode
from mqwire.errors import WireError
from mqwire.headers import MQH
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQDLH, MQMD

OBSERVED = datetime(2026, 11, 21, 12, 0, 0, 999_999, tzinfo=UTC)
HEADER = "* MQOPS EXTENSIONS\n"
AGES = {"0s": 0, "5s": 5, "1m": 60, "2h": 7200, "1d": 86400}
TEXTS = ["DE", "de", "D", "", " ", "x y", "it's", "é", "\N{MONEY BAG}", "a\nb", "7", "-7", "true", "*", "1.5", "\x7f"]
PATTERNS = [*TEXTS, "D*", "*E", "?", "??", "?*", "*x*", "* *", "D *", "*'*", "\N{MONEY BAG}*", "*:*", "*<*", "*{*7*"]
NAMES = ["a", "b", "c-d"]
MOST = 999_999_999
PROPERTIES = ["usr.a", "usr.a", "usr.a", "usr.b", "usr.g.a", "jms.Dst", "mcd.Msd"]


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def numbers_of(keyword):
    """A few of the numbers that a message may have, for a keyword of the kind COMPARED."""
    least, most = keyword.every or (0, MOST)
    least = max(least, 0)
    return st.integers(least, min(most, least + 9))


COMPARED = {one.name: numbers_of(one) for one in KEYWORDS.values() if one.kind is ValueKind.COMPARED}
FIELDS = {MD_COLUMNS[KEYWORDS[name].columns[0]]: numbers for name, numbers in COMPARED.items()}
"""Field of the MQMD → its numbers, for each keyword that compares one."""


def many_attributes(count):
    return f"<a {' '.join(f'x{number}={quoted(str(number))}' for number in range(count))}>7</a>"


_patterns = st.sampled_from([quoted(p) for p in PATTERNS if p and p.isprintable()])
_found = st.sampled_from(["'*'", "'*'", "'?*'", "'?*'", "'D*'", "'7'", "'*E'", "'true'", "'-*'"])
_comparisons = st.sampled_from([">", ">=", "<", "<=", "="])
_json_paths = st.sampled_from([[".a"], [".a"], [".b"], [".a", ".b"], [".b", "[1]"], ["[0]", ".a"]]) | st.lists(
    st.sampled_from([*(f".{n}" for n in NAMES), "[0]", "[1]"]), min_size=1, max_size=3
)
_xml_steps = st.sampled_from(["a", "b", "c-d", "a[1]", "b[2]", "a[3]"])
_xpaths = st.sampled_from(["/a", "/a/@i", "/a/b", "/a/b/@i", "/a/a[2]"]) | st.tuples(
    st.lists(_xml_steps, min_size=1, max_size=3), st.sampled_from(["", "", "/@i", "/@a"])
).map(lambda parts: f"/{'/'.join(parts[0])}{parts[1]}")
_numbers_asked = st.one_of(
    st.builds(lambda op, age: f"AGE({op}{age})", _comparisons, st.sampled_from(list(AGES))),
    st.builds(lambda op, n: f"SIZE({op}{n})", _comparisons, st.sampled_from(["0", "2", "7", "40", "1K", "1M"])),
    *(
        st.builds(f"{name}({{}}{{}}{{}})".format, _comparisons, st.sampled_from(["", " "]), numbers)
        for name, numbers in COMPARED.items()
    ),
)
_texts_asked = st.one_of(
    st.builds(lambda n, p: f"PROP('{n}' = {p})", st.sampled_from(PROPERTIES), _found | _patterns),
    st.builds(lambda p: f"BODY({p})", _patterns),
    st.builds(lambda path, p: f"BODY(JSON '${''.join(path)}' = {p})", _json_paths, _found | _patterns),
    st.builds(lambda path, p: f"BODY(XPATH '{path}' = {p})", _xpaths, _found | _patterns),
)


conditions = st.one_of(_numbers_asked, _texts_asked)


@st.composite
def tables(draw):
    """The text of an extended table; rules without any condition of IBM's are usual."""
    rules = []
    for number in range(draw(st.integers(1, 6))):
        asked = draw(st.lists(conditions, min_size=1, max_size=2, unique=True))
        also = draw(st.sampled_from(["", "", "", "REASON(2053) ", "DESTQ(A*) "]))
        rules.append(f"{also}{' '.join(asked)} ACTION(FWD) FWDQ(Q{number})")
    return HEADER + "\n".join(rules) + "\n"


_numbers = st.sampled_from([0, 7, -7, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 1.5, 1.0, 1e300, 10**40])
_json = st.recursive(
    st.sampled_from(TEXTS) | _numbers | st.sampled_from([True, False, None]),
    lambda inner: st.dictionaries(st.sampled_from([*NAMES, "é", ""]), inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=6,
)
_spoilt_json = st.sampled_from(
    [
        '{"a":"DE",}',
        '{"a":"DE"} x',
        '{"a":"DE"}{"a":7}',
        "{'a':'DE'}",
        '{"a":"D\tE"}',
        '{"a":NaN,"b":7}',
        '{"a":07}',
        '{"a":"DE","a":"DE"}',
        '\ufeff{"a":7}',
        '{"a":"\\ud800","b":7}',
        '{"a":/**/7}',
        '{"a":7}]',
        '{"a":-0}',
        '{"a":"\\ud83d\\udcb0"}',
        '{"a":"\\u0000"}',
        '{"a":7}\n',
        '{"a":+7}',
        '{"a":.5,"b":7}',
        "[",
        "{}",
        '{"b":' + "[" * 600 + "]" * 600 + ',"a":7}',
        '{"b":' + "[" * 490 + "]" * 490 + ',"a":7}',
        '{"a" : 7e0}',
        '{"b":' + "1" * 600 + ',"a":7}',
        '{"b":' + "1" * 490 + ',"a":7}',
        '{"b":"' + "1" * 600 + '","a":7}',
        '{"b":1.' + "1" * 490 + ',"a":7}',
        '{"a":"\\/DE\\b"}',
        '{"a":7',
        '{"c-d":{"a":"x y  "}}',
        '{"é":7,"a":true}',
        '{"a":1e999,"b":7}',
        '{"a":-1e-999,"b":7}',
        '{"b":1e9999999999,"a":7}',
        '{"a":9223372036854775807}',
    ]
)
_spoilt_xml = st.sampled_from(
    [
        "<a>DE",
        "<a>DE</b>",
        "<!DOCTYPE a><a>DE</a>",
        '<!DOCTYPE a [<!ENTITY x "DE">]><a>&x;</a>',
        "<a>&x;</a>",
        "<a>DE</a><a/>",
        "<a i='7' i='7'/>",
        "<a i=7/>",
        "<a>DE</a> x",
        "\ufeff<a>DE</a>",
        "<a>\x01</a>",
        " <a>7</a>\n",
        '<?xml version="1.0"?><a>DE</a>',
        "<?xml version='1.0' encoding='IBM500' standalone='no' ?>\n<a>DE</a>",
        '<?xml version="1.1"?><a>DE</a>',
        ' <?xml version="1.0"?><a>DE</a>',
        "<?xml?><a>DE</a>",
        "<a>D]]>E</a>",
        "<x:a xmlns:x='u' xmlns='v'><x:b z:i='1' y:i='7'/></x:a>",
        "<a><x:y:b>7</x:y:b></a>",
        "<:a>7</:a>",
        "<a:>7</a:>",
        "<a>D<!-- - -->E</a>",
        "<a>D<!-- -- -->E</a>",
        "<a><![CDATA[D]]>E<?p?></a>",
        "<a>&#68;&#x45;</a>",
        "<a>&#0;</a>",
        "<a i='D&#10;E\nF'>\r\n</a>",
        "<a><b/><b>x y</b></a>",
        "<é>7</é>",
        "<a\xb2>7</a\xb2>",
        "<a><a>D</a><a>E</a></a>",
        "<a>" * 101 + "</a>" * 101,
        "<a>" * 100 + "7" + "</a>" * 100,
        many_attributes(101),
        many_attributes(100),
        f"<{'a' * 501}/>",
        "<a><b><a>7</a></b><b i='DE'/></a>",
        "<a xmlns:i='7' i='DE'/>",
        "<a>\x85\u2028</a>",
        "<a>\ufffe</a>",
        "<a>]]&gt;<b>7</b></a>",
        "<a/>",
        "<a i=''/>",
    ]
)


@st.composite
def _elements(draw, depth=0):
    name = draw(st.sampled_from(["a", "b", "c-d", "p:a"])) if depth else "a"
    text = draw(st.sampled_from(TEXTS)).replace("<", "&lt;").replace("\x7f", "")
    attributes = draw(st.sampled_from(["", "", " i='7'", ' i="DE" a="x y"', " a='&lt;'", " p:i='D'"]))
    children = draw(st.lists(_elements(depth + 1), max_size=3)) if depth < 2 else []
    return f"<{name}{attributes}>{text}{''.join(children)}</{name}>"


_bodies = st.one_of(
    st.sampled_from(TEXTS),
    st.builds(
        lambda value, blanks: blanks + json.dumps(value, ensure_ascii=False), _json, st.sampled_from(["", "\n "])
    ),
    _json.map(json.dumps),
    st.sampled_from(['{"a":"DE","b":7}', '{"b":"D ","a":true}', '[{"a":"7"},"x y"]', '{"a":{"b":"7"},"b":[7,"DE"]}']),
    _spoilt_json,
    _elements(),
    _spoilt_xml,
    st.sampled_from(["\0", "DE\0", "DE   ", "x" * 1020, "x" * 1024]),
)
_sets = st.sampled_from(
    [
        *((1208, 546), (1208, 546), (1208, 273), (819, 273), (500, 785), (37, 273)),
        *((1200, 546), (1200, 273), (1202, 546), (939, 785), (1383, 273), (1377, 785)),
    ]
)
_dates = st.sampled_from(["        ", "20260230", "2026112a", "00000101", "20261121", "99991231", "202611 1", ""])
_times = st.sampled_from(
    ["        ", "24000000", "11600000", "11596000", "1159590a", "11595999", "12000000", "-1595900"]
)


@st.composite
def put_times(draw):
    """A put date and time at the bounds of the ages in tables, or what is none."""
    if draw(st.integers(0, 5)) == 0:
        return draw(_dates), draw(_times)
    age = draw(st.sampled_from(sorted(AGES.values()))) + draw(st.sampled_from([-1, 0, 0, 1]))
    put = OBSERVED.replace(microsecond=0) - timedelta(seconds=age)
    return put.strftime("%Y%m%d"), put.strftime("%H%M%S") + draw(st.sampled_from(["00", "99", ""]))


_folders = st.sampled_from(
    [
        "<usr><a>DE</a></usr>",
        "<usr><a>x y</a><a>7</a><b>7 </b></usr>",
        "<usr><g><a>it&apos;s</a></g><a></a></usr>",
        "<usr><a xsi:nil='true'/><b>é</b></usr>",
        "<jms><Dst>queue:///A</Dst></jms>",
        "<mcd><Msd>jms_text</Msd></mcd>",
        "<usr><a>DE</usr>",
        "<usr><a>&x;</a></usr>",
        "<usr/>",
        '<usr><a>"D\\E"\n</a><b>{"a":7}</b></usr>',
        "<usr><a dt='i4'>7</a></usr><jms><Dst>\N{MONEY BAG}</Dst></jms>",
        "<usr><a>DE</a></usr><usr><a>7</a></usr>",
    ]
)


HEADERS = {
    "MQIMS": ("IIH", 84), "MQCICS": ("CIH", 164), "MQHWIH": ("WIH", 120), "MQHRF": ("RFH", 40), "MQHREF": ("RMH", 108),
    "MQHDIST": ("DH", 48), "MQHSAP": ("SAPH", 108), "MQHEPCF": ("EPH", 68),
}  # fmt: skip
"""Format of a header that begins as MQIIH does -> its StrucId and length."""


def header(format_name, said, encoding, ccsid):
    """One of `HEADERS` that says the format, encoding and CCSID of what follows; behind its first fields are blanks."""
    struc_id, length = HEADERS[format_name]
    begin = MQH(struc_id=struc_id, struc_length=length, **said).pack(encoding=encoding, ccsid=ccsid)
    return begin + encode(" ", ccsid, encoding) * (length - len(begin))


@st.composite
def messages(draw):
    """MQMD and body: mostly with an MQDLH, sometimes with an MQRFH2 behind it, and with another header."""
    ccsid, encoding = draw(_sets)
    text, data_format = draw(_bodies), draw(st.sampled_from(["MQSTR", "MQSTR", "", "MQADMIN"]))
    try:
        body = encode(text, ccsid, encoding)
    except WireError:
        body = draw(st.sampled_from([b"\xff\xfe", b"DE", b"{\xc3", text.encode("utf-8", "surrogatepass")]))
    header_ccsid = ccsid if ccsid not in (1200, 1202) else 1208
    said = {"format": data_format, "encoding": encoding, "coded_char_set_id": ccsid}
    if ccsid == header_ccsid and draw(st.integers(0, 3)) == 0:
        named = draw(st.sampled_from(sorted(HEADERS)))
        body = header(named, said, encoding, ccsid) + body
        said = {**said, "format": named}
    if draw(st.booleans()):
        rfh2 = MQRFH2(**said, name_value_ccsid=draw(st.sampled_from([1208, 1200])))
        folders = draw(st.lists(_folders, max_size=2))
        body = rfh2.with_folders(*folders, encoding=encoding).pack(encoding=encoding, ccsid=header_ccsid) + body
        said = {"format": "MQHRF2", "encoding": encoding, "coded_char_set_id": header_ccsid}
    dates, dead = draw(put_times()), draw(st.integers(0, 9)) > 0
    if dead:
        dlh_dates = draw(put_times())
        dlh = MQDLH(
            **said,
            reason=draw(st.sampled_from([2053, 2085])),
            dest_q_name=draw(st.sampled_from(["A", "B"])),
            put_date=dlh_dates[0],
            put_time=dlh_dates[1],
        )
        body = dlh.pack(encoding=c.MQENC_NATIVE, ccsid=1208) + body
        said = {"format": "MQDEAD", "encoding": c.MQENC_NATIVE, "coded_char_set_id": 1208}
    numbers = {field: draw(values) for field, values in FIELDS.items()}
    md = MQMD(**said, **numbers, put_date=dates[0], put_time=dates[1])
    return md.pack(encoding=c.MQENC_NATIVE, ccsid=1208), body
