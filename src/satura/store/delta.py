"""The thin seam to the Delta log: what Spark wrote becomes one commit; a snapshot becomes files.

What a store knows of the `deltalake` package is here, in `opened` and `writing`. Spark writes
Parquet, and here its footers become *add* actions with statistics, all committed at once. Commits
are compare-and-swap: they name the version they were planned on and fail with `ConflictError` if
the table has moved since.

Invariant: a commit either is in the log as a whole or has changed nothing.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Field, Schema
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.schema import PrimitiveType
from deltalake.transaction import (
    AddAction,
    CommitProperties,
    RemoveAction,
    Transaction,
    create_table_with_add_actions,
)

from satura.errors import CorruptStoreError, StoreError
from satura.parquet import data_files
from satura.store import layout
from satura.store.commits import METADATA, conflict, first_line, read_metadata, unreadable
from satura.store.opened import lent

Ids: TypeAlias = int | Collection[int] | None

APPLICATION: Final = "satura"
CONFIGURATION: Final = {
    # Facts name a version of terms, which must stay readable however old it is.
    "delta.enableExpiredLogCleanup": "false",
    # A snapshot has few files, so a checkpoint is cheap, and opening reads all commits after it.
    "delta.checkpointInterval": "10",
    # Which files may go is ours to say (`retention.py`); checkpoints need not list what went.
    "delta.deletedFileRetentionDuration": "interval 0 seconds",
}
_DELTA_TYPES: Final = {"int": "integer"}
_ARROW_TYPES: Final = {
    "long": pa.int64(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
    "string": pa.string(),
}


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a snapshot, with what the log says of it."""

    path: str  # relative to the table
    size: int
    rows: int
    kind: str | None
    bounds: Mapping[str, tuple[int, int]]  # column → least and greatest value
    nulls: Mapping[str, int]  # column → number of nulls
    since: int = 0  # the version that the rows came with

    def may_hold(self, column: str, ids: Collection[int]) -> bool:
        """Say whether some of the ids may stand in the column."""
        if column not in self.bounds:
            return True
        low, high = self.bounds[column]
        return any(low <= value <= high for value in ids)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an application that numbers its commits, so that none is made twice."""

    application: str
    number: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One version of a table: its files."""

    table: Path
    version: int
    files: tuple[DataFile, ...]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


def add_actions(
    table: Path,
    directory: Path,
    columns: layout.Columns,
    *,
    partition: Mapping[str, str] | None = None,
    rearranged: bool = False,
) -> list[AddAction]:
    """Describe the Parquet files under a directory of a table, from their footers.

    Files without rows are left out: Spark writes one for an empty frame. The columns are checked,
    for a wrong type here would only show when somebody reads.
    """
    return [
        AddAction(
            path=file.relative_to(table).as_posix(),
            size=file.stat().st_size,
            partition_values=dict(partition or {}),
            modification_time=int(file.stat().st_mtime * 1000),
            data_change=not rearranged,
            stats=json.dumps(statistics(footer)),
        )
        for file in data_files(directory)
        if (footer := read_footer(file, columns)).num_rows
    ]


def added_again(file: DataFile) -> AddAction:
    """Describe a file that an earlier version of a table names."""
    low, high = ({name: bound[i] for name, bound in file.bounds.items()} for i in (0, 1))
    stats = {
        "numRecords": file.rows, "minValues": low, "maxValues": high,
        "nullCount": dict(file.nulls),
    }  # fmt: skip
    now = int(time.time() * 1000)
    return AddAction(file.path, file.size, _partition(file), now, True, json.dumps(stats))


def read_footer(file: Path, columns: layout.Columns) -> pq.FileMetaData:
    """Read the footer of a Parquet file and check that it has exactly these columns."""
    try:
        footer = pq.read_metadata(file)
    except (OSError, pa.ArrowException) as error:
        raise CorruptStoreError(
            "STORE-CORRUPT",
            f"`{file}` is not a readable Parquet file: {first_line(error)}",
            "restore the file from a copy, or build the store again",
        ) from error
    found = {field.name: field.type for field in footer.schema.to_arrow_schema()}
    expected = {name: _ARROW_TYPES[kind] for name, kind in columns}
    if found != expected:
        raise CorruptStoreError(
            "STORE-COLUMNS",
            f"`{file}` has columns {_spell(found)}, expected {_spell(expected)}",
            "write facts and terms with the methods of the transaction",
        )
    return footer


