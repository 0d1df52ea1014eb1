"""Every CCSID of IBM's lists: its family, and the bytes that mean the same in each code page of it. Data only.

1. The lists are those of IBM MQ ("Unicode conversion support", "z/OS conversion support") and of z/OS Unicode Services.
   A CCSID that stands in none of them has no family.
2. Names in headers are made of characters that all EBCDIC pages have at one place, and all ASCII pages at another (IBM,
   MQDLH, CodedCharSetId: "single-byte characters for the characters that are valid in queue names"; CDRA calls them the
   syntactic character set). So they can be read without a conversion table. `ELSEWHERE` names the few exceptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache


class Family(Enum):
    """How the characters of a code page are coded. A mixed one has characters of one and of more bytes."""

    SINGLE_EBCDIC = "single-byte EBCDIC"
    MIXED_EBCDIC = "mixed EBCDIC"
    SINGLE_ASCII = "single-byte ASCII"
    MIXED_ASCII = "mixed ASCII"
    WIDE = "two bytes or more for each character"


EBCDIC = frozenset({Family.SINGLE_EBCDIC, Family.MIXED_EBCDIC})
ASCII = frozenset({Family.SINGLE_ASCII, Family.MIXED_ASCII})
NL = "\x85"
"""The new line of EBCDIC, X'15'."""

_LISTED: Mapping[Family, str] = {
    Family.SINGLE_EBCDIC: (
        "37 256 259 273-275 277-278 280-282 284-286 290 293 297 420-421 423-425 500 803 833 836 838 870-871 875 880 "
        "905 918 924 1002 1025-1027 1047 1097 1112 1122-1123 1130 1132 1137 1140-1149 1153-1160 1164-1166 4133 "
        "4369-4371 4373-4374 4376 4378 4380-4381 4386 4393 4516-4517 4519-4520 4596 4899 4929 4932 4934 4966-4967 "
        "4971 4976 5014 5123 5143 5233 8229 8448 8482 8612 8692 9025 9028 9030 9067 12544 12712 12788 13121 13124 "
        "16421 16804 16884 20517 20980 24613 25076 28709 29172 32805 33058 33268 41460 45556 49652 53668 53748 61696 "
        "61711-61712"
    ),
    Family.SINGLE_ASCII: (
        "367 437 720 737 775 806 808 813 819 848-853 855-869 872 874 876 878 891 895-897 899 901-904 912-916 920-923 "
        "1004 1006 1008-1021 1023 1040-1043 1046 1051 1088-1089 1098 1100-1107 1114-1115 1124-1127 1129 1131 1133 "
        "1161-1163 1167-1168 1174 1250-1258 1275-1277 1280-1285 1287-1288 4533 4904 4909 4944-4949 4951-4965 4970 "
        "4992-4993 5012 5100 5104 5137 5142 5210-5211 5346-5354 8629 9005 9042 9044 9047-9049 9056 9060-9061 9064 "
        "9066 9088-9089 9238 9306 9444 9447-9449 12725 13140 13143 13145 13152 13156-13157 13162 13184-13185 16821 "
        "17240 17248 20917 21344 25013 25426-25429 25431-25433 25436-25442 25444-25445 25450 25467 25473 25479-25480 "
        "25580 25616-25619 25664 25690-25691 29109 29522-29525 29527-29529 29532-29537 29540-29541 29546 29712-29715 "
        "29760 33205 33618-33621 33623-33624 33632 33636-33637 33665 37301 37719 37728 37732 37761 41397 41824 41828 "
        "45493 45920 49589 53685 54289 61697-61700 61710 62337"
    ),
    Family.MIXED_EBCDIC: (
        "930-931 933 935 937 939 1210 1364 1371 1377 1388 1390 1399 5026 5029 5031 5033 5035 5473 5486 5495 9122 9125 "
        "9127 9131 9580 13218-13219 13221 13223 13676 17314 33698-33699"
    ),
    Family.MIXED_ASCII: (
        "932 934 936 938 942-944 946 948-950 954 956-959 964-966 970 1208 1350 1363 1370 1373 1375 1381 1383 1386 "
        "1392 5028 5038-5039 5045-5046 5050 5052-5055 5471 5477 5479 5488 9124 9142 9146 9575 13238 13242 13671 17354 "
        "21450 25508 25510 25512 25514 25518 25520 25522 25524-25525 25546 29614 29616 29618 29620-29621 33700 33717 "
        "33722 37813 54191 62383"
    ),
    Family.WIDE: (
        "300-301 834-835 837 926-928 941 947 951-953 955 960-961 963 971 1200-1202 1232 1351 1362 1374 1380 1382 1385 "
        "1391 4396-4397 4930-4931 4933 5023 5043 5047-5049 5056 5067 5470 5472 5476 5478 5487 8492-8493 9026-9027 "
        "9139 9144-9145 9163 9572 9574 9577 12588 13125 13235 13240-13241 13488 16684 17221 17331 17337 17584 20780 "
        "21314 21317 21427 21433 21680 24876-24877 25502-25504 25527 29623 54189 61953 61956 62381"
    ),
}
"""CCSIDs, and first-last of those that follow one another."""

_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
INVARIANT = frozenset(_UPPER + _LOWER + "0123456789 \0._/%+&()*,-:;<=>?")
"""Characters at one place in all EBCDIC pages, and at one in all ASCII pages."""

_KATAKANA = (290, 930, 1390, 4386, 5026, 5486, 8482, 9122, 13218, 17314, 33058, 33698)
ELSEWHERE: Mapping[int, frozenset[str]] = {
    **dict.fromkeys(_KATAKANA, frozenset(_LOWER)),  # Katakana stands where other pages have lower case
    **dict.fromkeys((803, 4899), frozenset(_LOWER + "&")),  # so does Hebrew
    **{293: frozenset("?"), 1021: frozenset("_"), 9306: frozenset("%*")},
    **dict.fromkeys((259, 896), INVARIANT),  # pages of symbols, without letters
}
"""CCSID → the invariant characters that its page has at another place, or not at all."""


@cache
def _families() -> dict[int, Family]:
    found = {}
    for family, listed in _LISTED.items():
        for part in listed.split(" "):
            first, _, last = part.partition("-")
            found.update(dict.fromkeys(range(int(first), int(last or first) + 1), family))
    return found


def listed() -> Mapping[int, Family]:
    """All CCSIDs of IBM's lists."""
    return _families()


def family_of(ccsid: int) -> Family | None:
    """The family of a CCSID; None if IBM lists none of that number."""
    return _families().get(ccsid)


@cache
def invariant_bytes(ccsid: int) -> Mapping[int, str]:
    """Byte → character, for the bytes that can be read without the CCSID's table; empty for a wide or unknown one."""
    family = family_of(ccsid)
    if family is None or family is Family.WIDE:
        return {}
    code = "cp500" if family in EBCDIC else "ascii"
    return {one.encode(code)[0]: one for one in sorted(INVARIANT - ELSEWHERE.get(ccsid, frozenset()))}
