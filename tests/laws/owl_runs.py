"""Runs of OWL on Spark that several laws look at: random graphs and named cases, closed at once.

What a run costs is the number of its plans, hardly the number of its triples. So graphs are closed
together, each in a name space of its own, and closure, violations and counts are asked of the same
run. Where an IRI becomes equal to a literal, the rules about different literals relate it to those
of all other graphs; such graphs are held to the reference in memory only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import count
from typing import Literal

from satura.closure.compiling import compile_rules
from satura.closure.program import Program
from satura.kb import KnowledgeBase
from satura.reference import close, is_rdf
from satura.rules.model import RuleSet
from satura.rules.reader import load_rules
from satura.terms.ntriples import Term, Triple, is_literal
from satura.vocab import OWL_SAME_AS
from tests.laws.owl_cases import CASES, case, is_shared
from tests.laws.owl_graphs import owl_graph
from tests.laws.runs import triples_of

Graph = frozenset[Triple]
Way = Literal["driver", "rounds"]
"""Where joins are run: in memory on the driver, or in rounds on Spark."""

SPACE = re.compile(r"<http://(?:e|example\.org)/(\w+)/")


@cache
def rules_of(name: str) -> tuple[RuleSet, Program]:
    rules = load_rules(name)
    return rules, compile_rules(rules)


@cache
def reference(name: str, given: Graph) -> Graph:
    """Close a graph by the reference, generalized, once however many tests ask."""
    return close(rules_of(name)[0], given, generalized=True)


def expected(name: str, given: Graph) -> Graph:
    return frozenset(filter(is_rdf, reference(name, given)))


def random_graph(seed: int) -> Graph:
    return owl_graph(seed, f"g{seed}")


def is_separable(closure: Graph) -> bool:
    return not any(p == OWL_SAME_AS and is_literal(s) != is_literal(o) for s, p, o in closure)


def random_graphs(name: str, first: int, size: int) -> dict[str, Graph]:
    """Return graphs that can be closed together, by space."""
    found: dict[str, Graph] = {}
    for seed in count(first):
        if len(found) == size:
            break
        given = random_graph(seed)
        if is_separable(reference(name, given)):
            found[f"g{seed}"] = given
    return found


def named_cases(rules: str) -> dict[str, str]:
    """Return the space of every named case that leaves the vocabulary to the others."""
    names = [name for name in CASES.get(rules, {}) if not is_shared(name)]
    return {name: f"case{at}" for at, name in enumerate(names)}


def spaces(terms: tuple[Term, ...]) -> set[str]:
    return {found for text in terms for found in SPACE.findall(text)}


@dataclass(frozen=True)
class OwlRun:
    """One run: the graphs it closed by space, and what came of them."""

    rules: str
    graphs: Mapping[str, Graph]
    kb: KnowledgeBase

    @cached_property
    def closure(self) -> Graph:
        return triples_of(self.kb.closure())

    @cached_property
    def parts(self) -> Mapping[str, set[Triple]]:
        """The closure by space; what is about shared terms alone is in ""."""
        parts: dict[str, set[Triple]] = defaultdict(set)
        for triple in self.closure:
            own = spaces(triple)
            assert len(own) < 2, f"two graphs met in {triple}"
            parts[own.pop() if own else ""].add(triple)
        return parts


OwlRuns = Callable[[str, Way, int, int], OwlRun]
"""Gives the run of a rule set, one of the ways, over so many random graphs from a seed on."""


def graphs_of(rules: str, first: int, size: int) -> dict[str, Graph]:
    """Return what a run closes: the named cases, and random graphs."""
    cases = {
        space: frozenset(case(name, CASES[rules][name], space)[0])
        for name, space in named_cases(rules).items()
    }
    assert all(is_separable(reference(rules, given)) for given in cases.values())
    return cases | random_graphs(rules, first, size)
