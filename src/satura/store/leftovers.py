"""What crashed transactions and versions that are given up leave behind, and how it goes.

A file is an orphan when no version that can be read names it, and no living transaction is writing
it. A checksum file `.x.crc` belongs to `x`.

Invariant: the listing of files is taken before that of living transactions, so what a transaction
that begins meanwhile writes is never in it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

from satura.errors import StoreError
from satura.store import commits, delta, layout, writer
from satura.store.layout import FACTS, LOG, OURS, REJECTS, STAGING, TERMS, VIOLATIONS
from satura.store.retention import due_horizon, move_horizon, used_files
from satura.store.store import Store


def find_orphans(path: str | Path, *, grace: float = writer.GRACE_SECONDS) -> list[Path]:
    """Return the files of a store directory that no version names that can be read; read only."""
    root = _checked(path)
    files = [file for name in sorted(OURS) for file in _walk(root / name)]
    live = writer.live_transactions(root, grace=grace)
    if not layout.is_store(root):
        # Nothing came to be, so all of it is left over, the log of terms included.
        logs = not live
        return [
            file for file in files if _is_dead(root, file, live) and (logs or not _is_log(file))
        ]
    Store.open(root)  # refuse what this release cannot read
    used = _used(root, live)
    return [file for file in files if _is_dead(root, file, live) and _is_unused(file, used, live)]


def repair(path: str | Path, *, grace: float = writer.GRACE_SECONDS) -> list[Path]:
    """Delete the orphans and empty directories of a store; return the files deleted.

    Terms that ran ahead of facts in a crash are set back by a new commit first, so that every
    version of a table that is the latest can be read. Transactions that are running are left
    alone. `grace` is how many seconds a scratch directory without a writer is spared.
    """
    root = _checked(path)
    orphans = find_orphans(root, grace=grace)
    if layout.is_store(root) and not writer.live_transactions(root, grace=grace):
        _set_terms_back(root)
    # Scratch goes last: until then a repair that is cut short can still tell whose files these are.
    scratch = [file for file in orphans if file.is_relative_to(root / STAGING)]
    for file in orphans:
        if file not in scratch:
            file.unlink(missing_ok=True)
    for name in {file.relative_to(root / STAGING).parts[0] for file in scratch}:
        shutil.rmtree(root / STAGING / name, ignore_errors=True)
    remove_empty(root, keep_root=True)
    return orphans


def vacuum(
    path: str | Path, retain: timedelta, *, grace: float = writer.GRACE_SECONDS
) -> list[Path]:
    """Give up the versions superseded longer than `retain` ago and delete what only they need.

    Leftovers of crashed runs go too. Return the files deleted.
    """
    root = _checked(path)
    move_horizon(root, due_horizon(root, retain))
    return repair(root, grace=grace)


def remove(root: Path) -> None:
    """Clear what a crashed run left of a store that never came to be."""
    if root.is_dir() and not layout.is_store(root):
        repair(root)


def is_ours(root: Path) -> bool:
    """Say whether a directory that is no store holds nothing, or only leftovers of ours."""
    if not root.exists() or not any(_walk(root)):
        return not root.exists() or all(child.name in OURS for child in root.iterdir())
    if any(child.name not in OURS for child in root.iterdir()):
        return False
    staging = root / STAGING
    if staging.is_dir():
        return all(layout.TRANSACTION_NAME.fullmatch(child.name) for child in staging.iterdir())
    return commits.read_metadata(root / TERMS, 0) is not None


def remove_transaction(root: Path, txn: str) -> None:
    """Remove all files of one transaction, its scratch last."""
    for directory in (
        root / FACTS / layout.DATA / txn,
        root / TERMS / layout.DATA / txn,
        root / REJECTS / txn,
        root / VIOLATIONS / txn,
        root / STAGING / txn,
    ):
        if directory.exists():
            shutil.rmtree(directory)


def remove_empty(root: Path, *, keep_root: bool) -> None:
    """Remove the empty directories of a store, unless a transaction is about to fill them."""
    if writer.live_transactions(root):
        return
    for name in sorted(OURS):
        for directory, _, _ in os.walk(root / name, topdown=False):
            _remove_if_empty(Path(directory))
    if not keep_root:
        _remove_if_empty(root)


def remove_empty_of(root: Path, txn: str) -> None:
    """Remove the empty directories of one transaction, and those around them if they are empty."""
    for table in (FACTS, TERMS):
        for directory, _, _ in os.walk(root / table / layout.DATA / txn, topdown=False):
            _remove_if_empty(Path(directory))
    for name in (REJECTS, VIOLATIONS, STAGING):
        _remove_if_empty(root / name / txn)
        _remove_if_empty(root / name)


def _remove_if_empty(directory: Path) -> None:
    try:
        directory.rmdir()
    except OSError:
        return  # not empty, or gone


def _checked(path: str | Path) -> Path:
    root = layout.store_path(path)
    if not root.is_dir() or not (layout.is_store(root) or is_ours(root)):
        raise StoreError(
            "STORE-MISSING", f"there is no store at `{root}`", "check the path; nothing was touched"
        )
    return root


def _walk(directory: Path) -> Iterable[Path]:
    for parent, _, names in os.walk(directory):
        for name in names:
            yield Path(parent) / name


def _used(root: Path, live: frozenset[str]) -> frozenset[Path]:
    used = used_files(root)
    if live:  # terms that ran ahead are not set back now, so they must stay readable
        used |= {root / TERMS / file.path for file in delta.read_snapshot(root / TERMS).files}
    return used


def _is_dead(root: Path, file: Path, live: frozenset[str]) -> bool:
    return live.isdisjoint(file.relative_to(root).parts)


def _is_log(file: Path) -> bool:
    return LOG in file.parts[-3:-1]


def _is_unused(file: Path, used: frozenset[Path], live: frozenset[str]) -> bool:
    if _is_log(file):
        # A commit is written beside its place and then linked there; a crash leaves the draft.
        return not live and re.search(r"\.json#\d+$|\.tmp$", file.name) is not None
    owner = file.with_name(file.name[1:-4]) if re.fullmatch(r"\..*\.crc", file.name) else file
    return owner not in used


def _set_terms_back(root: Path) -> None:
    named = Store.open(root).info.terms_version
    terms = root / TERMS
    latest = delta.read_snapshot(terms)
    wanted = {file.path for file in delta.read_snapshot(terms, named).files}
    if {file.path for file in latest.files} != wanted:
        delta.restore(terms, named)
