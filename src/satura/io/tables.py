"""Tables of terms: Parquet and Delta with columns `s p o` and perhaps `g`.

Each cell is N-Triples text of a term. Cells that the patterns vouch for stay in the JVM; a row
with any other cell is parsed cell by cell, so a cell can never spill into its neighbor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa
import pyoxigraph as ox
from deltalake import DeltaTable
from pyspark.sql import functions as F  # noqa: N812

from satura.errors import ConfigError, UnsupportedError
from satura.io.bounds import is_too_deep
from satura.io.inputs import Format, Input
from satura.io.slow import (
    BATCH_ROWS,
    PARSED,
    PARSED_COLUMNS,
    TOO_DEEP,
    TOO_LONG,
    Fault,
    Quad,
    Rows,
    message_of,
    term_of,
)
from satura.terms.blanks import document_scope, scoped_column, spark_uri
from satura.terms.patterns import BLANK, IRI, LITERAL, vouched

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset
    from pyspark.sql import Column, DataFrame, SparkSession

ParseCell: TypeAlias = Callable[[str, bytes, str], str | Fault]

_RESOURCE: Final = rf"\A(?:{IRI}|{BLANK})\z"
_PATTERNS: Final = {
    "s": _RESOURCE,
    "p": rf"\A{IRI}\z",
    "o": rf"\A(?:{IRI}|{BLANK}|{LITERAL})\z",
    "g": _RESOURCE,
}
_STARTS: Final = {"s": ("<", "_:"), "p": ("<",), "o": ("<", "_:", '"'), "g": ("<", "_:")}
_NT: Final = b"<a:s> <a:p> %b ."
_NQ: Final = b"<a:s> <a:p> %b <a:g> ."
_GLOB: Final = str.maketrans({c: "\\" + c for c in "\\{}[]*?"})
# Reader features under which the files listed in the log are not simply the rows of the table.
_NOT_READ: Final = frozenset({"deletionVectors", "columnMapping", "v2Checkpoint"})


def read_table(spark: SparkSession, source: Input) -> DataFrame:
    """Return the statements and faults of a table; columns as in `slow.PARSED_COLUMNS`."""
    terms = with_columns(_open(spark, source), source.label)
    scope = document_scope(source.uri)
    fast = reduce(lambda a, b: a & b, (_is_vouched(name) for name in "spog"))
    good = terms.where(fast).select(
        *(scoped_column(F.col(name), F.lit(scope)).alias(name) for name in "spog"),
        *(F.lit(None).cast(kind).alias(name) for name, kind in PARSED_COLUMNS[4:]),
    )
    rest = terms.where(~fast).select(*(F.col(name).cast("binary") for name in "spog"))
    parse = partial(_parse_batches, scope=scope, file=spark_uri(source.uri))
    return good.unionByName(rest.mapInArrow(parse, PARSED))


def _is_vouched(name: str) -> Column:
    cell = F.col(name)
    known = vouched(cell, _PATTERNS[name])
    return known | cell.isNull() if name == "g" else known


def _open(spark: SparkSession, source: Input) -> DataFrame:
    if source.format is Format.DELTA:
        return _open_delta(spark, source)
    path = source.path
    where = f"file://{str(path.absolute()).translate(_GLOB)}" if path else source.uri
    if path and path.is_file() and path.name.startswith(("_", ".")):
        raise ConfigError(
            "INPUT-UNREADABLE", f"Spark passes over hidden files such as `{source.label}`",
            "rename it so that it does not begin with `_` or `.`",
        )  # fmt: skip
    return spark.read.parquet(where)


def _open_delta(spark: SparkSession, source: Input) -> DataFrame:
    table = _delta_table(source)
    files = [uri.translate(_GLOB) for uri in table.file_uris()]
    if not files:
        columns = ", ".join(f"`{field.name}` string" for field in table.schema().fields)
        return spark.createDataFrame([], columns)
    return spark.read.parquet(*files)


def _delta_table(source: Input) -> DeltaTable:
    """Open a Delta table whose rows are simply those of the files in its log; refuse others."""
    path = source.path
    table = DeltaTable(str(path) if path else source.uri)
    features = _NOT_READ.intersection(table.protocol().reader_features or ())
    partitions = set(table.metadata().partition_columns) & set("spog")
    if features or partitions:
        what = ", ".join(sorted(features)) or f"partitioning by {', '.join(sorted(partitions))}"
        raise UnsupportedError(
            "INPUT-TABLE-FEATURE", f"the Delta table `{source.label}` uses {what}",
            "write it as plain Parquet or N-Triples first",
        )  # fmt: skip
    return table


def open_arrow(source: Input) -> tuple[Dataset | None, list[str]]:
    """Open a table without Spark; return it, None if it has no files, and its columns to read."""
    from pyarrow import dataset, fs  # noqa: PLC0415  (loads cloud libraries)

    files = _delta_table(source).file_uris() if source.format is Format.DELTA else _parquet(source)
    if not files:
        return None, []
    found = [fs.FileSystem.from_uri(uri.replace("s3a://", "s3://", 1)) for uri in files]
    table = dataset.dataset([at for _, at in found], filesystem=found[0][0], format="parquet")
    kinds = {field.name: _kind(field.type) for field in table.schema}
    _check_columns(kinds, source.label)
    return table, [name for name in "spog" if name in kinds]


def _parquet(source: Input) -> list[str]:
    path = source.path
    if path is None or path.is_file():
        return [str(path.absolute()) if path else source.uri]
    # Files further down belong to other tables, unless all are: then those are its partitions.
    found = sorted(path.glob("*.parquet")) or sorted(path.rglob("*.parquet"))
    return [str(file.absolute()) for file in found if not file.name.startswith(("_", "."))]


def _kind(type: pa.DataType) -> str:
    value = type.value_type if pa.types.is_dictionary(type) else type
    is_string = pa.types.is_string(value) or pa.types.is_large_string(value)
    return "string" if is_string else str(type)


def with_columns(table: DataFrame, label: str) -> DataFrame:
    """Return the columns `s p o g` of a table of terms; say what is wrong if it has others."""
    kinds = dict(table.dtypes)
    _check_columns(kinds, label)
    g = F.col("g") if "g" in kinds else F.lit(None).cast("string").alias("g")
    return table.select("s", "p", "o", g)


def _check_columns(kinds: Mapping[str, str], label: str) -> None:
    missing = [name for name in "spo" if kinds.get(name) != "string"]
    if missing or kinds.get("g", "string") != "string":
        found = ", ".join(f"{name} {kind}" for name, kind in kinds.items()) or "none"
        raise ConfigError(
            "INPUT-TABLE-COLUMNS",
            f"the table `{label}` has columns {found}; expected s, p, o and perhaps g, all string",
            'each cell holds a term as N-Triples writes it: `<iri>`, `_:label` or `"text"`',
        )


def _parse_batches(
    batches: Iterator[pa.RecordBatch], scope: str, file: str
) -> Iterator[pa.RecordBatch]:
    rows = Rows()
    for batch in batches:
        for cells in zip(*(batch.column(name).to_pylist() for name in "spog"), strict=True):
            result = parse_row(cells, scope)
            if isinstance(result, Fault):
                rows.fault(result, b" ".join(cell or b"NULL" for cell in cells[:3]), file)
            else:
                rows.quad(result)
            if len(rows) >= BATCH_ROWS:
                yield rows.take()
    if len(rows):
        yield rows.take()


def parse_row(
    cells: tuple[bytes | None, ...], scope: str, parse: ParseCell | None = None
) -> Quad | Fault:
    """Return the canonical terms of a row, blank nodes within a scope, or what is wrong with it.

    `parse` may be `parse_cell` with a memory, where terms repeat.
    """
    parse = parse or parse_cell
    terms: list[str | None] = []
    for name, cell in zip("spog", cells, strict=True):
        if cell is None:
            if name != "g":
                return Fault(f"column `{name}` is NULL")
            terms.append(None)
            continue
        term = parse(name, cell, scope)
        if isinstance(term, Fault):
            return term
        terms.append(term)
    return terms[0] or "", terms[1] or "", terms[2] or "", terms[3]


def parse_cell(name: str, cell: bytes, scope: str) -> str | Fault:
    """Return the canonical text of a cell of a column, or what is wrong with it."""
    if b"\n" in cell or b"\r" in cell:
        return Fault(f"column `{name}`: a line break within a term")
    if is_too_deep(cell):
        return Fault(f"column `{name}`: {TOO_DEEP}")
    try:
        nodes: list[Any] = [q.object for q in ox.parse(_NT % cell, ox.RdfFormat.N_TRIPLES)]
        # A cell that ends the statement itself (`<a> . #`) passes one of the two, never both.
        graphs = [str(q.graph_name) for q in ox.parse(_NQ % cell, ox.RdfFormat.N_QUADS)]
        term = term_of(nodes[0], scope.__add__) if graphs == ["<a:g>"] else ""
    except SyntaxError as error:
        return Fault(f"column `{name}`: {message_of(error)}")
    except UnsupportedError as error:
        return Fault(f"column `{name}`: {error.message}")
    except MemoryError:
        return Fault(f"column `{name}`: {TOO_LONG}")
    if not term.startswith(_STARTS[name]):
        return Fault(f"column `{name}`: `{cell.decode(errors='replace')[:80]}` cannot stand there")
    return term
