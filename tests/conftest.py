"""One Spark session for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from satura.session import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # One partition: the frames of tests are tiny, and each task costs more than its rows.
    made = session(master="local[1]", memory="1g", config={"spark.sql.shuffle.partitions": "1"})
    yield made
    made.stop()
