"""Attributes of local, alias, remote and model queues. Defaults: SYSTEM.DEFAULT.LOCAL.QUEUE and its siblings."""

from __future__ import annotations

from mqlite.attributes.rows import (
    ALLOWED,
    BIG,
    DISABLED_ENABLED,
    MONITORING,
    NO_YES,
    PERSISTENCE,
    custom,
    flag,
    kept_number,
    kept_text,
    kept_word,
    name,
    number,
    text,
    unbuilt,
    word,
)
from mqlite.attributes.types import Attribute
from mqlite.platform import Platform
from mqwire import constants as c

UNIX = frozenset({Platform.UNIX})
ZOS = frozenset({Platform.ZOS})
QUEUE_TYPES = {
    "QLOCAL": c.MQQT_LOCAL,
    "QMODEL": c.MQQT_MODEL,
    "QALIAS": c.MQQT_ALIAS,
    "QREMOTE": c.MQQT_REMOTE,
    "QCLUSTER": c.MQQT_CLUSTER,
}
DEFINITION_TYPES = {
    "PREDEFINED": c.MQQDT_PREDEFINED,
    "PERMDYN": c.MQQDT_PERMANENT_DYNAMIC,
    "TEMPDYN": c.MQQDT_TEMPORARY_DYNAMIC,
    "SHAREDYN": c.MQQDT_SHARED_DYNAMIC,
}
SHARING_DISPOSITIONS = {"QMGR": 0, "COPY": 1, "SHARED": 2, "GROUP": 3}

COMMON = (
    kept_text("ALTDATE", c.MQCA_ALTERATION_DATE, 12),
    kept_text("ALTTIME", c.MQCA_ALTERATION_TIME, 8),
    unbuilt(name("CLUSTER", c.MQCA_CLUSTER_NAME)),
    unbuilt(name("CLUSNL", c.MQCA_CLUSTER_NAMELIST)),
    number("CLWLPRTY", c.MQIA_CLWL_Q_PRIORITY, 0, high=9),
    number("CLWLRANK", c.MQIA_CLWL_Q_RANK, 0, high=9),
    custom("CUSTOM", c.MQCA_CUSTOM),
    number("CAPEXPRY", c.MQIA_CAP_EXPIRY, -1, low=1, words={"NOLIMIT": -1}),
    word("DEFBIND", c.MQIA_DEF_BIND, "OPEN", {"OPEN": 0, "NOTFIXED": 1, "GROUP": 2}),
    number("DEFPRTY", c.MQIA_DEF_PRIORITY, 0, high=9),
    word("DEFPSIST", c.MQIA_DEF_PERSISTENCE, "NO", PERSISTENCE),
    word("DEFPRESP", c.MQIA_DEF_PUT_RESPONSE_TYPE, "SYNC", {"SYNC": 1, "ASYNC": 2}),
    text("DESCR", c.MQCA_Q_DESC, 64),
    word("PUT", c.MQIA_INHIBIT_PUT, "ENABLED", ALLOWED),
    unbuilt(word("SCOPE", c.MQIA_SCOPE, "QMGR", {"QMGR": 1, "CELL": 2}, platforms=UNIX)),
    word("QSGDISP", c.MQIA_QSG_DISP, "QMGR", SHARING_DISPOSITIONS, platforms=ZOS),
)  # fmt: skip

READING = (
    word("GET", c.MQIA_INHIBIT_GET, "ENABLED", ALLOWED),
    word("DEFREADA", c.MQIA_DEF_READ_AHEAD, "NO", {"NO": 0, "YES": 1, "DISABLED": 2}),
    word("PROPCTL", c.MQIA_PROPERTY_CONTROL, "COMPAT", {"COMPAT": 0, "NONE": 1, "ALL": 2, "FORCE": 3, "V6COMPAT": 4}),
)


