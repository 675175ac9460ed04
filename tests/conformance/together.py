"""Closes many cases in one Spark run: every case gets terms of its own, and its part back.

A run takes seconds and there are a hundred cases. IRIs outside the vocabulary and blank nodes are
renamed into a namespace of the case. A case that says something about the vocabulary itself would
be heard by all others, so it gets a run to itself; the reference tells which those are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark.sql import SparkSession

import satura
from satura.kb import KnowledgeBase
from satura.rules.model import RuleSet
from satura.terms.blanks import unscoped
from satura.terms.ntriples import Triple, is_blank, is_iri
from satura.vocab import OWL, RDF, RDFS, RDFS_DOMAIN, RDFS_RANGE, XSD
from satura.vocab import RDFS_SUBCLASS_OF as SUBCLASS
from satura.vocab import RDFS_SUBPROPERTY_OF as SUBPROPERTY

SHARED = tuple(f"<{namespace}" for namespace in (RDF, RDFS, OWL, XSD))
SCHEMA = (SUBCLASS, SUBPROPERTY, RDFS_DOMAIN, RDFS_RANGE)
Graph = frozenset[Triple]
Reference = Callable[[Graph], Graph]


def renamed(term: str, number: int) -> str:
    """Return a term in the namespace of a case."""
    if is_iri(term) and not term.startswith(SHARED):
        return f"<case:{number}:{term[1:]}"
    return f"_:c{number}x{term[2:]}" if is_blank(term) else term


def original(term: str) -> tuple[int | None, str]:
    """Return the case that a term belongs to, if any, and the term as it was."""
    text = unscoped(term)
    if text.startswith("<case:"):
        number, _, rest = text.removeprefix("<case:").partition(":")
        return int(number), f"<{rest}"
    if is_blank(text):
        number, _, rest = text.removeprefix("_:c").partition("x")
        return int(number), f"_:{rest}"
    return None, text


def is_separable(closure: Graph, axioms: Graph) -> bool:
    """Say whether a closure has no schema about shared terms but the axioms."""
    return not any(
        p in SCHEMA and renamed(s, 0) == s and not s.startswith(f"<{RDF}_")
        for s, p, _ in closure - axioms
    )


def close_together(
    spark: SparkSession, directory: Path, rules: RuleSet, graphs: Mapping[str, Graph],
    reference: Reference,
) -> dict[str, Graph]:  # fmt: skip
    """Return the closure of each graph by name."""
    axioms = reference(frozenset())
    found: dict[str, Graph] = {}
    batch: list[str] = []
    for name, graph in graphs.items():
        if is_separable(reference(graph), axioms):
            batch.append(name)
        else:
            kb = _run(spark, directory / f"alone-{len(found)}", rules, graph)
            found[name] = frozenset((unscoped(s), p, unscoped(o)) for s, p, o in _rows(kb))
    expected = {name: reference(graphs[name]) for name in batch}
    closures, _ = close_batch(spark, directory, rules, {n: graphs[n] for n in batch}, expected)
    return found | closures


def close_batch(
    spark: SparkSession, directory: Path, rules: RuleSet, graphs: Mapping[str, Graph],
    expected: Mapping[str, Graph],
) -> tuple[dict[str, Graph], KnowledgeBase]:  # fmt: skip
    """Return the closures of graphs that leave each other alone, in one run, and the run."""
    everything = frozenset(
        (renamed(s, n), renamed(p, n), renamed(o, n))
        for n, graph in enumerate(graphs.values())
        for s, p, o in graph
    )
    kb = _run(spark, directory / "batch", rules, everything)
    return _told_apart(kb, expected), kb


def _told_apart(kb: KnowledgeBase, expected: Mapping[str, Graph]) -> dict[str, Graph]:
    own: dict[int, set[Triple]] = defaultdict(set)
    shared: set[Triple] = set()
    for row in _rows(kb):
        cases, terms = zip(*map(original, row), strict=True)
        owners = {case for case in cases if case is not None}
        assert len(owners) < 2, f"two cases met in {row}"
        (own[owners.pop()] if owners else shared).add(terms)
    # What is about shared terms alone cannot be told apart; it must be what all cases say of them.
    about = {t for graph in expected.values() for t in graph if all(renamed(x, 0) == x for x in t)}
    assert shared == about
    return {name: frozenset(own[n] | (shared & expected[name])) for n, name in enumerate(expected)}


def _run(spark: SparkSession, directory: Path, rules: RuleSet, graph: Graph) -> KnowledgeBase:
    directory.mkdir(parents=True)
    file = directory / "graph.nt"
    file.write_text("".join(f"{s} {p} {o} .\n" for s, p, o in sorted(graph)), encoding="utf-8")
    return satura.materialize(spark, file, rules=rules, store=directory / "store")


def _rows(kb: KnowledgeBase) -> list[Triple]:
    return [(row["s"], row["p"], row["o"]) for row in kb.closure().collect()]
