"""The closure on the driver is the closure, whatever the graph: held against the reference."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from satura.closure.compiling import compile_rules, is_schema_atom
from satura.closure.dictionary import satisfying
from satura.closure.local import apply_term_rule, close_locally
from satura.closure.program import Program
from satura.reference import Facts, close, is_rdf, solve
from satura.rules.evaluate import Context
from satura.rules.model import Atom, Rule, RuleSet, Variable
from satura.rules.reader import load_rules
from satura.terms.ids import term_id
from satura.terms.ntriples import Triple
from satura.vocab import RDF_TYPE, RDFS_DOMAIN, RDFS_RANGE, RDFS_SUBCLASS_OF, RDFS_SUBPROPERTY_OF
from tests.laws.graphs import bent_graph, difference, graph, tame_graph
from tests.laws.random_rules import random_rules, user_graph


def closed(program: Program, triples: Iterable[Triple]) -> dict[Triple, int]:
    """Close triples by the in-memory engine; return the RDF triples with their support."""
    given = set(triples)
    texts = {term_id(text): text for triple in given for text in triple} | dict(program.names)
    about = [
        fact
        for rule in program.term_rules
        for fact in apply_term_rule(rule, satisfying(rule, texts))
    ]
    facts = {(term_id(s), term_id(p), term_id(o)) for s, p, o in given}
    found = close_locally(program, facts, about, texts)
    named = {
        (texts[s], texts[p], texts[o]): found.support.get((s, p, o), 0)
        for s, p, o in found.expanded()
    }
    return {triple: n for triple, n in named.items() if is_rdf(triple)}


@pytest.mark.parametrize(
    ("name", "seeds"),
    [
        ("rhodf", range(3000)),
        ("rdfs", range(3000, 7000)),
        ("rdfs-full", range(7000, 7150)),
        pytest.param("rdfs-full", range(40_000, 42_000), marks=pytest.mark.soak),
    ],
)
def test_close_locally_is_the_reference(name: str, seeds: range) -> None:
    rules = load_rules(name)
    program = compile_rules(rules)
    inferring = 0
    for seed in seeds:
        given = graph(seed)
        expected = close(rules, given)
        wrong = difference(expected, closed(program, given), f"{name}, graph(seed={seed})")
        assert wrong is None, wrong
        inferring += len(expected) > len(given)
    assert inferring > len(seeds) // 2, "too few of the graphs entail anything"


SHORT = {"a": RDF_TYPE, "sc": RDFS_SUBCLASS_OF, "sp": RDFS_SUBPROPERTY_OF}
SHORT |= {"dom": RDFS_DOMAIN, "range": RDFS_RANGE}
BENT = {
    "instance feeds subclass": "p sp sc, A p B, x a A",
    "instance feeds type": "p sp a, x p A, A sc B",
    "instance feeds domain": "p sp dom, q p C, x q y",
    "two steps of feeding": "p sp sp, q p sc, A q B, x a A",
    "type has a domain": "a dom C, x a A, C sc D",
    "type has a range": "a range C, x a A",
    "type has a superproperty": "a sp q, x a A, q range C",
    "subclass is a subproperty of subproperty": "sc sp sp, p sc q, x p y",
    "subproperty is a subproperty of type": "sp sp a, p sp A, A sc B",
    "cycles": "A sc B, B sc A, p sp p, x p x, p dom A, p range B",
    "a property that is a class": "p a p, p sc p, p dom p, p p p, x p y",
    "through a literal": 'p sp q, p range A, q dom B, x p "l"',
    "a literal as class": 'p dom "c", x p y, _:b a "c"',
    "a blank property": "p sp _:q, _:q dom A, x p y",
    "a blank class": "x a _:c, _:c sc A",
}


def spelled(short: str) -> set[Triple]:
    """Return the triples of a case: single letters are IRIs, `sc` is rdfs:subClassOf, and so on."""

    def full(name: str) -> str:
        return name if name[0] in '"_' else SHORT.get(name, f"<http://e/{name}>")

    rows = (row.split() for row in short.split(","))
    return {(full(s), full(p), full(o)) for s, p, o in rows}


@pytest.mark.parametrize("name", ["rhodf", "rdfs", "rdfs-full"])
@pytest.mark.parametrize("case", BENT)
def test_bent_vocabulary(case: str, name: str) -> None:
    rules, given = load_rules(name), spelled(BENT[case])
    expected = close(rules, given)
    assert len(expected) > len(given), "the case infers nothing"
    wrong = difference(expected, closed(compile_rules(rules), given), f"{name}: {case}")
    assert wrong is None, wrong


def test_random_linear_rules_are_the_reference() -> None:
    seeds = range(3000)
    inferring = 0
    for seed in seeds:
        rules, given = random_rules(seed), user_graph(seed)
        found = closed(compile_rules(rules), given)
        expected = close(rules, given)
        inferring += len(expected) > len(given)
        wrong = difference(expected, found, f"random_rules(seed={seed})\n{shown(rules, given)}")
        assert wrong is None, wrong
    assert inferring > len(seeds) // 3, f"only {inferring} of {len(seeds)} infer anything"


def shown(rules: RuleSet, given: Iterable[Triple]) -> str:
    """Return rules and triples, to reproduce a failure by hand."""
    lines = [
        f"  {{ {' . '.join(map(str, rule.head))} }} WHERE {{ {' . '.join(map(str, rule.body))} }}"
        for rule in rules
    ]
    return "\n".join([*lines, *(f"  given {' '.join(t)}" for t in sorted(given))])


def support_by_hand(rules: RuleSet, given: frozenset[Triple]) -> dict[Triple, int]:
    """Count, for every triple, the roots that derive it alone, the closed schema being known.

    A root is an asserted triple or a schema triple of the closure. What follows from it follows by
    rules with one instance atom; a conclusion that is schema is a root of its own, and ends there.
    """
    program = compile_rules(rules)
    closure = close(rules, given, generalized=True)
    schema = frozenset(t for t in closure if program.is_schema(ids(t)))
    known, linear = Facts(schema), [r for r in rules if not all(map(is_schema_atom, r.atoms))]
    support = dict.fromkeys(given, 0) | dict.fromkeys(schema - given, 1)
    for root in given | schema:
        reached, waiting = {root}, [root]
        while waiting:
            fact = waiting.pop()
            for conclusion in {c for rule in linear for c in single(rule, fact, known)} - reached:
                if not program.is_schema(ids(conclusion)):
                    reached.add(conclusion)
                    waiting.append(conclusion)
        for fact in reached - {root}:
            support[fact] = support.get(fact, 0) + 1
    return {fact: n for fact, n in support.items() if is_rdf(fact)}


def ids(triple: Triple) -> tuple[int, int, int]:
    s, p, o = map(term_id, triple)
    return s, p, o


def single(rule: Rule, fact: Triple, schema: Facts) -> set[Triple]:
    """Return what a rule concludes from one fact for its instance atom and the closed schema."""
    (instance,) = (atom for atom in rule.atoms if not is_schema_atom(atom))
    rest = [atom for atom in rule.atoms if is_schema_atom(atom)]
    return {
        ground(head, solution)
        for bound in Facts([fact]).match(instance, {})
        for solution in solve(rest, bound, schema, schema, Context())
        for head in rule.head
    }


def ground(atom: Atom, solution: dict[Variable, str]) -> Triple:
    s, p, o = (solution[slot] if isinstance(slot, Variable) else slot for slot in atom.slots)
    return s, p, o


def test_support_counts_the_roots() -> None:
    """In a tame graph no two forms of one root give one triple, so the numbers are the same."""
    rules = load_rules("rdfs")
    program = compile_rules(rules)
    highest = 0
    for seed in range(20_000, 20_600):
        given = tame_graph(seed)
        found, expected = closed(program, given), support_by_hand(rules, given)
        assert found == expected, (
            f"tame_graph({seed}): {set(found.items()) ^ set(expected.items())}"
        )
        highest = max(highest, *found.values())
    assert highest > 3


@pytest.mark.parametrize("name", ["rhodf", "rdfs"])
def test_support_is_positive_where_something_else_derives(name: str) -> None:
    rules = load_rules(name)
    program = compile_rules(rules)
    for seed in range(30_000, 30_600):
        given = bent_graph(seed)
        found, expected = closed(program, given), support_by_hand(rules, given)
        assert found.keys() == expected.keys(), f"bent_graph({seed})"
        wrong = {t for t in found if (found[t] > 0) != (expected[t] > 0) or found[t] < expected[t]}
        assert not wrong, f"{name}, bent_graph({seed}): {wrong}"
