"""Tables that a run keeps on disk between its steps: lineage ends here, and memory stays free.

A table is a directory of Parquet files below the scratch of a transaction; whoever owns the
scratch removes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from satura.jobs import described
from satura.parquet import NO_MARK, count_rows, data_files, read_files, uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

TRIPLE: Final = "s long, p long, o long"
CONCLUSION: Final = f"{TRIPLE}, rule int, times long"


class Scratch:
    """Tables by name; a name is used once."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark = spark
        self.root = root

    def save(self, name: str, frame: DataFrame, what: str, *, by: Sequence[str] = ()) -> int:
        """Write a table and return the number of its rows.

        With `by` it is written in parts by the values of these columns: `name/column=value` is one
        of them.
        """
        writer = frame.write.option(*NO_MARK)
        if by:
            writer = writer.partitionBy(*by)
        with described(self.spark, what):
            writer.parquet(uri(self.root / name))
        return self.rows(name)

    def put(self, name: str, table: pa.Table) -> int:
        """Write a table that is on the driver already."""
        directory = self.root / name
        directory.mkdir(parents=True)
        pq.write_table(table, directory / "part-0.parquet", compression="snappy")
        return int(table.num_rows)

    def read(self, names: Sequence[str], schema: str | StructType) -> DataFrame:
        """Return the rows of tables."""
        files = [file for name in names for file in data_files(self.root / name)]
        return read_files(self.spark, files, schema)

    def parts(self, name: str, column: str) -> set[int]:
        """Return the values of a column that a table is written in parts by."""
        return {
            int(directory.name.split("=")[1])
            for directory in (self.root / name).glob(f"{column}=*")
            if data_files(directory)
        }

    def rows(self, name: str) -> int:
        """Return the rows of a table, from the footers of its files."""
        return count_rows(self.root / name)
