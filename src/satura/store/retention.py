"""Which versions can be read, which files they need, and when a version may go.

A version is superseded when the next one is committed. It stays readable for the time that is
retained, counted from then: whoever opened it while it was the latest has at least that long. The
versions that may go are those before the *horizon*.

Invariant: files that a version from the horizon on names are used, and so is nothing else.
"""

from __future__ import annotations

import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from satura.store import commits, delta, layout, writer
from satura.store.horizon import read_horizon, write_horizon
from satura.store.layout import FACTS, TERMS
from satura.store.metadata import find_recorded


def due_horizon(root: Path, retain: timedelta) -> int:
    """Return the oldest version that is the latest or was superseded less than `retain` ago."""
    facts = root / FACTS
    horizon, latest = read_horizon(root), commits.latest_version(facts) or 0
    oldest = time.time() - retain.total_seconds()
    while horizon < latest:
        following = commits.read_commit(facts, horizon + 1)
        if following is None or following.seconds > oldest:
            break
        horizon += 1
    return horizon


def move_horizon(root: Path, version: int) -> None:
    """Give up the versions before this one; their files may be deleted from now on."""
    if version <= read_horizon(root):
        return
    scratch = root / layout.STAGING / layout.new_transaction_name(datetime.now(UTC))
    lock = writer.claim(scratch)
    try:
        write_horizon(root, scratch, version)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        lock.close()


def used_files(root: Path) -> frozenset[Path]:
    """Return the data files that some version names that can be read."""
    facts, terms = root / FACTS, root / TERMS
    oldest, latest = read_horizon(root), commits.latest_version(facts) or 0
    found = {facts / file.path for file in delta.read_snapshot(facts, oldest).files}
    recorded = find_recorded(root, oldest).data
    named = {int(recorded["terms_version"])}
    found |= {root / name for name in recorded["beside"]}
    for version in range(oldest + 1, latest + 1):
        added, metadata = _added(facts, version)
        found |= {facts / path for path in added}
        if metadata is not None:
            named.add(int(metadata["terms_version"]))
            found |= {root / name for name in metadata["beside"]}
    return frozenset(found | {terms / path for path in _terms_of(terms, named)})


def _added(table: Path, version: int) -> tuple[frozenset[str], dict[str, Any] | None]:
    """Return the files that a commit adds; of one that is in no file any more, all files it has."""
    committed = commits.read_commit(table, version)
    if committed is None:
        return frozenset(file.path for file in delta.read_snapshot(table, version).files), None
    return committed.added, committed.metadata


def _terms_of(terms: Path, named: set[int]) -> set[str]:
    """Return the files of some versions of terms; those in between are of runs that crashed."""
    first = min(named)
    active = {file.path for file in delta.read_snapshot(terms, first).files}
    used, new = set(active), set[str]()
    for version in range(first + 1, max(named) + 1):
        committed = commits.read_commit(terms, version)
        if committed is None:
            active = {file.path for file in delta.read_snapshot(terms, version).files}
            new = set(active)
        else:
            active = (active - committed.removed) | committed.added
            new |= committed.added
        if version in named:
            used |= new & active
            new = set()
    return used
