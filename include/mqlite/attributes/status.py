"""What the status displays of MQSC and PCF show: rows like the attributes', all kept by the queue manager."""

from __future__ import annotations

from enum import StrEnum

from mqlite.attributes.other_objects import CHECKS
from mqlite.attributes.other_objects import LISTENER as LISTENER_ATTRIBUTES
from mqlite.attributes.rows import MONITORING, NO_YES, kept_number, kept_text, kept_word, number, text, texts, word
from mqlite.attributes.types import Attribute
from mqwire import constants as c

APPLICATIONS = {
    "UNKNOWN": c.MQAT_UNKNOWN,
    "SYSTEM": c.MQAT_QMGR,
    "USER": c.MQAT_USER,
    "CHINIT": c.MQAT_CHANNEL_INITIATOR,
}
STATES = {"INACTIVE": c.MQCHS_INACTIVE, "BINDING": c.MQCHS_BINDING, "STARTING": c.MQCHS_STARTING,
          "RUNNING": c.MQCHS_RUNNING, "STOPPING": c.MQCHS_STOPPING, "RETRYING": c.MQCHS_RETRYING,
          "STOPPED": c.MQCHS_STOPPED, "PAUSED": c.MQCHS_PAUSED, "INITIALIZING": c.MQCHS_INITIALIZING}  # fmt: skip
TYPES = {"SDR": 1, "SVR": 2, "RCVR": 3, "RQSTR": 4, "SVRCONN": 7}
INPUT = {"NO": 0, "SHARED": c.MQQSO_SHARED, "EXCL": c.MQQSO_EXCLUSIVE}


class Status(StrEnum):
    """Kinds of status; the value names it in requests."""

    QUEUE = "QSTATUS.QUEUE"
    HANDLE = "QSTATUS.HANDLE"
    CHANNEL = "CHSTATUS"
    QMGR = "QMSTATUS"
    CONNECTION = "CONN"
    CONNECTION_HANDLE = "CONN.HANDLE"
    STATISTICS = "QSTATS"
    LISTENER = "LSSTATUS"
    CHLAUTH = "CHLAUTH"


QUEUE = (
    kept_number("CURDEPTH", c.MQIA_CURRENT_Q_DEPTH),
    kept_number("IPPROCS", c.MQIA_OPEN_INPUT_COUNT),
    kept_text("LGETDATE", c.MQCACF_LAST_GET_DATE, 12),
    kept_text("LGETTIME", c.MQCACF_LAST_GET_TIME, 8),
    kept_text("LPUTDATE", c.MQCACF_LAST_PUT_DATE, 12),
    kept_text("LPUTTIME", c.MQCACF_LAST_PUT_TIME, 8),
    kept_text("MEDIALOG", c.MQCACF_MEDIA_LOG_EXTENT_NAME, 24),
    kept_word("MONQ", c.MQIA_MONITORING_Q, MONITORING),
    number("MSGAGE", c.MQIACF_OLDEST_MSG_AGE, None, words={" ": c.MQMON_NOT_AVAILABLE}, read_only=True),
    kept_number("OPPROCS", c.MQIA_OPEN_OUTPUT_COUNT),
    kept_word("UNCOM", c.MQIACF_UNCOMMITTED_MSGS, NO_YES),
)  # fmt: skip

HANDLE = (
    kept_text("APPLDESC", c.MQCACF_APPL_DESC, 64),
    kept_text("APPLTAG", c.MQCACF_APPL_TAG, 28),
    kept_word("APPLTYPE", c.MQIA_APPL_TYPE, APPLICATIONS),
    kept_word("BROWSE", c.MQIACF_OPEN_BROWSE, NO_YES),
    kept_text("CHANNEL", c.MQCACH_CHANNEL_NAME, 20),
    kept_text("CONNAME", c.MQCACH_CONNECTION_NAME, 264),
    kept_word("HSTATE", c.MQIACF_HANDLE_STATE, {"INACTIVE": 0, "ACTIVE": 1}),
    kept_word("INPUT", c.MQIACF_OPEN_INPUT_TYPE, INPUT),
    kept_word("INQUIRE", c.MQIACF_OPEN_INQUIRE, NO_YES),
    kept_number("OPENOPTS", c.MQIACF_OPEN_OPTIONS),
    kept_word("OUTPUT", c.MQIACF_OPEN_OUTPUT, NO_YES),
    kept_number("PID", c.MQIACF_PROCESS_ID),
    kept_word("SET", c.MQIACF_OPEN_SET, NO_YES),
    kept_number("TID", c.MQIACF_THREAD_ID),
    kept_text("USERID", c.MQCACF_USER_IDENTIFIER, 12),
)  # fmt: skip

