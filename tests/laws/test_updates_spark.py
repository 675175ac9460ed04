"""Stores that were updated on the driver, derived again by Spark from what is asserted.

Many random graphs, each in a namespace of its own, are updated in one store, step by step; in the
end Spark closes what is asserted from scratch and compares every row, its support included.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from satura.maintain.apply import Maintainer
from satura.maintain.create import create_store
from satura.recheck import check_entailment
from satura.rules.reader import load_rules
from satura.store.verify import verify
from satura.terms.ntriples import Triple
from tests.laws.graphs import tame_graph
from tests.laws.owl_graphs import owl_graph
from tests.laws.updates import change_of, random_steps

pytestmark = pytest.mark.spark

STEPS = 6


@pytest.mark.parametrize(
    ("name", "graphs"), [("rdfs", 60), ("rdfs-full", 20), ("owl-horst", 30), ("owl2-rl", 20)]
)
def test_updated_store_is_derived_again(
    spark: SparkSession, tmp_path: Path, name: str, graphs: int
) -> None:
    rules = load_rules(name)
    maintainer = Maintainer(create_store(tmp_path / "s", rules), lambda: spark)
    make = owl_graph if name.startswith("owl") else tame_graph
    every = [
        random_steps(seed, make(seed, f"n{seed}"), STEPS, fixed=lambda _: False)
        for seed in range(graphs)
    ]
    asserted: set[Triple] = set()
    for at in range(STEPS):
        added = {t for steps in every for t in steps[at][0]}
        removed = {t for steps in every for t in steps[at][1]} - added
        maintainer.apply(change_of(added, removed))
        asserted = (asserted | added) - removed
    store = maintainer.store
    assert store.info.counts.asserted == len(asserted)
    report = verify(spark, store)
    assert report.ok, [check for check in report.checks if not check.ok]
    found = check_entailment(spark, store)
    assert found.ok, found.detail
