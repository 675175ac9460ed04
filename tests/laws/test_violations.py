"""Violations are those of the reference, told of representatives where terms are the same."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from satura.closure import backend
from satura.kb import KnowledgeBase
from satura.reference import close, violations
from satura.rules.reader import load_rules
from satura.terms.ntriples import Term, Triple, is_literal
from satura.vocab import OWL_SAME_AS
from tests.laws.owl_graphs import owl_graph
from tests.laws.runs import materialized

pytestmark = pytest.mark.spark

Told = frozenset[tuple[str, Term]]


def spaces_of(terms: frozenset[Term] | tuple[Term, ...]) -> set[str]:
    return {space for term in terms for space in re.findall(r"example\.org/(g\d+)/", term)}


def relates_literals(closure: frozenset[Triple]) -> bool:
    """Say whether a graph equates a thing with a literal; such graphs are not separable."""
    return any(p == OWL_SAME_AS and is_literal(o) for _, p, o in closure)


def representatives(kb: KnowledgeBase) -> dict[Term, Term]:
    equal = kb.store.frame(kb.spark, "equal").select("s", "o")
    rows = kb.store.decode(kb.spark, equal, ["s", "o"], size="small").collect()
    return {row["s"]: row["o"] for row in rows}


@pytest.mark.parametrize(("first", "size", "facts"), [(70_000, 60, None), (71_000, 40, 0)])
def test_violations_are_those_of_the_reference(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    first: int,
    size: int,
    facts: int | None,
) -> None:
    if facts is not None:
        monkeypatch.setattr(backend, "MEMORY_FACTS", facts)
    rules = load_rules("owl2-rl")
    expected: dict[str, set[tuple[str, Told]]] = {}
    given: set[Triple] = set()
    for seed in range(first, first + size):
        graph = owl_graph(seed, f"g{seed}")
        closure = close(rules, graph, generalized=True)
        if not relates_literals(closure):
            given |= graph
            expected[f"g{seed}"] = set(violations(rules, closure))
    kb = materialized(spark, tmp_path, given, rules)
    same = representatives(kb)
    found: dict[str, set[tuple[str, Told]]] = defaultdict(set)
    for row in kb.violations().collect():
        (space,) = spaces_of(tuple(row["witnesses"].values()))
        found[space].add((row["rule"], frozenset(row["witnesses"].items())))
    for space, told in expected.items():
        wanted = {
            (rule, frozenset((name, same.get(term, term)) for name, term in values))
            for rule, values in told
        }
        missing, extra = wanted - found[space], found[space] - wanted
        assert not missing and not extra, f"{space}: missing {missing}, extra {extra}"
    assert sum(map(len, expected.values())) > size // 3, "too few violations to tell anything"
