"""Law 1 and law 3: whatever is added and removed, a store is the closure of what is asserted.

Every store here is made and updated on the driver; `test_updates_spark` reads such stores, and
closes them again, with Spark.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from satura.closure.compiling import compile_rules
from satura.closure.local import is_local
from satura.maintain.model import Algorithm
from satura.rules.model import RuleSet
from satura.rules.reader import load_rules, read_rules
from satura.terms.ntriples import Triple
from satura.vocab import OWL, OWL_SAME_AS, RDF, RDF_TYPE, RDFS
from tests.laws.graphs import graph
from tests.laws.owl_graphs import owl_graph
from tests.laws.random_programs import program_graph, recursive_program
from tests.laws.random_rules import random_rules, user_graph
from tests.laws.updates import Followed, random_steps

STEPS = 5


def is_schema(triple: Triple) -> bool:
    """Say whether a triple is one that a rule may read as schema."""
    _, p, o = triple
    return p.startswith((f"<{RDFS}", f"<{OWL}", f"<{RDF}_", f"<{RDF}f", f"<{RDF}res")) or (
        p == RDF_TYPE and o.startswith((f"<{RDFS}", f"<{OWL}", f"<{RDF}"))
    )


def follow(
    path: Path, rules: RuleSet, seed: int, triples: frozenset[Triple], algorithm: Algorithm
) -> Counter[str]:
    """Update a store at random; every third keeps its schema, so that joins are followed."""
    keeps = seed % 3 == 0
    store = Followed.empty(path, rules)
    for step in random_steps(seed, triples, STEPS, fixed=lambda t: keeps and is_schema(t)):
        store.apply(step, algorithm)
    return store.used


SIZES = {
    "rhodf": 40,
    "rdfs": 50,
    "rdfs-full": 15,
    "owl-horst": 25,
    "owl2-rl": 18,
    "owl-horst-full": 3,
    "owl2-rl-full": 3,
}
FULL = 20
"""How many times as many sequences `make soak` runs."""


def run_rule_set(tmp_path: Path, name: str, seeds: range) -> Counter[str]:
    rules = load_rules(name)
    used: Counter[str] = Counter()
    for seed in seeds:
        triples = owl_graph(seed, "u") if name.startswith("owl") else graph(seed, "u")
        used += follow(tmp_path / str(seed), rules, seed, triples, "auto")
    return used


@pytest.mark.parametrize("name", SIZES)
def test_rule_sets(tmp_path: Path, name: str) -> None:
    used = run_rule_set(tmp_path, name, range(SIZES[name]))
    if name in ("owl-horst", "owl2-rl"):
        assert used["dred"]
    elif not name.startswith("owl"):
        assert not used["recompute"]


@pytest.mark.soak
@pytest.mark.parametrize("name", SIZES)
def test_rule_sets_at_full_size(tmp_path: Path, name: str) -> None:
    run_rule_set(tmp_path, name, range(1000, 1000 + FULL * SIZES[name]))


def run_programs(tmp_path: Path, seeds: range) -> Counter[str]:
    used: Counter[str] = Counter()
    for seed in seeds:
        if seed % 2:
            text = recursive_program(seed, "u", anything=seed % 4 == 1)
            rules, triples = read_rules(text, source="program"), program_graph(seed, "u")
        else:
            rules, triples = random_rules(seed), user_graph(seed)
        if is_local(compile_rules(rules)):
            used += follow(tmp_path / str(seed), rules, seed, triples, "auto")
    return used


def test_random_programs(tmp_path: Path) -> None:
    used = run_programs(tmp_path, range(100))
    assert used["dred"] and used["counting"]


@pytest.mark.soak
def test_random_programs_at_full_size(tmp_path: Path) -> None:
    run_programs(tmp_path, range(1000, 3400))


@pytest.mark.parametrize("name", ["rdfs", "owl2-rl"])
def test_recomputing_is_the_same(tmp_path: Path, name: str) -> None:
    rules = load_rules(name)
    for seed in range(6):
        triples = owl_graph(seed, "u") if name == "owl2-rl" else graph(seed, "u")
        used = follow(tmp_path / str(seed), rules, seed, triples, "recompute")
        assert not used["counting"] and not used["dred"]


E = "http://e/"
A, B, C, D, X, Y, Z, P, Q, R = (f"<{E}{name}>" for name in "ABCDxyzpqr")
SUBCLASS, SUBPROPERTY, DOMAIN, RANGE = (
    f"<{RDFS}{name}>" for name in ("subClassOf", "subPropertyOf", "domain", "range")
)
TRANSITIVE, FUNCTIONAL = f"<{OWL}TransitiveProperty>", f"<{OWL}FunctionalProperty>"

# Rule set, what is there, what is removed. Counting derivations, as DynamiTE does, keeps a stale
# triple in the first five: facts that support one another never reach zero.
CYCLES: dict[str, tuple[str, list[Triple], list[Triple]]] = {
    "two classes below each other": (
        "rhodf",
        [(A, SUBCLASS, B), (B, SUBCLASS, A), (X, RDF_TYPE, A)],
        [(X, RDF_TYPE, A)],
    ),
    "a class below itself": (
        "rhodf",
        [(C, SUBCLASS, C), (C, SUBCLASS, D), (X, RDF_TYPE, C)],
        [(C, SUBCLASS, D)],
    ),
    "a domain of rdf:type": (
        "rhodf",
        [(RDF_TYPE, DOMAIN, D), (X, RDF_TYPE, C)],
        [(X, RDF_TYPE, C)],
    ),
    "a range of rdf:type": ("rhodf", [(RDF_TYPE, RANGE, D), (X, RDF_TYPE, C)], [(X, RDF_TYPE, C)]),
    "a property below rdfs:subPropertyOf": (
        "rhodf",
        [(Q, SUBPROPERTY, SUBPROPERTY), (R, Q, Q), (R, R, Q)],
        [(R, Q, Q)],
    ),
    "a transitive cycle": (
        "owl-horst",
        [(P, RDF_TYPE, TRANSITIVE), (X, P, Y), (Y, P, Z), (Z, P, X)],
        [(Z, P, X)],
    ),
    "a transitive loop": (
        "owl-horst",
        [(P, RDF_TYPE, TRANSITIVE), (X, P, X), (X, P, Y)],
        [(X, P, X)],
    ),
    "a middle link between two chains": (
        "owl-horst",
        [(P, RDF_TYPE, TRANSITIVE), (A, P, B), (B, P, C), (C, P, D), (X, P, A), (D, P, Y)],
        [(B, P, C)],
    ),
    "a class of equal terms that splits": (
        "owl2-rl",
        [(X, OWL_SAME_AS, Y), (Y, OWL_SAME_AS, Z), (X, P, A), (Z, P, B)],
        [(Y, OWL_SAME_AS, Z)],
    ),
    "equal by a functional property": (
        "owl2-rl",
        [(P, RDF_TYPE, FUNCTIONAL), (X, P, Y), (X, P, Z), (Y, Q, A), (Z, Q, B)],
        [(X, P, Z)],
    ),
    "equality feeds transitivity": (
        "owl2-rl",
        [(P, RDF_TYPE, TRANSITIVE), (X, P, Y), (Z, P, A), (Y, OWL_SAME_AS, Z)],
        [(Y, OWL_SAME_AS, Z)],
    ),
    "subclasses are instances": (
        "rdfs-full",
        [(SUBCLASS, SUBPROPERTY, RDF_TYPE), (X, RDF_TYPE, C)],
        [(SUBCLASS, SUBPROPERTY, RDF_TYPE)],
    ),
    "a schema that instances entail": (
        "rdfs",
        [(Q, SUBPROPERTY, SUBCLASS), (A, Q, B), (X, RDF_TYPE, A)],
        [(A, Q, B)],
    ),
}


@pytest.mark.parametrize("name", CYCLES)
def test_named(tmp_path: Path, name: str) -> None:
    rules, triples, removed = CYCLES[name]
    store = Followed.empty(tmp_path / "s", load_rules(rules))
    for triple in triples:  # one by one, then away, then back again, in every order
        store.apply((frozenset([triple]), frozenset()))
    store.apply((frozenset(), frozenset(removed)))
    store.apply((frozenset(removed), frozenset()))
    order = list(triples)
    Random(name).shuffle(order)
    for triple in order:
        store.apply((frozenset(), frozenset([triple])))
    assert store.maintainer.store.info.counts.asserted == 0


ON, SOME = f"<{OWL}onProperty>", f"<{OWL}someValuesFrom>"

# What is there, then schema that comes step by step, each of which joins have to look back for.
GROWING: dict[str, tuple[list[Triple], list[list[Triple]]]] = {
    "a property becomes transitive": (
        [(X, P, Y), (Y, P, Z), (Z, P, X), (Z, P, A)],
        [[(P, RDF_TYPE, TRANSITIVE)], [(P, DOMAIN, C)], [(P, SUBPROPERTY, Q)]],
    ),
    "a property below a transitive one": (
        [(Q, RDF_TYPE, TRANSITIVE), (X, P, Y), (Y, P, Z), (Z, Q, A)],
        [[(P, SUBPROPERTY, Q)], [(Q, RANGE, D)]],
    ),
    "a restriction": (
        [(X, P, Y), (Y, RDF_TYPE, A), (Z, P, X)],
        [[(B, ON, P), (B, SOME, A)], [(B, SUBCLASS, C)], [(D, ON, P), (D, SOME, C)]],
    ),
    "a subclass that a restriction asks for": (
        [(B, ON, P), (B, SOME, A), (X, P, Y), (Y, RDF_TYPE, C)],
        [[(C, SUBCLASS, A)], [(A, SUBCLASS, B), (Z, P, X)]],
    ),
}


@pytest.mark.parametrize("name", GROWING)
def test_schema_that_grows_is_followed(tmp_path: Path, name: str) -> None:
    data, steps = GROWING[name]
    store = Followed.empty(tmp_path, load_rules("owl-horst"))
    store.apply((frozenset(data), frozenset()))
    for step in steps:
        store.apply((frozenset(step), frozenset()), "dred")


LITERAL, INTEGER = '"l"', "<http://www.w3.org/2001/XMLSchema#integer>"
INVERSE, CHAIN, ONE_OF = (f"<{OWL}{name}>" for name in ("inverseOf", "propertyChainAxiom", "oneOf"))
FIRST, REST, NIL = (f"<{RDF}{name}>" for name in ("first", "rest", "nil"))
W, NODE = f"<{E}W>", "_:node"


def listed(name: str, *terms: str) -> list[Triple]:
    """Return the triples of a list whose head has a name."""
    nodes = [name, *(f"{name}{i}" for i in range(1, len(terms))), NIL]
    return [
        triple
        for i, term in enumerate(terms)
        for triple in ((nodes[i], FIRST, term), (nodes[i], REST, nodes[i + 1]))
    ]


# Rule set, what is there, and what comes: it makes joins look at facts that no store holds.
UNSTORED: dict[str, tuple[str, list[Triple], list[Triple]]] = {
    "a literal that is one of a class": (
        "owl2-rl",
        [(C, ONE_OF, "_:l"), *listed("_:l", LITERAL), (X, P, LITERAL)],
        [(W, SOME, C), (W, ON, P)],
    ),
    "a chain that concludes a blank property": (
        "owl2-rl",
        [(NODE, CHAIN, "_:l"), *listed("_:l", P, Q), (X, P, Y), (Y, Q, Z)],
        [(NODE, SUBPROPERTY, R)],
    ),
    "a chain of a blank property": (
        "owl2-rl",
        [(NODE, INVERSE, P), (Y, P, X), (Y, Q, Z)],
        [(R, CHAIN, "_:l"), *listed("_:l", NODE, Q)],
    ),
    "a restriction on a blank property": (
        "owl-horst",
        [(NODE, INVERSE, P), (X, P, Y), (X, RDF_TYPE, C)],
        [(W, ON, NODE), (W, SOME, C)],
    ),
    "data for a restriction on a blank property": (
        "owl-horst",
        [(W, ON, NODE), (W, SOME, C), (NODE, INVERSE, P), (X, P, Y)],
        [(X, RDF_TYPE, C)],
    ),
    "data for a chain of a blank property": (
        "owl2-rl",
        [(NODE, INVERSE, P), (Y, P, X), (R, CHAIN, "_:l"), *listed("_:l", NODE, Q)],
        [(Y, Q, Z)],
    ),
    "a range that literals violate": ("owl2-rl", [(X, P, LITERAL)], [(P, RANGE, INTEGER)]),
    "a range that a chain violates": (
        "owl2-rl",
        [(R, CHAIN, "_:l"), *listed("_:l", P, Q), (X, P, Y), (Y, Q, LITERAL)],
        [(R, RANGE, INTEGER)],
    ),
}


@pytest.mark.parametrize("name", UNSTORED)
def test_facts_that_no_store_holds(tmp_path: Path, name: str) -> None:
    rules, data, added = UNSTORED[name]
    store = Followed.empty(tmp_path, load_rules(rules))
    store.apply((frozenset(data), frozenset()))
    store.apply((frozenset(added), frozenset()))
    store.apply((frozenset(), frozenset(added)))


TURNING = """
PREFIX : <http://e/>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
RULE :inverse { ?y ?b ?x } WHERE { ?a owl:inverseOf ?b . ?x ?a ?y }
RULE :below { ?x ?b ?y } WHERE { ?a rdfs:subPropertyOf ?b . ?x ?a ?y }
RULE :turned { ?y a :U } WHERE { ?x :p ?y . ?x :q ?z }
"""


def test_conclusions_about_literals_are_looked_for(tmp_path: Path) -> None:
    """A join says something of a literal, which no store holds; then schema says more of that."""
    store = Followed.empty(tmp_path, read_rules(TURNING, source="turning"))
    store.apply((frozenset({(X, P, LITERAL), (X, Q, Y)}), frozenset()))
    store.apply((frozenset({(RDF_TYPE, SUBPROPERTY, R), (R, INVERSE, Z)}), frozenset()))


# Both ways round, and by way of somebody: the second is a join.
ROUND = """
PREFIX : <http://e/>
RULE :back { ?y :p ?x } WHERE { ?x :p ?y }
RULE :way { ?x :p ?y } WHERE { ?x :q ?z . ?z :q ?y }
"""


def test_what_a_triple_entails_does_not_conclude_it(tmp_path: Path) -> None:
    """An asserted triple that a join concluded as well, and what it entails entails it again."""
    store = Followed.empty(tmp_path, read_rules(ROUND, source="round"))
    store.apply((frozenset({(X, P, Y), (X, Q, Z), (Z, Q, Y)}), frozenset()))
    outcome = store.apply((frozenset(), frozenset({(X, Q, Z)})), "dred")
    assert outcome.algorithm == "dred"
    store.apply((frozenset(), frozenset({(X, P, Y)})), "dred")


def test_what_follows_from_a_conclusion_stays_with_it(tmp_path: Path) -> None:
    """Of two joins that conclude a triple one goes: what follows from the triple stays."""
    store = Followed.empty(tmp_path, read_rules(ROUND, source="round"))
    both = {(X, Q, Z), (Z, Q, Y), (X, Q, C), (C, Q, Y)}
    store.apply((frozenset({*both, (Y, P, X)}), frozenset()))
    store.apply((frozenset(), frozenset({(X, Q, Z)})), "dred")
    store.apply((frozenset(), frozenset({(Y, P, X)})), "dred")
    store.apply((frozenset(), frozenset({(X, Q, C)})), "dred")


def test_what_follows_by_way_of_a_literal_is_closed_again(tmp_path: Path) -> None:
    """No store holds a triple with a literal as its subject, but something may follow from it."""
    rules = """
    PREFIX : <http://e/>
    RULE :types { ?y a ?x } WHERE { ?x :r ?y }
    RULE :back { ?y :q ?x } WHERE { ?x ?v ?y }
    RULE :loop { :z :q ?x } WHERE { ?x :p ?x }
    RULE :all { :z :p ?y } WHERE { ?x ?v ?y }
    """
    store = Followed.empty(tmp_path, read_rules(rules, source="literal"))
    store.apply((frozenset({(X, P, '"l"'), (X, R, Y)}), frozenset()))
    store.apply((frozenset(), frozenset({(X, R, Y)})))
