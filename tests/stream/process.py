"""`satura stream` as a process of its own, to be killed and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from satura.errors import StoreError
from satura.stream.report import BatchReport, read_reports

SOURCE = Path(__file__).parents[2] / "src"
PATIENCE = 240.0


@dataclass
class StreamProcess:
    """One stream; its arguments stay the same from start to start."""

    arguments: list[str]
    store: Path
    log: Path
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        command = [sys.executable, "-m", "satura.cli.main", "stream", *self.arguments]
        command += ["--store", str(self.store), "--name", "it", "--memory", "1g"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True,
                env=os.environ | {"PYTHONPATH": str(SOURCE)},
            )  # fmt: skip

    def kill(self) -> None:
        """End it as a power failure would: Python and its JVM at once."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> int:
        """Ask it to stop, as `systemctl stop` does; return its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(PATIENCE)

    def wait(self) -> int:
        assert self._process is not None
        return self._process.wait(PATIENCE)

    def reports(self) -> list[BatchReport]:
        try:
            return read_reports(self.store / "streams" / "it")
        except StoreError:
            return []

    def wait_for(self, what: Callable[[list[BatchReport]], bool]) -> None:
        """Wait until the reports of its batches say something."""
        deadline = time.monotonic() + PATIENCE
        while not what(self.reports()):
            assert self._process is not None
            assert self._process.poll() is None, self.log.read_text("utf-8", "replace")[-4000:]
            assert time.monotonic() < deadline, self.log.read_text("utf-8", "replace")[-4000:]
            time.sleep(0.1)
