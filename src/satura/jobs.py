"""Spark jobs: each one named, each collected result bounded, and what Spark counted of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

_DESCRIPTION: Final = "spark.job.description"


@contextmanager
def described(spark: SparkSession, description: str) -> Iterator[None]:
    """Give the Spark jobs started inside a name that the Spark UI shows.

    Naming is nested: an inner name is added to the outer one.
    """
    context = spark.sparkContext
    before = context.getLocalProperty(_DESCRIPTION)
    context.setJobDescription(f"{before}: {description}" if before else description)
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)  # type: ignore[arg-type]


def collect_first(rows: DataFrame, limit: int) -> list[Row]:
    """Collect at most `limit` rows."""
    return rows.limit(limit).collect()


def find_first(rows: DataFrame, limit: int) -> list[Row]:
    """Collect at most `limit` rows of which there are probably none.

    `collect_first` tries one partition, then a few more; here all are searched at once.
    """
    return rows.limit(limit).coalesce(1).collect()


def shuffled_rows(spark: SparkSession, description: str, *, patience: float = 10.0) -> int | None:
    """Return how many rows the last query of this description put through its one shuffle.

    Spark counts them anyway, so asking costs no job. Its books are kept by a listener that may be
    a moment late; after `patience` seconds the answer is None.
    """
    store = spark._jsparkSession.sharedState().statusStore()
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        executions = store.executionsList()
        for i in range(executions.size() - 1, -1, -1):
            execution = executions.apply(i)
            if execution.description() != description:
                continue
            if execution.completionTime().isDefined():
                return _metric(store, execution, "shuffle records written")
            break
        time.sleep(0.05)
    return None


def _metric(store: object, execution: object, name: str) -> int | None:
    values = store.executionMetrics(execution.executionId())  # type: ignore[attr-defined]
    metrics = execution.metrics()  # type: ignore[attr-defined]
    for i in range(metrics.size()):
        metric = metrics.apply(i)
        if metric.name() == name:
            value = values.get(metric.accumulatorId())
            if value.isDefined():
                return int(value.get().replace(",", ""))
    return None
