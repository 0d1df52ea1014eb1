"""Keywords that IBM MQ 9.4 has and mqlite has not, by command: such a word is no syntax error, but refused (AMQ8101S).

Source: the syntax diagrams of IBM MQ, "MQSC commands reference". What mqlite has stands in `mqlite.attributes` and in
`mqlite.mqsc.requests`; a word is never in both. Words of clusters, LDAP, AMQP, telemetry, coupling facilities and z/OS
are here, too, on every platform.
"""

from __future__ import annotations

from collections.abc import Mapping

QUEUES = ("QLOCAL", "QALIAS", "QREMOTE", "QMODEL")
EVERYWHERE = frozenset({"CMDSCOPE", "QSGDISP"})


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Attributes of objects, which DEFINE and ALTER set and DISPLAY shows.
ATTRIBUTES: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(QUEUES, _words("OTELPCTL OTELTRAC")),
    "PROCESS": frozenset(),
    "NAMELIST": _words("NLTYPE"),
    "AUTHINFO": _words(
        "AUTHORMD BASEDNG BASEDNU CLASSGRP CLASSUSR CONNAME FINDGRP GRPFIELD LDAPPWD LDAPUSER NESTGRP OCSPURL SECCOMM"
        " SHORTUSR USRFIELD"
    ),
    "LISTENER": _words("ADAPTER COMMANDS LOCLNAME NTBNAMES SESSIONS SOCKET TPNAME"),
    "TOPIC": _words("OTELPCTL OTELTRAC"),
    "SUB": frozenset(),
    "CHANNEL": _words(
        "AMQPKA AUTOSTART BACKLOG CLUSNL CLUSTER CLWLPRTY CLWLRANK CLWLWGHT DEFCDISP JAASCFG NETPRTY PORT PROTOCOL"
        " SPLPROT SSLKEYP SSLKEYR TMPMODEL TMPQPRFX USECLTID"
    ),
    "QMGR": _words(
        "ACTCHL ADOPTCHK ADOPTMCA CERTQSGL CFCONLOS CHIADAPS CHIDISPS CHISERVP DNSGROUP DNSWLM GROUPUR IGQ IGQAUT"
        " IGQUSER INITKEY KEYRPWD LSTRTMR LU62ARM LU62CHL LUGROUP LUNAME MAXCHL OPORTMAX OPORTMIN OTELPCTL OTELTRAC"
        " RCVTIME RCVTMIN RCVTTYPE SCYCASE SSLTASKS TCPCHL TCPKEEP TCPNAME TCPSTACK TRAXSTR TRAXTBL"
    ),
}
# Values of keywords that mqlite has.
VALUES: Mapping[str, frozenset[str]] = {
    "CHLTYPE": _words("AMQP CLUSRCVR CLUSSDR MQTT"),
    "COMPMSG": _words("LZ4FAST LZ4HIGH"),
    "OBJTYPE": _words("CLNTCONN COMMINFO RQMNAME SERVICE"),
}
# Words of DISPLAY that are no attributes of DEFINE: what is only shown, groups of attributes, and what selects.
SHOWN: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        ("QUEUE", *QUEUES),
        _words("CLUSDATE CLUSINFO CLUSQMGR CLUSQT CLUSTIME PSID QMID TPIPE TPIPES"),
    ),
    "QMGR": _words("CHINIT CLUSTER CPILEVEL EVENT PUBSUB SYSTEM"),
    "TOPIC": _words("CLSTATE CLUSDATE CLUSINFO CLUSQMGR CLUSTIME QMID"),
    "SUB": _words("DISTYPE SUMMARY"),
    "LISTENER": frozenset(),
    "QSTATUS": _words(
        "ASID ASTATE CURFSIZE CURMAXFS EXTURID MONITOR PSBNAME PSTID QMURID QTIME TASKNO TRANSID URID URTYPE"
    ),
    "QMSTATUS": _words(
        "ACKLSN ARCHLOG ARCHSZ AUTOCLUS BACKLOG CHKPTCNT CHKPTOPS CHKPTSZ CONNACTV CURRLOG DATFSSZ DATFSUSE DATPATH"
        " DISKLSN GRPADDR GRPLSN GRPNAME GRPROLE GRPVER GRSTATUS HAINITDA HAINITL HAINITTI HASTATUS HOSTNAME INITTIME"
        " INSTANCE INSTDESC INSTNAME INSTPATH INSYNC LDAPCONN LIVETIME LOG LOGEXTSZ LOGFSSZ LOGFSUSE LOGINUSE LOGPATH"
        " LOGPRIM LOGSEC LOGSTRDA LOGSTRL LOGSTRTI LOGTYPE LOGUTIL MEDIALOG MEDIASZ NHATYPE QMFSENC QMFSSZ QMFSUSE"
        " QUORUM RCOVLSN RCOVTIME RECLOG RECSZ REPLADDR REUSESZ ROLE STANDBY SYNCTIME TYPE UNICLUS"
    ),
    "CHSTATUS": _words(
        "AMQPKA BUFSRCVD BUFSSENT CHLDISP CLIENTID CLNTUSER COMPHDR COMPMSG COMPRATE COMPTIME CONNECTIONS CURSHCNV"
        " EXITTIME HBINT INDOUBTIN INDOUBTOUT KAINT LOCLADDR MAXMSGL MAXSHCNV MONCHL MONITOR NETTIME PENDING PORT"
        " PROTOCOL QMNAME RPRODUCT RVERSION SAVED SECPROT SHORT SSLCERTI SSLCERTU SSLCIPH SSLKEYDA SSLKEYTI SSLPEER"
        " SSLRKEYS STATCHL SUBSTATE SUMMARY TPROOT XBATCHSZ XQMSGSA XQTIME"
    ),
    "CONN": _words(
        "ASID ASTATE CLIENTID DEST DESTQMGR EXTCONN EXTURID NID PSBNAME PSTID QMURID READA SUBID SUBNAME TASKNO"
        " TOPICSTR TRANSID UOWLOG UOWLOGDA UOWLOGTI URDISP URTYPE"
    ),
    "LSSTATUS": _words("ADAPTER COMMANDS LOCLNAME NTBNAMES SESSIONS SOCKET TPNAME"),
    "AUTHREC": _words("SERVCOMP"),
    "CHLAUTH": _words("ADDRESS CLNTUSER QMNAME SSLCERTI SSLPEER"),  # with a value, for MATCH(RUNCHECK)
    "CHANNEL": frozenset(),
}
# Words of the other commands.
OPTIONS: Mapping[tuple[str, str], frozenset[str]] = {
    ("ALTER", "QMGR"): _words("CCSID"),
    ("DELETE", "CHANNEL"): _words("CHLTYPE"),
    ("PING", "CHANNEL"): _words("CHLDISP"),
    ("START", "CHANNEL"): _words("CHLDISP CHLTYPE"),
    ("STOP", "CHANNEL"): _words("CHLDISP CHLTYPE CLIENTID CONNAME QMNAME"),
    ("RESET", "CHANNEL"): _words("CHLDISP"),
    ("RESOLVE", "CHANNEL"): _words("CHLDISP"),
    ("START", "LISTENER"): _words("INDISP IPADDR LUNAME PORT TRPTYPE"),
    ("STOP", "LISTENER"): _words("INDISP IPADDR PORT TRPTYPE"),
    ("STOP", "CONN"): _words("EXTCONN"),
    ("REFRESH", "QMGR"): _words("INCLINT OBJECT"),
    ("SET", "AUTHREC"): _words("SERVCOMP"),
    ("DELETE", "AUTHREC"): _words("SERVCOMP"),
}


def ibm_has(verb: str, noun: str, keyword: str) -> bool:
    """Whether a keyword that mqlite does not have belongs to the command in IBM MQ."""
    if keyword in EVERYWHERE or keyword in OPTIONS.get((verb, noun), ()):
        return True
    nouns = QUEUES if noun == "QUEUE" else (noun,)
    if verb in {"DEFINE", "ALTER"}:
        return any(keyword in ATTRIBUTES.get(each, ()) for each in nouns)
    if verb == "DISPLAY":
        shown = SHOWN.get(noun, frozenset())
        return keyword in shown or any(keyword in ATTRIBUTES.get(each, ()) for each in nouns)
    return False
