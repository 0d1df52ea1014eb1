"""Ending a queue manager with its connections, as IBM MQ's endmqm does.

1. Quiesce (`endmqm -c`): MQCONN answers MQRC_Q_MGR_QUIESCING, and so does every call that asks for it
   (MQOO_, MQGMO_, MQPMO_, MQSO_FAIL_IF_QUIESCING), a get that waits, too. All other calls go on. The queue manager has
   ended when the last program has disconnected.
2. Immediate (`endmqm -i`): each connection is broken and its unit of work backed out, as STOP CONN does.
3. Then MQCONN answers MQRC_Q_MGR_NOT_AVAILABLE, until `mqlite start`.
"""

from __future__ import annotations

import time

from mqlite.connections import recovery
from mqlite.objects.engine import Engine
from mqlite.objects.manager import Manager
from mqlite.storage import ended, sql
from mqlite.storage.alive import alive_file
from mqlite.storage.rows import ConnectionRow
from mqlite.storage.store import Store

LOOK_INTERVAL = 0.05
"""Seconds between two looks whether programs are still connected."""


def end_connections(manager: Manager, *, immediate: bool) -> None:
    """End a queue manager; returns when nobody is connected any more.

    Parameters: `immediate` whether connections are broken. Otherwise it waits for their programs.
    """
    ended.note(manager.folder, ended.ENDED if immediate else ended.QUIESCING)
    store = Store(manager.folder)
    try:
        engine, lives = Engine.of(manager, store), alive_file(manager.folder)
        while True:
            recovery.recover(engine, lives)
            connected = [row.id for row in store.rows(ConnectionRow, sql.CONNECTIONS)]
            if not connected:
                break
            for connection in connected:
                if immediate:
                    recovery.stop(engine, lives, connection)
                else:
                    lives.quiesce(connection)
            time.sleep(0 if immediate else LOOK_INTERVAL)
        ended.note(manager.folder, ended.ENDED)
    finally:
        store.close()
