"""A data set cut into the micro-batches of a stream, without Spark.

Statements keep their order, or are shuffled, and are spread evenly over the batches. Schema is
apart: evenly spread too, or all in the first or the last batch. Some statements may be sent again,
deleted and inserted again in later batches. Schema is what the vocabulary alone makes it:
`rdfs:subClassOf` and the like, and `rdf:type` with a class of the vocabulary; the cells of RDF
lists are data.

Batches are N-Triples, or N-Quads if a statement names a graph. In these the label of a blank node
belongs to its file, and a node that two batches speak of would become two. RDF Patch has the names
of the store itself, so batches are RDF Patch if there is a blank node, or a deletion; nodes have
the names that reading the inputs gives them.

Invariants: the inputs, their places and the options decide the bytes; the statements of all
batches, without those deleted and not inserted again, are those of the inputs; batches appear
under their names only after the last is complete.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from random import Random
from typing import Final, Literal, TypeAlias

from satura.closure.program import SCHEMA_CLASSES, SCHEMA_PREDICATES
from satura.errors import ConfigError, DataError
from satura.generate.department import stable_random
from satura.generate.schedule import Schedule, Shares, check_shares
from satura.generate.spill import Portions, Shelves, Spill
from satura.generate.university import check_output
from satura.io.inputs import Input, find_inputs
from satura.io.patch import BEGIN, END
from satura.io.slow import Quad
from satura.io.statements import read_statements
from satura.vocab import RDF_TYPE

SchemaPlace: TypeAlias = Literal["spread", "first", "last"]
BatchFormat: TypeAlias = Literal["nt", "nq", "patch"]

WORK: Final = ".satura-cut"
"""Where batches are until all are complete, below the output directory."""
_BATCH: Final = re.compile(r"batch-\d{5,}\.(?:nt|nq|patch)")


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch: new statements, schema and others, and what is done to those of earlier batches."""

    name: str
    schema: int
    data: int
    duplicates: int
    deletions: int
    reinsertions: int


@dataclass(frozen=True, slots=True)
class CutSummary:
    """What was cut and written.

    `statements` are those of the inputs, each counted once, and `schema` those of them that are
    schema; `repeated` is how often one occurred again, which is not written. `final` statements
    hold after the last batch.
    """

    format: BatchFormat
    blank_nodes: bool
    statements: int
    schema: int
    repeated: int
    duplicates: int
    deletions: int
    reinsertions: int
    final: int
    batches: tuple[Batch, ...]


def cut(
    inputs: str | Path | Sequence[str | Path],
    output: str | Path,
    batches: int,
    *,
    schema: SchemaPlace = "spread",
    shuffle: bool = False,
    shares: Shares | None = None,
    seed: int = 0,
    format: str | None = None,
    overwrite: bool = False,
) -> CutSummary:
    """Write the statements of inputs as `batches` files `batch-00001.nt` and so on.

    Inputs are parsed once; as much disk as they take unpacked is used twice, below `output`, and
    memory does not grow with them. `shares` says how much is sent again, deleted and inserted
    again. `overwrite` replaces the batches of an earlier run and touches nothing else.
    """
    shares = shares or Shares()
    check_shares(shares, batches)
    paths = [inputs] if isinstance(inputs, str | Path) else list(inputs)
    if not paths:
        raise ConfigError("INPUT-NONE", "no input was given", "name at least one file or directory")
    directory = Path(output)
    check_output(directory, overwrite=overwrite)
    with _workplace(directory) as work:
        found = find_inputs([str(path) for path in paths], format=format, spool=work)
        _check_apart(found, directory, work)
        read = _read(found, work)
        plan = _plan(read, batches, schema=schema, shares=shares)
        names = _write(read, plan, work, shuffle=shuffle, shares=shares, seed=seed)
        _install(names, work, directory)
    return _summary(read, plan, names)


@dataclass(frozen=True, slots=True)
class _Read:
    """The statements of the inputs, put aside: schema and data, and what kinds of terms occur."""

    schema: Spill
    data: Spill
    schema_count: int
    data_count: int
    graphs: bool
    blanks: bool


@dataclass(slots=True)
class _Plan:
    """How many statements each batch has; what is done later is counted as it is decided."""

    format: BatchFormat
    schema: list[int]
    data: list[int]
    duplicates: list[int]
    deletions: list[int]
    reinsertions: list[int]


def _read(inputs: Sequence[Input], work: Path) -> _Read:
    schema, data = Spill(work / "schema"), Spill(work / "data")
    graphs = blanks = False
    for quads in read_statements(inputs, hint="correct them; nothing was written"):
        apart: tuple[list[str], list[str]] = [], []
        for quad in quads:
            s, p, o, g = quad
            line = f"{s} {p} {o} .\n" if g is None else f"{s} {p} {o} {g} .\n"
            apart[is_schema(quad)].append(line)
            graphs = graphs or g is not None
            blanks = blanks or s[0] == "_" or o[0] == "_" or (g is not None and g[0] == "_")
        data.add(apart[0])
        schema.add(apart[1])
    read = _Read(schema, data, schema.finish(), data.finish(), graphs, blanks)
    if not read.schema_count + read.data_count:
        raise DataError(
            "RDF-EMPTY", "the input holds no triples", "check the paths and formats of the input"
        )
    return read


