"""Run one command and measure it from outside: wall time, CPU time, peak memory of its tree.

Every system is measured the same way, from the start of its process to its exit, so that start-up
(a JVM, an import) counts. Memory is the sum of the resident sets of the process and all
descendants, sampled; pages shared by forked workers count once per worker, which can only
overstate. Only processes started here are ever signaled, through their own process group.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import psutil

SAMPLE_SECONDS = 0.1
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one process cost, and how it ended."""

    status: Literal["ok", "timeout", "failed"]
    seconds: float
    cpu_seconds: float
    peak_mib: float
    exit_code: int


@dataclass(slots=True)
class Sampler:
    """The running maximum of a process tree's memory, and the CPU seconds seen per process."""

    root: psutil.Process
    peak: int = 0
    cpu: dict[int, float] = field(default_factory=dict)

    def sample(self) -> None:
        """Look at the tree once; processes that vanish meanwhile are left out."""
        total = 0
        try:
            processes = [self.root, *self.root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        for process in processes:
            try:
                total += process.memory_info().rss
                times = process.cpu_times()
            except (psutil.NoSuchProcess, psutil.ZombieProcess, psutil.AccessDenied):
                continue
            self.cpu[process.pid] = times.user + times.system
        self.peak = max(self.peak, total)


def end_group(pid: int) -> None:
    """Kill what is left of the process group that `run` opened."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def run(
    command: Sequence[str], *, log: Path, limit: float, environment: Mapping[str, str] | None = None
) -> Measurement:
    """Run `command` for at most `limit` seconds, its output going to `log`."""
    with log.open("wb") as sink:
        started = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            env=None if environment is None else dict(environment),
            start_new_session=True,
        )
        try:
            sampler = Sampler(psutil.Process(process.pid))
            # wait4 rather than Popen.wait: it returns the kernel's own account of the process,
            # which catches a peak between two samples
            pid, status, usage = 0, 0, None
            while pid == 0:
                sampler.sample()
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid == 0 and time.perf_counter() - started > limit:
                    end_group(process.pid)
                    _, _, usage = os.wait4(process.pid, 0)
                    status = -1
                    break
                if pid == 0:
                    time.sleep(SAMPLE_SECONDS)
            seconds = time.perf_counter() - started
        finally:
            end_group(process.pid)
    code = -signal.SIGKILL if status == -1 else os.waitstatus_to_exitcode(status)
    process.returncode = code
    return Measurement(
        status="timeout" if status == -1 else "ok" if code == 0 else "failed",
        seconds=seconds,
        cpu_seconds=max(sum(sampler.cpu.values()), usage.ru_utime + usage.ru_stime),
        peak_mib=max(sampler.peak, usage.ru_maxrss * 1024) / MIB,
        exit_code=code,
    )
