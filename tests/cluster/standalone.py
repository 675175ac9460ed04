"""A standalone Spark cluster on this machine: a master and workers, each in a process of its own.

A driver that connects to it has executors in other processes than its own, as on a real cluster:
what is not serialized, or is only on the driver, does not get there.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyspark

from satura.local_spark import find_java

HOST: Final = "127.0.0.1"
# The modules that Spark opens to itself when it is started by its own scripts.
OPENED: Final = (
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio",
    "java.util", "java.util.concurrent", "java.util.concurrent.atomic", "sun.nio.ch", "sun.nio.cs",
    "sun.security.action", "sun.util.calendar",
)  # fmt: skip


class ClusterError(Exception):
    """The cluster did not start; the message ends with the last log lines."""


@dataclass(slots=True)
class StandaloneCluster:
    """A cluster below `folder`; nothing runs before `start`."""

    folder: Path
    workers: int = 2
    cores: int = 1
    memory: str = "2g"
    limit: float = 60.0
    url: str = field(init=False, default="")
    processes: list[subprocess.Popen[bytes]] = field(init=False, default_factory=list)

    def start(self) -> None:
        """Start the master, then the workers, and wait until all have registered."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._run("master", "master.Master", "--port", "0", "--webui-port", "0")
            self.url = self._wait_for("master", r"Starting Spark master at (spark://\S+)", 1)[0]
            for number in range(self.workers):
                self._run(
                    f"worker-{number}", "worker.Worker", "--port", "0", "--webui-port", "0",
                    "--cores", str(self.cores), "--memory", self.memory,
                    "--work-dir", str(self.folder / f"work-{number}"), self.url,
                )  # fmt: skip
            self._wait_for("master", r"Registering worker (\S+) with", self.workers)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the workers, which end their executors, and then the master."""
        while self.processes:
            process = self.processes.pop()
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(self.limit / 4)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def settings(self) -> dict[str, str]:
        """Return what a session needs besides `url` as its master."""
        return {
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            "spark.executor.cores": str(self.cores),
            "spark.executor.memory": "1g",
            # Without it the first jobs run on the executor that came first.
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.cores.max": str(self.workers * self.cores),
        }

    def __enter__(self) -> StandaloneCluster:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self, name: str, role: str, *arguments: str) -> None:
        home = Path(pyspark.__file__).parent
        scala = next(home.glob("jars/spark-core_*.jar")).name.removeprefix("spark-core_")
        opened = [f"--add-opens=java.base/{module}=ALL-UNNAMED" for module in OPENED]
        command = [
            str(find_java()), "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *opened,
            "-cp", str(home / "jars" / "*"), f"org.apache.spark.deploy.{role}", "--host", HOST,
            *arguments,
        ]  # fmt: skip
        # Executors start Python workers, which must be this interpreter.
        environment = os.environ | {
            "SPARK_LOCAL_IP": HOST,
            "SPARK_HOME": str(home),
            # A worker that is not told takes its home for a checkout of the sources of Spark.
            "SPARK_SCALA_VERSION": scala.split("-")[0],
            "PYSPARK_PYTHON": sys.executable,
        }
        with self._log(name).open("ab") as log:
            started = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.processes.append(started)

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _wait_for(self, name: str, pattern: str, count: int) -> list[str]:
        until = time.monotonic() + self.limit
        while time.monotonic() < until:
            text = self._log(name).read_text("utf-8", "replace")
            found = re.findall(pattern, text)
            if len(found) >= count:
                return found
            if any(process.poll() is not None for process in self.processes):
                raise ClusterError(f"a process ended\n{self._tails()}")
            time.sleep(0.1)
        raise ClusterError(f"not ready after {self.limit} s\n{self._tails()}")

    def _tails(self) -> str:
        logs = sorted(self.folder.glob("*.log"))
        lines = (log.read_text("utf-8", "replace").splitlines()[-15:] for log in logs)
        return "\n".join(line for tail in lines for line in tail)
