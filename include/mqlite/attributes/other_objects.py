"""Attributes of processes, namelists, authentication information, listeners, topics and subscriptions."""

from __future__ import annotations

from mqlite.attributes.rows import (
    AS_PARENT,
    NO_YES,
    PERSISTENCE,
    bits,
    custom,
    kept_number,
    kept_text,
    kept_word,
    name,
    names,
    number,
    text,
    unbuilt,
    word,
)
from mqlite.platform import Platform
from mqwire import constants as c

UNIX = frozenset({Platform.UNIX})
ALTERED = (kept_text("ALTDATE", c.MQCA_ALTERATION_DATE, 12), kept_text("ALTTIME", c.MQCA_ALTERATION_TIME, 8))
APPLICATION_TYPES = {"UNIX": 6, "CICS": 1, "MVS": 2, "IMS": 3, "OS2": 4, "DOS": 5, "OS400": 8, "WINDOWS": 9,
                     "WINDOWSNT": 11, "VMS": 12, "NSK": 13, "DEF": 6, "UNKNOWN": -1}  # fmt: skip
CHECKS = {"OPTIONAL": 0, "NONE": 1, "REQDADM": 2, "REQUIRED": 3, "ASQMGR": 4}

PROCESS = (
    *ALTERED,
    text("APPLICID", c.MQCA_APPL_ID, 256),
    number("APPLTYPE", c.MQIA_APPL_TYPE, 6, words=APPLICATION_TYPES, zos=2),
    text("DESCR", c.MQCA_PROCESS_DESC, 64),
    text("ENVRDATA", c.MQCA_ENV_DATA, 128),
    text("USERDATA", c.MQCA_USER_DATA, 128),
)

NAMELIST = (
    *ALTERED,
    text("DESCR", c.MQCA_NAMELIST_DESC, 64),
    kept_number("NAMCOUNT", c.MQIA_NAME_COUNT),
    names("NAMES", c.MQCA_NAMES),
)

AUTHINFO = (
    *ALTERED,
    unbuilt(word("AUTHTYPE", c.MQIA_AUTH_INFO_TYPE, None, {"CRLLDAP": 1, "OCSP": 2, "IDPWOS": 3, "IDPWLDAP": 4},
         create_only=True), "IDPWOS"),
    word("ADOPTCTX", c.MQIA_ADOPT_CONTEXT, "YES", NO_YES),
    unbuilt(word("AUTHENMD", c.MQIA_AUTHENTICATION_METHOD, "OS", {"OS": 0, "PAM": 1}, platforms=UNIX)),
    word("CHCKCLNT", c.MQIA_CHECK_CLIENT_BINDING, "REQDADM", CHECKS),
    word("CHCKLOCL", c.MQIA_CHECK_LOCAL_BINDING, "OPTIONAL", CHECKS),
    text("DESCR", c.MQCA_AUTH_INFO_DESC, 64),
    unbuilt(number("FAILDLAY", c.MQIA_AUTHENTICATION_FAIL_DELAY, 1, high=60)),
)  # fmt: skip

LISTENER = (
    *ALTERED,
    unbuilt(word("TRPTYPE", c.MQIACH_XMIT_PROTOCOL_TYPE, "TCP", {"LU62": 1, "TCP": 2, "NETBIOS": 3, "SPX": 4},
         create_only=True)),
    number("BACKLOG", c.MQIACH_BACKLOG, 0),
    word("CONTROL", c.MQIACH_LISTENER_CONTROL, "MANUAL", {"QMGR": 0, "MANUAL": 1, "STARTONLY": 2}),
    text("DESCR", c.MQCACH_LISTENER_DESC, 64),
    text("IPADDR", c.MQCACH_IP_ADDRESS, 48),
    number("PORT", c.MQIACH_PORT, 0, high=65_535),
)  # fmt: skip

