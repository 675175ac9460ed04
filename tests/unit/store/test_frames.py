"""Writing and reading with Spark: round trip, pruning, decoding, collisions."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from satura.errors import CorruptStoreError, StoreError
from satura.store import (
    CommitMetadata,
    Counts,
    Store,
    begin,
    check_collisions,
    find_orphans,
    layout,
    repair,
)
from satura.terms.ids import id_column, term_id
from tests.unit.store.samples import iri, make_store, write_parquet, write_sample

pytestmark = pytest.mark.spark

TERMS = [iri("a"), iri("b"), iri("p"), iri("q"), iri("g"), '"x"', '"\u00e9\\n"@en']
A, B, P, Q, G, X, E = (term_id(text) for text in TERMS)
ASSERTED = {(A, P, B, None), (A, P, B, G), (A, Q, X, None), (B, Q, E, G)}
DERIVED = {(A, P, B, 2, False, True), (B, P, A, 1, True, False)}


@pytest.fixture(scope="module")
def store(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store written by Spark, in a directory whose name Hadoop would take for a pattern."""
    path = tmp_path_factory.mktemp("store") / "an [odd] {name} é"
    with begin(path, overwrite=False) as txn:
        for part in (list(ASSERTED)[:2], list(ASSERTED)[2:]):
            rows = spark.createDataFrame(part, "s long, p long, o long, g long")
            txn.write_facts("asserted", rows.select("o", "g", "s", "p"))
        derived = spark.createDataFrame(
            list(DERIVED), "s long, p long, o long, support long, joined boolean, asserted boolean"
        )
        txn.write_facts("derived", derived)
        txn.write_facts("schema", spark.createDataFrame([], "s long, p long, o long, origin int"))
        terms = spark.createDataFrame([(t,) for t in TERMS], "term string")
        txn.write_terms(terms.select(id_column(F.col("term")).alias("id"), "term"))
        txn.write_rejects(
            spark.createDataFrame(
                [("f.nt", 3, 1, "why", "text")], layout.ddl(layout.REJECTS_COLUMNS)
            )
        )
        assert txn.read_facts(spark, "asserted").count() == 4
        assert txn.read_facts(spark, "schema").count() == 0
        assert txn.read_terms(spark).count() == 7
        return txn.commit(CommitMetadata("r", "", Counts(4, 2, 1, 4, 0, rejected=1)))


def test_round_trip(spark: SparkSession, store: Store) -> None:
    assert {tuple(r) for r in store.frame(spark, "asserted").collect()} == ASSERTED
    assert {tuple(r) for r in store.frame(spark, "derived").collect()} == DERIVED
    assert store.frame(spark, "schema").collect() == []
    assert store.frame(spark, "schema").columns == ["s", "p", "o", "origin"]
    assert {tuple(r) for r in store.terms(spark).collect()} == {(term_id(t), t) for t in TERMS}
    assert [r["reason"] for r in store.rejects(spark).collect()] == ["why"]


def test_only_what_the_log_names_is_on_disk(store: Store) -> None:
    assert find_orphans(store.path, grace=0) == []
    assert not list(store.path.rglob("_SUCCESS"))
    assert not list(store.path.rglob("_temporary"))
    assert repair(store.path, grace=0) == []


def test_plain_delta_reader_sees_the_same_rows(store: Store) -> None:
    rows = DeltaTable(store.path / "facts").to_pyarrow_table().to_pylist()
    asserted = [r for r in rows if r["kind"] == "asserted"]
    assert {(r["s"], r["p"], r["o"], r["g"]) for r in asserted} == ASSERTED
    derived = [r for r in rows if r["kind"] == "derived"]
    names = [name for name, _ in layout.KIND_COLUMNS["derived"] if name != "gone"]
    assert {tuple(r[name] for name in names) for r in derived} == DERIVED


def test_closure_is_distinct_over_graphs(spark: SparkSession, store: Store) -> None:
    assert [tuple(r) for r in store.inferred(spark).collect()] == [(B, P, A)]
    closure = [tuple(r) for r in store.closure(spark).collect()]
    assert sorted(closure) == sorted({(A, P, B), (A, Q, X), (B, Q, E), (B, P, A)})
    assert [tuple(r) for r in store.closure(spark, s=B, p=[P]).collect()] == [(B, P, A)]


