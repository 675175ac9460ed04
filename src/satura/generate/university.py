"""University benchmark data of any size, made in parallel on Spark.

Benchmarks, tests and demonstrations need data whose size is a number and whose content is not
left to chance. Each university is one N-Triples file, written by whichever task gets it.

Invariant: university `i` is a pure function of `(seed, i)`. Its file has the same bytes whatever
the number of universities, partitions and cores, and no triple occurs in two files. Degrees come
from a fixed pool of universities, so people may hold one from a university that is not generated,
as in the original benchmark. A file appears under its own name only when complete, and
`ontology.ttl` is written last: an output directory that has it is whole.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from satura.errors import ConfigError
from satura.generate.department import NAME, between, department_text, stable_random
from satura.generate.ontology import UNIV_BENCH, ontology_turtle
from satura.vocab import RDF_TYPE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

LOG = logging.getLogger(__name__)

DEPARTMENTS: Final = (15, 25)
ONTOLOGY_FILE: Final = "ontology.ttl"
DATA_DIRECTORY: Final = "data"
# More tasks than cores, so that cores finish together though universities differ in size.
TASKS_PER_CORE: Final = 4


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run of the generator wrote; `bytes` and `files` leave the ontology out."""

    universities: int
    triples: int
    files: int
    bytes: int
    seconds: float


def generate_university(
    spark: SparkSession,
    *,
    universities: int,
    seed: int,
    output: Path | str,
    overwrite: bool = False,
    partitions: int | None = None,
) -> Summary:
    """Write `universities` universities and their ontology below `output`.

    One Spark job that shuffles nothing but its counts. `output` must be a path that the driver
    and the executors share. `overwrite` replaces what an earlier run wrote there and touches
    nothing else; `partitions` sets the number of tasks and never changes a byte of the result.
    """
    started = time.perf_counter()
    tasks = _check_counts(spark, universities, partitions)
    directory = Path(output)
    _prepare(directory, overwrite=overwrite)
    triples, size = _run(spark, universities, seed=seed, directory=directory, tasks=tasks)
    (directory / ONTOLOGY_FILE).write_text(ontology_turtle(), encoding="utf-8")
    summary = Summary(universities, triples, universities, size, time.perf_counter() - started)
    LOG.info("generated %s", summary)
    return summary


def university_lines(index: int, seed: int) -> Iterator[str]:
    """Yield the triples of one university as N-Triples lines, without Spark.

    >>> next(university_lines(0, 1)).split()[0]
    '<http://www.University0.edu>'
    """
    for text in university_texts(index, seed):
        yield from text.splitlines()


def university_texts(index: int, seed: int) -> Iterator[str]:
    """Yield the triples of one university as N-Triples text, then a text for each department."""
    university = f"<http://www.University{index}.edu>"
    yield (
        f"{university} {RDF_TYPE} <{UNIV_BENCH}University> .\n"
        f'{university}{NAME}"University{index}" .\n'
    )
    draw = stable_random(seed, index, "departments").random
    for department in range(between(draw, DEPARTMENTS)):
        yield department_text(seed, university=index, department=department)


def check_universities(universities: int) -> None:
    """Refuse fewer than one university."""
    if universities < 1:
        raise ConfigError(
            "GENERATE-UNIVERSITIES",
            f"cannot generate `{universities}` universities, expected 1 or more",
            "a university has about 130 000 triples: choose 1 for a test, 100 for a benchmark",
        )


def check_output(directory: Path, *, overwrite: bool) -> None:
    """Refuse to write to a file or, unless `overwrite` says so, where there is something."""
    if directory.exists() and not directory.is_dir():
        raise ConfigError(
            "GENERATE-OUTPUT-EXISTS",
            f"output `{directory}` is a file, expected a directory",
            "choose another output directory",
        )
    if directory.is_dir() and any(directory.iterdir()) and not overwrite:
        raise ConfigError(
            "GENERATE-OUTPUT-EXISTS",
            f"output directory `{directory}` is not empty",
            "choose another directory, or pass `overwrite` to replace the data in it",
        )


def _check_counts(spark: SparkSession, universities: int, partitions: int | None) -> int:
    """Refuse counts below one; return the number of tasks."""
    check_universities(universities)
    if partitions is None:
        partitions = TASKS_PER_CORE * spark.sparkContext.defaultParallelism
    elif partitions < 1:
        raise ConfigError(
            "GENERATE-PARTITIONS",
            f"cannot run in `{partitions}` partitions, expected 1 or more",
            "leave `partitions` out to follow the number of cores",
        )
    return min(universities, partitions)


def _prepare(directory: Path, *, overwrite: bool) -> None:
    """Make `directory` ready; with `overwrite` remove an earlier run's files, and only those."""
    check_output(directory, overwrite=overwrite)
    if directory.is_dir():
        (directory / ONTOLOGY_FILE).unlink(missing_ok=True)
        for pattern in ("part-*.nt", ".part-*.nt.*"):
            for stale in (directory / DATA_DIRECTORY).glob(pattern):
                stale.unlink()
    (directory / DATA_DIRECTORY).mkdir(parents=True, exist_ok=True)


def _run(
    spark: SparkSession, universities: int, *, seed: int, directory: Path, tasks: int
) -> tuple[int, int]:
    """Write the data files in one job; return the numbers of triples and bytes."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    context = spark.sparkContext
    outer = context.getLocalProperty("spark.job.description")
    context.setJobDescription(f"generate {universities} universities")
    try:
        written = spark.range(0, universities, 1, tasks).mapInArrow(
            _writer(str((directory / DATA_DIRECTORY).absolute()), seed),
            "triples long, bytes long",
        )
        row = written.agg(F.sum("triples"), F.sum("bytes")).first()
    finally:
        context.setLocalProperty("spark.job.description", outer)  # type: ignore[arg-type]
    assert row is not None  # an aggregate without groups always has one row
    return int(row[0]), int(row[1])


def _writer(
    directory: str, seed: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that executors run over batches of university numbers."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415

        for batch in batches:
            for index in batch.column(0).to_pylist():
                triples, size = _write_file(Path(directory), index, seed)
                yield pa.RecordBatch.from_pydict({"triples": [triples], "bytes": [size]})

    return write


def _write_file(directory: Path, index: int, seed: int) -> tuple[int, int]:
    """Write one university; a repeated or speculative attempt replaces equal bytes by equal."""
    final = directory / f"part-{index:05d}.nt"
    partial = directory / f".{final.name}.{uuid.uuid4().hex}"
    triples = size = 0
    try:
        with partial.open("wb") as file:
            for text in university_texts(index, seed):
                triples += text.count("\n")
                size += file.write(text.encode("ascii"))
        partial.replace(final)
    finally:
        partial.unlink(missing_ok=True)
    return triples, size
