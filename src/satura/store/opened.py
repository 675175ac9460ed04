"""Delta tables kept open from one commit to the next.

To open a table is to read its log, which costs more than a small commit; to read the commits since
the last one does not. A table is lent to one user at a time, as it moves on while it is used.

Invariant: what is lent is the table that is there now, at the version asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from deltalake import DeltaTable

from satura.store import layout

_MOST: Final = 8
_KEPT: Final[dict[Path, tuple[tuple[int, ...], DeltaTable]]] = {}
_LOCK: Final = threading.Lock()


@contextmanager
def lent(table: Path, version: int) -> Iterator[DeltaTable]:
    """Open a table at a version; it is kept if all goes well."""
    made = _made(table)
    with _LOCK:
        was_made, opened = _KEPT.pop(table, (made, None))
    if opened is not None and was_made == made and opened.version() < version:
        opened.update_incremental()
    if opened is None or was_made != made or opened.version() != version:
        opened = DeltaTable(table.as_uri(), version=version)
    yield opened
    if made:
        with _LOCK:
            while len(_KEPT) >= _MOST:
                del _KEPT[next(iter(_KEPT))]
            _KEPT[table] = made, opened


def _made(table: Path) -> tuple[int, ...]:
    """Tell a table from another that may have been made in its place; nothing if it cannot be."""
    try:
        first = layout.log_file(table, 0).stat()
    except FileNotFoundError:  # another tool may have cleaned the log
        return ()
    return first.st_ino, first.st_mtime_ns, first.st_ctime_ns