def statistics(footer: pq.FileMetaData) -> dict[str, Any]:
    """Return the Delta statistics of a file: rows, and bounds and nulls of the indexed columns.

    A column of which some row group has values but no bounds gets none.
    """
    low: dict[str, int] = {}
    high: dict[str, int] = {}
    nulls: dict[str, int] = {}
    unknown: set[str] = set()
    for group in (footer.row_group(i) for i in range(footer.num_row_groups)):
        for chunk in (group.column(i) for i in range(group.num_columns)):
            name, stats = chunk.path_in_schema, chunk.statistics
            if name not in layout.INDEXED:
                continue
            if stats is None or not stats.has_null_count:
                unknown.add(name)
                continue
            nulls[name] = nulls.get(name, 0) + stats.null_count
            if stats.has_min_max:
                low[name] = min(low.get(name, stats.min), stats.min)
                high[name] = max(high.get(name, stats.max), stats.max)
            elif stats.null_count < group.num_rows:
                unknown.add(name)
    for known in (low, high, nulls):
        for name in unknown & known.keys():
            del known[name]
    return {"numRecords": footer.num_rows, "minValues": low, "maxValues": high, "nullCount": nulls}


def commit(
    table: Path,
    columns: layout.Columns,
    adds: Sequence[AddAction],
    *,
    base: int | None,
    metadata: Mapping[str, Any],
    removes: Sequence[DataFile] | None = None,
    rearranged: bool = False,
    step: Step | None = None,
) -> int:
    """Add files to a table in one commit on version `base`; return the new one.

    Without `removes` they replace all there are, else only those. `base` of None makes the table.
    `rearranged` says that the rows stay the same, `step` whose work the commit is. Raise
    `ConflictError` if the table is not at `base` any more.
    """
    version = 0 if base is None else base + 1
    properties = CommitProperties(
        custom_metadata={METADATA: dict(metadata)},
        max_commit_retries=0,
        app_transactions=[
            Transaction(APPLICATION, version),
            *([Transaction(step.application, step.number)] if step else []),
        ],
    )
    partitions = [name for name, _ in columns if name in layout.PARTITIONS]
    try:
        if base is None:
            create_table_with_add_actions(
                table.as_uri(),
                _delta_schema(columns),
                list(adds),
                mode="error",
                partition_by=partitions,
                configuration=CONFIGURATION,
                commit_properties=properties,
            )
        else:
            now = int(time.time() * 1000)
            gone = [
                RemoveAction(file.path, not rearranged, now, file.size, _partition(file))
                for file in removes or ()
            ]
            with lent(table, base) as opened:
                opened.create_write_transaction(
                    [*adds, *gone],
                    "overwrite" if removes is None else "append",
                    _delta_schema(columns),
                    partition_by=partitions,
                    commit_properties=properties,
                )
    except (DeltaError, OSError, ValueError) as error:
        found = read_metadata(table, version)
        if found is not None and found.get("txn") == metadata["txn"]:
            return version  # the commit is in the log; what failed came after it
        if layout.log_file(table, version).exists():
            raise conflict(table, base) from error
        raise StoreError(
            "STORE-WRITE",
            f"the commit to `{table}` failed: {first_line(error)}",
            "the store is as it was; see to disk space and permissions and run again",
        ) from error
    return version


def last_step(table: Path, application: str) -> int | None:
    """Return the number of the last step of an application that is committed to a table.

    None if there is none, or no table.
    """
    if not (table / layout.LOG).is_dir():
        return None
    with translated(table):
        found = DeltaTable(table.as_uri()).transaction_version(application)
    return None if found is None else int(found)


def restore(table: Path, version: int) -> int:
    """Make an earlier version of a table the latest, by a new commit; return its number."""
    with translated(table):
        latest = DeltaTable(table.as_uri())
        latest.restore(version, commit_properties=CommitProperties(max_commit_retries=0))
        return int(latest.version())


