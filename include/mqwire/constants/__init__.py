"""Every MQ constant by its own name: ``from mqwire import constants as c; c.MQRC_NO_MSG_AVAILABLE``.

Rules: integers are signed 32-bit as in an MQLONG (masks may be negative); formats and structure identifiers are
``str`` without trailing blanks; null identifiers (``MQMI_NONE``) are ``bytes``; the MQGMO status characters
(``MQGS_``, ``MQSS_``, ``MQSEG_``) are character codes. Platform-dependent values are those of 64-bit Linux.
"""

from mqwire.constants.attributes import *  # noqa: F403
from mqwire.constants.calls import *  # noqa: F403
from mqwire.constants.channels import *  # noqa: F403
from mqwire.constants.command_reasons import *  # noqa: F403
from mqwire.constants.lengths import *  # noqa: F403
from mqwire.constants.messages import *  # noqa: F403
from mqwire.constants.monitoring import *  # noqa: F403
from mqwire.constants.parameters import *  # noqa: F403
from mqwire.constants.pcf import *  # noqa: F403
from mqwire.constants.reasons import *  # noqa: F403
from mqwire.constants.values import *  # noqa: F403
