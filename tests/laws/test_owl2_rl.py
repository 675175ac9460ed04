"""What `owl2-rl` leaves out is trivial: nothing else sets it and `owl2-rl-full` apart.

Properties are declared, as OWL 2 asks, and nothing is said of owl:Thing and owl:Nothing themselves:
`omitted.toml` names what is lost there.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from satura.reference import close, is_rdf, violations
from satura.rules.reader import load_rules
from satura.terms.literals import make_xsd
from satura.terms.ntriples import Term, Triple, is_literal
from satura.vocab import OWL, OWL_DIFFERENT_FROM, OWL_SAME_AS, RDF, RDF_TYPE, RDFS, term

CLASSES, PROPERTIES, THINGS = (
    [f"<http://e/{name}>" for name in names] for names in ("ABCD", "pqr", "xyzw")
)
LITERALS = [make_xsd("1", "integer"), make_xsd("01", "byte"), make_xsd("a", "string")]
THING, NOTHING = term(OWL, "Thing"), term(OWL, "Nothing")
REFLEXIVE = {OWL_SAME_AS, term(OWL, "equivalentClass"), term(OWL, "equivalentProperty")} | {
    term(RDFS, name) for name in ("subClassOf", "subPropertyOf")
}
CHARACTERISTICS = (
    "Functional", "InverseFunctional", "Symmetric", "Transitive", "Asymmetric", "Irreflexive",
)  # fmt: skip
GROUPS = {
    "AllDifferent": THINGS,
    "AllDisjointClasses": CLASSES,
    "AllDisjointProperties": PROPERTIES,
}


class Ontology:
    """A random graph in the making."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        kind = self.random.choice(("ObjectProperty", "DatatypeProperty"))
        self.triples: set[Triple] = {(p, RDF_TYPE, term(OWL, kind)) for p in PROPERTIES}
        makers: list[Callable[[], None]] = [
            self.fact, self.fact, self.fact, self.type, self.type, self.type, self.schema,
            self.schema, self.schema, self.characteristic, self.equality, self.restriction,
            self.restriction, self.restriction, self.of_list, self.of_list,
        ]  # fmt: skip
        for _ in range(self.random.randint(4, 12)):
            self.random.choice(makers)()

    def add(self, s: Term, p: Term, o: Term) -> None:
        self.triples.add((s, p, o))

    def one(self, of: list[Term]) -> Term:
        return self.random.choice(of)

    def new(self) -> Term:
        return f"_:n{len(self.triples)}"

    def owl(self, *names: str) -> Term:
        return term(OWL, self.random.choice(names))

    def list(self, of: list[Term]) -> Term:
        head = term(RDF, "nil")
        for _ in range(self.random.randint(1, 3)):
            cell = self.new()
            self.add(cell, term(RDF, "first"), self.one(of))
            self.add(cell, term(RDF, "rest"), head)
            head = cell
        return head

    def fact(self) -> None:
        self.add(self.one(THINGS), self.one(PROPERTIES), self.one(THINGS * 2 + LITERALS))

    def type(self) -> None:
        self.add(self.one(THINGS), RDF_TYPE, self.one(CLASSES))

    def schema(self) -> None:
        c, d, p, q = (self.one(of) for of in (CLASSES, CLASSES, PROPERTIES, PROPERTIES))
        classes = self.owl("equivalentClass", "disjointWith", "complementOf")
        properties = self.owl("equivalentProperty", "inverseOf", "propertyDisjointWith")
        choices = [
            (c, term(RDFS, "subClassOf"), d), (p, term(RDFS, "subPropertyOf"), q),
            (p, term(RDFS, "domain"), c), (p, term(RDFS, "range"), c), (c, classes, d),
            (p, properties, q), (c, RDF_TYPE, term(OWL, "Class")),
        ]  # fmt: skip
        self.add(*self.random.choice(choices))

    def characteristic(self) -> None:
        kind = self.owl(*(f"{name}Property" for name in CHARACTERISTICS))
        self.add(self.one(PROPERTIES), RDF_TYPE, kind)

    def equality(self) -> None:
        kind = self.random.choice([CLASSES, PROPERTIES, THINGS])
        self.add(self.one(kind), OWL_SAME_AS, self.one(kind))
        self.add(self.one(THINGS), self.owl("sameAs", "differentFrom"), self.one(THINGS + LITERALS))

    def restriction(self) -> None:
        node, number = self.one([*CLASSES, self.new()]), str(self.random.randint(0, 1))
        self.add(node, term(OWL, "onProperty"), self.one(PROPERTIES))
        limit = make_xsd(number, "nonNegativeInteger")
        choices = [
            (term(OWL, "someValuesFrom"), self.one(CLASSES)),
            (term(OWL, "allValuesFrom"), self.one(CLASSES)),
            (term(OWL, "hasValue"), self.one(THINGS)),
            (term(OWL, "maxCardinality"), limit), (term(OWL, "maxQualifiedCardinality"), limit),
        ]  # fmt: skip
        p, o = self.random.choice(choices)
        self.add(node, p, o)
        if p == term(OWL, "maxQualifiedCardinality"):
            self.add(node, term(OWL, "onClass"), self.one(CLASSES))

    def of_list(self) -> None:
        c, p, kind = self.one(CLASSES), self.one(PROPERTIES), self.random.randrange(5)
        if kind == 0:
            self.add(c, self.owl("intersectionOf", "unionOf"), self.list(CLASSES))
        elif kind == 1:
            self.add(c, term(OWL, "oneOf"), self.list(THINGS))
        elif kind == 2:
            self.add(c, term(OWL, "hasKey"), self.list(PROPERTIES))
        elif kind == 3:
            self.add(p, term(OWL, "propertyChainAxiom"), self.list(PROPERTIES))
        else:
            group, node = self.random.choice(sorted(GROUPS)), self.new()
            self.add(node, RDF_TYPE, term(OWL, group))
            self.add(node, term(OWL, "members"), self.list(GROUPS[group]))


def is_trivial(triple: Triple) -> bool:
    s, p, o = triple
    return (
        (s == o and p in REFLEXIVE)
        or THING in (s, o)
        or NOTHING in (s, o)
        or (p == OWL_DIFFERENT_FROM and is_literal(o))
        or (p, o) == (RDF_TYPE, term(OWL, "AnnotationProperty"))
    )


@pytest.mark.parametrize("seed", range(60))
def test_what_is_left_out_is_trivial(seed: int) -> None:
    graph = Ontology(seed).triples
    plain, full = load_rules("owl2-rl"), load_rules("owl2-rl-full")
    small, large = (close(rules, graph, generalized=True) for rules in (plain, full))
    assert small <= large
    lost = {triple for triple in large - small if is_rdf(triple) and not is_trivial(triple)}
    assert not lost
    assert bool(violations(plain, small)) == bool(violations(full, large))
