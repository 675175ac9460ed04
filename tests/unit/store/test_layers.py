"""Layers read by Spark: the same rows as on the driver, before and after compaction on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from satura.recheck import check_entailment
from satura.store import Store, compaction
from satura.store.compaction import compact, layers, plan_full
from satura.store.verify import verify
from tests.unit.store.test_compaction import closure, expected
from tests.unit.store.updates import begin_updates, content, run

pytestmark = pytest.mark.spark


def rows(spark: SparkSession, store: Store) -> tuple[frozenset[tuple[object, ...]], ...]:
    asserted = store.frame(spark, "asserted").fillna(-1, ["g"]).collect()
    derived = store.frame(spark, "derived").collect()
    return frozenset(map(tuple, asserted)), frozenset(map(tuple, derived))


def test_layers_and_compaction_on_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maintainer = begin_updates(tmp_path, None)
    run(maintainer, 0, 9)
    store = maintainer.store
    assert rows(spark, store) == content(store)[:2]
    report = verify(spark, store, entailment=check_entailment)
    assert report.ok, report
    monkeypatch.setattr(compaction, "ROWS_ON_DRIVER", 1)
    done = compact(store, plan_full(store), spark)
    assert rows(spark, done) == content(done)[:2] == content(store)[:2]
    assert [len(layers(done, kind)) for kind in ("asserted", "derived")] == [1, 1]
    report = verify(spark, Store.open(tmp_path))
    assert report.ok, report
    maintainer.adopt(done)
    run(maintainer, 9, 12)
    assert closure(maintainer.store) == expected(12)
    assert rows(spark, maintainer.store) == content(maintainer.store)[:2]
