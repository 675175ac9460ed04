"""Satura on a cluster of two workers: closing, updating and streaming give what they give here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from satura.maintain.apply import Maintainer
from satura.reference import close, is_rdf
from satura.rules.reader import load_rules
from satura.store import Store
from tests.cluster.standalone import StandaloneCluster
from tests.laws.graphs import graph
from tests.laws.owl_graphs import owl_graph
from tests.laws.updates import assert_same, closure_of
from tests.soak.killing import fingerprint

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
DRIVER = """
import json, sys
import satura
from satura.closure import whole

url, settings, folder = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
whole.MEMORY_FACTS = 0  # joins run on the workers, however few facts there are
spark = satura.session(master=url, memory="1g", jit="quick", config=settings)
for rules in ("rdfs", "owl-horst"):
    satura.materialize(spark, f"{folder}/{rules}.nt", rules=rules, store=f"{folder}/kb-{rules}")
    kb = satura.create(spark, f"{folder}/stream-{rules}", rules)
    stream = kb.stream(f"{folder}/in-{rules}", trigger="available-now", max_files=1)
    stream.await_end()
spark.stop()
"""


def run_python(*arguments: str) -> None:
    """Run an interpreter that finds Satura; fail with what it said."""
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True, text=True, timeout=1800, check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]


def test_closing_and_streaming_on_a_cluster(tmp_path: Path) -> None:
    given = {}
    for rules, make in (("rdfs", graph), ("owl-horst", owl_graph)):
        triples = sorted({t for seed in range(8) for t in make(seed, f"c{seed}")})
        # Labels of blank nodes would belong to the file, and there are two ways to read it.
        given[rules] = [t for t in triples if not any(term.startswith("_:") for term in t)]
        lines = [f"{s} {p} {o} .\n" for s, p, o in given[rules]]
        (tmp_path / f"{rules}.nt").write_text("".join(lines), "utf-8")
        incoming = tmp_path / f"in-{rules}"
        incoming.mkdir()
        for number in range(3):
            (incoming / f"{number}.nt").write_text("".join(lines[number::3]), "utf-8")
    with StandaloneCluster(tmp_path / "cluster") as cluster:
        arguments = (cluster.url, json.dumps(cluster.settings()), str(tmp_path))
        run_python("-c", DRIVER, *arguments)
    for rules, triples in given.items():
        expected = {t for t in close(load_rules(rules), triples) if is_rdf(t)}
        for kind in ("kb", "stream"):
            state = Maintainer(Store.open(tmp_path / f"{kind}-{rules}")).state
            assert_same(expected, closure_of(state), f"{kind} {rules}")


CLOSE = """
import json, sys
import satura

url, settings, data, store = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3], sys.argv[4]
with satura.session(master=url or None, memory="3g", config=settings) as spark:
    satura.materialize(spark, data, rules="rdfs", store=store)
"""


def check_universities(spark: SparkSession, folder: Path, universities: int) -> int:
    """Close universities here and on a cluster, row by row the same; return how many triples."""
    data = folder / "data"
    arguments = ["generate", "university", "--universities", universities, "-o", data]
    run_python("-m", "satura.cli.main", *map(str, arguments))
    run_python("-c", CLOSE, "", "{}", str(data), str(folder / "here"))
    with StandaloneCluster(folder / "cluster") as cluster:
        settings = cluster.settings() | {"spark.executor.memory": "1500m"}
        run_python("-c", CLOSE, cluster.url, json.dumps(settings), str(data), str(folder / "there"))
    here, there = fingerprint(spark, folder / "here"), fingerprint(spark, folder / "there")
    assert here == there
    return here[0].asserted


def test_the_same_rows_on_a_cluster(spark: SparkSession, tmp_path: Path) -> None:
    assert check_universities(spark, tmp_path, 1) > 100_000


@pytest.mark.soak
def test_the_same_ten_million_on_a_cluster(spark: SparkSession, tmp_path: Path) -> None:
    assert check_universities(spark, tmp_path, 80) > 10_000_000


@pytest.mark.soak
def test_laws_on_a_cluster(tmp_path: Path) -> None:
    """Run the laws of closing and the tests of streams with their session on the cluster."""
    with StandaloneCluster(tmp_path / "cluster") as cluster:
        settings = {"SATURA_TEST_MASTER": cluster.url,
                    "SATURA_TEST_CONFIG": json.dumps(cluster.settings())}  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-m", "not soak",
             "tests/laws/test_closure_spark.py", "tests/laws/test_owl_closure.py",
             "tests/laws/test_updates_spark.py",
             "tests/stream/test_sources.py"],
            cwd=ROOT, capture_output=True, text=True, check=False,
            env=os.environ | {"PYTHONPATH": str(ROOT / "src")} | settings,
        )  # fmt: skip
    print(done.stdout[-2000:])  # noqa: T201
    assert done.returncode == 0, done.stdout[-4000:]
