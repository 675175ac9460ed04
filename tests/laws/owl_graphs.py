"""Random graphs rich in what OWL rules read: equality, restrictions, chains, keys, lists.

Small on purpose: a handful of individuals, classes and properties meet each other in many ways, so
that the naive reference stays quick and rules feed each other.
"""

from __future__ import annotations

import random

from satura.terms.ntriples import Term, Triple
from satura.vocab import OWL, RDF, RDF_TYPE, RDFS, XSD, term

FIRST, REST, NIL = (term(RDF, name) for name in ("first", "rest", "nil"))
SAME_AS = term(OWL, "sameAs")


class OwlGraph:
    """Builds one random graph in a name space of its own."""

    def __init__(self, seed: int, space: str = "") -> None:
        self.random = random.Random(f"owl {seed}")
        self.base = f"http://example.org/{space}/"
        self.triples: set[Triple] = set()
        self.things = [self.name(f"i{n}") for n in range(self.random.randint(2, 5))]
        self.classes = [self.name(f"C{n}") for n in range(self.random.randint(2, 4))]
        self.properties = [self.name(f"p{n}") for n in range(self.random.randint(1, 3))]
        self.lists = 0
        self.first_number = 10 * (seed + 1)
        """Numbers of one graph are not those of another, nor the cardinalities 0 and 1."""

    def name(self, local: str) -> Term:
        return f"<{self.base}{local}>"

    def add(self, s: Term, p: Term, o: Term) -> None:
        self.triples.add((s, p, o))

    def pick(self, pool: list[Term]) -> Term:
        return self.random.choice(pool)

    def list_of(self, members: list[Term]) -> Term:
        """State a list and return its head."""
        self.lists += 1
        head = NIL
        for place, member in reversed(list(enumerate(members))):
            cell = self.name(f"l{self.lists}-{place}")
            self.add(cell, FIRST, member)
            self.add(cell, REST, head)
            head = cell
        return head

    def some(self, pool: list[Term], least: int = 1, most: int = 3) -> list[Term]:
        return [self.pick(pool) for _ in range(self.random.randint(least, most))]

    def literal(self) -> Term:
        number = self.first_number + self.random.randint(0, 2)
        datatype = self.random.choice(("integer", "int", "decimal"))
        text = self.random.choice((f"{number}", f"0{number}"))
        return f'"{text}"^^{term(XSD, datatype)}'

    def value(self) -> Term:
        return self.literal() if self.random.random() < 0.15 else self.pick(self.things)

    def build(self, axioms: tuple[str, ...]) -> frozenset[Triple]:
        for _ in range(self.random.randint(3, 8)):
            self.add(self.pick(self.things), self.pick(self.properties), self.value())
        for _ in range(self.random.randint(1, 4)):
            self.add(self.pick(self.things), RDF_TYPE, self.pick(self.classes))
        for _ in range(self.random.randint(1, 4)):
            getattr(self, self.random.choice(axioms))()
        if self.random.random() < 0.3:
            self.same_as()
        return frozenset(self.triples)

    def characteristic(self) -> None:
        kind = self.random.choice(
            ("FunctionalProperty", "InverseFunctionalProperty", "TransitiveProperty",
             "SymmetricProperty", "TransitiveProperty")
        )  # fmt: skip
        self.add(self.pick(self.properties), RDF_TYPE, term(OWL, kind))

    def hierarchy(self) -> None:
        kind, pool = self.random.choice(
            (
                (term(RDFS, "subClassOf"), self.classes),
                (term(OWL, "equivalentClass"), self.classes),
                (term(RDFS, "subPropertyOf"), self.properties),
                (term(OWL, "equivalentProperty"), self.properties),
                (term(OWL, "inverseOf"), self.properties),
            )
        )
        self.add(self.pick(pool), kind, self.pick(pool))

    def domain(self) -> None:
        kind = self.random.choice(("domain", "range"))
        self.add(self.pick(self.properties), term(RDFS, kind), self.pick(self.classes))

    def same_as(self) -> None:
        pool = self.random.choice(
            (self.things, self.things, self.things, self.classes, self.properties)
        )
        self.add(self.pick(pool), SAME_AS, self.pick(pool))

    def restriction(self) -> None:
        of = self.pick(self.classes)
        self.add(of, term(OWL, "onProperty"), self.pick(self.properties))
        kind = self.random.choice(("someValuesFrom", "allValuesFrom", "hasValue"))
        filler = self.value() if kind == "hasValue" else self.pick(self.classes)
        if kind == "someValuesFrom" and self.random.random() < 0.2:
            filler = term(XSD, self.random.choice(("integer", "decimal", "int")))
        self.add(of, term(OWL, kind), filler)

    def cardinality(self) -> None:
        of = self.pick(self.classes)
        self.add(of, term(OWL, "onProperty"), self.pick(self.properties))
        number = f'"{self.random.randint(0, 1)}"^^{term(XSD, "nonNegativeInteger")}'
        if self.random.random() < 0.5:
            self.add(of, term(OWL, "maxCardinality"), number)
        else:
            self.add(of, term(OWL, "maxQualifiedCardinality"), number)
            self.add(of, term(OWL, "onClass"), self.pick(self.classes))

    def combination(self) -> None:
        kind = self.random.choice(("intersectionOf", "intersectionOf", "unionOf"))
        self.add(self.pick(self.classes), term(OWL, kind), self.list_of(self.some(self.classes)))

    def one_of(self) -> None:
        self.add(self.pick(self.classes), term(OWL, "oneOf"), self.list_of(self.some(self.things)))

    def chain(self) -> None:
        members = self.list_of(self.some(self.properties))
        self.add(self.pick(self.properties), term(OWL, "propertyChainAxiom"), members)

    def key(self) -> None:
        members = self.list_of(self.some(self.properties, 1, 2))
        self.add(self.pick(self.classes), term(OWL, "hasKey"), members)

    def metamodel(self) -> None:
        """State what entails schema: equal classes by way of the instances, odd subproperties."""
        which = self.random.randint(0, 3)
        if which == 0:
            p = self.pick(self.properties)
            self.add(p, RDF_TYPE, term(OWL, "FunctionalProperty"))
            self.add(self.things[0], p, self.pick(self.classes))
            self.add(self.things[0], p, self.pick(self.classes))
        elif which == 1:
            sub = term(RDFS, "subPropertyOf")
            self.add(self.pick(self.properties), sub, term(RDFS, "subClassOf"))
            self.add(self.pick(self.classes), self.pick(self.properties), self.pick(self.classes))
        elif which == 2:
            transitive = term(OWL, "TransitiveProperty")
            self.add(self.pick(self.classes), term(RDFS, "subClassOf"), transitive)
            self.add(self.pick(self.properties), RDF_TYPE, self.pick(self.classes))
        else:
            self.add(self.pick(self.things), SAME_AS, self.pick(self.classes))

    def violation(self) -> None:
        which = self.random.randint(0, 3)
        if which == 0:
            self.add(self.pick(self.classes), term(OWL, "disjointWith"), self.pick(self.classes))
        elif which == 1:
            self.add(self.pick(self.things), term(OWL, "differentFrom"), self.pick(self.things))
        elif which == 2:
            self.add(self.pick(self.properties), RDF_TYPE, term(OWL, "IrreflexiveProperty"))
        else:
            self.add(self.pick(self.classes), term(OWL, "complementOf"), self.pick(self.classes))


AXIOMS = (
    "characteristic", "characteristic", "hierarchy", "hierarchy", "domain", "same_as",
    "restriction", "restriction", "cardinality", "combination", "one_of", "chain", "key",
    "metamodel", "violation",
)  # fmt: skip


def owl_graph(seed: int, space: str = "") -> frozenset[Triple]:
    """Return one random graph."""
    return OwlGraph(seed, space).build(AXIOMS)