def _holding(*, model: bool) -> tuple[Attribute, ...]:
    """Rows of a queue that holds messages; a model queue differs in how its queues are shared."""
    return (
        unbuilt(word("ACCTQ", c.MQIA_ACCOUNTING_Q, "QMGR", MONITORING), "NONE", "OFF"),
        name("BOQNAME", c.MQCA_BACKOUT_REQ_Q_NAME, aliases=("BOQUEUE",)),
        number("BOTHRESH", c.MQIA_BACKOUT_THRESHOLD, 0),
        name("CFSTRUCT", c.MQCA_CF_STRUC_NAME, 12, platforms=ZOS),
        unbuilt(text("CLCHNAME", c.MQCA_CLUS_CHL_NAME, 20)),
        word("CLWLUSEQ", c.MQIA_CLWL_USEQ, "QMGR", {"QMGR": -3, "LOCAL": 0, "ANY": 1}),
        kept_text("CRDATE", c.MQCA_CREATION_DATE, 12),
        kept_text("CRTIME", c.MQCA_CREATION_TIME, 8),
        kept_number("CURDEPTH", c.MQIA_CURRENT_Q_DEPTH),
        word("DEFSOPT", c.MQIA_DEF_INPUT_OPEN_OPTION, "EXCL" if model else "SHARED", {"SHARED": 2, "EXCL": 4},
             zos="EXCL"),
        _deftype(model=model),
        unbuilt(word("DISTL", c.MQIA_DIST_LISTS, "NO", NO_YES, platforms=UNIX)),
        flag("HARDENBO", c.MQIA_HARDEN_GET_BACKOUT, 0),
        word("IMGRCOVQ", c.MQIA_MEDIA_IMAGE_RECOVER_Q, "QMGR", {"QMGR": -3, **NO_YES}, platforms=UNIX),
        word("INDXTYPE", c.MQIA_INDEX_TYPE, "NONE",
             {"NONE": 0, "MSGID": 1, "CORRELID": 2, "MSGTOKEN": 4, "GROUPID": 5}, platforms=ZOS),
        name("INITQ", c.MQCA_INITIATION_Q_NAME),
        kept_number("IPPROCS", c.MQIA_OPEN_INPUT_COUNT),
        number("MAXDEPTH", c.MQIA_MAX_Q_DEPTH, 5000, zos=BIG),
        unbuilt(number("MAXFSIZE", c.MQIA_MAX_Q_FILE_SIZE, -1, low=20, high=267_386_880, words={"DEFAULT": -1},
                       platforms=UNIX)),
        number("MAXMSGL", c.MQIA_MAX_MSG_LENGTH, 4_194_304, high=104_857_600),
        word("MONQ", c.MQIA_MONITORING_Q, "QMGR", MONITORING),
        word("MSGDLVSQ", c.MQIA_MSG_DELIVERY_SEQUENCE, "PRIORITY", {"PRIORITY": 0, "FIFO": 1}),
        word("NPMCLASS", c.MQIA_NPM_CLASS, "NORMAL", {"NORMAL": 0, "HIGH": 10}, platforms=UNIX),
        kept_number("OPPROCS", c.MQIA_OPEN_OUTPUT_COUNT),
        name("PROCESS", c.MQCA_PROCESS_NAME),
        number("QDEPTHHI", c.MQIA_Q_DEPTH_HIGH_LIMIT, 80, high=100),
        number("QDEPTHLO", c.MQIA_Q_DEPTH_LOW_LIMIT, 20, high=100, zos=40),
        unbuilt(word("QDPHIEV", c.MQIA_Q_DEPTH_HIGH_EVENT, "DISABLED", DISABLED_ENABLED)),
        unbuilt(word("QDPLOEV", c.MQIA_Q_DEPTH_LOW_EVENT, "DISABLED", DISABLED_ENABLED)),
        word("QDPMAXEV", c.MQIA_Q_DEPTH_MAX_EVENT, "ENABLED", DISABLED_ENABLED),
        unbuilt(word("QSVCIEV", c.MQIA_Q_SERVICE_INTERVAL_EVENT, "NONE", {"NONE": 0, "HIGH": 1, "OK": 2})),
        number("QSVCINT", c.MQIA_Q_SERVICE_INTERVAL, BIG),
        number("RETINTVL", c.MQIA_RETENTION_INTERVAL, BIG),
        flag("SHARE", c.MQIA_SHAREABILITY, 0 if model else 1, zos=0),
        unbuilt(word("STATQ", c.MQIA_STATISTICS_Q, "QMGR", MONITORING, platforms=UNIX), "NONE", "OFF"),
        text("STGCLASS", c.MQCA_STORAGE_CLASS, 8, "DEFAULT", platforms=ZOS),
        unbuilt(name("STREAMQ", c.MQCA_STREAM_QUEUE_NAME)),
        unbuilt(word("STRMQOS", c.MQIA_STREAM_QUEUE_QOS, "BESTEF", {"BESTEF": 0, "MUSTDUP": 1})),
        text("TRIGDATA", c.MQCA_TRIGGER_DATA, 64),
        number("TRIGDPTH", c.MQIA_TRIGGER_DEPTH, 1, low=1),
        flag("TRIGGER", c.MQIA_TRIGGER_CONTROL, 0),
        number("TRIGMPRI", c.MQIA_TRIGGER_MSG_PRIORITY, 0, high=9),
        word("TRIGTYPE", c.MQIA_TRIGGER_TYPE, "FIRST", {"NONE": 0, "FIRST": 1, "EVERY": 2, "DEPTH": 3}),
        word("USAGE", c.MQIA_USAGE, "NORMAL", {"NORMAL": c.MQUS_NORMAL, "XMITQ": c.MQUS_TRANSMISSION}),
    )  # fmt: skip


def _deftype(*, model: bool) -> Attribute:
    if model:
        dynamic = {"PERMDYN": DEFINITION_TYPES["PERMDYN"], "TEMPDYN": DEFINITION_TYPES["TEMPDYN"]}
        return word("DEFTYPE", c.MQIA_DEFINITION_TYPE, "TEMPDYN", dynamic)
    return kept_word("DEFTYPE", c.MQIA_DEFINITION_TYPE, DEFINITION_TYPES)


QLOCAL = (*COMMON, *READING, *_holding(model=False))
NO_MODEL = frozenset({"CLUSTER", "CLUSNL", "CLWLPRTY", "CLWLRANK", "CLWLUSEQ", "SCOPE", "CURDEPTH", "IPPROCS",
                      "OPPROCS", "CLCHNAME"})  # fmt: skip
QMODEL = tuple(row for row in (*COMMON, *READING, *_holding(model=True)) if row.keyword not in NO_MODEL)
QALIAS = (
    *COMMON,
    *READING,
    name("TARGET", c.MQCA_BASE_OBJECT_NAME, aliases=("TARGQ",)),
    word("TARGTYPE", c.MQIA_BASE_TYPE, "QUEUE", {"QUEUE": c.MQOT_Q, "TOPIC": c.MQOT_TOPIC}),
)
QREMOTE = (
    *COMMON,
    name("RNAME", c.MQCA_REMOTE_Q_NAME),
    name("RQMNAME", c.MQCA_REMOTE_Q_MGR_NAME),
    name("XMITQ", c.MQCA_XMIT_Q_NAME),
)
