"""Hundreds of updates: files stay few, none gets slow, and the closure is exact in the end."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from satura.recheck import check_entailment
from satura.store import Store
from satura.store.verify import verify
from tests.unit.store.test_racing import check_kills, check_race
from tests.unit.store.updates import begin_updates, run

pytestmark = pytest.mark.soak


def test_two_writers_race_for_long(tmp_path: Path) -> None:
    check_race(tmp_path, 50)


def test_thirty_writers_are_killed(tmp_path: Path) -> None:
    check_kills(tmp_path, 30, seed=7)


@pytest.mark.spark
def test_five_hundred_transactions(spark: SparkSession, tmp_path: Path) -> None:
    maintainer = begin_updates(tmp_path)
    seconds, files = [], []
    for i in range(500):
        began = time.perf_counter()
        run(maintainer, i, i + 1)
        seconds.append(time.perf_counter() - began)
        files.append(maintainer.store.info.files)
    began = time.perf_counter()
    store = Store.open(tmp_path)
    opening = time.perf_counter() - began
    on_disk = sum(len(names) for _, _, names in os.walk(tmp_path))
    first, last = sum(seconds[:10]), sum(seconds[-10:])
    print(  # noqa: T201
        f"first ten {first:.2f} s, last ten {last:.2f} s, ratio {last / first:.2f}; at most "
        f"{max(files)} files in a version, {on_disk} on disk; version {store.version} opened in "
        f"{1000 * opening:.0f} ms"
    )
    assert max(files) <= 3 * 10 + 1
    report = verify(spark, store, entailment=check_entailment)
    assert report.ok, [check for check in report.checks if not check.ok]
