"""Data as users give it becomes a change: files, frames and patches, read where that is quickest.

What is small is read on the driver and needs no Spark; what is not is read as a batch would be and
brought to the driver, up to a stated number of statements.

Labels of blank nodes in files belong to the document, so that a file that is removed takes away
what it once added. In frames and patches they are the store's own.

Invariant: a statement that is both added and removed by one change is added.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from pyspark.sql import DataFrame

from satura.closure.saturate import Limits
from satura.errors import ConfigError, LimitError, ParseError, SaturaError
from satura.failures import translated
from satura.io.documents import OnError
from satura.io.faults import SHOWN, Faults, parse_error
from satura.io.inputs import Input, find_inputs
from satura.io.slow import Fault, Quad
from satura.io.small import is_small, read_small
from satura.jobs import described
from satura.maintain.apply import Change, Maintainer
from satura.maintain.model import Algorithm, Outcome
from satura.maintain.reading import Encoder
from satura.terms.ids import term_id
from satura.terms.ntriples import Term, is_literal, read_term

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

Data: TypeAlias = str | Path | Sequence[str | Path] | DataFrame
Session: TypeAlias = "Callable[[], SparkSession]"

MAX_STATEMENTS: Final = 2_000_000
"""Most statements of one change that are brought from Spark to the driver."""
FRAME: Final = "the DataFrame"


@dataclass(frozen=True, slots=True)
class Given:
    """Statements as they were given, and what could not be read of them."""

    quads: Sequence[Quad] = ()
    faults: Faults = field(default_factory=Faults)
    seconds: float = 0.0


def update(
    maintainer: Maintainer,
    added: Given | None = None,
    removed: Given | None = None,
    *,
    algorithm: Algorithm = "auto",
    limits: Limits | None = None,
) -> Outcome:
    """Apply what was given as one change."""
    added, removed = added or Given(), removed or Given()
    change = change_of(added.quads, removed.quads)
    outcome = maintainer.apply(change, algorithm=algorithm, limits=limits)
    reading = added.seconds + removed.seconds
    return replace(
        outcome,
        rejected=added.faults.total + removed.faults.total,
        seconds=outcome.seconds + reading,
        stages={"read": reading, **outcome.stages},
    )


def change_of(added: Iterable[Quad], removed: Iterable[Quad]) -> Change:
    """Return statements as a change; what is in both is added."""
    encoder, coming = Encoder(), dict.fromkeys(added)
    going = [quad for quad in dict.fromkeys(removed) if quad not in coming]
    ids = encoder.encode(coming), encoder.encode(going)
    return Change(*ids, encoder.terms())


def remove_graph(
    maintainer: Maintainer,
    name: str,
    *,
    algorithm: Algorithm = "auto",
    limits: Limits | None = None,
) -> Outcome:
    """Remove every assertion of a named graph."""
    state = maintainer.state
    quads = state.asserted_quads(g={term_id(graph_name(name))})
    terms = state.terms({int(x) for x in set(quads.ravel().tolist())})
    change = Change(quads[:0], quads, terms)
    return maintainer.apply(change, algorithm=algorithm, limits=limits)


def apply_patch(
    maintainer: Maintainer,
    source: str | Path,
    *,
    on_error: OnError = "fail",
    algorithm: Algorithm = "auto",
    limits: Limits | None = None,
) -> Iterator[Outcome]:
    """Apply the transactions of an RDF Patch, one commit each, and yield what each did.

    An error leaves what was committed before it, and says how much that is.
    """
    from satura.io.patch import net, read_patch  # noqa: PLC0415  (compiles large patterns)

    transactions = read_patch(source, on_error=on_error)
    done, line = 0, None
    while True:
        try:
            line = None
            transaction = next(transactions, None)
            if transaction is None:
                return
            line = transaction.line
            _tell(transaction.faults, len(transaction.faults))
            change = change_of(*net(transaction))
            outcome = maintainer.apply(change, algorithm=algorithm, limits=limits)
        except SaturaError as error:
            _locate(error, str(source), line, done, maintainer.store.version)
            raise
        done += 1
        yield replace(outcome, rejected=len(transaction.faults))


def _locate(error: SaturaError, source: str, line: int | None, done: int, version: int) -> None:
    """Say of an error where in a patch it happened, and what of the patch is committed."""
    if line is not None and not isinstance(error, ParseError):
        error.message = f"{source}:{line}: the transaction that begins here: {error.message}"
    kept = "nothing of the patch is committed"
    if done:
        before = "the transaction before it is" if done == 1 else f"the {done} before it are"
        kept = f"{before} committed, the store is at version {version}"
    error.hint = f"{error.hint}; {kept}" if error.hint else kept


def graph_name(name: str) -> Term:
    """Return the term of a graph that is given by its IRI or as a term.

    >>> graph_name("http://example.org/g")
    '<http://example.org/g>'
    """
    text = read_term(name if name.startswith(("<", "_:", '"')) else f"<{name}>")
    if is_literal(text):
        raise ConfigError("TERM-SYNTAX", f"`{name}` cannot name a graph", "give an IRI")
    return text


def read_given(
    data: Data,
    *,
    graph: str | None = None,
    format: str | None = None,
    on_error: OnError = "fail",
    session: Session,
) -> Given:
    """Read paths or a frame; `graph` is where statements go that name none.

    `session` is called if Spark is needed: for tables, and for what is too large for the driver.
    """
    home = None if graph is None else graph_name(graph)
    begun = time.perf_counter()
    if isinstance(data, DataFrame):
        given = _read_frame(data, on_error)
    else:
        paths = [data] if isinstance(data, str | Path) else list(data)
        if not paths:
            raise ConfigError(
                "INPUT-NONE", "no input was given", "name at least one file or directory"
            )
        given = _read_paths([str(path) for path in paths], format, on_error, session)
    if given.faults.total:
        _tell(given.faults.first, given.faults.total)
    quads = given.quads
    if home is not None:
        quads = [(s, p, o, home if g is None else g) for s, p, o, g in quads]
    return Given(quads, given.faults, time.perf_counter() - begun)


def _tell(first: Sequence[ParseError], total: int) -> None:
    """Log what was left out of the input."""
    for fault in first[:SHOWN]:
        log.warning("left out: %s", fault)
    if total > len(first[:SHOWN]):
        log.warning("left out: %d statements more", total - len(first[:SHOWN]))


def _read_paths(
    paths: Sequence[str], format: str | None, on_error: OnError, session: Session
) -> Given:
    with tempfile.TemporaryDirectory(prefix="satura-") as spool:
        inputs = find_inputs(paths, format=format, spool=Path(spool))
        if not is_small(inputs):
            return _read_by_spark(session(), inputs, spool, on_error)
        reading = read_small(inputs, on_error)
        return Given(reading.quads, reading.faults)


def _read_by_spark(
    spark: SparkSession, inputs: Sequence[Input], staging: str, on_error: OnError
) -> Given:
    from satura.io.reading import open_reading, settled  # noqa: PLC0415

    with translated(), described(spark, "read what is to change"):
        reading = settled(open_reading(spark, inputs, staging=staging, on_error=on_error))
        reading.raise_faults()
        table = _collected(reading.triples())
        return Given(list(_rows(table)), reading.faults)


def _read_frame(frame: DataFrame, on_error: OnError) -> Given:
    from satura.io.tables import parse_cell, parse_row, with_columns  # noqa: PLC0415

    with translated(), described(frame.sparkSession, "read what is to change"):
        table = _collected(with_columns(frame, FRAME))
    parse = cache(parse_cell)
    quads: list[Quad] = []
    faults: list[ParseError] = []
    for cells in _rows(table):
        found = parse_row(tuple(x if x is None else x.encode() for x in cells), "_:", parse)
        if isinstance(found, Fault):
            text = " ".join(str(cell) for cell in cells)
            faults.append(parse_error(FRAME, None, None, found.message, 1, text))
        else:
            quads.append(found)
    told = Faults(len(faults), 1, tuple(faults[:SHOWN]))
    if faults and on_error == "fail":
        raise told.error()
    return Given(quads, told)


def _collected(frame: DataFrame) -> pa.Table:
    table = frame.select("s", "p", "o", "g").limit(MAX_STATEMENTS + 1).toArrow()
    if table.num_rows > MAX_STATEMENTS:
        raise LimitError(
            "LIMIT-UPDATE", f"a change of more than {MAX_STATEMENTS:,} statements",
            "apply it in parts, or materialize everything again",
        )  # fmt: skip
    return table


def _rows(table: pa.Table) -> Iterator[Quad]:
    return zip(*(table[name].to_pylist() for name in "spog"), strict=True)
