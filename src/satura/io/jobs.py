"""Spark jobs of the readers: each one named, each result of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession


@contextmanager
def job(spark: SparkSession, description: str) -> Iterator[None]:
    """Name the Spark jobs started within, as the Spark UI and its history show them."""
    context = spark.sparkContext
    before = context.getLocalProperty("spark.job.description")
    context.setJobDescription(description)
    try:
        yield
    finally:
        context.setLocalProperty("spark.job.description", before)  # type: ignore[arg-type]


def collect_first(rows: DataFrame, limit: int) -> list[Row]:
    """Collect at most `limit` rows."""
    return rows.limit(limit).collect()