@pytest.mark.parametrize("size", ["small", "large"])
def test_decode(spark: SparkSession, store: Store, size: str) -> None:
    frame = store.frame(spark, "asserted").withColumn("kept", F.lit(1))
    decoded = store.decode(spark, frame, ["s", "p", "o", "g"], size=size)  # type: ignore[arg-type]
    assert decoded.columns == ["s", "p", "o", "g", "kept"]
    names = dict(zip((A, B, P, Q, G, X, E), TERMS, strict=True)) | {None: None}
    assert {tuple(r)[:4] for r in decoded.collect()} == {
        tuple(names[i] for i in q) for q in ASSERTED
    }


def test_small_decoding_evaluates_once(spark: SparkSession, store: Store) -> None:
    """A sample differs each time it is taken, and must still find the terms of its own rows."""
    ids = F.when(F.rand() < 0.5, F.lit(A)).otherwise(F.lit(B))
    random = spark.range(1).select(ids.alias("s"))
    for _ in range(8):
        decoded = store.decode(spark, random, ["s"], size="small").collect()
        assert decoded[0]["s"] in (iri("a"), iri("b"))


def test_decoding_an_unknown_id_fails(spark: SparkSession, store: Store) -> None:
    lost = spark.createDataFrame([(A, 12345)], "s long, o long")
    with pytest.raises(PySparkException, match="no term for id 12345"):
        store.decode(spark, lost, ["s", "o"]).collect()


def test_pruning_reads_only_the_files_that_may_match(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.range(1000).selectExpr("id as s", "id div 100 as p", "id as o", "null as g")
    with begin(tmp_path, overwrite=False) as txn:
        txn.write_facts("asserted", rows.repartitionByRange(10, "p"))
        store = txn.commit(CommitMetadata("r", "", Counts(1000, 0, 0, 1000, 0)))
    everything = store.frame(spark, "asserted")
    assert len(everything.inputFiles()) >= 5
    found = store.frame(spark, "asserted", p=3)
    assert len(found.inputFiles()) == 1
    assert found.count() == 100
    assert store.frame(spark, "asserted", s=[5, 995]).count() == 2
    assert len(store.frame(spark, "asserted", s=[5, 995]).inputFiles()) == 2
    assert store.frame(spark, "asserted", p=77).count() == 0
    assert store.frame(spark, "asserted", p=3, s=0).inputFiles() == []


def test_old_snapshot_reads_on_while_a_new_one_is_committed(
    spark: SparkSession, tmp_path: Path
) -> None:
    old = make_store(tmp_path, "a", 3)
    new = make_store(tmp_path, "b", 5, overwrite=True)
    assert old.frame(spark, "asserted").count() == 3
    assert new.frame(spark, "asserted").count() == 5
    assert old.terms(spark).where(F.col("term") == iri("a0")).count() == 1
    assert new.terms(spark).where(F.col("term") == iri("a0")).count() == 0


def test_missing_or_shortened_file_is_named(spark: SparkSession, tmp_path: Path) -> None:
    store = make_store(tmp_path)
    file = next((tmp_path / "facts").rglob("derived/*.parquet"))
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(CorruptStoreError, match="bytes, the log says") as caught:
        store.frame(spark, "derived")
    assert str(file) in caught.value.message
    file.unlink()
    with pytest.raises(CorruptStoreError, match="is missing") as caught:
        store.frame(spark, "derived")
    assert str(file) in caught.value.message
    assert store.frame(spark, "asserted").count() == 3


def test_collision_names_both_terms_and_the_id(spark: SparkSession) -> None:
    rows = [(1, iri("a")), (1, iri("a")), (2, iri("b"))]
    check_collisions(spark, spark.createDataFrame(rows, "id long, term string"))
    rows.append((2, iri("c")))
    with pytest.raises(StoreError, match="TERM-COLLISION") as caught:
        check_collisions(spark, spark.createDataFrame(rows, "id long, term string"))
    for part in (iri("b"), iri("c"), "2"):
        assert part in caught.value.message


def test_unreadable_parquet_is_not_committed(tmp_path: Path) -> None:
    with begin(tmp_path, overwrite=False) as txn:
        metadata = write_sample(txn)
        file = write_parquet(txn.facts_dir("schema"), "part-1", {})
        file.write_bytes(b"PAR1")
        with pytest.raises(CorruptStoreError, match="STORE-CORRUPT"):
            txn.commit(metadata)
