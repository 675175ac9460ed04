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
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

import pyarrow.parquet as pq
from deltalake.transaction import AddAction

from satura.errors import ConfigError, StoreError
from satura.jobs import described
from satura.parquet import NO_MARK, data_files, read_files, uri
from satura.store import delta, layout, leftovers, writer
from satura.store.layout import (
    FACTS,
    FACTS_COLUMNS,
    KIND_COLUMNS,
    KINDS,
    TERMS,
    TERMS_COLUMNS,
    Kind,
)
from satura.store.store import CommitMetadata, Store, record

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
    with _writable(root):
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


class Transaction:
    """One attempt to write the next snapshot. Leaving its `with` block uncommitted undoes it."""

    def __init__(self, root: Path) -> None:
        moment = datetime.now(UTC)
        self.id = f"{moment:%Y%m%dT%H%M%S}-{secrets.token_hex(6)}"
        self.created = moment.isoformat(timespec="milliseconds")
        self.path = root
        self.staging = root / layout.STAGING / self.id
        self._existed = root.exists()
        self._lock: IO[str] | None = writer.claim(self.staging)
        # Read after the claim: from here on `repair` leaves this transaction alone.
        try:
            self.base = delta.latest_version(root / FACTS)
            self._terms_base = delta.latest_version(root / TERMS)
        except BaseException:
            shutil.rmtree(self.staging, ignore_errors=True)
            self._release()
            raise

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
        _write(frame, self.facts_dir(kind), KIND_COLUMNS[kind], f"write {kind} facts")

    def write_terms(self, frame: DataFrame) -> None:
        """Write rows of the dictionary; ids must be distinct over all calls."""
        _write(frame, self.terms_dir, TERMS_COLUMNS, "write terms")

    def write_rejects(self, frame: DataFrame) -> None:
        """Write input that was skipped."""
        _write(frame, self.rejects_dir, layout.REJECTS_COLUMNS, "write rejected input")

    def write_violations(self, frame: DataFrame) -> None:
        """Write what rules that conclude `false` found."""
        _write(frame, self.violations_dir, layout.VIOLATIONS_COLUMNS, "write violations")

    def read_facts(self, spark: SparkSession, kind: Kind) -> DataFrame:
        """Return the rows of a kind written so far."""
        files = data_files(self.facts_dir(kind))
        return read_files(spark, files, layout.ddl(KIND_COLUMNS[kind]))

    def read_terms(self, spark: SparkSession) -> DataFrame:
        """Return the rows of the dictionary written so far."""
        return read_files(spark, data_files(self.terms_dir), layout.ddl(TERMS_COLUMNS))

    def commit(self, metadata: CommitMetadata) -> Store:
        """Make what was written the current snapshot, in place of the one before.

        Raise `ConflictError` if another transaction committed since this one began. On any error
        the store is as it was and the files of this transaction are removed.
        """
        try:
            self._commit(metadata)
        except BaseException:
            self.rollback()
            raise
        self._finish()
        return Store.open(self.path)

    def _commit(self, metadata: CommitMetadata) -> None:
        if self._lock is None:
            raise StoreError("STORE-WRITE", f"transaction `{self.id}` is over", "begin another")
        facts, terms = self.path / FACTS, self.path / TERMS
        # Seen early, a conflict costs no commit to terms; the commit to facts checks it again.
        if delta.latest_version(facts) != self.base:
            raise delta.conflict(facts, self.base)
        with _writable(self.path):
            adds = {kind: self._facts_added(kind) for kind in KINDS}
            terms_adds = delta.add_actions(terms, self.terms_dir, TERMS_COLUMNS)
            beside = self._beside_added()
            _check_counts(metadata, adds)
            for kind in KINDS:
                _drop_empty(self.facts_dir(kind), facts, adds[kind])
            _drop_empty(self.terms_dir, terms, terms_adds)
            facts_adds = [add for kind in KINDS for add in adds[kind]]
            delta.sync([*(facts / add.path for add in facts_adds), *beside])
            delta.sync(terms / add.path for add in terms_adds)
        recorded: dict[str, Any] = {"txn": self.id, "created": self.created}
        terms_version = delta.commit(
            terms, TERMS_COLUMNS, terms_adds, base=self._terms_base, metadata=recorded
        )
        recorded |= {"terms_version": terms_version} | record(metadata)
        recorded["beside"] = {
            file.relative_to(self.path).as_posix(): file.stat().st_size for file in beside
        }
        delta.commit(facts, FACTS_COLUMNS, facts_adds, base=self.base, metadata=recorded)

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

    def _facts_added(self, kind: Kind) -> list[AddAction]:
        table = self.path / FACTS
        return delta.add_actions(table, self.facts_dir(kind), KIND_COLUMNS[kind], kind=kind)

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
        version = 0 if self.base is None else self.base + 1
        found = delta.read_metadata(self.path / FACTS, version)
        return found is not None and found.get("txn") == self.id

    def _undo_terms(self) -> None:
        """Take back our commit to terms, so that the latest version names files that stay."""
        terms = self.path / TERMS
        version = 0 if self._terms_base is None else self._terms_base + 1
        found = delta.read_metadata(terms, version)
        if found is None or found.get("txn") != self.id:
            return
        if delta.latest_version(terms) != version:
            return  # a later commit has replaced ours
        if self._terms_base is not None:
            delta.restore(terms, self._terms_base)
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
            leftovers.remove_empty(self.path, keep_root=True)

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


def _drop_empty(directory: Path, table: Path, adds: list[AddAction]) -> None:
    """Remove the files without rows, which no log will name."""
    named = {table / add.path for add in adds}
    for file in data_files(directory):
        if file not in named:
            file.unlink()
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def _write(frame: DataFrame, directory: Path, columns: layout.Columns, what: str) -> None:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    shaped = frame.select(*(F.col(name).cast(kind).alias(name) for name, kind in columns))
    # No `_SUCCESS` file: the Delta log says what is complete.
    with described(frame.sparkSession, what):
        shaped.write.mode("append").option(*NO_MARK).parquet(uri(directory))


@contextmanager
def _writable(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            "STORE-WRITE",
            f"cannot write to `{root}`: {delta.first_line(error)}",
            "the store is as it was; see to disk space and permissions and run again",
        ) from error
