"""What a command can answer: one table of conditions, each with its PCF reason code and its MQSC message.

Message numbers and wording follow runmqsc on distributed platforms, so that scripts that read its output work here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from mqwire import constants as c


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """reason: PCF (0: it worked). message: `{name}` is the object. syntax: runmqsc counts it as a syntax error."""

    reason: int
    message: str
    syntax: bool = False


def _done(message: str) -> Text:
    return Text(reason=0, message=message)


def _failed(reason: int, message: str, *, syntax: bool = False) -> Text:
    return Text(reason=reason, message=message, syntax=syntax)


class Condition(Enum):
    """Every outcome of a command."""

    QMGR_CHANGED = _done("AMQ8005I: IBM MQ queue manager changed.")
    QUEUE_CREATED = _done("AMQ8006I: IBM MQ queue created.")
    QUEUE_DELETED = _done("AMQ8007I: IBM MQ queue deleted.")
    QUEUE_CHANGED = _done("AMQ8008I: IBM MQ queue changed.")
    PROCESS_CREATED = _done("AMQ8010I: IBM MQ process created.")
    PROCESS_DELETED = _done("AMQ8011I: IBM MQ process deleted.")
    PROCESS_CHANGED = _done("AMQ8012I: IBM MQ process changed.")
    CHANNEL_CREATED = _done("AMQ8014I: IBM MQ channel created.")
    CHANNEL_DELETED = _done("AMQ8015I: IBM MQ channel deleted.")
    CHANNEL_CHANGED = _done("AMQ8016I: IBM MQ channel changed.")
    CHANNEL_STARTED = _done("AMQ8018I: Start IBM MQ channel accepted.")
    CHANNEL_STOPPED = _done("AMQ8019I: Stop IBM MQ channel accepted.")
    CHANNEL_PINGED = _done("AMQ8020I: Ping IBM MQ channel complete.")
    LISTENER_STARTED = _done("AMQ8021I: Request to start IBM MQ listener accepted.")
    LISTENER_STOPPED = _done("AMQ8706I: Request to stop IBM MQ listener accepted.")
    LISTENER_STATUS_SHOWN = _done("AMQ8631I: Display listener status details.")
    QUEUE_CLEARED = _done("AMQ8022I: IBM MQ queue cleared.")
    CHANNEL_RESET = _done("AMQ8023I: IBM MQ channel reset.")
    CHANNEL_RESOLVED = _done("AMQ8025I: IBM MQ channel resolved.")
    SUB_CREATED = _done("AMQ8094I: IBM MQ subscription created.")
    SUB_CHANGED = _done("AMQ8095I: IBM MQ subscription changed.")
    SUB_SHOWN = _done("AMQ8096I: IBM MQ subscription inquired.")
    SUB_DELETED = _done("AMQ8097I: IBM MQ subscription deleted.")
    CONN_STOPPED = _done("AMQ8457I: IBM MQ connection stopped.")
    CONN_SHOWN = _done("AMQ8276I: Display Connection details.")
    PROCESS_SHOWN = _done("AMQ8407I: Display Process details.")
    QMGR_SHOWN = _done("AMQ8408I: Display Queue Manager details.")
    QUEUE_SHOWN = _done("AMQ8409I: Display Queue details.")
    CHANNEL_SHOWN = _done("AMQ8414I: Display Channel details.")
    QMGR_PINGED = _done("AMQ8415I: Ping IBM MQ Queue Manager command complete.")
    CHANNEL_STATUS_SHOWN = _done("AMQ8417I: Display Channel Status details.")
    QUEUE_STATUS_SHOWN = _done("AMQ8450I: Display queue status details.")
    NAMELIST_SHOWN = _done("AMQ8550I: Display namelist details.")
    NAMELIST_CHANGED = _done("AMQ8551I: IBM MQ namelist changed.")
    NAMELIST_CREATED = _done("AMQ8552I: IBM MQ namelist created.")
    NAMELIST_DELETED = _done("AMQ8553I: IBM MQ namelist deleted.")
    SECURITY_REFRESHED = _done("AMQ8560I: IBM MQ security cache refreshed.")
    QMGR_REFRESHED = _done("CSQ9022I: REFRESH QMGR NORMAL COMPLETION")
    AUTHINFO_CREATED = _done("AMQ8563I: IBM MQ authentication information object created.")
    AUTHINFO_DELETED = _done("AMQ8564I: IBM MQ authentication information object deleted.")
    AUTHINFO_SHOWN = _done("AMQ8566I: Display authentication information details.")
    AUTHINFO_CHANGED = _done("AMQ8567I: IBM MQ authentication information changed.")
    LISTENER_CHANGED = _done("AMQ8623I: IBM MQ listener changed.")
    LISTENER_CREATED = _done("AMQ8626I: IBM MQ listener created.")
    LISTENER_DELETED = _done("AMQ8629I: IBM MQ listener deleted.")
    LISTENER_SHOWN = _done("AMQ8630I: Display listener information details.")
    TOPIC_SHOWN = _done("AMQ8633I: Display topic details.")
    TOPIC_CREATED = _done("AMQ8690I: IBM MQ topic created.")
    TOPIC_CHANGED = _done("AMQ8691I: IBM MQ topic changed.")
    TOPIC_DELETED = _done("AMQ8692I: IBM MQ topic deleted.")
    QMGR_STATUS_SHOWN = _done("AMQ8705I: Display Queue Manager Status Details.")
    AUTHREC_SET = _done("AMQ8862I: IBM MQ authority record set.")
    AUTHREC_DELETED = _done("AMQ8863I: IBM MQ authority record deleted.")
    AUTHREC_SHOWN = _done("AMQ8864I: Display authority record details.")
    CHLAUTH_SET = _done("AMQ8877I: IBM MQ channel authentication record set.")
    CHLAUTH_SHOWN = _done("AMQ8878I: Display channel authentication record details.")
    STATISTICS_RESET = _done("CSQ9022I: RESET QSTATS NORMAL COMPLETION")

    ALREADY_EXISTS = _failed(c.MQRCCF_OBJECT_ALREADY_EXISTS, "AMQ8150E: IBM MQ object already exists.")
    CHANNEL_EXISTS = _failed(c.MQRCCF_CHANNEL_ALREADY_EXISTS, "AMQ8226E: IBM MQ channel already exists.")
    NOT_FOUND = _failed(c.MQRC_UNKNOWN_OBJECT_NAME, "AMQ8147E: IBM MQ object {name} not found.")
    CHANNEL_NOT_FOUND = _failed(c.MQRCCF_CHANNEL_NOT_FOUND, "AMQ8147E: IBM MQ object {name} not found.")
    SUB_NOT_FOUND = _failed(c.MQRC_NO_SUBSCRIPTION, "AMQ8147E: IBM MQ object {name} not found.")
    CHANNEL_STATUS_NOT_FOUND = _failed(c.MQRCCF_CHL_STATUS_NOT_FOUND, "AMQ8420I: Channel Status not found.")
    CHANNEL_NOT_ACTIVE = _failed(c.MQRCCF_CHANNEL_NOT_ACTIVE, "AMQ9533W: Channel '{name}' is not currently active.")
    CHANNEL_IN_USE = _failed(c.MQRCCF_CHANNEL_IN_USE, "AMQ9514E: Channel '{name}' is in use.")
    CHANNEL_UNKNOWN = _failed(c.MQRCCF_CHANNEL_NOT_FOUND, "AMQ9519E: Channel '{name}' not found.")
    CHANNEL_WRONG_TYPE = _failed(c.MQRCCF_CHANNEL_TYPE_ERROR, "AMQ8232E: The CHLTYPE of channel {name} is another.")
    CHANNEL_IN_DOUBT = _failed(c.MQRCCF_CHANNEL_INDOUBT, "AMQ9996E: Channel '{name}' is in doubt.")
    PARTNER_MISSING = _failed(c.MQRCCF_HOST_NOT_AVAILABLE, "{name}")
    WRONG_TYPE = _failed(c.MQRCCF_OBJECT_WRONG_TYPE, "AMQ8151E: IBM MQ object {name} has another type.")
    QUEUE_STATUS_NOT_FOUND = _failed(c.MQRCCF_Q_STATUS_NOT_FOUND, "AMQ8565I: Queue Status not found.")
    CONNECTION_NOT_FOUND = _failed(c.MQRCCF_CONNECTION_ID_ERROR, "AMQ8461I: Connection identifier not found.")
    LISTENER_RUNNING = _failed(c.MQRCCF_LISTENER_RUNNING, "AMQ8730W: Listener already active.")
    LISTENER_NOT_ACTIVE = _failed(c.MQRCCF_LISTENER_STOPPED, "AMQ8731W: Listener not active.")
    LISTENER_STATUS_NOT_FOUND = _failed(c.MQRCCF_LSTR_STATUS_NOT_FOUND, "AMQ8147E: IBM MQ object not found.")
    UNKNOWN_ENTITY = _failed(c.MQRC_UNKNOWN_ENTITY, "AMQ8871E: Entity, principal or group not known.")
    CHLAUTH_NOT_FOUND = _failed(c.MQRCCF_CHLAUTH_NOT_FOUND, "AMQ8884E: Channel authentication record not found.")
    CHLAUTH_EXISTS = _failed(c.MQRCCF_CHLAUTH_ALREADY_EXISTS, "AMQ8854E: Channel authentication record already exists.")
    CHLAUTH_WRONG_TYPE = _failed(
        c.MQRCCF_WRONG_CHLAUTH_TYPE,
        "AMQ8886E: Parameter {name} not allowed for this channel authentication record type.",
    )
    CHLAUTH_WRONG_ACTION = _failed(
        c.MQRCCF_WRONG_CHLAUTH_ACTION,
        "AMQ8885E: Parameter {name} not allowed for this action on a channel authentication record.",
    )
    CHLAUTH_WRONG_SOURCE = _failed(
        c.MQRCCF_WRONG_CHLAUTH_USERSRC, "AMQ8887E: Parameter {name} not allowed with this value of USERSRC."
    )
    QUEUE_NOT_EMPTY = _failed(c.MQRC_Q_NOT_EMPTY, "AMQ8143E: IBM MQ queue not empty.")
    IN_USE = _failed(c.MQRCCF_OBJECT_OPEN, "AMQ8148E: IBM MQ object in use.")
    QUEUE_WRONG_TYPE = _failed(c.MQRCCF_Q_WRONG_TYPE, "AMQ8140E: IBM MQ queue {name} is of another type.")
    NOT_AUTHORIZED = _failed(c.MQRC_NOT_AUTHORIZED, "AMQ8135E: Not authorized.")
    EVENTS_DISABLED = _failed(c.MQRCCF_EVENTS_DISABLED, "CSQ9023E: RESET QSTATS ABNORMAL COMPLETION, PERFMEV(DISABLED)")
    NOT_IN_GROUP = _failed(c.MQRCCF_Q_MGR_NOT_IN_QSG, "AMQ8101S: The queue manager is not in a queue-sharing group.")
    NAME_ERROR = _failed(c.MQRCCF_OBJECT_NAME_ERROR, "AMQ8424E: Error detected in a name keyword.", syntax=True)
    UNKNOWN_PARAMETER = _failed(
        c.MQRCCF_PARM_SYNTAX_ERROR,
        "AMQ8405I: Syntax error detected at or near end of command segment below:-\n{segment}",
        syntax=True,
    )
    VALUE_ERROR = _failed(c.MQRCCF_ATTR_VALUE_ERROR, "AMQ8425E: Attribute value error.\n{segment}", syntax=True)
    CHARACTER_ERROR = _failed(
        c.MQRCCF_ATTR_VALUE_ERROR, "AMQ8425E: Attribute value error ({name}).\n{segment}", syntax=True
    )
    RANGE_ERROR = _failed(c.MQRCCF_ATTR_VALUE_ERROR, "AMQ8412E: Numeric Range Error.\n{segment}", syntax=True)
    LENGTH_ERROR = _failed(c.MQRCCF_CFST_STRING_LENGTH_ERR, "AMQ8413E: String Length Error.\n{segment}", syntax=True)
    DUPLICATE_PARAMETER = _failed(
        c.MQRCCF_CFIN_DUPLICATE_PARM, "AMQ8411E: Duplicate Keyword Error.\n{segment}", syntax=True
    )
    REQUIRED_MISSING = _failed(
        c.MQRCCF_PARM_COUNT_TOO_SMALL, "AMQ8421E: A required keyword was not specified.", syntax=True
    )
    FILTER_ERROR = _failed(c.MQRCCF_FILTER_ERROR, "AMQ8412E: Error in the WHERE filter.\n{segment}", syntax=True)
    NOT_SUPPORTED = _failed(
        c.MQRCCF_COMMAND_FAILED, "AMQ8101S: IBM MQ error ({name}): not supported by the embedded queue manager."
    )
    NOT_BUILT = _failed(c.MQRCCF_ATTR_VALUE_ERROR, "AMQ8101S: IBM MQ error ({name}): mqlite does not have it.")
    FAILED = _failed(c.MQRCCF_COMMAND_FAILED, "AMQ8101S: IBM MQ error ({name}) has occurred.")


class CommandError(Exception):
    """The command was not done. condition: why. reason: the PCF reason, where it is not that of the condition."""

    def __init__(
        self, condition: Condition, *, name: str = "", reason: int | None = None, parameter: int | None = None
    ) -> None:
        super().__init__(condition.name)
        self.condition = condition
        self.name = name
        self.reason = condition.value.reason if reason is None else reason
        self.parameter = parameter

    def message(self, segment: str = "") -> str:
        """The MQSC message, `segment` being the command text up to the error."""
        return self.condition.value.message.format(name=self.name, segment=segment)
