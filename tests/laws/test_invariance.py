"""Neither order, nor files, nor formats, nor partitions, nor repetition change a closure."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import satura
from satura.kb import KnowledgeBase
from satura.reference import close
from satura.rules.reader import load_rules
from satura.terms.ntriples import Triple, is_blank
from tests.laws.graphs import as_lines, difference, graph
from tests.laws.runs import supports_of, triples_of

pytestmark = pytest.mark.spark
SEED = 42


def some_triples() -> list[Triple]:
    """Return several graphs in one; no blank nodes, which belong to their file."""
    graphs = (graph(seed, space=str(seed % 10)) for seed in range(800_000, 800_040))
    return sorted({t for g in graphs for t in g if not any(map(is_blank, t))})


def split(directory: Path, triples: Iterable[Triple]) -> Path:
    """Scatter triples over files of many formats, shuffled and most of them several times."""
    random = Random(SEED)
    directory.mkdir()
    given = list(triples)
    parts: list[list[Triple]] = [random.sample(given, len(given) // 2) for _ in range(7)]
    parts.append(given)
    for part in parts:
        random.shuffle(part)
    texts = ["".join(f"{s} {p} {o} .\n" for s, p, o in part + part[:5]) for part in parts]
    (directory / "a.nt").write_text(texts[0])
    (directory / "b.nq").write_text(texts[1])
    (directory / "c.ttl").write_text(texts[2])
    (directory / "d.nt.gz").write_bytes(gzip.compress(texts[3].encode()))
    (directory / "e.trig").write_text(texts[4])
    (directory / "f.nt.bz2").write_bytes(bz2.compress(texts[5].encode()))
    # Odd white space and escapes: the slow path, and the same terms.
    (directory / "g.nt").write_text(texts[6].replace(" ", "\t ").replace("/e/", "/\\u0065/"))
    columns = dict(zip("spo", (pa.array(c) for c in zip(*parts[7], strict=True)), strict=True))
    (directory / "table").mkdir()
    pq.write_table(pa.table(columns), directory / "table" / "h.parquet")
    return directory


@pytest.fixture(scope="module")
def plain(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    directory = tmp_path_factory.mktemp("plain")
    (directory / "all.nt").write_text(as_lines(some_triples()))
    return satura.materialize(spark, directory / "all.nt", store=directory / "store")


def test_plain_closure_is_the_reference(plain: KnowledgeBase) -> None:
    given = some_triples()
    expected = close(load_rules("rdfs"), given)
    wrong = difference(expected, triples_of(plain.closure()), "some_triples()")
    assert wrong is None, wrong
    counts = plain.info.counts
    assert (counts.asserted, counts.closure) == (len(given), len(expected))
    assert counts.duplicates == 0
    assert triples_of(plain.inferred()) == expected - set(given)


def test_scattered_input_gives_the_same(
    spark: SparkSession, plain: KnowledgeBase, tmp_path: Path
) -> None:
    usual = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "7")
    try:
        files = split(tmp_path / "in", some_triples())
        kb = satura.materialize(spark, files, store=tmp_path / "store")
        wrong = difference(
            triples_of(plain.closure()), triples_of(kb.closure()), f"split by seed {SEED}"
        )
        assert wrong is None, wrong
        assert supports_of(kb) == supports_of(plain)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", str(usual))
    given = len(some_triples())
    repeated = 7 * (given // 2) + 7 * 5
    ours, theirs = kb.info.counts, plain.info.counts
    assert ours.duplicates == repeated, f"seed {SEED}"
    for name in ("asserted", "derived", "inferred", "closure", "schema"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert kb.info.terms == plain.info.terms
