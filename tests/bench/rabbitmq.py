"""A RabbitMQ broker of our own for `bench_rabbitmq.py`: Debian's server, on loopback, with data in a folder of its own.

Its processes are the server, which is ended with SIGTERM, and the port mapper it needs, each by its process id.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pika

SERVER, CONTROL, PORT_MAPPER = (
    Path("/usr/lib/rabbitmq/bin/rabbitmq-server"),
    Path("/usr/lib/rabbitmq/bin/rabbitmqctl"),
    Path("/usr/bin/epmd"),
)
NODE = "mqops-bench@localhost"
PERSISTENT = pika.BasicProperties(delivery_mode=2)


def installed() -> bool:
    """Whether Debian's package rabbitmq-server is there."""
    return SERVER.exists() and PORT_MAPPER.exists()


def free_port() -> int:
    """A port of the loopback interface that nobody uses now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Broker:
    """A running broker.

    Parameters: `port` of AMQP; `environment` of its own processes and of its command.
    """

    def __init__(self, port: int, environment: dict[str, str]) -> None:
        self.port = port
        self._environment = environment

    def connection(self) -> pika.BlockingConnection:
        """A new connection."""
        return pika.BlockingConnection(parameters(self.port))

    def control(self, *arguments: str) -> str:
        """Run `rabbitmqctl`; what it printed."""
        command = [str(CONTROL), "-n", NODE, *arguments]
        return subprocess.run(command, env=self._environment, check=True, capture_output=True, text=True).stdout

    def shovel(self, queue: str, exchange: str) -> None:
        """Begin to move messages from a queue to an exchange, each acknowledged when its target has confirmed it."""
        uri = f"amqp://127.0.0.1:{self.port}"
        definition = {
            "src-protocol": "amqp091", "src-uri": uri, "src-queue": queue,
            "dest-protocol": "amqp091", "dest-uri": uri, "dest-exchange": exchange,
            "ack-mode": "on-confirm", "src-prefetch-count": 1000,
        }  # fmt: skip
        self.control("set_parameter", "shovel", "redrive", json.dumps(definition))

    def end_shovel(self) -> None:
        """End it."""
        self.control("clear_parameter", "shovel", "redrive")


def parameters(port: int) -> pika.ConnectionParameters:
    """How to connect: as guest, who may on loopback."""
    return pika.ConnectionParameters(host="127.0.0.1", port=port, heartbeat=0)


@contextmanager
def broker(folder: Path) -> Iterator[Broker]:
    """Start one whose data is in a folder; it has the shovel plugin."""
    port, mapper_port = free_port(), free_port()
    plugins = folder / "enabled_plugins"
    plugins.write_text("[rabbitmq_shovel].\n")
    environment = {
        **os.environ,
        "HOME": str(folder),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_EPMD_PORT": str(mapper_port),
        "RABBITMQ_NODENAME": NODE,
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_CONFIG_FILE": str(folder / "none"),
        "RABBITMQ_ADVANCED_CONFIG_FILE": str(folder / "none"),
        "RABBITMQ_CONF_ENV_FILE": str(folder / "none"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(plugins),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
    }
    log = (folder / "server.log").open("wb")
    mapper = subprocess.Popen([str(PORT_MAPPER)], env=environment, stdout=log, stderr=log, cwd=folder)
    server = subprocess.Popen([str(SERVER)], env=environment, stdout=log, stderr=log, cwd=folder)
    try:
        _wait(server, port, folder / "server.log")
        yield Broker(port, environment)
    finally:
        for process in (server, mapper):
            process.send_signal(signal.SIGTERM)
            process.wait()
        log.close()


def _wait(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    while True:
        try:
            pika.BlockingConnection(parameters(port)).close()
        except pika.exceptions.AMQPConnectionError:
            if server.poll() is not None:
                raise RuntimeError(f"rabbitmq-server ended:\n{log.read_text()}") from None
            time.sleep(0.2)
        else:
            return


class Publisher:
    """Puts persistent messages on one queue, `unit` at a time, each unit confirmed before the next one."""

    def __init__(self, port: int, queue: str) -> None:
        self._queue = queue
        self._body = b""
        self._left = self._unit = self._published = 0
        self._unconfirmed: set[int] = set()
        self._connection = pika.SelectConnection(parameters(port), on_open_callback=self._opened)
        self._connection.ioloop.start()

    def put(self, body: bytes, count: int, unit: int) -> None:
        """Return when all are confirmed."""
        self._body, self._left, self._unit = body, count, unit
        self._publish()
        self._connection.ioloop.start()

    def close(self) -> None:
        """Disconnect."""
        self._connection.add_on_close_callback(lambda *_: self._connection.ioloop.stop())
        self._connection.close()
        self._connection.ioloop.start()

    def _opened(self, connection: pika.SelectConnection) -> None:
        self._channel = connection.channel(on_open_callback=self._channel_opened)

    def _channel_opened(self, channel: pika.channel.Channel) -> None:
        channel.confirm_delivery(self._confirmed, callback=lambda _frame: self._connection.ioloop.stop())

    def _publish(self) -> None:
        for _ in range(min(self._unit, self._left)):
            self._channel.basic_publish("", self._queue, self._body, PERSISTENT)
            self._published += 1
            self._unconfirmed.add(self._published)
            self._left -= 1

    def _confirmed(self, frame: pika.frame.Method) -> None:
        assert isinstance(frame.method, pika.spec.Basic.Ack), "the broker refused a message"
        if frame.method.multiple:
            self._unconfirmed = {tag for tag in self._unconfirmed if tag > frame.method.delivery_tag}
        else:
            self._unconfirmed.discard(frame.method.delivery_tag)
        if self._unconfirmed:
            return
        if self._left:
            self._publish()
        else:
            self._connection.ioloop.stop()


class Consumer:
    """Gets messages of one queue; holds at most `unit` that are not acknowledged, and acknowledges them together."""

    def __init__(self, port: int, queue: str, unit: int) -> None:
        self._connection = pika.BlockingConnection(parameters(port))
        self._channel = self._connection.channel()
        self._channel.basic_qos(prefetch_count=unit)
        self._queue, self._unit = queue, unit

    def get(self, count: int) -> None:
        """Return when so many are acknowledged; the broker does not confirm that."""
        for number, (method, _, _) in enumerate(self._channel.consume(self._queue), 1):
            if number % self._unit == 0 or number == count:
                self._channel.basic_ack(method.delivery_tag, multiple=True)
            if number == count:
                break
        self._channel.cancel()

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()
