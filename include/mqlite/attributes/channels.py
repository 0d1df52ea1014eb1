"""Attributes of channels. Each row says which channel types have it; defaults: SYSTEM.DEF.SENDER and its siblings."""

from __future__ import annotations

from mqlite.attributes.rows import BIG, MONITORING, NO_YES, kept_text, name, number, text, unbuilt, word, words
from mqlite.attributes.types import Attribute
from mqwire import constants as c

TYPES = {"SDR": c.MQCHT_SENDER, "SVR": c.MQCHT_SERVER, "RCVR": c.MQCHT_RECEIVER, "RQSTR": c.MQCHT_REQUESTER,
         "SVRCONN": c.MQCHT_SVRCONN, "CLNTCONN": c.MQCHT_CLNTCONN}  # fmt: skip
SENDING = frozenset({"SDR", "SVR"})
RECEIVING = frozenset({"RCVR", "RQSTR"})
MOVING = SENDING | RECEIVING
SERVING = frozenset({"SVRCONN"})
CLIENT = frozenset({"CLNTCONN"})
HEADER_COMPRESSIONS = {"NONE": c.MQCOMPRESS_NONE, "SYSTEM": c.MQCOMPRESS_SYSTEM}
COMPRESSIONS = {"NONE": c.MQCOMPRESS_NONE, "RLE": c.MQCOMPRESS_RLE, "ZLIBFAST": c.MQCOMPRESS_ZLIBFAST,
                "ZLIBHIGH": c.MQCOMPRESS_ZLIBHIGH, "ANY": c.MQCOMPRESS_ANY}  # fmt: skip
CALLING = SENDING | {"RQSTR", "CLNTCONN"}


def _exit(keyword: str, selector: int, data: str, data_selector: int, only: frozenset[str]) -> tuple[Attribute, ...]:
    return tuple(unbuilt(text(*row, only=only)) for row in ((keyword, selector, 128), (data, data_selector, 32)))


