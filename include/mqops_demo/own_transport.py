"""HTTP to a server of this machine that this user runs, and to no other: each connection is looked at before its use.

A password goes to Airflow's address when `make up` logs in. Who listens there is not known before (`mqops.peer`).
"""

from __future__ import annotations

from typing import Any

import httpcore
import httpx

from mqops import peer


class OwnServers(httpcore.SyncBackend):
    """Connections of httpcore to servers of this user. A busy server accepts late: it has the time of the request.

    Raises (`connect_tcp`):
        SettingsError: another user's process listens there.
    """

    def connect_tcp(self, *args: Any, **kwargs: Any) -> httpcore.NetworkStream:
        stream = super().connect_tcp(*args, **kwargs)
        try:
            patience = kwargs.get("timeout") or peer.PATIENCE
            peer.must_be_own(stream.get_extra_info("socket"), patience=patience)
        except TimeoutError as error:
            stream.close()
            raise httpcore.ConnectTimeout(str(error)) from error
        except BaseException:
            stream.close()
            raise
        return stream


class OwnTransport(httpx.HTTPTransport):
    """A transport of httpx that connects to servers of this user only."""

    def __init__(self) -> None:
        super().__init__()
        self._pool = httpcore.ConnectionPool(network_backend=OwnServers(), keepalive_expiry=5.0)