def is_schema(quad: Quad) -> bool:
    """Say whether a statement is schema by its vocabulary.

    >>> a, b = "<http://e/a>", "<http://e/b>"
    >>> is_schema((a, "<http://www.w3.org/2000/01/rdf-schema#domain>", b, None))
    True
    >>> is_schema((a, RDF_TYPE, b, None))
    False
    """
    _, p, o, _ = quad
    return p in SCHEMA_PREDICATES or (p == RDF_TYPE and o in SCHEMA_CLASSES)


def _plan(read: _Read, batches: int, *, schema: SchemaPlace, shares: Shares) -> _Plan:
    if schema == "spread":
        places = _spread(read.schema_count, batches)
    else:
        places = [0] * batches
        places[0 if schema == "first" else -1] = read.schema_count
    format: BatchFormat = "nq" if read.graphs else "nt"
    if read.blanks or shares.deletions:
        format = "patch"
    later = ([0] * batches for _ in Shares.__slots__)
    return _Plan(format, places, _spread(read.data_count, batches), *later)


def _spread(number: int, batches: int) -> list[int]:
    """Return how many of so many go to each batch: as many to each, or one more to some.

    >>> _spread(7, 3), _spread(2, 4)
    ([3, 2, 2], [1, 0, 1, 0])
    """
    ends = [-(-at * number // batches) for at in range(batches + 1)]
    return [end - start for start, end in pairwise(ends)]


def _write(
    read: _Read, plan: _Plan, work: Path, *, shuffle: bool, shares: Shares, seed: int
) -> list[str]:
    """Write the batches into the workplace; return their names."""

    def lines(spill: Spill, name: str) -> Portions:
        return Portions(spill.shuffled(_random(seed, name).random) if shuffle else spill.chunks())

    schema, data = lines(read.schema, "schema"), lines(read.data, "data")
    sizes = [a + b for a, b in zip(plan.schema, plan.data, strict=True)]
    schedule = Schedule(sizes, shares, _random(seed, "fates").random)
    later = Shelves(work / "later")
    add, _ = _operations(plan)
    width = max(5, len(str(len(sizes))))
    names = []
    for batch in range(len(sizes)):
        name = f"batch-{batch + 1:0{width}}.{plan.format}"
        with (work / name).open("wb") as file:
            file.write(BEGIN if add else b"")
            for some in chain(schema.take(plan.schema[batch]), data.take(plan.data[batch])):
                file.write(add + add.join(some))
                if shares != Shares():
                    _decide(some, batch, schedule=schedule, plan=plan, later=later)
            file.writelines(later.take(batch))
            file.write(END if add else b"")
        names.append(name)
    return names


def _operations(plan: _Plan) -> tuple[bytes, bytes]:
    """Return what stands before a line that is added, and before one that is removed."""
    return (b"A ", b"D ") if plan.format == "patch" else (b"", b"")


def _random(seed: int, name: str) -> Random:
    return stable_random(seed, "cut", name)


def _decide(
    lines: list[bytes], batch: int, *, schedule: Schedule, plan: _Plan, later: Shelves
) -> None:
    """Put aside for later batches what happens to the lines of this one."""
    add, remove = _operations(plan)
    for line in lines:
        fate = schedule.fate(batch)
        if fate is None:
            continue
        for at, counts, operation in (
            (fate.again, plan.duplicates, add),
            (fate.deleted, plan.deletions, remove),
            (fate.back, plan.reinsertions, add),
        ):
            if at is not None:
                counts[at] += 1
                later.put(at, operation + line)


@contextmanager
def _workplace(directory: Path) -> Iterator[Path]:
    """Make the directory and a place to work in it; remove what was made if something fails."""
    made = [path for path in (directory, *directory.parents) if not path.exists()]
    work = directory / WORK
    shutil.rmtree(work, ignore_errors=True)
    try:
        work.mkdir(parents=True)
        yield work
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        for path in made:
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        raise
    shutil.rmtree(work)


def _check_apart(inputs: Sequence[Input], directory: Path, work: Path) -> None:
    """Refuse to cut what is to be replaced."""
    output, spooled = directory.resolve(), work.resolve()
    for one in inputs:
        path = one.path and one.path.resolve()
        if path and path.is_relative_to(output) and not path.is_relative_to(spooled):
            raise ConfigError(
                "CUT-INPUT", f"input `{one.label}` is in the output directory `{directory}`",
                "write the batches to a directory of their own",
            )  # fmt: skip


def _install(names: Sequence[str], work: Path, directory: Path) -> None:
    """Put complete batches in the place of those of an earlier run, in their order."""
    for stale in directory.iterdir():
        if _BATCH.fullmatch(stale.name):
            stale.unlink()
    for name in names:
        (work / name).replace(directory / name)


def _summary(read: _Read, plan: _Plan, names: Sequence[str]) -> CutSummary:
    columns = (plan.schema, plan.data, plan.duplicates, plan.deletions, plan.reinsertions)
    statements = read.schema_count + read.data_count
    deletions, reinsertions = sum(plan.deletions), sum(plan.reinsertions)
    return CutSummary(
        plan.format, read.blanks, statements, read.schema_count,
        repeated=read.schema.repeated + read.data.repeated,
        duplicates=sum(plan.duplicates), deletions=deletions, reinsertions=reinsertions,
        final=statements - deletions + reinsertions,
        batches=tuple(Batch(*row) for row in zip(names, *columns, strict=True)),
    )  # fmt: skip
