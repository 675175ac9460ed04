"""Violations are those of the reference, told of representatives where terms are the same."""

from __future__ import annotations

from collections import defaultdict

import pytest

from satura.kb import KnowledgeBase
from satura.reference import violations
from satura.terms.ntriples import Term
from tests.laws.owl_runs import OwlRuns, Way, reference, rules_of, spaces
from tests.laws.test_owl_closure import SIZES

pytestmark = pytest.mark.spark

Told = frozenset[tuple[str, Term]]


def representatives(kb: KnowledgeBase) -> dict[Term, Term]:
    equal = kb.store.frame(kb.spark, "equal").select("s", "o")
    rows = kb.store.decode(kb.spark, equal, ["s", "o"], size="small").collect()
    return {row["s"]: row["o"] for row in rows}


@pytest.mark.parametrize(
    ("way", "first", "size"),
    [
        ("driver", 0, SIZES["driver"]),
        ("rounds", 0, SIZES["rounds"]),
        pytest.param("driver", 60_000, 2000, marks=pytest.mark.soak),
        pytest.param("rounds", 60_000, 1000, marks=pytest.mark.soak),
    ],
)
def test_violations_are_those_of_the_reference(
    owl_runs: OwlRuns, way: Way, first: int, size: int
) -> None:
    run = owl_runs("owl2-rl", way, first, size)
    same = representatives(run.kb)
    found: dict[str, set[tuple[str, Told]]] = defaultdict(set)
    for row in run.kb.violations().collect():
        (space,) = spaces(tuple(row["witnesses"].values()))
        found[space].add((row["rule"], frozenset(row["witnesses"].items())))
    rules, told = rules_of("owl2-rl")[0], 0
    for space, given in run.graphs.items():
        expected = violations(rules, reference("owl2-rl", given))
        wanted = {
            (rule, frozenset((name, same.get(term, term)) for name, term in values))
            for rule, values in expected
        }
        told += len(expected)
        missing, extra = wanted - found[space], found[space] - wanted
        assert not missing and not extra, f"{space}: missing {missing}, extra {extra}"
    assert told > size // 10, "too few violations to tell anything"
