"""Limits of a run: given up cleanly, with the store as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import satura
from satura.errors import LimitError
from tests.cli.conftest import Cli

pytestmark = pytest.mark.spark

SYMMETRIC = """
@prefix : <http://e/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:before a owl:TransitiveProperty .
:a :before :b . :b :before :c . :c :before :d . :d :before :e . :e :before :f .
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("limits") / "chain.ttl"
    path.write_text(SYMMETRIC)
    return path


@pytest.mark.parametrize(
    ("option", "value", "code"),
    [
        ("--max-rounds", 1, "LIMIT-ROUNDS"),
        ("--max-facts", 10, "LIMIT-FACTS"),
        ("--timeout", 0.01, "LIMIT-TIME"),
    ],
)
def test_a_limit_leaves_nothing_behind(
    cli: Cli, data: Path, tmp_path: Path, option: str, value: float, code: str
) -> None:
    done = cli("materialize", data, "-r", "owl-horst", "-s", tmp_path / "s", option, value)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"satura: [{code}] ")
    assert f"hint: raise `{option}`" in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_limit_leaves_the_store_as_it_was(cli: Cli, data: Path, tmp_path: Path) -> None:
    store = tmp_path / "s"
    first = cli("materialize", data, "-r", "owl-horst", "-s", store, "--json")
    assert first.code == 0, first.err
    before = sorted(path for path in store.rglob("*"))
    done = cli(
        "materialize", data, "-r", "owl-horst", "-s", store, "--overwrite", "--max-facts", 10
    )
    assert done.code == 1
    assert sorted(path for path in store.rglob("*")) == before


def test_limits_that_are_wide_enough_change_nothing(cli: Cli, data: Path, tmp_path: Path) -> None:
    done = cli(
        "materialize", data, "-r", "owl-horst", "-s", tmp_path / "s", "--json",
        "--max-rounds", 20, "--max-facts", 16, "--timeout", 600,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert json.loads(done.out)["counts"]["closure"] == 16


def test_limits_must_be_positive(no_spark: Cli, data: Path) -> None:
    done = no_spark("materialize", data, "-s", "s", "--max-rounds", 0)
    assert done.code == 2
    assert "--max-rounds" in done.err


def test_limits_in_python(spark: SparkSession, data: Path) -> None:
    with pytest.raises(LimitError) as caught:
        satura.materialize(spark, data, "owl-horst", max_rounds=1)
    assert caught.value.code == "LIMIT-ROUNDS"
