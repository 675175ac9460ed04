"""One bad line near the end of a large file is named by its number, and nothing is committed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import satura
from satura.errors import DataError

pytestmark = pytest.mark.spark

# The first is seen by the cheap look at lines, the second only when its terms are checked.
BAD = {
    "cut off": "<http://example.org/s> <http://example.org/p>",
    "space in an IRI": "<http://example.org/s> <http://example.org/p> <http://example.org/o o> .",
}


def write(file: Path, size: int, bad: str) -> int:
    """Write about `size` bytes of N-Triples, the third line from the end bad; return its number."""
    lines = 0
    with file.open("w") as out:
        while out.tell() < size:
            out.writelines(
                f"<http://example.org/subject/{n % 5000}> <http://example.org/p{n % 7}> "
                f'"value number {n}" .\n'
                for n in range(lines, lines + 5_000)
            )
            lines += 5_000
        out.write(f"{bad}\n")
        out.write("<http://example.org/s> <http://example.org/p> <http://example.org/o> .\n" * 2)
    return lines + 1


def check(spark: SparkSession, directory: Path, size: int, bad: str) -> None:
    file = directory / "large.nt"
    number = write(file, size, bad)
    with pytest.raises(DataError) as caught:
        satura.materialize(spark, file, store=directory / "store")
    error = caught.value
    assert (error.code, error.total) == ("RDF-FAULTS", 1)
    (fault,) = error.faults
    assert (fault.source, fault.line) == (str(file), number)
    assert fault.excerpt == bad
    assert [child.name for child in directory.iterdir()] == ["large.nt"]


@pytest.mark.parametrize("kind", BAD)
def test_bad_line_in_many_blocks(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    usual = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(1 << 20))
    try:
        check(spark, tmp_path, 20 << 20, BAD[kind])
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", str(usual))


@pytest.mark.soak
@pytest.mark.parametrize("kind", BAD)
def test_bad_line_in_a_gigabyte(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    check(spark, tmp_path, 1 << 30, BAD[kind])
