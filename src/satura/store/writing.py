"""Parquet files of a transaction: from a frame by Spark, or from rows on the driver.

Invariant: nothing is written outside the directory given.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, Transaction, write_deltalake
from deltalake.transaction import AddAction

from satura.errors import StoreError
from satura.jobs import described
from satura.parquet import NO_MARK, data_files, uri
from satura.store.commits import first_line
from satura.store.delta import Step, translated
from satura.store.layout import Columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def drop_empty(directory: Path, table: Path, adds: list[AddAction]) -> None:
    """Remove the files without rows, which no log will name."""
    named = {table / add.path for add in adds}
    for file in data_files(directory):
        if file not in named:
            file.unlink()
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def write_frame(frame: DataFrame, directory: Path, columns: Columns, what: str) -> None:
    """Write a frame with these columns, one file for each partition."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    shaped = frame.select(*(F.col(name).cast(kind).alias(name) for name, kind in columns))
    # No `_SUCCESS` file: the Delta log says what is complete.
    with described(frame.sparkSession, what):
        shaped.write.mode("append").option(*NO_MARK).parquet(uri(directory))


def put_rows(table: pa.Table, directory: Path) -> None:
    """Write rows that are on the driver as one file, none if there are none."""
    if not table.num_rows:
        return
    directory.mkdir(parents=True, exist_ok=True)
    number = len(list(directory.iterdir()))
    pq.write_table(table, directory / f"part-{number:05d}.parquet", compression="snappy")


def append_rows(table: Path, rows: pa.Table | pa.RecordBatchReader, step: Step) -> None:
    """Add rows to a Delta table, which is made if there is none, as a step of an application."""
    mark = CommitProperties(app_transactions=[Transaction(step.application, step.number)])
    with writable(table), translated(table):
        write_deltalake(str(table), rows, mode="append", commit_properties=mark)


@contextmanager
def writable(root: Path) -> Iterator[None]:
    """Turn errors of the file system into ours."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            "STORE-WRITE",
            f"cannot write to `{root}`: {first_line(error)}",
            "the store is as it was; see to disk space and permissions and run again",
        ) from error
