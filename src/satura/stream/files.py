"""Files dropped into a directory: every format that batches read, and RDF Patch for what goes.

Spark's file source keeps account of which files have come; what is in them is read by our own
readers. A file must appear whole: write it elsewhere on the same file system and move it in, or
begin its name with a dot or underscore until it is complete.

Invariant: files are taken in the order of their modification times, then of their names.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from satura.errors import ConfigError, DataError, LimitError, SaturaError
from satura.io.inputs import PATCH_EXTENSIONS, Format, Input, find_inputs, is_patch, parse_format
from satura.io.small import MAX_BYTES as MAX_TEXT
from satura.io.small import is_small, read_small
from satura.jobs import described
from satura.stream.intake import Intake
from satura.stream.messages import CHANGE_COLUMNS, row_parser

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA: Final = "path string, modificationTime timestamp, length long, content binary"
MAX_BYTES: Final = 64 << 20
"""Bytes of files in a batch, unless told."""
MAX_ROWS: Final = 2_000_000
"""Most rows of a table in a batch."""
_ROWS_AT_ONCE: Final = 1024
HEAD: Final = 1 << 16
"""Bytes of a file that cannot be read at all that are kept with the reason."""


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory into which files are dropped."""

    path: Path
    format: str | None = None
    max_files: int | None = None
    max_bytes: int | None = None

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return str(self.path)

    def check(self) -> None:
        """Raise if nothing can be read here."""
        if not self.path.is_dir():
            raise ConfigError(
                "STREAM-SOURCE", f"`{self.path}` is not a directory",
                "make it, then drop files into it",
            )  # fmt: skip
        if self.format is not None:
            parse_format(self.format)

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the files that come, as a streaming frame."""
        reader = spark.readStream.format("binaryFile").schema(SCHEMA)
        # Spark takes one of the two limits, not both.
        if self.max_files is not None:
            reader = reader.option("maxFilesPerTrigger", self.max_files)
        else:
            reader = reader.option("maxBytesPerTrigger", str(self.max_bytes or MAX_BYTES))
        return (
            reader.option("recursiveFileLookup", "true")
            # Nothing is forgotten, so a file with an old date is not taken for one that has been.
            .option("maxFileAge", "36500d")
            .load(str(self.path))
            .select("path", "modificationTime", "length")
        )

    def read(self, frame: DataFrame) -> Intake:
        """Read the files of a batch."""
        with described(frame.sparkSession, "list the files of the batch"):
            rows = frame.collect()
        rows.sort(key=lambda row: (row["modificationTime"], row["path"]))
        intake = Intake()
        for row in rows:
            path = _path(row["path"])
            intake.came(row["modificationTime"].timestamp())
            intake.size += row["length"]
            try:
                self._take(intake, path)
            except (SaturaError, OSError) as error:
                reason = error.message if isinstance(error, SaturaError) else str(error)
                intake.reject(str(path), "", reason, _head(path))
        return intake

    def _take(self, intake: Intake, path: Path) -> None:
        patch = self.format is None and is_patch(path.name)
        kind = Format.NQ.value if patch else self.format
        with tempfile.TemporaryDirectory(prefix="satura-") as spool:
            inputs = find_inputs([str(path)], format=kind, spool=Path(spool))
            if inputs[0].format is Format.PARQUET:
                take_table(intake, _read_table(path), str(path))
            elif not is_small(inputs):
                raise _too_large(path)
            elif patch:
                _take_patch(intake, path)
            else:
                _take_document(intake, inputs)


def _too_large(path: Path) -> LimitError:
    return LimitError(
        "STREAM-FILE-SIZE", f"`{path}` is too large for a stream",
        "cut it (`satura cut`), or `satura materialize` it before the stream begins",
    )  # fmt: skip


def _read_table(path: Path) -> pa.Table:
    """Read a Parquet file, unless it is too large."""
    try:
        with pq.ParquetFile(path) as file:
            if file.metadata.num_rows > MAX_ROWS:
                raise _too_large(path)
            batches, size = [], 0
            # A file may say much in few bytes, so what is read is what counts.
            for batch in file.iter_batches(_ROWS_AT_ONCE):
                size += batch.nbytes
                if size > MAX_TEXT:
                    raise _too_large(path)
                batches.append(batch)
            return pa.Table.from_batches(batches, file.schema_arrow)
    except pa.ArrowException as error:
        raise DataError(
            "INPUT-CORRUPT", f"`{path}` is no readable Parquet file: {error}",
            "write it again, elsewhere on the same file system, then move it into the directory",
        ) from error  # fmt: skip


def _take_document(intake: Intake, inputs: Sequence[Input]) -> None:
    reading = read_small(inputs, "skip")
    intake.take(reading.quads)
    for row in reading.rejects.to_pylist():
        where = ":".join(str(row[name]) for name in ("line", "column") if row[name] is not None)
        intake.reject(row["file"], where, row["reason"], (row["text"] or "").encode())


def _take_patch(intake: Intake, path: Path) -> None:
    from satura.io.patch import read_canonical, read_patch  # noqa: PLC0415  (large patterns)

    quick = read_canonical(path) if path.suffix in PATCH_EXTENSIONS else None
    if quick is not None:
        intake.last.update(((s, p, o, g or None), op == "A") for op, s, p, o, g in quick)
        intake.statements += len(quick)
        return
    for transaction in read_patch(path, on_error="skip"):
        for change in transaction.changes:
            intake.take([(change.s, change.p, change.o, change.g)], add=change.add)
        for fault in transaction.faults:
            raw = (fault.excerpt or "").encode()
            intake.reject(str(path), str(fault.line or ""), fault.message, raw)


def take_table(intake: Intake, table: pa.Table, label: str) -> None:
    """Take rows of terms, `s p o` and perhaps `g`, and `_change` where rows go."""
    found = set(table.column_names)
    if not {"s", "p", "o"} <= found:
        raise ConfigError(
            "INPUT-TABLE-COLUMNS",
            f"the table `{label}` has columns {', '.join(sorted(found))}; expected s, p, o and "
            "perhaps g and _change, all string",
            'each cell holds a term as N-Triples writes it: `<iri>`, `_:label` or `"text"`',
        )
    parse = row_parser()
    wanted = [name for name in ("s", "p", "o", "g", *CHANGE_COLUMNS) if name in found]
    for number, row in enumerate(_rows(table.select(wanted))):
        try:
            quad, add = parse(row)
        except ValueError as error:
            raw = " ".join(str(cell) for cell in row.values()).encode()
            intake.reject(label, f"row {number}", str(error), raw)
        else:
            intake.take([quad], add=add)


def _rows(table: pa.Table) -> Iterator[dict[str, object]]:
    for batch in table.to_batches(max_chunksize=10_000):
        yield from batch.to_pylist()


def _path(text: str) -> Path:
    """Return the path that Spark says a file has, which is a URI that nothing is escaped in."""
    return Path("/" + text.removeprefix("file:").lstrip("/"))


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(HEAD)
    except OSError:
        return b""
