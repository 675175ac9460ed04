"""Writing a store: everything is prepared beside the current snapshot, then one commit decides.

The steps of a commit, and what a crash after each leaves:

1. Spark has written Parquet under `data/<txn>/`: the old snapshot, and files nobody names.
2. The files are forced to disk and their footers read: the same.
3. `terms` is committed: the old snapshot, which reads the older version of terms.
4. `facts` is committed: the new snapshot.
5. The scratch directory goes: the new snapshot.

Invariant: nothing that a snapshot names is ever changed or deleted here.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.transaction import AddAction

from satura.errors import ConfigError, StoreError
from satura.parquet import data_files, read_files
from satura.store import commits, delta, layout, leftovers, writer
from satura.store.delta import DataFile, Snapshot
from satura.store.layout import (
    FACTS,
    FACTS_COLUMNS,
    KIND_COLUMNS,
    KINDS,
    TERMS,
    TERMS_COLUMNS,
    Kind,
)
from satura.store.metadata import CommitMetadata, describe, find_recorded, record
from satura.store.store import Store
from satura.store.writing import drop_empty, put_rows, writable, write_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)


def begin(path: str | Path, *, overwrite: bool) -> Transaction:
    """Begin to write a store at a path: a new one, or with `overwrite` the next snapshot of one.

    Raise `ConfigError` STORE-EXISTS if a store is there and `overwrite` is not given, `StoreError`
    STORE-NOT-EMPTY if something else is. Leftovers of a run that crashed before it made a store
    are removed.
    """
    root = layout.store_path(path)
    with writable(root):
        if root.exists() and not root.is_dir():
            raise ConfigError("STORE-PATH", f"`{root}` is a file", "give a directory")
        exists = layout.is_store(root)
        if exists and not overwrite:
            raise ConfigError(
                "STORE-EXISTS",
                f"there is a store at `{root}` already",
                "give another directory, or overwrite it (`--overwrite`): the old snapshot stays "
                "until the new one is complete",
            )
        if exists:
            Store.open(root)  # refuse to overwrite what this release cannot read
        elif not leftovers.is_ours(root):
            raise StoreError(
                "STORE-NOT-EMPTY",
                f"`{root}` is not empty and not a store",
                "give a new or empty directory; nothing there was touched",
            )
        else:
            leftovers.remove(root)
        return Transaction(root)


def begin_update(store: Store) -> Transaction:
    """Begin to write the next snapshot of a store, on the one that is open.

    Raise `ConflictError` if another transaction has committed since it was opened.
    """
    with writable(store.path):
        txn = Transaction(store.path)
    if txn.base != store.version:
        txn.rollback()
        raise commits.conflict(store.path / FACTS, store.version)
    txn.onto = store
    return txn


@dataclass(frozen=True, slots=True)
class Kept:
    """What the next snapshot keeps of the one before: all files of facts and terms but these.

    `beside` are the files beside the tables that stay, with their sizes. Rows that are only written
    anew keep their age, which `since` has by kind.
    """

    replaced: Sequence[DataFile] = ()
    replaced_terms: Sequence[DataFile] = ()
    beside: Mapping[str, int] = field(default_factory=dict)
    since: Mapping[Kind, int] | None = None


class Transaction:
    """One attempt to write the next snapshot. Leaving its `with` block uncommitted undoes it."""

    def __init__(self, root: Path) -> None:
        moment = datetime.now(UTC)
        self.id = layout.new_transaction_name(moment)
        self.created = moment.isoformat(timespec="milliseconds")
        self.path = root
        self.staging = root / layout.STAGING / self.id
        self.onto: Store | None = None  # the snapshot that is updated, if any is
        self._existed = root.exists()
        self._lock: IO[str] | None = writer.claim(self.staging)
        # Read after the claim: from here on `repair` leaves this transaction alone.
        try:
            self.base = commits.latest_version(root / FACTS)
            self._terms_base = commits.latest_version(root / TERMS)
        except BaseException:
            shutil.rmtree(self.staging, ignore_errors=True)
            self._release()
            raise

    @property
    def version(self) -> int:
        """The version that a commit will have."""
        return 0 if self.base is None else self.base + 1

    @property
    def terms_dir(self) -> Path:
        """Where Parquet files with the columns `id term` go; each id once."""
        return self.path / TERMS / layout.DATA / self.id

    @property
    def rejects_dir(self) -> Path:
        """Where Parquet files of skipped input go."""
        return self.path / layout.REJECTS / self.id

    @property
    def violations_dir(self) -> Path:
        """Where Parquet files of violations go."""
        return self.path / layout.VIOLATIONS / self.id

    def facts_dir(self, kind: Kind) -> Path:
        """Where Parquet files of a kind go, in any depth; the columns are `KIND_COLUMNS`."""
        return self.path / FACTS / layout.DATA / self.id / kind

    def write_facts(self, kind: Kind, frame: DataFrame) -> None:
        """Write rows of a kind, one file per partition; may be called several times.

        What is sorted together stays together: `repartitionByRange` on `p` and `o` beforehand
        makes bounds that let a reader skip most files.
        """
        from pyspark.sql import functions as F  # noqa: N812, PLC0415

        if kind in layout.KEYS and "gone" not in frame.columns:
            frame = frame.withColumn("gone", F.lit(False))
        write_frame(frame, self.facts_dir(kind), KIND_COLUMNS[kind], f"write {kind} facts")

    def put_facts(self, kind: Kind, table: pa.Table) -> None:
        """Write rows of a kind that are on the driver, as one file; none if there are none."""
        with writable(self.path):
            put_rows(table, self.facts_dir(kind))

    def put_terms(self, table: pa.Table) -> None:
        """Write rows of the dictionary that are on the driver."""
        with writable(self.path):
            put_rows(table, self.terms_dir)

    def put_violations(self, table: pa.Table) -> None:
        """Write violations that are on the driver."""
        with writable(self.path):
            put_rows(table, self.violations_dir)

    def write_terms(self, frame: DataFrame) -> None:
        """Write rows of the dictionary; ids must be distinct over all calls."""
        write_frame(frame, self.terms_dir, TERMS_COLUMNS, "write terms")

    def write_rejects(self, frame: DataFrame) -> None:
        """Write input that was skipped."""
        write_frame(frame, self.rejects_dir, layout.REJECTS_COLUMNS, "write rejected input")

    def write_violations(self, frame: DataFrame) -> None:
        """Write what rules that conclude `false` found."""
        write_frame(frame, self.violations_dir, layout.VIOLATIONS_COLUMNS, "write violations")

    def read_facts(self, spark: SparkSession, kind: Kind) -> DataFrame:
        """Return the rows of a kind written so far."""
        files = data_files(self.facts_dir(kind))
        return read_files(spark, files, layout.ddl(KIND_COLUMNS[kind]))

    def read_terms(self, spark: SparkSession) -> DataFrame:
        """Return the rows of the dictionary written so far."""
        return read_files(spark, data_files(self.terms_dir), layout.ddl(TERMS_COLUMNS))

    def commit(self, metadata: CommitMetadata, kept: Kept | None = None) -> Store:
        """Make what was written the current snapshot, in place of the one before or on top of it.

        Raise `ConflictError` if another transaction committed since this one began. On any error
        the store is as it was and the files of this transaction are removed.
        """
        try:
            store = self._commit(metadata, kept)
        except BaseException:
            self.rollback()
            raise
        self._finish()
        return store

    def _commit(self, metadata: CommitMetadata, kept: Kept | None) -> Store:
        if self._lock is None:
            raise StoreError("STORE-WRITE", f"transaction `{self.id}` is over", "begin another")
        facts, terms = self.path / FACTS, self.path / TERMS
        # Seen early, a conflict costs no commit to terms; the commit to facts checks it again.
        if commits.latest_version(facts) != self.base:
            raise commits.conflict(facts, self.base)
        with writable(self.path):
            adds = {kind: self._facts_added(kind, kept) for kind in KINDS}
            terms_adds = delta.add_actions(terms, self.terms_dir, TERMS_COLUMNS)
            beside = self._beside_added()
            if kept is None:
                _check_counts(metadata, adds)
            for kind in KINDS:
                drop_empty(self.facts_dir(kind), facts, adds[kind])
            drop_empty(self.terms_dir, terms, terms_adds)
            facts_adds = [add for kind in KINDS for add in adds[kind]]
            delta.sync([*(facts / add.path for add in facts_adds), *beside])
            delta.sync(terms / add.path for add in terms_adds)
            before = None if self.base is None else find_recorded(self.path, self.base)
            recorded = {"txn": self.id, "created": self.created} | record(metadata, before)
            recorded["beside"] = dict(kept.beside if kept else {}) | {
                file.relative_to(self.path).as_posix(): file.stat().st_size for file in beside
            }
        terms_now = self._commit_terms(terms_adds, kept)
        recorded["terms_version"] = terms_now.version
        replaced = None if kept is None else kept.replaced
        version = delta.commit(
            facts, FACTS_COLUMNS, facts_adds, base=self.base, metadata=recorded,
            removes=replaced, rearranged=kept is not None and kept.since is not None,
            step=metadata.step,
        )  # fmt: skip
        was = None if self.onto is None else self.onto.facts_snapshot
        facts_now = delta.following(was, facts, version, facts_adds, replaced)
        info = describe(self.path, recorded, facts_now, terms_now)
        return Store(self.path, info, facts_now, terms_now)

    def _commit_terms(self, adds: list[AddAction], kept: Kept | None) -> Snapshot:
        """Commit to terms, if anything changes there; return the snapshot that facts will name."""
        table, base = self.path / TERMS, self._terms_base
        recorded = {"txn": self.id, "created": self.created}
        if kept is None or base is None or self.onto is None:
            version = delta.commit(table, TERMS_COLUMNS, adds, base=base, metadata=recorded)
            return delta.following(None, table, version, adds, None)
        named = self.onto.terms_snapshot
        if not adds and not kept.replaced_terms:
            return named
        again, replaced = list[AddAction](), list(kept.replaced_terms)
        if base != named.version:
            # Terms ran ahead in a run that crashed, or in one that is about to lose or to win: what
            # it added is not ours, and what it removed is.
            latest = {file.path: file for file in delta.read_snapshot(table, base).files}
            ours = {file.path for file in named.files}
            gone = {file.path for file in replaced}
            lost = ours - latest.keys() - gone
            again = [delta.added_again(file) for file in named.files if file.path in lost]
            replaced = [x for path, x in latest.items() if path not in ours or path in gone]
        version = delta.commit(
            table, TERMS_COLUMNS, [*adds, *again], base=base, metadata=recorded, removes=replaced
        )
        return delta.following(named, table, version, adds, kept.replaced_terms)

    def rollback(self) -> None:
        """Remove the files of this transaction, unless it is committed; never raise for that.

        What cannot be removed now is left to `repair`.
        """
        if self._lock is None:
            return
        try:
            if self._landed():
                self._finish()
                return
            self._undo_terms()
            leftovers.remove_transaction(self.path, self.id)
            self._release()
            if layout.is_store(self.path):
                leftovers.remove_empty_of(self.path, self.id)
            else:
                leftovers.remove_empty(self.path, keep_root=self._existed)
        except (StoreError, OSError) as error:
            log.warning("leftovers of `%s` stay until `satura verify --repair`: %s", self.id, error)
            self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.rollback()

    def _facts_added(self, kind: Kind, kept: Kept | None) -> list[AddAction]:
        rearranged = kept is not None and kept.since is not None
        since = (kept.since if kept is not None and kept.since else {}).get(kind, self.version)
        return delta.add_actions(
            self.path / FACTS, self.facts_dir(kind), KIND_COLUMNS[kind],
            partition={"kind": kind, "since": str(since)}, rearranged=rearranged,
        )  # fmt: skip

    def _beside_added(self) -> list[Path]:
        found: list[Path] = []
        for directory in (self.rejects_dir, self.violations_dir):
            for file in data_files(directory):
                if pq.read_metadata(file).num_rows:
                    found.append(file)
                else:
                    file.unlink()
                    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
        return found

    def _landed(self) -> bool:
        """Say whether our commit to facts is in the log, whatever was raised after it."""
        found = commits.read_metadata(self.path / FACTS, self.version)
        return found is not None and found.get("txn") == self.id

    def _undo_terms(self) -> None:
        """Take back our commit to terms, so that the latest version names files that stay."""
        terms = self.path / TERMS
        version = 0 if self._terms_base is None else self._terms_base + 1
        found = commits.read_metadata(terms, version)
        if found is None or found.get("txn") != self.id:
            return
        if commits.latest_version(terms) != version:
            return  # a later commit has replaced ours
        if self._terms_base is not None:
            try:
                delta.restore(terms, self._terms_base)
            except StoreError:
                if commits.latest_version(terms) == version:
                    raise
                # A commit of somebody else came in between, and has replaced ours.
        elif writer.live_transactions(self.path) == {self.id}:
            shutil.rmtree(terms / layout.LOG)
        else:
            # Somebody else may be about to commit on our version: replace it, do not take it away.
            delta.commit(terms, TERMS_COLUMNS, [], base=version, metadata=found)

    def _finish(self) -> None:
        """Remove the scratch; it is not worth an error, for the commit is done."""
        shutil.rmtree(self.staging, ignore_errors=True)
        self._release()
        with suppress(OSError):
            leftovers.remove_empty_of(self.path, self.id)

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _check_counts(metadata: CommitMetadata, adds: dict[Kind, list[AddAction]]) -> None:
    for kind in KINDS:
        written = sum(json.loads(add.stats)["numRecords"] for add in adds[kind])
        claimed = getattr(metadata.counts, kind)
        if written != claimed:
            raise StoreError(
                "STORE-COUNTS",
                f"{written} rows of kind `{kind}` were written, the metadata counts {claimed}",
                "this is a fault of the program, please report it; the store is as it was",
            )
