"""The C headers that pymqi is built against, written from mqwire's structure tables and the table of calls."""

from __future__ import annotations

from collections.abc import Mapping

from mqlite.c_interface.signatures import BAGS, CALLS, TAIL
from mqwire import constants as c
from mqwire import mqi
from mqwire.layout import Layout

# Levels that the headers admit to: 530 turns on client connections, 700 properties and publish/subscribe, 710 and 800
# longer structures on pymqi's Python side.
LEVELS = (500, 510, 520, 530, 600, 700, 710, 750, 800, 801)
STRUCTURES: Mapping[str, Layout] = {
    name: getattr(mqi, name)
    for name in (
        "MQBO",
        "MQCHARV",
        "MQCMHO",
        "MQCSP",
        "MQGMO",
        "MQMD",
        "MQOD",
        "MQPD",
        "MQPMO",
        "MQSD",
        "MQSMPO",
        "MQIMPO",
    )
}
CONSTANTS = (
    "MQCC_OK", "MQCC_WARNING", "MQCC_FAILED", "MQCC_UNKNOWN", "MQRC_NONE", "MQRC_STRING_TRUNCATED",
    "MQHC_UNUSABLE_HCONN",
    "MQHM_UNUSABLE_HMSG", "MQHO_NONE", "MQIA_FIRST", "MQIA_LAST", "MQCNO_VERSION_2", "MQCNO_VERSION_5", "MQCNO_NONE",
    "MQCSP_AUTH_USER_ID_AND_PWD", "MQTYPE_NULL", "MQTYPE_BOOLEAN", "MQTYPE_BYTE_STRING", "MQTYPE_INT8", "MQTYPE_INT16",
    "MQTYPE_INT32", "MQTYPE_INT64", "MQTYPE_FLOAT32", "MQTYPE_FLOAT64", "MQTYPE_STRING",
)  # fmt: skip
BAG_CONSTANTS = {
    "MQHB_UNUSABLE_HBAG": -1, "MQHB_NONE": -2, "MQCBO_ADMIN_BAG": 1, "MQHA_BAG_HANDLE": 4001, "MQIASY_COMP_CODE": -6,
    "MQIASY_REASON": -7, "MQIND_NONE": -1, "MQSEL_ANY_USER_SELECTOR": -30002, "MQSEL_ALL_USER_SELECTORS": -30002,
    "MQIT_INTEGER": 1, "MQIT_STRING": 2, "MQITEM_BYTE_STRING": 4, "MQBL_NULL_TERMINATED": -1,
}  # fmt: skip
TYPES = """\
#include <stdint.h>
#define MQENTRY
typedef unsigned char MQBYTE; typedef char MQCHAR; typedef void MQVOID;
typedef int32_t MQLONG; typedef uint32_t MQULONG; typedef int32_t MQBOOL;
typedef int8_t MQINT8; typedef int16_t MQINT16; typedef int32_t MQINT32; typedef int64_t MQINT64;
typedef float MQFLOAT32; typedef double MQFLOAT64;
typedef MQLONG MQHCONN; typedef MQLONG MQHOBJ; typedef MQINT64 MQHMSG; typedef void *MQPTR; typedef void *PMQVOID;
typedef MQBYTE *PMQBYTE; typedef MQCHAR *PMQCHAR; typedef MQLONG *PMQLONG; typedef MQBOOL *PMQBOOL;
typedef MQINT8 *PMQINT8; typedef MQINT16 *PMQINT16; typedef MQINT32 *PMQINT32; typedef MQINT64 *PMQINT64;
typedef MQFLOAT32 *PMQFLOAT32; typedef MQFLOAT64 *PMQFLOAT64;
typedef MQHCONN *PMQHCONN; typedef MQHOBJ *PMQHOBJ; typedef MQHMSG *PMQHMSG;
typedef struct MQCD MQCD; typedef MQCD *PMQCD;
typedef struct MQSCO MQSCO; typedef MQSCO *PMQSCO;
"""
# The connect options as far as version 5, with the pointers that pymqi follows typed.
CONNECT_OPTIONS = """\
typedef struct {
  MQCHAR StrucId[4]; MQLONG Version, Options, ClientConnOffset; MQPTR ClientConnPtr; MQBYTE ConnTag[128];
  MQPTR SSLConfigPtr; MQLONG SSLConfigOffset; MQBYTE ConnectionId[24]; MQLONG SecurityParmsOffset;
  MQCSP *SecurityParmsPtr;
} MQCNO;
#define MQCNO_DEFAULT {'C','N','O',' '}, 1, 0, 0, 0, {0}, 0, 0, {0}, 0, 0
"""
C_TYPES = {"long": "MQLONG", "int64": "MQINT64", "pointer": "MQPTR", "int8": "MQCHAR"}


