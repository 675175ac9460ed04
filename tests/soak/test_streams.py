"""Many small batches: memory stays flat, files stay few, the store stays exact."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from satura.maintain.apply import Maintainer
from satura.recheck import check_entailment
from satura.reference import close, is_rdf
from satura.rules.reader import load_rules
from satura.store import Store
from satura.store.verify import verify
from satura.stream.report import BatchReport
from satura.stream.sources import BatchLimits, open_source
from satura.stream.streaming import parse_trigger, start_stream
from satura.terms.ntriples import Triple
from tests.laws.graphs import graph
from tests.laws.updates import assert_same, closure_of

pytestmark = pytest.mark.spark


def resident() -> int:
    """Return the memory of this process, in pages; the JVM has a limit of its own."""
    return int(Path("/proc/self/statm").read_text().split()[1])


def run_batches(spark: SparkSession, folder: Path, count: int) -> None:
    """Stream batches of a few statements that come and go."""
    random = Random(count)
    pool = sorted({t for seed in range(12) for t in graph(seed, f"m{seed}")})
    incoming, here = folder / "in", set[Triple]()
    incoming.mkdir()
    for number in range(count):
        added = set(random.sample(pool, 6))
        removed = set(random.sample(sorted(here), min(len(here), random.randint(0, 6)))) - added
        here = (here | added) - removed
        rows = [f"A {' '.join(t)} .\n" for t in sorted(added)]
        rows += [f"D {' '.join(t)} .\n" for t in sorted(removed)]
        file = incoming / f"{number:05d}.patch"
        file.write_text("TX .\n" + "".join(rows) + "TC .\n", "utf-8")
        os.utime(file, (number + 1, number + 1))
    memory: list[int] = []
    files: list[int] = []

    def watch(report: BatchReport) -> None:
        memory.append(resident())
        if report.batch % 50 == 0:
            files.append(Store.open(folder / "kb").info.files)

    stream = start_stream(
        spark, folder / "kb", open_source(str(incoming), limits=BatchLimits(max_files=1)),
        rules="rdfs", trigger=parse_trigger("available-now"), watch=watch,
    )  # fmt: skip
    assert stream.await_end()
    assert len(memory) == count
    store = Store.open(folder / "kb")
    expected = {t for t in close(load_rules("rdfs"), here) if is_rdf(t)}
    assert_same(expected, closure_of(Maintainer(store).state), "the store")
    assert max(files) <= 40, files
    assert verify(spark, store, entailment=check_entailment).ok
    warm = max(memory[count // 4 : count // 2])
    last = max(memory[-count // 4 :])
    print(f"{count} batches: {warm} pages when warm, {last} at the end, files {max(files)}")  # noqa: T201
    assert last < 1.25 * warm


def test_a_hundred_batches(spark: SparkSession, tmp_path: Path) -> None:
    run_batches(spark, tmp_path, 100)


@pytest.mark.soak
def test_two_thousand_batches(spark: SparkSession, tmp_path: Path) -> None:
    run_batches(spark, tmp_path, 2000)
