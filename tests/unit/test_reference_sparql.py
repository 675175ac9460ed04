"""The reference against a SPARQL engine: the same rules as CONSTRUCT queries, to the fixpoint."""

from __future__ import annotations

import random

import pyoxigraph as ox
import pytest

from satura.reference import close
from satura.rules.reader import read_rules
from satura.terms.ntriples import Triple, parse_text

PREFIX = "PREFIX : <http://e/>\n"
PROGRAMS = [
    [("?x :p ?z", "?x :p ?y . ?y :p ?z")],
    [("?y :p ?x", "?x :p ?y"), ("?x :q ?z", "?x :p ?y . ?z :r ?y")],
    [("?x ?q ?y", "?x ?p ?y . ?p :sub ?q"), ("?a :sub ?c", "?a :sub ?b . ?b :sub ?c")],
    [("?x :r ?x", "?x ?x ?y"), ("?x :s ?y", "?x ?p ?y . ?y ?p ?x")],
    [("?x :loop :yes", "?x :p ?x"), ("?x :p ?z", "?x :p ?y . ?y :q ?z")],
    [("?x :big ?n", "?x :n ?n FILTER(?n > 3 && ?n != 5)"), ("?y :n ?n", "?x :n ?n . ?x :p ?y")],
    [("?x :far ?z", "?x :p/^:q ?z FILTER(?x != ?z)"), ("?x :q ?y", "?x :far ?y")],
    [
        ("?x :alone 1", "?x :p ?y FILTER NOT EXISTS { ?y :q ?z }"),
        ("?x :pair ?y", "?x :alone 1 . ?y :alone 1"),
    ],
]


def random_graph(seed: int) -> frozenset[Triple]:
    pick = random.Random(seed)
    names = [f"<http://e/{name}>" for name in "abcdpqr"]
    predicates = [f"<http://e/{name}>" for name in ("p", "q", "r", "sub")]
    triples = {(pick.choice(names), pick.choice(predicates), pick.choice(names)) for _ in range(14)}
    number = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    triples |= {(pick.choice(names), "<http://e/n>", number.format(n)) for n in range(2, 7)}
    return frozenset(triples)


def by_construct(program: list[tuple[str, str]], given: frozenset[Triple]) -> frozenset[Triple]:
    store = ox.Store()
    store.load("".join(f"{s} {p} {o} .\n" for s, p, o in given), format=ox.RdfFormat.N_TRIPLES)
    size = -1
    while len(store) != size:
        size = len(store)
        for head, body in program:
            results = store.query(f"{PREFIX} CONSTRUCT {{ {head} }} WHERE {{ {body} }}")
            store.extend([ox.Quad(t.subject, t.predicate, t.object) for t in results])
    return frozenset(
        parse_text(store.dump(format=ox.RdfFormat.N_TRIPLES, from_graph=ox.DefaultGraph()).decode())
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0][1])
def test_same_closure(program: list[tuple[str, str]], seed: int) -> None:
    given = random_graph(seed)
    rules = "".join(
        f"RULE {{ {head} }} WHERE {{ {body.replace('FILTER NOT EXISTS', 'NOT')} }}\n"
        for head, body in program
    )
    ours = close(read_rules(PREFIX + rules, source="test"), given)
    theirs = by_construct(program, given)
    assert len(ours) >= len(given)
    assert (ours - theirs, theirs - ours) == (frozenset(), frozenset())
