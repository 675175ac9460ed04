"""A Delta table of terms as a source: what it holds when the stream begins, then its changes.

Spark keeps account of versions only; what changed between two of them is read by the Delta library
when the batch is taken, so rows go no further than they must.

Invariant: a batch is all that changed from one version to another, in the order of the versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from satura.errors import ConfigError, SourceError
from satura.jobs import described
from satura.store.commits import first_line
from satura.stream.files import take_table
from satura.stream.intake import Intake
from satura.stream.messages import ADDING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAME: Final = "satura-delta-versions"
VERSIONS: Final = 100
"""Versions in a batch, unless told."""
CHANGE: Final = "_change_type"


@dataclass(frozen=True, slots=True)
class ChangedTable:
    """A Delta table with the columns `s p o` and perhaps `g`."""

    path: Path
    max_versions: int = VERSIONS

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return f"delta:{self.path}"

    def check(self) -> None:
        """Raise if there is no such table."""
        try:
            DeltaTable(str(self.path))
        except (DeltaError, OSError) as error:
            raise ConfigError(
                "STREAM-SOURCE", f"`{self.path}` is not a Delta table: {first_line(error)}",
                "give the directory that holds `_delta_log`",
            ) from error  # fmt: skip

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the versions that come, as a streaming frame."""
        spark.dataSource.register(Versions)
        reader = spark.readStream.format(NAME).option("path", str(self.path))
        return reader.option("versions", self.max_versions).load()

    def read(self, frame: DataFrame) -> Intake:
        """Read what changed from version to version."""
        with described(frame.sparkSession, "list the versions of the batch"):
            rows = frame.collect()  # one, for the options of the source say PerTrigger how many
        intake = Intake()
        for row in rows:
            table = self._changes(row["start"], row["end"])
            intake.came(None)
            intake.size += table.nbytes
            take_table(intake, table, self.label)
        return intake

    def _changes(self, start: int, end: int) -> pa.Table:
        try:
            if start < 0:
                table = pa.table(DeltaTable(str(self.path), version=end).to_pyarrow_table())
                return table.append_column(CHANGE, pa.array(["insert"] * table.num_rows))
            table = _as_strings(pa.table(DeltaTable(str(self.path)).load_cdf(start + 1, end)))
        except (DeltaError, OSError) as error:
            raise SourceError(
                "STREAM-LOST", f"`{self.label}` cannot be read: {first_line(error)}",
                "the stream goes on where it was when the table is there again",
            ) from error  # fmt: skip
        # What an update replaces goes before what it brings.
        adds = pa.array([change in ADDING for change in table[CHANGE].to_pylist()])
        table = table.append_column("_adds", adds.cast(pa.int8()))
        return table.sort_by([("_commit_version", "ascending"), ("_adds", "ascending")])


def _as_strings(table: pa.Table) -> pa.Table:
    """Return a table without views of strings, which Arrow cannot sort."""
    for at, field in enumerate(table.schema):
        if field.type == pa.string_view():
            table = table.set_column(at, field.name, table.column(at).cast(pa.string()))
    return table


class Versions(DataSource):
    """The versions of a Delta table, a range of them in a batch."""

    @classmethod
    def name(cls) -> str:
        """Return what Spark calls it."""
        return NAME

    def schema(self) -> str:
        """Return the columns: after which version, up to which."""
        return "start long, end long"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002, N802
        """Return what keeps account."""
        return _Reader(self.options["path"], int(self.options["versions"]))


class _Range(InputPartition):
    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end


class _Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, path: str, versions: int) -> None:
        self._path = path
        self._versions = versions
        self._until: int | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"version": -1}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._until = self._latest()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: ARG002, N802
        latest = self._latest() if self._until is None else self._until
        before = start["version"]
        if before < 0:
            return {"version": latest}  # what the table holds now, as a whole
        return {"version": max(before, min(latest, before + self._versions))}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        if start["version"] == end["version"]:
            return []
        return [_Range(start["version"], end["version"])]

    def read(self, partition: InputPartition) -> Iterator[tuple[int, int]]:
        assert isinstance(partition, _Range)
        yield partition.start, partition.end

    def _latest(self) -> int:
        try:
            return int(DeltaTable(self._path).version())
        except TableNotFoundError:
            return -1
