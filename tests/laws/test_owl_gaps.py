"""Counter-examples to closing OWL in one pass are closed, in memory and on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from satura.closure import whole
from satura.vocab import OWL, OWL_SAME_AS, RDF_TYPE, XSD
from tests.laws.graphs import difference
from tests.laws.owl_cases import BOTH, CASES, case, is_shared
from tests.laws.owl_runs import OwlRuns, Way, expected, named_cases, rules_of, spaces
from tests.laws.runs import materialized, triples_of
from tests.laws.test_closure import closed
from tests.laws.test_owl_closure import SIZES


@pytest.mark.parametrize(("rules", "name"), [(r, n) for r, cases in CASES.items() for n in cases])
def test_in_memory(rules: str, name: str) -> None:
    given, conclusions = case(name, CASES[rules][name])
    right = expected(rules, frozenset(given))
    assert conclusions <= right, f"the reference lacks {conclusions - right}"
    wrong = difference(right, closed(rules_of(rules)[1], given), name)
    assert wrong is None, wrong


@pytest.mark.spark
@pytest.mark.parametrize(
    ("rules", "way"),
    [
        ("owl2-rl", "driver"),
        ("owl2-rl", "rounds"),
        ("owl-horst", "driver"),
        pytest.param("owl-horst", "rounds", marks=pytest.mark.soak),
    ],
)
def test_on_spark(owl_runs: OwlRuns, rules: str, way: Way) -> None:
    """All cases in one run, those excepted that would change the others."""
    run = owl_runs(rules, way, 0, SIZES[way])
    missing, wrong = {}, []
    for name, space in named_cases(rules).items():
        given, conclusions = case(name, CASES[rules][name], space)
        if not conclusions <= run.parts[space]:
            missing[name] = conclusions - run.parts[space]
        right = {t for t in expected(rules, frozenset(given)) if spaces(t)}
        wrong.append(difference(right, run.parts[space], name))
    assert not missing
    assert not any(wrong), "\n".join(fault for fault in wrong if fault)


@pytest.mark.spark
def test_vocabulary_on_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole, "MEMORY_FACTS", 0)
    cases = {name: case(name, text) for name, text in BOTH.items() if is_shared(name)}
    given = frozenset(t for part, _ in cases.values() for t in part)
    found = triples_of(materialized(spark, tmp_path, given, "owl2-rl").closure())
    assert all(want <= found for _, want in cases.values())
    wrong = difference(expected("owl2-rl", given), found, "equal to the vocabulary")
    assert wrong is None, wrong


# A class of equal terms has a number, and gets another in a later round: what a condition says of
# two literals of one class holds only then.
ONE, TWO = (f'"{n}"^^<{XSD}integer>' for n in (1, 2))
X, Z, P = (f"<http://e/{name}>" for name in "xzp")
GROWING = frozenset(
    {
        (X, OWL_SAME_AS, ONE),
        (P, RDF_TYPE, f"<{OWL}FunctionalProperty>"),
        (Z, P, X),
        (Z, P, TWO),
    }
)


def test_a_class_that_grows_in_memory() -> None:
    right = expected("owl2-rl", GROWING)
    assert (X, f"<{OWL}differentFrom>", X) in right
    wrong = difference(right, closed(rules_of("owl2-rl")[1], GROWING), "a class that grows")
    assert wrong is None, wrong


@pytest.mark.spark
@pytest.mark.parametrize("memory", [None, 0], ids=["driver", "rounds"])
def test_a_class_that_grows_on_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: int | None
) -> None:
    if memory is not None:
        monkeypatch.setattr(whole, "MEMORY_FACTS", memory)
    found = triples_of(materialized(spark, tmp_path, GROWING, "owl2-rl").closure())
    wrong = difference(expected("owl2-rl", GROWING), found, "a class that grows")
    assert wrong is None, wrong
