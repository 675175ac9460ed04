"""Stopping Spark from outside: in the middle of a job, with nothing left running."""

from __future__ import annotations

import time

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from satura.errors import DataError, LimitError
from satura.failures import translated
from satura.stopping import Brake, deadline

pytestmark = pytest.mark.spark


def endless(spark: SparkSession) -> DataFrame:
    """Return a frame whose evaluation takes hours."""
    return spark.range(10**14).select(F.sum(F.sqrt("id")))


def running_tasks(spark: SparkSession) -> int:
    scheduler = spark.sparkContext._jsc.sc().taskScheduler()
    return sum(map(int, filter(None, scheduler.runningTasksByExecutors().values().mkString(","))))


@pytest.mark.parametrize("broadcast", [False, True])
def test_deadline_stops_a_job(spark: SparkSession, broadcast: bool) -> None:
    frame = endless(spark)
    if broadcast:
        frame = spark.range(3).crossJoin(F.broadcast(frame))
    started = time.monotonic()
    with pytest.raises(LimitError) as caught, deadline(spark, 0.5), translated():
        frame.collect()
    assert caught.value.code == "LIMIT-TIME"
    assert "0.5 seconds" in caught.value.message
    assert time.monotonic() - started < 10
    assert running_tasks(spark) == 0
    assert spark.range(3).count() == 3  # other jobs run as before


def test_deadline_stops_what_is_no_job(spark: SparkSession) -> None:
    with pytest.raises(LimitError), deadline(spark, 0.05):
        time.sleep(0.2)


def test_other_errors_stay_what_they_are(spark: SparkSession) -> None:
    with pytest.raises(DataError), deadline(spark, 60):
        raise DataError("RDF-EMPTY", "nothing there")
    with deadline(spark, None):
        assert spark.range(2).count() == 2


def test_brakes_inside_one_another_are_apart(spark: SparkSession) -> None:
    """The inner one stops its own jobs only."""
    with Brake(spark) as outer:
        with pytest.raises(Py4JJavaError), Brake(spark) as inner:
            inner.pull()
            endless(spark).collect()
        assert (inner.pulled, outer.pulled) == (True, False)
        assert spark.range(3).count() == 3
