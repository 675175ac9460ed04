"""Parquet files in directories: which are data, their rows as a frame, what their footers count.

Spark leaves checksums and the scratch of unfinished tasks beside its data; whoever lists files
asks here, so that all agree on what is there.

Invariant: a frame reads exactly the files it was given. Paths are taken as they are spelled, and
no column is guessed from them.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

NO_MARK: Final = ("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
"""The option of a writer that leaves no `_SUCCESS` file behind."""


def uri(path: Path) -> str:
    """Return the path as Spark takes it, whatever the default file system of the session is."""
    # Not `as_uri`: Hadoop does not decode percent escapes.
    return f"file://{path}"


def data_files(directory: Path) -> list[Path]:
    """Return the Parquet files under a directory, skipping the scratch of unfinished tasks."""
    return sorted(
        file
        for file in directory.rglob("*.parquet")
        if not any(part.startswith(("_", ".")) for part in file.relative_to(directory).parts)
    )


def read_files(spark: SparkSession, files: Collection[Path], schema: str | StructType) -> DataFrame:
    """Return the rows of these files; an empty frame if there are none."""
    if not files:
        return spark.createDataFrame([], schema)
    reader = spark.read.schema(schema)
    # The paths are files: no pattern to expand (a directory may be called `[a]`), no partition
    # columns to guess from them.
    reader = reader.option("__globPaths__", "false").option("recursiveFileLookup", "true")
    return reader.parquet(*(uri(file) for file in files))


def count_rows(directory: Path) -> int:
    """Return the rows of the files under a directory, from their footers."""
    return sum(pq.read_metadata(file).num_rows for file in data_files(directory))


def count_nulls(directory: Path, column: str) -> int:
    """Return the nulls of a column, from the footers where they say it.

    Parquet leaves statistics out where a value is very long; then the column is read.
    """
    total = 0
    for path in data_files(directory):
        with pq.ParquetFile(path) as file:
            at = file.schema_arrow.get_field_index(column)
            for group in range(file.num_row_groups):
                found = file.metadata.row_group(group).column(at).statistics
                if found is not None and found.has_null_count:
                    total += found.null_count
                else:
                    total += file.read_row_group(group, columns=[column])[column].null_count
    return total
