"""The closure on the driver is the closure, whatever the graph: held against the reference."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from satura.closure.conditions import satisfying
from satura.closure.local import apply_term_rule, close_locally
from satura.closure.program import Program, compile_rules
from satura.errors import UnsupportedError
from satura.reference import close, is_rdf
from satura.rules.model import RuleSet
from satura.rules.reader import load_rules
from satura.terms.ids import term_id
from satura.terms.ntriples import Triple
from satura.vocab import RDF_TYPE, RDFS_DOMAIN, RDFS_RANGE, RDFS_SUBCLASS_OF, RDFS_SUBPROPERTY_OF
from tests.laws.graphs import difference, graph
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
    found = close_locally(program, facts, about)
    named = {(texts[s], texts[p], texts[o]): n for (s, p, o), n in found.items()}
    return {triple: n for triple, n in named.items() if is_rdf(triple)}


@pytest.mark.parametrize(
    ("name", "seeds"),
    [("rhodf", range(3000)), ("rdfs", range(3000, 7000)), ("rdfs-full", range(7000, 7150))],
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


def test_random_linear_rules_are_the_reference_or_refused() -> None:
    seeds = range(3000)
    refused, inferring = 0, 0
    for seed in seeds:
        rules, given = random_rules(seed), user_graph(seed)
        try:
            found = closed(compile_rules(rules), given)
        except UnsupportedError as error:
            assert error.code == "RULE-UNSUPPORTED"
            refused += 1
            continue
        expected = close(rules, given)
        inferring += len(expected) > len(given)
        wrong = difference(expected, found, f"random_rules(seed={seed})\n{shown(rules, given)}")
        assert wrong is None, wrong
    assert refused < len(seeds) // 3, f"{refused} of {len(seeds)} rule sets were refused"
    assert inferring > len(seeds) // 3, f"only {inferring} of {len(seeds)} infer anything"


def shown(rules: RuleSet, given: Iterable[Triple]) -> str:
    """Return rules and triples, to reproduce a failure by hand."""
    lines = [
        f"  {{ {' . '.join(map(str, rule.head))} }} WHERE {{ {' . '.join(map(str, rule.body))} }}"
        for rule in rules
    ]
    return "\n".join([*lines, *(f"  given {' '.join(t)}" for t in sorted(given))])
