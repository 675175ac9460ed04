"""The log of a table, commit by commit: which there are, what each says, what goes wrong.

A commit is one JSON file with the number of its version. Reading it needs no Delta library, and
for what one commit said that is much cheaper than opening the table.

Invariant: reading only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from satura.errors import ConflictError, CorruptStoreError
from satura.store import layout

METADATA: Final = "satura"
"""Where in a commit's information Satura keeps its own."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit as its file in the log says it; paths are relative to the table."""

    metadata: dict[str, Any] | None  # what Satura recorded, None if it was another program
    seconds: float  # when it was made, since the epoch
    added: frozenset[str]
    removed: frozenset[str]

    @property
    def moment(self) -> str:
        """When it was made: ISO 8601, UTC."""
        return datetime.fromtimestamp(self.seconds, UTC).isoformat(timespec="milliseconds")


def latest_version(table: Path) -> int | None:
    """Return the latest version of a table, None if it has no commit."""
    try:
        return layout.last_commit(table)
    except OSError as error:
        raise unreadable(table, error) from error


def read_metadata(table: Path, version: int) -> dict[str, Any] | None:
    """Return what Satura recorded with one commit, None if that commit is absent or foreign."""
    found = read_commit(table, version)
    return None if found is None else found.metadata


def read_commit(table: Path, version: int) -> Commit | None:
    """Read the file of one commit, None if there is none."""
    file = layout.log_file(table, version)
    try:
        text = file.read_text(encoding="utf-8")
        actions = [json.loads(line) for line in text.splitlines()]
        info: dict[str, Any] = next((x["commitInfo"] for x in actions if "commitInfo" in x), {})
        millis = info.get("timestamp") or int(file.stat().st_mtime * 1000)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise unreadable(table, error) from error
    metadata = info.get(METADATA)
    return Commit(
        metadata if isinstance(metadata, dict) else None,
        int(millis) / 1000,
        frozenset(unquote(x["add"]["path"]) for x in actions if "add" in x),
        frozenset(unquote(x["remove"]["path"]) for x in actions if "remove" in x),
    )


def conflict(table: Path, base: int | None) -> ConflictError:
    """Return the error of a table that moved since a transaction began."""
    was = "did not exist" if base is None else f"was at version {base}"
    return ConflictError(
        "STORE-CONFLICT",
        f"`{table}` {was} when this run began, and another run committed since",
        "the store holds the other run's result; run again if this one is still wanted",
    )


def unreadable(table: Path, error: BaseException) -> CorruptStoreError:
    """Return the error of a table whose log cannot be read."""
    return CorruptStoreError(
        "STORE-UNREADABLE",
        f"the log of `{table}` cannot be read: {first_line(error)}",
        "check permissions; if the log is damaged, restore it from a copy or build the store again",
    )


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text; the rest is a trace of somebody else's stack."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # The object store of the Delta library nests its causes below one another with arrows.
    causes = [line.rsplit("\x1b[0m ", 1)[-1] for line in lines[1:] if "↳" in line]
    return ": ".join([lines[0], *causes]) if lines else type(error).__name__
