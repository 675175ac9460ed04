"""The cluster itself: a driver of its own process has executors in two more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from satura.errors import ConfigError
from satura.local_spark import find_java
from tests.cluster.standalone import StandaloneCluster

# The session that other tests share may run here, and a process has one driver at most.
DRIVER = """
import json, sys, time
from pathlib import Path
import satura

url, settings = sys.argv[1], json.loads(sys.argv[2])
spark = satura.session(master=url, memory="1g", jit="quick", config=settings)

def where(_):
    time.sleep(0.5)  # long enough that one executor does not do all of it
    yield Path.cwd().name, sys.executable

found = spark.sparkContext.parallelize(range(4), 4).mapPartitions(where).collect()
total = spark.range(0, 1000, numPartitions=4).groupBy().sum("id").first()[0]
executors, pythons = zip(*found)
result = {"python": pythons, "executors": sorted(set(executors)), "total": total}
print(json.dumps(result))
spark.stop()
"""


@pytest.mark.spark
def test_a_job_runs_on_two_executors(tmp_path: Path) -> None:
    try:
        find_java()
    except ConfigError as error:
        pytest.skip(f"needs Java: {error.message}")
    with StandaloneCluster(tmp_path / "cluster") as cluster:
        arguments = (cluster.url, json.dumps(cluster.settings()))
        done = subprocess.run(
            [sys.executable, "-c", DRIVER, *arguments],
            capture_output=True, text=True, timeout=180, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result == {
        "python": [sys.executable] * 4,
        "executors": ["0", "1"],
        "total": 499500,
    }
