"""How far back a store can be read: the oldest version whose files are kept.

The horizon is a small file beside the tables. It is moved before any file of an older version is
deleted, so a version that cannot be read whole is refused at once and by name.

Invariant: all files of the versions from the horizon on are there.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from satura.errors import CorruptStoreError, StoreError
from satura.store import layout


def read_horizon(root: Path) -> int:
    """Return the oldest version that can be read."""
    file = root / layout.HORIZON
    try:
        return int(json.loads(file.read_text(encoding="utf-8"))["oldest"])
    except FileNotFoundError:
        return 0
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorruptStoreError(
            "STORE-UNREADABLE",
            f"`{file}` does not say which version is the oldest: {error}",
            'write the number of a version there that is whole: {"oldest": N}',
        ) from error


def write_horizon(root: Path, scratch: Path, version: int) -> None:
    """Record the oldest version that can be read; `scratch` is a directory of the caller."""
    draft = scratch / layout.HORIZON
    with draft.open("w", encoding="utf-8") as handle:
        json.dump({"oldest": version}, handle)
        handle.flush()
        os.fsync(handle.fileno())
    draft.replace(root / layout.HORIZON)


def no_such_version(root: Path, version: int, latest: int | None) -> StoreError:
    """Return the error of a version that is not there, or not any more."""
    oldest = read_horizon(root)
    if 0 <= version < oldest:
        found = f"version {version} of the store at `{root}` is gone: its files were vacuumed"
    else:
        found = f"the store at `{root}` has no version {version}"
    readable = f"versions {oldest} to {latest} can be read; `satura history` lists them"
    return StoreError("STORE-VERSION", found, readable)
