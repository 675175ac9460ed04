"""Names for Spark jobs, so that the Spark UI says what the store is doing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def described(spark: SparkSession, what: str) -> Iterator[None]:
    """Describe the jobs run inside, then give back the description there was."""
    context = spark.sparkContext
    before = context.getLocalProperty("spark.job.description")
    context.setJobDescription(f"store: {what}")
    try:
        yield
    finally:
        context.setLocalProperty("spark.job.description", cast("str", before))  # None clears it
