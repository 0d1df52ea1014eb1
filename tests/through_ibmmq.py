"""A plugin of pytest (`-p through_ibmmq`): mqops reaches queue managers through IBM's `ibmmq`, as where pymqi is not
installed. Tests go on to put and get through pymqi. Processes that a test starts have pymqi."""

from __future__ import annotations

import ibmmq

from mqops.mq import library

library.library = lambda: ibmmq
