"""Who is writing: a file in the scratch of each transaction, locked while its process lives.

The kernel drops the lock when the process ends, however it ends, so a transaction whose file can
be locked is dead and its leftovers may go. Process ids alone would not do: they are used again,
and mean nothing in another container.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

from satura.store import layout

# A transaction this young may not have its file yet.
GRACE_SECONDS: Final = 60.0
TRIES: Final = 20


def claim(staging: Path) -> IO[str]:
    """Make the scratch directory of a transaction and mark it as ours while the handle is open."""
    _make(staging)
    draft = staging / f"{layout.WRITER}.draft"
    handle = draft.open("w", encoding="utf-8")
    with contextlib.suppress(OSError):  # a file system without locks: `is_live` asks the pid
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    json.dump({"pid": os.getpid(), "host": socket.gethostname(), "started": started}, handle)
    handle.flush()
    # Locked before it has its name, so nobody ever sees it unlocked while we live.
    draft.rename(staging / layout.WRITER)
    return handle


def _make(staging: Path) -> None:
    for _ in range(TRIES):
        # Another transaction that ends may take the empty parent away in between.
        with contextlib.suppress(FileNotFoundError):
            staging.mkdir(parents=True)
            return
    staging.mkdir(parents=True)


def live_transactions(root: Path, *, grace: float = GRACE_SECONDS) -> frozenset[str]:
    """Return the transactions of a store directory whose process is alive."""
    staging = root / layout.STAGING
    if not staging.is_dir():
        return frozenset()
    return frozenset(entry.name for entry in staging.iterdir() if is_live(entry, grace=grace))


def is_live(staging: Path, *, grace: float = GRACE_SECONDS) -> bool:
    """Say whether the transaction with this scratch directory may still be running."""
    try:
        with (staging / layout.WRITER).open("r", encoding="utf-8") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            except OSError:
                return _pid_is_live(handle.read())
            return False
    except FileNotFoundError:
        return _age(staging) < grace


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return float("inf")


def _pid_is_live(text: str) -> bool:
    try:
        writer = json.loads(text)
        if writer["host"] != socket.gethostname():
            return True  # cannot be told from here
        os.kill(int(writer["pid"]), 0)
    except (ValueError, KeyError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
