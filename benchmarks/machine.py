"""Describe the machine and the software of a run, without naming the machine.

A result is only worth something with its hardware and versions; host names and paths are nobody's
business and are never read here.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from closure_size import satura_python

ROOT = Path(__file__).resolve().parent.parent


def cpu_model() -> str:
    """Return the processor's marketing name, or its architecture where the system hides it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.machine()


def cpu_count() -> int:
    """Count the processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_gib() -> int:
    """Return the physical memory, to the nearest GiB."""
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3)


def operating_system() -> str:
    """Return the name and version of the operating system."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{platform.system()} {platform.release()}"


def java_version() -> str:
    """Return the first line of `java -version`, or say that there is none."""
    java = Path(os.environ["JAVA_HOME"]) / "bin" / "java" if "JAVA_HOME" in os.environ else "java"
    try:
        done = subprocess.run([str(java), "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "none"
    return next(iter(done.stderr.splitlines()), "unknown")


def describe() -> dict[str, str | int]:
    """Return everything the result file says about the machine."""
    return {
        "cpu": cpu_model(),
        "cpus": cpu_count(),
        "memory_gib": memory_gib(),
        "os": operating_system(),
        "python": platform.python_version(),
        "java": java_version(),
    }


def kind(machine: dict[str, str | int]) -> str:
    """Return a short label for file names: how many processors and how much memory.

    >>> kind({"cpus": 2, "memory_gib": 23})
    '2cpu-23gib'
    """
    return f"{machine['cpus']}cpu-{machine['memory_gib']}gib"


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the installed version of each package; `none` where it is missing."""
    found = {}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = _version_beside_satura(package)
    return found


def _version_beside_satura(package: str) -> str:
    """Return the version of a package in Satura's own environment."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    done = subprocess.run(
        [satura_python(), "-c", code], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "none"


def satura_version() -> str:
    """Return the version of the checked-out Satura, whether or not it is installed."""
    for line in (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines():
        if line.startswith("version = "):
            return line.split('"')[1]
    return "unknown"


def commit() -> str:
    """Return the short commit of the checkout, with `-dirty` when tracked files differ."""
    git = ["git", "-C", str(ROOT)]
    try:
        name = subprocess.run(
            [*git, "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True, check=True
        ).stdout.strip()
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{name}-dirty" if changed else name