CHANNEL = (
    kept_text("ALTDATE", c.MQCA_ALTERATION_DATE, 12),
    kept_text("ALTTIME", c.MQCA_ALTERATION_TIME, 8),
    word("CHLTYPE", c.MQIACH_CHANNEL_TYPE, None, TYPES, create_only=True),
    word("AFFINITY", c.MQIACH_CONNECTION_AFFINITY, "PREFERRED", {"NONE": 0, "PREFERRED": 1}, only=CLIENT),
    unbuilt(word("TRPTYPE", c.MQIACH_XMIT_PROTOCOL_TYPE, "TCP", {"LU62": 1, "TCP": 2, "NETBIOS": 3, "SPX": 4})),
    unbuilt(number("BATCHHB", c.MQIACH_BATCH_HB, 0, only=SENDING)),
    number("BATCHINT", c.MQIACH_BATCH_INTERVAL, 0, only=SENDING),
    number("BATCHLIM", c.MQIACH_BATCH_DATA_LIMIT, 5000, high=999_999, only=SENDING),
    number("BATCHSZ", c.MQIACH_BATCH_SIZE, 50, low=1, high=9999, only=MOVING),
    text("CERTLABL", c.MQCA_CERT_LABEL, 64),
    number("CLNTWGHT", c.MQIACH_CLIENT_CHANNEL_WEIGHT, 0, high=99, only=CLIENT),
    unbuilt(words("COMPHDR", c.MQIACH_HDR_COMPRESSION, "NONE", HEADER_COMPRESSIONS)),
    unbuilt(words("COMPMSG", c.MQIACH_MSG_COMPRESSION, "NONE", COMPRESSIONS)),
    text("CONNAME", c.MQCACH_CONNECTION_NAME, 264, only=CALLING),
    word("CONVERT", c.MQIACH_DATA_CONVERSION, "NO", NO_YES, only=SENDING),
    word("DEFRECON", c.MQIACH_DEF_RECONNECT, "NO", {"NO": 0, "YES": 1, "QMGR": 2, "DISABLED": 3}, only=CLIENT),
    text("DESCR", c.MQCACH_DESC, 64),
    number("DISCINT", c.MQIACH_DISC_INTERVAL, 6000, high=999_999, only=SENDING | SERVING, unbuilt_of={"SVRCONN": 0}),
    number("HBINT", c.MQIACH_HB_INTERVAL, 300, high=999_999),
    number("KAINT", c.MQIACH_KEEP_ALIVE_INTERVAL, -1, high=99_999, words={"AUTO": -1}),
    text("LOCLADDR", c.MQCACH_LOCAL_ADDRESS, 48, only=CALLING),
    number("LONGRTY", c.MQIACH_LONG_RETRY, BIG, only=SENDING),
    number("LONGTMR", c.MQIACH_LONG_TIMER, 1200, only=SENDING),
    unbuilt(number("MAXINST", c.MQIACH_MAX_INSTANCES, BIG, only=SERVING)),
    unbuilt(number("MAXINSTC", c.MQIACH_MAX_INSTS_PER_CLIENT, BIG, only=SERVING)),
    number("MAXMSGL", c.MQIACH_MAX_MSG_LENGTH, 4_194_304, high=104_857_600),
    text("MCANAME", c.MQCACH_MCA_NAME, 20, only=SENDING | {"RQSTR"}),
    word("MCATYPE", c.MQIACH_MCA_TYPE, "PROCESS", {"PROCESS": 1, "THREAD": 2}, only=SENDING | {"RQSTR"}),
    text("MCAUSER", c.MQCACH_MCA_USER_ID, 64, only=MOVING | SERVING),
    text("MODENAME", c.MQCACH_MODE_NAME, 8, only=CALLING),
    unbuilt(word("MONCHL", c.MQIA_MONITORING_CHANNEL, "QMGR", MONITORING, only=MOVING | SERVING), "NONE", "OFF"),
    *_exit("MREXIT", c.MQCACH_MR_EXIT_NAME, "MRDATA", c.MQCACH_MR_EXIT_USER_DATA, RECEIVING),
    number("MRRTY", c.MQIACH_MR_COUNT, 10, only=RECEIVING),
    number("MRTMR", c.MQIACH_MR_INTERVAL, 1000, only=RECEIVING),
    *_exit("MSGEXIT", c.MQCACH_MSG_EXIT_NAME, "MSGDATA", c.MQCACH_MSG_EXIT_USER_DATA, MOVING),
    word("NPMSPEED", c.MQIACH_NPM_SPEED, "FAST", {"NORMAL": c.MQNPMS_NORMAL, "FAST": c.MQNPMS_FAST}, only=MOVING),
    text("PASSWORD", c.MQCACH_PASSWORD, 12, only=CALLING),
    unbuilt(word("PROPCTL", c.MQIA_PROPERTY_CONTROL, "COMPAT", {"COMPAT": 0, "NONE": 1, "ALL": 2, "V6COMPAT": 4},
                 only=SENDING)),
    unbuilt(word("PUTAUT", c.MQIACH_PUT_AUTHORITY, "DEF", {"DEF": 1, "CTX": 2, "ONLYMCA": 3, "ALTMCA": 4},
                 only=RECEIVING | SERVING), "CTX"),
    text("QMNAME", c.MQCA_Q_MGR_NAME, 48, only=CLIENT),
    *_exit("RCVEXIT", c.MQCACH_RCV_EXIT_NAME, "RCVDATA", c.MQCACH_RCV_EXIT_USER_DATA, frozenset()),
    *_exit("SCYEXIT", c.MQCACH_SEC_EXIT_NAME, "SCYDATA", c.MQCACH_SEC_EXIT_USER_DATA, frozenset()),
    *_exit("SENDEXIT", c.MQCACH_SEND_EXIT_NAME, "SENDDATA", c.MQCACH_SEND_EXIT_USER_DATA, frozenset()),
    number("SEQWRAP", c.MQIACH_SEQUENCE_NUMBER_WRAP, BIG, low=100, only=MOVING),
    number("SHARECNV", c.MQIACH_SHARING_CONVERSATIONS, 10, only=SERVING | CLIENT),
    number("SHORTRTY", c.MQIACH_SHORT_RETRY, 10, only=SENDING),
    number("SHORTTMR", c.MQIACH_SHORT_TIMER, 60, only=SENDING),
    word("SSLCAUTH", c.MQIACH_SSL_CLIENT_AUTH, "REQUIRED", {"REQUIRED": 0, "OPTIONAL": 1},
         only=frozenset({"SVR", "RCVR", "RQSTR", "SVRCONN"})),
    unbuilt(text("SSLCIPH", c.MQCACH_SSL_CIPHER_SPEC, 32)),
    unbuilt(text("SSLPEER", c.MQCACH_SSL_PEER_NAME, 1024)),
    unbuilt(word("STATCHL", c.MQIA_STATISTICS_CHANNEL, "QMGR", MONITORING, only=MOVING), "NONE", "OFF"),
    text("TPNAME", c.MQCACH_TP_NAME, 64, only=CALLING | SERVING),
    word("USEDLQ", c.MQIA_USE_DEAD_LETTER_Q, "YES", {"NO": c.MQUSEDLQ_NO, "YES": c.MQUSEDLQ_YES}, only=MOVING),
    text("USERID", c.MQCACH_USER_ID, 12, only=CALLING),
    name("XMITQ", c.MQCACH_XMIT_Q_NAME, only=SENDING),
)  # fmt: skip
