"""The MQI's C signatures: one table for the C library, its header and the bridge. Knows no engine.

Each row gives a call's parameters without the closing completion and reason code, which every call has.
"""

from __future__ import annotations

from mqwire import constants as c

TYPES = "typedef int MQLONG; typedef long long MQHMSG;"
TAIL = "MQLONG *compcode, MQLONG *reason"

CALLS: dict[str, str] = {
    "MQCONN": "char *name, MQLONG *hconn",
    "MQCONNX": "char *name, void *options, MQLONG *hconn",
    "MQDISC": "MQLONG *hconn",
    "MQOPEN": "MQLONG hconn, void *od, MQLONG options, MQLONG *hobj",
    "MQCLOSE": "MQLONG hconn, MQLONG *hobj, MQLONG options",
    "MQPUT": "MQLONG hconn, MQLONG hobj, void *md, void *pmo, MQLONG length, void *buffer",
    "MQPUT1": "MQLONG hconn, void *od, void *md, void *pmo, MQLONG length, void *buffer",
    "MQGET": "MQLONG hconn, MQLONG hobj, void *md, void *gmo, MQLONG length, void *buffer, MQLONG *data_length",
    "MQINQ": "MQLONG hconn, MQLONG hobj, MQLONG selectors, MQLONG *selector, MQLONG ints, MQLONG *integer, "
    "MQLONG chars, char *text",
    "MQSET": "MQLONG hconn, MQLONG hobj, MQLONG selectors, MQLONG *selector, MQLONG ints, MQLONG *integer, "
    "MQLONG chars, char *text",
    "MQBEGIN": "MQLONG hconn, void *options",
    "MQCMIT": "MQLONG hconn",
    "MQBACK": "MQLONG hconn",
    "MQSUB": "MQLONG hconn, void *sd, MQLONG *hobj, MQLONG *hsub",
    "MQSUBRQ": "MQLONG hconn, MQLONG hsub, MQLONG action, void *options",
    "MQSTAT": "MQLONG hconn, MQLONG type, void *status",
    "MQCRTMH": "MQLONG hconn, void *options, MQHMSG *hmsg",
    "MQDLTMH": "MQLONG hconn, MQHMSG *hmsg, void *options",
    "MQSETMP": "MQLONG hconn, MQHMSG hmsg, void *options, void *name, void *pd, MQLONG type, MQLONG length, "
    "void *value",
    "MQINQMP": "MQLONG hconn, MQHMSG hmsg, void *options, void *name, void *pd, MQLONG *type, MQLONG length, "
    "void *value, MQLONG *data_length",
    "MQDLTMP": "MQLONG hconn, MQHMSG hmsg, void *options, void *name",
    "MQCB": "MQLONG hconn, MQLONG operation, void *cbd, MQLONG hobj, void *md, void *gmo",
    "MQCTL": "MQLONG hconn, MQLONG operation, void *options",
}

NEEDED: dict[str, dict[str, int]] = {
    "MQCONN": {"name": c.MQRC_Q_MGR_NAME_ERROR, "hconn": c.MQRC_HCONN_ERROR},
    "MQCONNX": {"name": c.MQRC_Q_MGR_NAME_ERROR, "hconn": c.MQRC_HCONN_ERROR},
    "MQDISC": {"hconn": c.MQRC_HCONN_ERROR},
    "MQOPEN": {"hobj": c.MQRC_HOBJ_ERROR},
    "MQCLOSE": {"hobj": c.MQRC_HOBJ_ERROR},
    "MQGET": {"data_length": c.MQRC_DATA_LENGTH_ERROR},
    "MQSUB": {"hobj": c.MQRC_HOBJ_ERROR, "hsub": c.MQRC_HOBJ_ERROR},
    "MQCRTMH": {"hmsg": c.MQRC_HMSG_ERROR},
    "MQDLTMH": {"hmsg": c.MQRC_HMSG_ERROR},
    "MQINQMP": {"type": c.MQRC_PROPERTY_TYPE_ERROR, "data_length": c.MQRC_DATA_LENGTH_ERROR},
}
"""Call → pointer that may not be NULL → the reason code if it is (the pages of these codes). Then the call does
nothing: a get takes no message. Structures and areas with a length of their own are looked at by the calls."""

# pymqi links the administration interface's bags but never calls them: they answer MQRC_FUNCTION_NOT_SUPPORTED.
BAGS: dict[str, str] = {
    "mqCreateBag": "MQLONG options, MQLONG *bag",
    "mqDeleteBag": "MQLONG *bag",
    "mqAddInteger": "MQLONG bag, MQLONG selector, MQLONG value",
    "mqAddString": "MQLONG bag, MQLONG selector, MQLONG length, char *value",
    "mqAddByteString": "MQLONG bag, MQLONG selector, MQLONG length, unsigned char *value",
    "mqAddInquiry": "MQLONG bag, MQLONG selector",
    "mqAddIntegerFilter": "MQLONG bag, MQLONG selector, MQLONG value, MQLONG operator_",
    "mqAddStringFilter": "MQLONG bag, MQLONG selector, MQLONG length, char *value, MQLONG operator_",
    "mqCountItems": "MQLONG bag, MQLONG selector, MQLONG *count",
    "mqExecute": "MQLONG hconn, MQLONG command, MQLONG options, MQLONG admin, MQLONG response, MQLONG adminq, "
    "MQLONG replyq",
    "mqInquireBag": "MQLONG bag, MQLONG selector, MQLONG index, MQLONG *value",
    "mqInquireInteger": "MQLONG bag, MQLONG selector, MQLONG index, MQLONG *value",
    "mqInquireString": "MQLONG bag, MQLONG selector, MQLONG index, MQLONG length, char *value, MQLONG *string_length, "
    "MQLONG *ccsid",
    "mqInquireByteString": "MQLONG bag, MQLONG selector, MQLONG index, MQLONG length, unsigned char *value, "
    "MQLONG *byte_length",
    "mqInquireItemInfo": "MQLONG bag, MQLONG selector, MQLONG index, MQLONG *out_selector, MQLONG *type",
}


def names(parameters: str) -> list[str]:
    """The parameters' names, in order."""
    return [part.split()[-1].lstrip("*") for part in parameters.split(",")]