def structure(name: str, layout: Layout, version: int) -> str:
    """The C declaration of a structure with the fields of `version`, and its initialiser."""
    lines, values = [], []
    for field in layout.fields:
        if field.since > version:
            continue
        kind = C_TYPES.get(field.kind)
        lines.append(f"  {kind} {field.name};" if kind else f"  {CHARS[field.kind]} {field.name}[{field.length}];")
        values.append(initial(field.kind, field.length, field.initial))
    body = "\n".join(lines)
    return f"typedef struct {{\n{body}\n}} {name};\n#define {name}_DEFAULT {', '.join(values)}\n"


CHARS = {"char": "MQCHAR", "byte": "MQBYTE", "digits": "MQCHAR"}


def initial(kind: str, length: int, value: object) -> str:
    """A field's initial value as C."""
    if kind in CHARS:
        text = value if isinstance(value, str) else ""
        return "{" + ", ".join(f"'{char}'" for char in text.ljust(length)) + "}" if text else "{0}"
    return str(value)


def cmqc() -> str:
    """The text of cmqc.h."""
    parts = [
        "/* Written by mqlite.c_interface.build from the tables of mqwire and mqlite.c_interface.signatures. */",
        "#ifndef MQLITE_CMQC_H",
    ]
    parts += ["#define MQLITE_CMQC_H", TYPES]
    parts += [f"#define {name} ({getattr(c, name)})" for name in CONSTANTS]
    parts += [f"#define MQCMDL_LEVEL_{level} {level}" for level in LEVELS]
    parts += [structure(name, layout, HEADER_VERSIONS.get(name, 1)) for name, layout in STRUCTURES.items()]
    parts += [f"#define {name}_CURRENT_LENGTH ((long)sizeof({name}))" for name in ("MQOD", "MQPMO", "MQMD", "MQGMO")]
    parts.append(CONNECT_OPTIONS)
    parts += [f"void MQENTRY {name}({parameters}, {TAIL});" for name, parameters in CALLS.items()]
    return "\n".join([*parts, "#endif", ""])


HEADER_VERSIONS = {"MQMD": 2, "MQGMO": 4, "MQPMO": 3, "MQOD": 4}


def cmqbc() -> str:
    """The text of cmqbc.h, the bags."""
    parts = ["#ifndef MQLITE_CMQBC_H", "#define MQLITE_CMQBC_H", "#include <cmqc.h>", "typedef MQLONG MQHBAG;"]
    parts.append("typedef MQHBAG *PMQHBAG;")
    parts += [f"#define {name} ({value})" for name, value in BAG_CONSTANTS.items()]
    parts += [f"void MQENTRY {name}({parameters}, {TAIL});" for name, parameters in BAGS.items()]
    return "\n".join([*parts, "#endif", ""])


def headers() -> dict[str, str]:
    """File name → text of each header."""
    return {
        "cmqc.h": cmqc(),
        "cmqbc.h": cmqbc(),
        "cmqcfc.h": "#include <cmqc.h>\n#define MQRCCF_COMMAND_FAILED 3008\n",
        "cmqxc.h": "#include <cmqc.h>\n",
    }
