"""One Spark session for the whole test run, small and quiet."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from satura.errors import ConfigError
from satura.local_spark import find_java, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return the session; starting a JVM takes seconds, so every test shares it."""
    try:
        find_java()
    except ConfigError as error:
        pytest.skip(f"needs Java: {error.message}")
    # Workers must be this interpreter, or they may lack the packages under test.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    started = session(
        # Two tasks at once find races between tasks, and continuous integration has two cores.
        master=os.environ.get("SATURA_TEST_MASTER", "local[2]"),
        # Enough for every test, small enough to show what holds too much in memory.
        memory="2g",
        # Thousands of tiny jobs: compiling them well would take longer than running them.
        jit="quick",
        name="satura-tests",
        config={
            # The data is tiny; more partitions only cost start-up of tasks.
            "spark.sql.shuffle.partitions": "2",
            # Nobody looks at it, and its port may be taken.
            "spark.ui.enabled": "false",
            # Scratch files go away with the test run.
            "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        }
        # Where else the tests are to run: `tests/cluster` hands them to a cluster.
        | json.loads(os.environ.get("SATURA_TEST_CONFIG", "{}")),
    )
    yield started
    started.stop()


# These look at the same runs on Spark, which are the longest there are.
TOGETHER = {
    "test_owl_closure.py": "laws of OWL",
    "test_owl_gaps.py": "laws of OWL",
    "test_violations.py": "laws of OWL",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a file in one process, if several share the work."""
    for item in items:
        group = TOGETHER.get(item.path.name, str(item.path))
        item.add_marker(pytest.mark.xdist_group(group))
