"""`satura check`: violations with their triples, exit codes, and nothing committed when asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import satura
from tests.cli.conftest import Cli

pytestmark = pytest.mark.spark

ODD = """
@prefix : <http://e/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Cat owl:disjointWith :Dog . :Puppy rdfs:subClassOf :Dog . :tom a :Cat , :Puppy .
:age rdfs:range xsd:integer . :tom :age "old" ; :weight "x"^^xsd:integer .
:p a owl:FunctionalProperty . :tom :p :a , :b . :a owl:differentFrom :b .
"""


@pytest.fixture(scope="module")
def odd(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("odd")
    (directory / "odd.ttl").write_text(ODD)
    made = cli(
        "materialize", directory / "odd.ttl", "--rules", "owl2-rl", "--store", directory / "store"
    )
    assert made.code == 0, made.err
    assert "5 violations of owl2-rl" in made.err
    return directory


def test_check_lists_rule_witnesses_and_triples(cli: Cli, odd: Path) -> None:
    result = cli("check", odd / "store")
    assert result.code == 3
    lines = result.out.splitlines()
    assert lines[0] == "cax-dw: ?c1 = <http://e/Cat>, ?c2 = <http://e/Dog>, ?x = <http://e/tom>"
    assert any(line.endswith("#type> <http://e/Dog> .") for line in lines[1:4])
    rules = [line.split(":")[0] for line in lines if not line.startswith(" ")]
    assert rules == ["cax-dw", "dt-not-type", "dt-not-type-ill", "eq-diff1", "eq-diff1-ref"]
    assert any("is the same as <http://e/" in line for line in lines), "equal terms are told"


def test_check_as_json(cli: Cli, odd: Path) -> None:
    result = cli("check", odd / "store", "--json", "--limit", "1")
    assert result.code == 3
    report = json.loads(result.out)
    assert report["violations"] == 5
    (only,) = report["listed"]
    assert only["rule"] == "cax-dw"
    assert only["witnesses"]["x"] == "<http://e/tom>"
    assert len(only["triples"]) == 3


def test_violations_are_a_frame_and_no_part_of_the_closure(spark: SparkSession, odd: Path) -> None:
    kb = satura.open(spark, odd / "store")
    found = {
        (row["rule"], frozenset(row["witnesses"].items())) for row in kb.violations().collect()
    }
    assert len(found) == kb.info.counts.violations == 5
    ill = frozenset({("lt", '"x"^^<http://www.w3.org/2001/XMLSchema#integer>')})
    assert ("dt-not-type-ill", ill) in found
    assert not [t for t in kb.closure().collect() if t["s"].startswith('"')]


def test_consistent_data_exits_with_zero(cli: Cli, no_spark: Cli, tmp_path: Path) -> None:
    (tmp_path / "fine.nt").write_text("<http://e/a> <http://e/b> <http://e/c> .\n")
    made = cli("materialize", tmp_path / "fine.nt", "--rules", "owl2-rl", "-s", tmp_path / "fine")
    assert made.code == 0
    result = no_spark("check", tmp_path / "fine")
    assert (result.code, result.out) == (0, "no violations of owl2-rl\n")
    assert json.loads(no_spark("check", tmp_path / "fine", "--json").out)["violations"] == 0


def test_fail_on_violation_commits_nothing(cli: Cli, odd: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    result = cli(
        "materialize", odd / "odd.ttl", "--rules", "owl2-rl", "-s", store, "--fail-on-violation"
    )
    assert result.code == 3
    assert "DATA-INCONSISTENT" in result.err
    assert "cax-dw" in result.err
    assert not store.exists()


def test_stored_violations_are_verified(cli: Cli, odd: Path) -> None:
    result = cli("verify", odd / "store", "--full")
    assert result.code == 0, result.out
    assert "5 violations" in result.out