CHANNEL = (
    kept_number("BATCHES", c.MQIACH_BATCHES),
    kept_number("BATCHSZ", c.MQIACH_BATCH_SIZE),
    kept_number("BYTSRCVD", c.MQIACH_BYTES_RCVD),
    kept_number("BYTSSENT", c.MQIACH_BYTES_SENT),
    kept_text("CHSTADA", c.MQCACH_CHANNEL_START_DATE, 12),
    kept_text("CHSTATI", c.MQCACH_CHANNEL_START_TIME, 8),
    kept_word("CHLTYPE", c.MQIACH_CHANNEL_TYPE, TYPES),
    kept_text("CONNAME", c.MQCACH_CONNECTION_NAME, 264),
    kept_text("CURLUWID", c.MQCACH_CURRENT_LUWID, 16),
    kept_number("CURMSGS", c.MQIACH_CURRENT_MSGS),
    kept_number("CURSEQNO", c.MQIACH_CURRENT_SEQ_NUMBER),
    kept_word("INDOUBT", c.MQIACH_INDOUBT_STATUS, NO_YES),
    kept_text("JOBNAME", c.MQCACH_MCA_JOB_NAME, 28),
    kept_text("LSTLUWID", c.MQCACH_LAST_LUWID, 16),
    kept_text("LSTMSGDA", c.MQCACH_LAST_MSG_DATE, 12),
    kept_text("LSTMSGTI", c.MQCACH_LAST_MSG_TIME, 8),
    kept_number("LSTSEQNO", c.MQIACH_LAST_SEQ_NUMBER),
    kept_number("LONGRTS", c.MQIACH_LONG_RETRIES_LEFT),
    kept_text("MCAUSER", c.MQCACH_MCA_USER_ID, 64),
    kept_word("MCASTAT", c.MQIACH_MCA_STATUS, {"NOTRUNNING": 0, "RUNNING": 3}),
    kept_number("MSGS", c.MQIACH_MSGS),
    kept_word("NPMSPEED", c.MQIACH_NPM_SPEED, {"NORMAL": 1, "FAST": 2}),
    kept_text("RAPPLTAG", c.MQCACH_REMOTE_APPL_TAG, 28),
    kept_text("RQMNAME", c.MQCA_REMOTE_Q_MGR_NAME, 48),
    kept_number("SHORTRTS", c.MQIACH_SHORT_RETRIES_LEFT),
    kept_word("STATUS", c.MQIACH_CHANNEL_STATUS, STATES),
    kept_word("STOPREQ", c.MQIACH_STOP_REQUESTED, NO_YES),
    kept_text("XMITQ", c.MQCACH_XMIT_Q_NAME, 48),
)  # fmt: skip

STATISTICS = (
    kept_number("HIQDEPTH", c.MQIA_HIGH_Q_DEPTH),
    kept_number("MSGSIN", c.MQIA_MSG_ENQ_COUNT),
    kept_number("MSGSOUT", c.MQIA_MSG_DEQ_COUNT),
    kept_number("RESETINT", c.MQIA_TIME_SINCE_RESET),
)  # fmt: skip

QMGR = (
    kept_word("CHINIT", c.MQIACF_CHINIT_STATUS, {"STOPPED": 0, "STARTING": 1, "RUNNING": 2}),
    kept_word("CMDSERV", c.MQIACF_CMD_SERVER_STATUS, {"STOPPED": 0, "STARTING": 1, "RUNNING": 2}),
    kept_number("CONNS", c.MQIACF_CONNECTION_COUNT),
    kept_text("STARTDA", c.MQCACF_Q_MGR_START_DATE, 12),
    kept_text("STARTTI", c.MQCACF_Q_MGR_START_TIME, 8),
    kept_word("STATUS", c.MQIACF_Q_MGR_STATUS, {"STARTING": 1, "RUNNING": 2, "QUIESCING": 3}),
)  # fmt: skip

CONNECTION = (
    kept_text("APPLDESC", c.MQCACF_APPL_DESC, 64),
    kept_text("APPLTAG", c.MQCACF_APPL_TAG, 28),
    kept_word("APPLTYPE", c.MQIA_APPL_TYPE, APPLICATIONS),
    kept_text("CHANNEL", c.MQCACH_CHANNEL_NAME, 20),
    kept_text("CONNAME", c.MQCACH_CONNECTION_NAME, 264),
    kept_number("CONNOPTS", c.MQIACF_CONNECT_OPTIONS),
    kept_number("PID", c.MQIACF_PROCESS_ID),
    kept_number("TID", c.MQIACF_THREAD_ID),
    kept_text("UOWSTDA", c.MQCACF_UOW_START_DATE, 12),
    kept_word("UOWSTATE", c.MQIACF_UOW_STATE, {"NONE": c.MQUOWST_NONE, "ACTIVE": c.MQUOWST_ACTIVE}),
    kept_text("UOWSTTI", c.MQCACF_UOW_START_TIME, 8),
    kept_text("USERID", c.MQCACF_USER_IDENTIFIER, 64),
)  # fmt: skip

