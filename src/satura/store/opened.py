"""Delta tables kept open from one commit to the next.

To open a table is to read its log, which costs more than a small commit; to read the commits since
the last one does not. A table is lent to one user at a time, as it moves on while it is used.

Invariant: what is lent is the table that is there now, at the version asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from deltalake import DeltaTable

from satura.store import layout

_MOST: Final = 8
_KEPT: Final[dict[Path, tuple[tuple[int, int], DeltaTable]]] = {}


@contextmanager
def lent(table: Path, version: int) -> Iterator[DeltaTable]:
    """Open a table at a version; it is kept if all goes well."""
    # Another table may have been made in its place.
    first = layout.log_file(table, 0).stat()
    made = first.st_ino, first.st_mtime_ns
    was_made, opened = _KEPT.pop(table, (made, None))
    if opened is not None and was_made == made and opened.version() < version:
        opened.update_incremental()
    if opened is None or was_made != made or opened.version() != version:
        opened = DeltaTable(table.as_uri(), version=version)
    yield opened
    while len(_KEPT) >= _MOST:
        _KEPT.pop(next(iter(_KEPT), table), None)
    _KEPT[table] = made, opened
