"""What lies where in a store directory, and which columns its tables have.

    DIR/facts/     Delta table, partitioned by `kind`; one commit to it decides everything
    DIR/terms/     Delta table (id, term): the dictionary, only for decoding
    DIR/rejects/   Parquet, one directory per transaction that skipped some input
    DIR/violations/ Parquet, likewise, of what rules that conclude `false` found
    DIR/horizon.json  the oldest version that can be read, once older ones were vacuumed
    DIR/_staging/  scratch of running transactions, one directory each

Spark writes Parquet under `data/<txn>/` of a table; the Delta log then names the files. Names are
made of characters that need no escaping in a Delta log, so a path there is a path on disk.

Invariant: nothing else in the package spells a path or a column of a store.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from satura.errors import ConfigError, UnsupportedError

FORMAT_VERSION: Final = 3

Kind: TypeAlias = Literal["asserted", "derived", "schema", "equal"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

FACTS: Final = "facts"
TERMS: Final = "terms"
REJECTS: Final = "rejects"
VIOLATIONS: Final = "violations"
STAGING: Final = "_staging"
STREAMS: Final = "streams"  # of streams that write here: their own, not of any snapshot
HORIZON: Final = "horizon.json"
OURS: Final = frozenset({FACTS, TERMS, REJECTS, VIOLATIONS, STAGING, HORIZON})

DATA: Final = "data"
LOG: Final = "_delta_log"
WRITER: Final = "writer.json"
_LENGTH: Final = len(f"{0:020d}.json")
_CHECKPOINT: Final = re.compile(r"(\d{20})\.checkpoint")
TRANSACTION_NAME: Final = re.compile(r"\d{8}T\d{6}-[0-9a-f]{12}")

# Columns are (name, SQL type); the type is spelled alike in Spark's DDL and in Delta, except
# `int`, which `delta.py` translates.
Columns: TypeAlias = tuple[tuple[str, str], ...]
TRIPLE: Final[Columns] = (("s", "long"), ("p", "long"), ("o", "long"))
# What the Parquet files of each kind hold; a column a kind lacks reads as null.
KIND_COLUMNS: Final[dict[Kind, Columns]] = {
    "asserted": (*TRIPLE, ("g", "long"), ("gone", "boolean")),
    "derived": (
        *TRIPLE,
        ("support", "int"),
        ("joined", "boolean"),
        ("asserted", "boolean"),
        ("gone", "boolean"),
    ),
    # Where a triple of the closed schema is from; see `closure.program`.
    "schema": (*TRIPLE, ("origin", "int")),
    # Terms that are `owl:sameAs` others: the term, its representative, whether it is an IRI.
    "equal": (("s", "long"), ("o", "long"), ("iri", "boolean")),
}
FACTS_COLUMNS: Final[Columns] = (
    ("kind", "string"),
    ("since", "long"),
    *TRIPLE,
    ("g", "long"),
    ("support", "int"),
    ("joined", "boolean"),
    ("asserted", "boolean"),
    ("gone", "boolean"),
    ("origin", "int"),
    ("iri", "boolean"),
)
# Columns by which the files of facts are told apart without reading them.
PARTITIONS: Final = ("kind", "since")
# What tells the rows of a kind apart. Of two rows with one key the later (`since`) holds, and one
# that is `gone` says that there is no such row any more. Kinds without a key are written whole.
KEYS: Final[dict[Kind, tuple[str, ...]]] = {
    "asserted": ("s", "p", "o", "g"),
    "derived": ("s", "p", "o"),
}

TERMS_COLUMNS: Final[Columns] = (("id", "long"), ("term", "string"))
REJECTS_COLUMNS: Final[Columns] = (
    ("file", "string"),
    ("line", "long"),
    ("column", "int"),
    ("reason", "string"),
    ("text", "string"),
)
# The rule, its variables by name with their terms, and the triples that its patterns match.
VIOLATIONS_COLUMNS: Final[Columns] = (
    ("rule", "string"),
    ("names", "array<string>"),
    ("terms", "array<long>"),
    ("triples", "array<struct<s:long,p:long,o:long>>"),
)
# Columns whose minimum, maximum and null count go into the log: the index of the store.
INDEXED: Final = ("s", "p", "o", "g", "id")


def ddl(columns: Columns) -> str:
    """Return columns as the schema text Spark reads.

    >>> ddl(TERMS_COLUMNS)
    '`id` long, `term` string'
    """
    return ", ".join(f"`{name}` {kind}" for name, kind in columns)


def names(columns: Columns) -> list[str]:
    """Return the names of columns."""
    return [name for name, _ in columns]


def without_violations(beside: Mapping[str, int]) -> dict[str, int]:
    """Return the files beside the tables that do not hold violations."""
    return {name: size for name, size in beside.items() if Path(name).parts[0] != VIOLATIONS}


def store_path(path: str | Path) -> Path:
    """Return the absolute path of a store; refuse what cannot be one."""
    text = str(path)
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", text)
    if scheme and scheme[1] != "file":
        raise UnsupportedError(
            "STORE-URI",
            f"a store on `{scheme[1]}://` is not supported, only a local directory",
            "write to a local directory, or to a mount of the object store",
        )
    # The Delta library decodes %XX in paths twice and would then look in another directory.
    if re.search(r"%[0-9A-Fa-f]{2}", text):
        raise ConfigError(
            "STORE-PATH",
            f"`{text}` has a percent escape, which cannot stand in a store's path",
            "choose a directory name without `%`",
        )
    return Path(text.removeprefix("file://")).expanduser().absolute()


def new_transaction_name(moment: datetime) -> str:
    """Return a name for a transaction that begins now; names sort by time."""
    return f"{moment:%Y%m%dT%H%M%S}-{secrets.token_hex(6)}"


def log_file(table: Path, version: int) -> Path:
    """Return the file of one commit of a table."""
    return table / LOG / f"{version:020d}.json"


def has_commit(table: Path) -> bool:
    """Say whether a directory is a table: its log has a commit."""
    return last_commit(table) is not None


def last_commit(table: Path) -> int | None:
    """Return the number of the last commit in the log of a table, None if there is none.

    Commits are numbered without gaps, and a commit is there as soon as its file is.
    """
    log = table / LOG
    if not log.is_dir():
        return None
    at = _last_checkpoint(log)
    if at is not None and log_file(table, at).exists():
        # So nothing has to be listed, which takes the longer the more commits there are.
        while log_file(table, at + 1).exists():
            at += 1
        return at
    listed = os.listdir(log)  # noqa: PTH208 - names are enough, and there may be thousands
    plain = [name for name in listed if len(name) == _LENGTH and name.endswith(".json")]
    if plain:
        return int(max(plain)[:20])
    # Another tool may have left a checkpoint only.
    found = (_CHECKPOINT.match(name) for name in listed)
    return max((int(match[1]) for match in found if match), default=None)


def _last_checkpoint(log: Path) -> int | None:
    """Return which commit has the last checkpoint; a hint, which may be missing or old."""
    try:
        found = json.loads((log / "_last_checkpoint").read_bytes())["version"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, int) and found >= 0 else None


def is_store(path: Path) -> bool:
    """Say whether a directory is a store: its facts have a commit."""
    return has_commit(path / FACTS)