CONNECTION_HANDLE = (
    kept_word("HSTATE", c.MQIACF_HANDLE_STATE, {"INACTIVE": 0, "ACTIVE": 1}),
    kept_text("OBJNAME", c.MQCACF_OBJECT_NAME, 48),
    kept_word("OBJTYPE", c.MQIACF_OBJECT_TYPE, {"QUEUE": c.MQOT_Q}),
    kept_number("OPENOPTS", c.MQIACF_OPEN_OPTIONS),
)

SERVICES = {"STOPPED": c.MQSVC_STATUS_STOPPED, "STARTING": c.MQSVC_STATUS_STARTING, "RUNNING": c.MQSVC_STATUS_RUNNING}
LISTENER = (
    *(row for row in LISTENER_ATTRIBUTES if row.keyword not in {"ALTDATE", "ALTTIME"}),
    kept_number("PID", c.MQIACF_PROCESS_ID),
    kept_text("STARTDA", c.MQCACH_LISTENER_START_DATE, 12),
    kept_text("STARTTI", c.MQCACH_LISTENER_START_TIME, 8),
    kept_word("STATUS", c.MQIACH_LISTENER_STATUS, SERVICES),
)  # fmt: skip

CHLAUTH_TYPES = {
    "BLOCKUSER": c.MQCAUT_BLOCKUSER, "BLOCKADDR": c.MQCAUT_BLOCKADDR, "SSLPEERMAP": c.MQCAUT_SSLPEERMAP,
    "ADDRESSMAP": c.MQCAUT_ADDRESSMAP, "USERMAP": c.MQCAUT_USERMAP, "QMGRMAP": c.MQCAUT_QMGRMAP,
}  # fmt: skip
CLIENT_CHECKS = {word: CHECKS[word] for word in ("ASQMGR", "REQDADM", "REQUIRED")}
USER_SOURCES = {"MAP": c.MQUSRC_MAP, "NOACCESS": c.MQUSRC_NOACCESS, "CHANNEL": c.MQUSRC_CHANNEL}
CHLAUTH = (
    text("ADDRESS", c.MQCACH_CONNECTION_NAME, 264),
    texts("ADDRLIST", c.MQCACH_CONNECTION_NAME_LIST, 264),
    kept_text("ALTDATE", c.MQCA_ALTERATION_DATE, 12),
    kept_text("ALTTIME", c.MQCA_ALTERATION_TIME, 8),
    word("CHCKCLNT", c.MQIA_CHECK_CLIENT_BINDING, None, CLIENT_CHECKS),
    text("CLNTUSER", c.MQCACH_CLIENT_USER_ID, 64),
    text("CUSTOM", c.MQCA_CUSTOM, 128),
    text("DESCR", c.MQCA_CHLAUTH_DESC, 64),
    text("MCAUSER", c.MQCACH_MCA_USER_ID, 64),
    text("QMNAME", c.MQCA_REMOTE_Q_MGR_NAME, 48),
    text("SSLCERTI", c.MQCA_SSL_CERT_ISSUER_NAME, 256),
    text("SSLPEER", c.MQCACH_SSL_PEER_NAME, 1024),
    texts("USERLIST", c.MQCACH_MCA_USER_ID_LIST, 64),
    word("USERSRC", c.MQIACH_USER_SOURCE, None, USER_SOURCES),
    word("WARN", c.MQIACH_WARNING, None, NO_YES),
)  # fmt: skip

STATUS_TABLE: dict[Status, dict[str, Attribute]] = {
    kind: {row.keyword: row for row in rows}
    for kind, rows in (
        (Status.QUEUE, QUEUE),
        (Status.HANDLE, HANDLE),
        (Status.CHANNEL, CHANNEL),
        (Status.QMGR, QMGR),
        (Status.CONNECTION, CONNECTION),
        (Status.CONNECTION_HANDLE, CONNECTION_HANDLE),
        (Status.STATISTICS, STATISTICS),
        (Status.LISTENER, LISTENER),
        (Status.CHLAUTH, CHLAUTH),
    )
}
