"""Field lengths in bytes (MQ_..._LENGTH) and other names without a group."""

from __future__ import annotations

from typing import Final

# MQ
MQ_SUITE_B_NONE: Final = 1
MQ_MCA_USER_ID_LENGTH: Final = 12
MQ_CONNECTION_ID_LENGTH: Final = 24
MQ_CORREL_ID_LENGTH: Final = 24
MQ_MSG_ID_LENGTH: Final = 24
MQ_PROCESS_NAME_LENGTH: Final = 48
MQ_Q_MGR_NAME_LENGTH: Final = 48
MQ_Q_NAME_LENGTH: Final = 48
MQ_TRIGGER_DATA_LENGTH: Final = 64
MQ_PROCESS_APPL_ID_LENGTH: Final = 256
MQ_CONN_NAME_LENGTH: Final = 264
MQ_MSG_HEADER_LENGTH: Final = 4000
MQ_MAX_PROPERTY_NAME_LENGTH: Final = 4095