def read_snapshot(table: Path, version: int | None = None) -> Snapshot:
    """Read one version of a table, the latest unless told; no data file is touched."""
    with translated(table):
        opened = DeltaTable(table.as_uri(), version=version)
        rows = pa.table(opened.get_add_actions(flatten=True)).to_pylist()
        return Snapshot(table, int(opened.version()), tuple(_data_file(row) for row in rows))


def prune(
    files: Iterable[DataFile],
    *,
    kind: str | None = None,
    s: Ids = None,
    p: Ids = None,
    o: Ids = None,
) -> tuple[DataFile, ...]:
    """Return the files that may hold a matching row, by partition and by bounds."""
    wanted = {c: as_ids(ids) for c, ids in (("s", s), ("p", p), ("o", o)) if ids is not None}
    return tuple(
        file
        for file in files
        if (kind is None or file.kind == kind)
        and all(file.may_hold(column, ids) for column, ids in wanted.items())
    )


def as_ids(ids: int | Collection[int]) -> Collection[int]:
    """Return one id or several as several."""
    return (ids,) if isinstance(ids, int) else ids


def sync(files: Iterable[Path]) -> None:
    """Force files to disk, so that a log never outlives the data it names in a power cut."""
    parents = set()
    for file in files:
        parents.add(file.parent)
        _sync(file)
    for parent in parents:
        _sync(parent)


@contextmanager
def translated(table: Path) -> Iterator[None]:
    """Turn the errors of the Delta library into ours."""
    try:
        yield
    except TableNotFoundError as error:
        raise CorruptStoreError(
            "STORE-UNREADABLE",
            f"`{table}` is not a table: its log is missing",
            "restore it from a copy, or build the store again",
        ) from error
    except (DeltaError, OSError, ValueError) as error:
        raise unreadable(table, error) from error


def arrow_schema(columns: layout.Columns) -> pa.Schema:
    """Return columns as the schema of an Arrow table."""
    return pa.schema([(name, _ARROW_TYPES[kind]) for name, kind in columns])


def _delta_schema(columns: layout.Columns) -> Schema:
    return Schema(
        [Field(name, PrimitiveType(_DELTA_TYPES.get(kind, kind))) for name, kind in columns]
    )


def _partition(file: DataFile) -> dict[str, str | None]:
    return {} if file.kind is None else {"kind": file.kind, "since": str(file.since)}


def file_of(add: AddAction) -> DataFile:
    """Return a file that was added as a snapshot has it."""
    stats, partition = json.loads(add.stats), add.partition_values
    low, high = stats["minValues"], stats["maxValues"]
    return DataFile(
        path=add.path,
        size=add.size,
        rows=stats["numRecords"],
        kind=partition.get("kind"),
        bounds={name: (low[name], high[name]) for name in low},
        nulls=stats["nullCount"],
        since=int(partition.get("since") or 0),
    )


def following(
    before: Snapshot | None, table: Path, version: int,
    adds: Iterable[AddAction], removes: Iterable[DataFile] | None,
) -> Snapshot:  # fmt: skip
    """Return the snapshot that a commit led to, without reading it."""
    gone = None if removes is None else {file.path for file in removes}
    kept = () if before is None or gone is None else before.files
    stay = [file for file in kept if gone is None or file.path not in gone]
    return Snapshot(table, version, (*stay, *(file_of(add) for add in adds)))


def _data_file(row: Mapping[str, Any]) -> DataFile:
    indexed = [name for name in layout.INDEXED if row.get(f"min.{name}") is not None]
    counted = [name for name in layout.INDEXED if row.get(f"null_count.{name}") is not None]
    return DataFile(
        path=row["path"],
        size=row["size_bytes"],
        rows=row.get("num_records") or 0,
        kind=row.get("partition.kind"),
        bounds={name: (row[f"min.{name}"], row[f"max.{name}"]) for name in indexed},
        nulls={name: row[f"null_count.{name}"] for name in counted},
        since=int(row.get("partition.since") or 0),
    )


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _spell(columns: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
