"""Every kind of damage fails a check of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from satura.store import CommitMetadata, Counts, Store, Transaction, begin, layout
from satura.store.verify import Check, verify
from satura.terms.ids import term_id
from tests.unit.store.samples import iri, longs, make_store, write_parquet, write_sample

pytestmark = pytest.mark.spark

TYPE, CLASS, A0, A1 = (term_id(iri(name)) for name in ("type", "Class", "a0", "a1"))
LITERAL = term_id('"a"')


def failing(spark: SparkSession, store: Store) -> set[str]:
    return {check.name for check in verify(spark, store).checks if not check.ok}


def test_sound_store_passes(spark: SparkSession, tmp_path: Path) -> None:
    store = make_store(tmp_path)
    called = []

    def entailment(session: SparkSession, checked: Store) -> Check:
        called.append((session, checked))
        return Check("entailment", True, "closed")

    report = verify(spark, store, entailment=entailment)
    assert [check for check in report.checks if not check.ok] == []
    assert report.ok
    assert called == [(spark, store)]
    assert len(report.checks) == 16
    assert all(check.detail for check in report.checks)


def fact(txn: Transaction, kind: layout.Kind, s: int, p: int, o: int, **more: pa.Array) -> None:
    columns = {"s": longs([s]), "p": longs([p]), "o": longs([o])}
    if kind == "asserted":
        columns["g"] = longs([None])
    if kind == "schema":
        columns["origin"] = pa.array([0], pa.int32())
    else:
        columns["gone"] = pa.array([False], pa.bool_())
    write_parquet(txn.facts_dir(kind), "part-1", columns | more)


def derived(txn: Transaction, o: int, s: int, support: int, asserted: bool) -> None:
    more = {
        "support": pa.array([support], pa.int32()),
        "joined": pa.array([False], pa.bool_()),
        "asserted": pa.array([asserted], pa.bool_()),
    }
    fact(txn, "derived", s, TYPE, o, **more)


def term(txn: Transaction, number: int, text: str) -> None:
    columns = {"id": longs([number]), "term": pa.array([text], pa.string())}
    write_parquet(txn.terms_dir, "part-1", columns)


Damage = Callable[[Transaction], None]
# What is written besides the sample. Several faults in one store save time, and show that each is
# found by its own check while the others are there.
WRITTEN: dict[str, tuple[list[Damage], Counts, set[str]]] = {
    "literal subject, term twice, schema twice, no support": (
        [
            lambda txn: fact(txn, "asserted", LITERAL, TYPE, CLASS),
            lambda txn: term(txn, A0, iri("a0")),
            lambda txn: fact(txn, "schema", CLASS, TYPE, CLASS),
            lambda txn: derived(txn, LITERAL, A0, 0, False),
        ],
        Counts(4, 4, 3, 7, 2),
        {"positions", "terms-distinct", "schema-distinct", "support"},
    ),
    "id without a term, derived twice, term under a wrong id": (
        [
            lambda txn: fact(txn, "asserted", 99, TYPE, CLASS),
            lambda txn: derived(txn, CLASS, A0, 1, True),
            lambda txn: term(txn, 98, iri("other")),
        ],
        Counts(4, 4, 2, 6, 1),
        {"decodable", "derived-distinct", "term-ids"},
    ),
    "two terms under one id, asserted twice": (
        [
            lambda txn: term(txn, A0, iri("other")),
            lambda txn: fact(txn, "asserted", A0, TYPE, CLASS),
        ],
        Counts(4, 3, 2, 5, 1),
        {"collisions", "terms-distinct", "term-ids", "asserted-distinct"},
    ),
    "wrongly marked as asserted, wrong count": (
        [lambda txn: derived(txn, LITERAL, A0, 1, True)],
        Counts(3, 4, 1, 5, 1),
        {"asserted-flag", "counts"},
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_damage_in_the_rows(spark: SparkSession, tmp_path: Path, name: str) -> None:
    damages, counts, expected = WRITTEN[name]
    with begin(tmp_path, overwrite=False) as txn:
        write_sample(txn)
        for damage in damages:
            damage(txn)
        store = txn.commit(CommitMetadata("r", "", counts))
    assert failing(spark, store) == expected


def delete(file: Path) -> None:
    file.unlink()


def shorten(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-10])


def garble(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


@pytest.mark.parametrize(
    ("damage", "expected"), [(delete, "files"), (shorten, "files"), (garble, "footers")]
)
@pytest.mark.parametrize("table", ["facts", "terms"])
def test_damage_to_a_file(
    spark: SparkSession, tmp_path: Path, table: str, damage: Callable[[Path], None], expected: str
) -> None:
    store = make_store(tmp_path)
    file = sorted((tmp_path / table).rglob("*.parquet"))[0]
    damage(file)
    report = verify(spark, store)
    assert not report.ok
    faults = [check for check in report.checks if not check.ok]
    assert expected in {check.name for check in faults}
    assert file.name in faults[0].detail
    assert "counts" in report.skipped


@pytest.mark.parametrize(
    ("part", "value"), [("numRecords", 4), ("minValues", {"s": 0, "p": 0, "o": 0, "id": 0})]
)
def test_log_that_says_otherwise(
    spark: SparkSession, tmp_path: Path, part: str, value: object
) -> None:
    make_store(tmp_path)
    log = layout.log_file(tmp_path / "facts", 0)
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    added = next(action["add"] for action in actions if "add" in action)
    added["stats"] = json.dumps(json.loads(added["stats"]) | {part: value})
    log.write_text("\n".join(json.dumps(action) for action in actions))
    assert failing(spark, Store.open(tmp_path)) == {"footers"}


def test_flipped_bit(spark: SparkSession, tmp_path: Path) -> None:
    with begin(tmp_path, overwrite=False) as txn:
        rows = spark.range(1000).selectExpr("id as s", "id as p", "id as o", "0 as origin")
        txn.write_facts("schema", rows.coalesce(1))
        store = txn.commit(CommitMetadata("r", "", Counts(0, 0, 0, 0, 1000)))
    file = next(tmp_path.rglob("schema/*.parquet"))
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 1
    file.write_bytes(content)
    assert "readable" in failing(spark, store)


def test_lost_rejects(spark: SparkSession, tmp_path: Path) -> None:
    with begin(tmp_path, overwrite=False) as txn:
        metadata = write_sample(txn)
        row = [("f", 1, 1, "why", "text")]
        txn.write_rejects(spark.createDataFrame(row, layout.ddl(layout.REJECTS_COLUMNS)))
        store = txn.commit(metadata)
    next((tmp_path / "rejects").rglob("*.parquet")).unlink()
    assert failing(spark, store) == {"files"}
