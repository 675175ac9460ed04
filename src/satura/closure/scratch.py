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

    def save(self, name: str, frame: DataFrame, what: str) -> int:
        """Write a table and return the number of its rows."""
        with described(self.spark, what):
            frame.write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").parquet(
                f"file://{self.root / name}"
            )
        return self.rows(name)

    def save_by(self, name: str, frame: DataFrame, columns: Sequence[str], what: str) -> int:
        """Write a table in parts by the values of columns: `name/column=value` is one of them."""
        with described(self.spark, what):
            frame.write.partitionBy(*columns).option(
                "mapreduce.fileoutputcommitter.marksuccessfuljobs", "false"
            ).parquet(f"file://{self.root / name}")
        return self.rows(name)

    def put(self, name: str, table: pa.Table) -> int:
        """Write a table that is on the driver already."""
        directory = self.root / name
        directory.mkdir(parents=True)
        pq.write_table(table, directory / "part-0.parquet", compression="snappy")
        return int(table.num_rows)

    def read(self, names: Sequence[str], schema: str | StructType) -> DataFrame:
        """Return the rows of tables."""
        files = [file for name in names for file in self._files(name)]
        if not files:
            return self.spark.createDataFrame([], schema)
        reader = self.spark.read.schema(schema)
        reader = reader.option("__globPaths__", "false").option("recursiveFileLookup", "true")
        return reader.parquet(*(f"file://{file}" for file in files))

    def parts(self, name: str, column: str) -> set[int]:
        """Return the values of a column that a table is written in parts by."""
        return {
            int(directory.name.split("=")[1])
            for directory in (self.root / name).glob(f"{column}=*")
            if any(directory.rglob("*.parquet"))
        }

    def rows(self, name: str) -> int:
        """Return the rows of a table, from the footers of its files."""
        return sum(pq.read_metadata(file).num_rows for file in self._files(name))

    def _files(self, name: str) -> list[Path]:
        directory = self.root / name
        return sorted(
            file
            for file in directory.rglob("*.parquet")
            if not any(x.startswith(("_", ".")) for x in file.relative_to(directory).parts)
        )
