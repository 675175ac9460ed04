"""A real Apache Kafka broker in a process of its own: one node, no ZooKeeper, no container.

The node is broker and controller at once (KRaft). Its ports and its data directory stay the same
from start to start, so that a client sees the same broker again after `stop` or `kill`.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import uuid4

READY: Final = "Kafka Server started"

# Compiling well would take longer than a test does; one collector thread is enough for 512 MiB.
JAVA_OPTIONS: Final = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")

SETTINGS: Final = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}

# Topics are made by tests, with the partitions they want.
auto.create.topics.enable=false

# There is one node; what the broker keeps for itself has one copy and one partition.
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1

# A broker that was killed may come back as soon as it is started.
broker.session.timeout.ms=1000
broker.heartbeat.interval.ms=250
initial.broker.registration.timeout.ms=60000
group.initial.rebalance.delay.ms=0
"""


class BrokerError(Exception):
    """The broker did not do what it was asked to; the message ends with its last log lines."""


@dataclass(slots=True)
class Broker:
    """A broker below `folder`, run by `java` from `jars`; nothing runs before `start`."""

    folder: Path
    jars: tuple[Path, ...]
    java: Path
    limit: float = 60.0
    port: int = field(init=False)
    process: subprocess.Popen[bytes] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port, controller = _free_ports(2)
        text = SETTINGS.format(port=self.port, controller=controller, data=self.data)
        self.settings.write_text(text, "utf-8")

    @property
    def bootstrap(self) -> str:
        """Return what clients take as `bootstrap.servers`."""
        return f"127.0.0.1:{self.port}"

    @property
    def settings(self) -> Path:
        return self.folder / "server.properties"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "broker.log"

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Start the broker and wait until it serves; it has the data that it had before."""
        if self.running:
            return
        if not self.data.is_dir():
            self._format()
        seen = self.log.stat().st_size if self.log.is_file() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command("kafka.Kafka", str(self.settings)),
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                # An interrupt from the keyboard is for the tests, which then stop the broker.
                start_new_session=True,
            )  # fmt: skip
        self._wait_until_ready(seen)

    def stop(self) -> None:
        """Let the broker end in order; kill it if it does not."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the broker at once, as a crash of its machine would."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop the broker if it runs, and start it on the same port and data."""
        self.stop()
        self.start()

    def __enter__(self) -> Broker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _command(self, *arguments: str) -> list[str]:
        path = ":".join(map(str, self.jars))
        return [str(self.java), *JAVA_OPTIONS, "-cp", path, *arguments]

    def _format(self) -> None:
        cluster = urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")
        options = ("format", "--cluster-id", cluster, "--config", str(self.settings))
        done = subprocess.run(
            self._command("kafka.tools.StorageTool", *options),
            cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=self.limit, check=False,
        )  # fmt: skip
        if done.returncode:
            raise BrokerError(f"the storage was not formatted\n{done.stdout}{done.stderr}")

    def _wait_until_ready(self, seen: int) -> None:
        """Wait for the line that says so, among those written after the first `seen` bytes."""
        assert self.process is not None
        until = time.monotonic() + self.limit
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise BrokerError(f"the broker ended with {self.process.returncode}\n{self.tail()}")
            with self.log.open("rb") as log:
                log.seek(seen)
                if READY.encode() in log.read() and self._accepts():
                    return
            time.sleep(0.1)
        self.kill()
        raise BrokerError(f"the broker was not ready after {self.limit} s\n{self.tail()}")

    def _accepts(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False

    def _end(self, how: signal.Signals) -> None:
        if self.process is None:
            return
        self.process.send_signal(how)
        try:
            self.process.wait(self.limit / 2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def tail(self, lines: int = 30) -> str:
        """Return the last lines of the log."""
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-lines:])


def _free_ports(count: int) -> list[int]:
    """Return ports that are free now; they are held until all are known, so that they differ."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [server.getsockname()[1] for server in held]
    finally:
        for server in held:
            server.close()
