"""Runs that several laws share."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from satura.closure import whole
from tests.laws.owl_runs import OwlRun, OwlRuns, Way, graphs_of
from tests.laws.runs import materialized


@pytest.fixture(scope="session")
def owl_runs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> OwlRuns:
    """Return the function that gives runs; each is made when first asked for."""
    made: dict[tuple[str, Way, int, int], OwlRun] = {}

    def run(rules: str, way: Way, first: int, size: int) -> OwlRun:
        key = (rules, way, first, size)
        if key not in made:
            graphs = graphs_of(rules, first, size)
            given = {triple for graph in graphs.values() for triple in graph}
            directory = tmp_path_factory.mktemp(f"{rules}-{way}")
            with pytest.MonkeyPatch.context() as patch:
                if way == "rounds":
                    patch.setattr(whole, "MEMORY_FACTS", 0)
                made[key] = OwlRun(rules, graphs, materialized(spark, directory, given, rules))
        return made[key]

    return run
