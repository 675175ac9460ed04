"""What happened to a store: one entry for each version, from what its commit recorded.

Invariant: only logs are read; a version is listed as long as its commit is in the log, whether or
not its files still are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from satura.errors import StoreError
from satura.store import commits, layout
from satura.store.horizon import read_horizon
from satura.store.metadata import Counts

FOREIGN: Final = "foreign"
"""The operation of a commit that is not of Satura."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One version of a store."""

    version: int
    created: str  # ISO 8601, UTC; when its transaction began
    operation: str
    rule_set: str | None
    counts: Counts | None
    change: Mapping[str, Any] = field(default_factory=dict)
    readable: bool = True


def read_history(path: str | Path, limit: int | None = None) -> list[Entry]:
    """Return the versions of a store, the latest first, at most `limit` of them."""
    root = layout.store_path(path)
    facts = root / layout.FACTS
    latest = commits.latest_version(facts)
    if latest is None:
        raise StoreError("STORE-MISSING", f"there is no store at `{root}`", "check the path")
    oldest = read_horizon(root)
    found: list[Entry] = []
    for version in range(latest, -1, -1):
        if limit is not None and len(found) >= limit:
            break
        committed = commits.read_commit(facts, version)
        if committed is None:
            break  # another tool has shortened the log
        found.append(_entry(version, committed, readable=version >= oldest))
    return found


def _entry(version: int, committed: commits.Commit, *, readable: bool) -> Entry:
    data = committed.metadata
    if data is None:
        return Entry(version, committed.moment, FOREIGN, None, None, {}, readable)
    return Entry(
        version=version,
        created=str(data["created"]),
        operation=str(data.get("operation", "materialize")),
        rule_set=str(data["rule_set"]),
        counts=Counts(**data["counts"]),
        change=data.get("change", {}),
        readable=readable,
    )