TOPIC = (
    *ALTERED,
    number("CAPEXPRY", c.MQIA_CAP_EXPIRY, -2, low=1, words={"NOLIMIT": -1, **AS_PARENT}),
    unbuilt(word("CLROUTE", c.MQIA_CLUSTER_PUB_ROUTE, "DIRECT", {"DIRECT": 0, "TOPICHOST": 1})),
    unbuilt(name("CLUSTER", c.MQCA_CLUSTER_NAME)),
    name("COMMINFO", c.MQCA_COMM_INFO_NAME),
    custom("CUSTOM", c.MQCA_CUSTOM),
    number("DEFPRTY", c.MQIA_DEF_PRIORITY, -2, high=9, words=AS_PARENT),
    word("DEFPSIST", c.MQIA_TOPIC_DEF_PERSISTENCE, "ASPARENT", {**AS_PARENT, **PERSISTENCE}),
    word("DEFPRESP", c.MQIA_DEF_PUT_RESPONSE_TYPE, "ASPARENT", {"ASPARENT": 0, "SYNC": 1, "ASYNC": 2}),
    text("DESCR", c.MQCA_TOPIC_DESC, 64),
    word("DURSUB", c.MQIA_DURABLE_SUB, "ASPARENT", {"ASPARENT": 0, "YES": 1, "NO": 2}),
    unbuilt(word("MCAST", c.MQIA_MULTICAST, "ASPARENT", {"ASPARENT": 0, "ENABLED": 1, "DISABLED": 2, "ONLY": 3}),
            "DISABLED"),
    name("MDURMDL", c.MQCA_MODEL_DURABLE_Q),
    name("MNDURMDL", c.MQCA_MODEL_NON_DURABLE_Q),
    word("NPMSGDLV", c.MQIA_NPM_DELIVERY, "ASPARENT", {"ASPARENT": 0, "ALL": 1, "ALLDUR": 2, "ALLAVAIL": 3}),
    word("PMSGDLV", c.MQIA_PM_DELIVERY, "ASPARENT", {"ASPARENT": 0, "ALL": 1, "ALLDUR": 2, "ALLAVAIL": 3}),
    word("PROXYSUB", c.MQIA_PROXY_SUB, "FIRSTUSE", {"FORCE": 1, "FIRSTUSE": 2}),
    word("PUB", c.MQIA_INHIBIT_PUB, "ASPARENT", {"ASPARENT": 0, "DISABLED": 1, "ENABLED": 2}),
    word("PUBSCOPE", c.MQIA_PUB_SCOPE, "ASPARENT", {"ALL": 0, "ASPARENT": 1, "QMGR": 4}),
    word("SUB", c.MQIA_INHIBIT_SUB, "ASPARENT", {"ASPARENT": 0, "DISABLED": 1, "ENABLED": 2}),
    word("SUBSCOPE", c.MQIA_SUB_SCOPE, "ASPARENT", {"ALL": 0, "ASPARENT": 1, "QMGR": 4}),
    text("TOPICSTR", c.MQCA_TOPIC_STRING, 10_240, create_only=True),
    unbuilt(word("TYPE", c.MQIA_TOPIC_TYPE, "LOCAL", {"LOCAL": 0, "CLUSTER": 1}, create_only=True)),
    word("USEDLQ", c.MQIA_USE_DEAD_LETTER_Q, "ASPARENT", {"ASPARENT": 0, "NO": 1, "YES": 2}),
    unbuilt(word("WILDCARD", c.MQIA_WILDCARD_OPERATION, "PASSTHRU", {"BLOCK": 1, "PASSTHRU": 2})),
)  # fmt: skip

SUB = (
    *ALTERED,
    kept_text("CRDATE", c.MQCA_CREATION_DATE, 12),
    kept_text("CRTIME", c.MQCA_CREATION_TIME, 8),
    name("DEST", c.MQCACF_DESTINATION),
    word("DESTCLAS", c.MQIACF_DESTINATION_CLASS, "PROVIDED", {"MANAGED": 1, "PROVIDED": 2}, create_only=True),
    bits("DESTCORL", c.MQBACF_DESTINATION_CORREL_ID, 24),
    name("DESTQMGR", c.MQCACF_DESTINATION_Q_MGR),
    word("DURABLE", c.MQIACF_DURABLE_SUBSCRIPTION, "YES", {"YES": 1, "NO": 2}, read_only=True),
    unbuilt(number("EXPIRY", c.MQIACF_EXPIRY, -1, words={"UNLIMITED": -1})),
    unbuilt(word("PSPROP", c.MQIACF_PUBSUB_PROPERTIES, "MSGPROP",
                 {"NONE": 0, "COMPAT": 1, "RFH2": 2, "MSGPROP": 3}), "NONE"),
    bits("PUBACCT", c.MQBACF_ACCOUNTING_TOKEN, 32),
    text("PUBAPPID", c.MQCACF_APPL_IDENTITY_DATA, 32),
    number("PUBPRTY", c.MQIACF_PUB_PRIORITY, -3, high=9, words={"ASPUB": -3, "ASPARENT": -2, "ASQDEF": -1}),
    unbuilt(word("REQONLY", c.MQIACF_REQUEST_ONLY, "NO", NO_YES)),
    unbuilt(text("SELECTOR", c.MQCACF_SUB_SELECTOR, 10_240, create_only=True)),
    bits("SUBID", c.MQBACF_SUB_ID, 24, None, read_only=True),
    unbuilt(number("SUBLEVEL", c.MQIACF_SUB_LEVEL, 1, high=9)),
    word("SUBSCOPE", c.MQIACF_SUBSCRIPTION_SCOPE, "ALL", {"ALL": 0, "ASPARENT": 1, "QMGR": 4}),
    kept_word("SUBTYPE", c.MQIACF_SUB_TYPE, {"API": 1, "ADMIN": 2, "PROXY": 3}),
    text("SUBUSER", c.MQCACF_SUB_USER_ID, 12),
    name("TOPICOBJ", c.MQCA_TOPIC_NAME, create_only=True),
    text("TOPICSTR", c.MQCA_TOPIC_STRING, 10_240, create_only=True),
    text("USERDATA", c.MQCACF_SUB_USER_DATA, 10_240),
    word("VARUSER", c.MQIACF_VARIABLE_USER_ID, "ANY", {"ANY": 1, "FIXED": 2}),
    unbuilt(word("WSCHEMA", c.MQIACF_WILDCARD_SCHEMA, "TOPIC", {"CHAR": 1, "TOPIC": 2})),
)  # fmt: skip
