"""Random graphs that bend the vocabulary, each a pure function of its seed.

A *tame* graph keeps individuals, classes and properties apart. A *bent* one lets anything stand
anywhere: properties that are classes, cycles, blank nodes and literals as classes, the vocabulary
itself as a subclass or a subproperty of something else. `space` names the graph's own terms, so
that many graphs can be closed in one run and told apart afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from satura.reference import close
from satura.rules.model import RuleSet
from satura.terms.ntriples import Triple
from satura.vocab import (
    RDF,
    RDF_PROPERTY,
    RDF_TYPE,
    RDFS,
    RDFS_CLASS,
    RDFS_DOMAIN,
    RDFS_RANGE,
    RDFS_RESOURCE,
    RDFS_SUBCLASS_OF,
    RDFS_SUBPROPERTY_OF,
    XSD,
    term,
)

SCHEMA = (RDFS_SUBCLASS_OF, RDFS_SUBPROPERTY_OF, RDFS_DOMAIN, RDFS_RANGE)
KEYWORDS = (RDF_TYPE, *SCHEMA)
MEMBERS = (term(RDF, "_1"), term(RDF, "_2"))
CLASSES = (
    RDFS_CLASS,
    RDF_PROPERTY,
    RDFS_RESOURCE,
    term(RDFS, "Datatype"),
    term(RDFS, "Literal"),
    term(RDFS, "ContainerMembershipProperty"),
)
VOCABULARY = (*KEYWORDS, *CLASSES, *MEMBERS, term(RDFS, "member"))
LITERALS = ('"l"', f'"2"^^<{XSD}integer>', '"l"@en')
OWNER = re.compile(r"<http://e/(\w+)/|_:(?:d[0-9a-f]{16}_)?g(\w+?)b")


@dataclass(frozen=True, slots=True)
class Names:
    """The terms a random graph is made of."""

    individuals: tuple[str, ...]
    classes: tuple[str, ...]
    properties: tuple[str, ...]
    blanks: tuple[str, ...]

    @property
    def own(self) -> tuple[str, ...]:
        return self.individuals + self.classes + self.properties + self.blanks


def names(space: str, *, each: int = 4) -> Names:
    """Return the names of one graph: IRIs below `http://e/<space>/`, blank nodes `_:g<space>b…`."""

    def iris(kind: str) -> tuple[str, ...]:
        return tuple(f"<http://e/{space}/{kind}{i}>" for i in range(each))

    return Names(iris("i"), iris("C"), iris("p"), (f"_:g{space}b0", f"_:g{space}b1"))


def owner(triple: Triple) -> str | None:
    """Return the space of a triple's own terms, or None if all of them are shared."""
    for text in triple:
        match = OWNER.match(text)
        if match:
            return match[1] or match[2]
    return None


def tame_graph(seed: int, space: str = "0") -> frozenset[Triple]:
    """Return a graph in which individuals, classes and properties are different things."""
    random, n = Random(seed), names(space)
    found: set[Triple] = set()
    for _ in range(random.randint(2, 16)):
        kind = random.random()
        if kind < 0.2:
            found.add((random.choice(n.classes), RDFS_SUBCLASS_OF, random.choice(n.classes)))
        elif kind < 0.35:
            found.add(
                (random.choice(n.properties), RDFS_SUBPROPERTY_OF, random.choice(n.properties))
            )
        elif kind < 0.5:
            which = random.choice((RDFS_DOMAIN, RDFS_RANGE))
            found.add((random.choice(n.properties), which, random.choice(n.classes)))
        elif kind < 0.7:
            found.add((random.choice(n.individuals), RDF_TYPE, random.choice(n.classes)))
        else:
            s, o = random.sample(n.individuals, 2)
            o = o if random.random() < 0.7 else random.choice(LITERALS)
            found.add((s, random.choice(n.properties), o))
    return frozenset(found)


def bent_graph(seed: int, space: str = "0") -> frozenset[Triple]:
    """Return a graph in which the own terms mix, and the vocabulary stands in odd places."""
    random, n = Random(seed), names(space)
    # How often the vocabulary itself stands where a name of the data would.
    bend = random.choice((0.0, 0.1, 0.3, 0.5))
    anything = (*n.own, *n.classes, *n.properties)

    def resource(likely: tuple[str, ...]) -> str:
        if random.random() < bend:
            return random.choice(VOCABULARY)
        return random.choice(likely if random.random() < 0.7 else anything)

    def object_(likely: tuple[str, ...]) -> str:
        return random.choice(LITERALS) if random.random() < 0.08 else resource(likely)

    def predicate() -> str:
        kind = random.random()
        if kind < 0.1:
            return random.choice((*KEYWORDS, *MEMBERS, term(RDFS, "member")))
        return random.choice(n.properties)

    found: set[Triple] = set()
    for _ in range(random.randint(1, 16)):
        kind = random.random()
        if kind < 0.25:
            found.add((resource(n.classes), RDFS_SUBCLASS_OF, object_(n.classes)))
        elif kind < 0.45:
            found.add((resource(n.properties), RDFS_SUBPROPERTY_OF, object_(n.properties)))
        elif kind < 0.6:
            which = random.choice((RDFS_DOMAIN, RDFS_RANGE))
            found.add((resource(n.properties), which, object_(n.classes)))
        elif kind < 0.75:
            found.add((resource(n.individuals), RDF_TYPE, object_(n.classes)))
        else:
            found.add((resource(n.individuals), predicate(), object_(n.individuals)))
    return frozenset(found)


def graph(seed: int, space: str = "0") -> frozenset[Triple]:
    """Return a random graph; one in four is tame."""
    return tame_graph(seed, space) if seed % 4 == 0 else bent_graph(seed, space)


@dataclass(frozen=True, slots=True)
class Expected:
    """What the reference says of a graph, and whether it says anything about other graphs."""

    closure: frozenset[Triple]
    is_separable: bool


class Oracle:
    """The reference, which also says whether a graph can be closed together with others.

    Two graphs share only the vocabulary and literals. A rule that joins a triple of each does so
    on a shared term, and in all the rules of RDFS that term is the subject of a schema triple. So
    a graph whose closure has such a triple, other than the axioms, is not separable.
    """

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        occurring = {(member, RDF_TYPE, RDF_PROPERTY) for member in MEMBERS}
        self.common = close(rules, occurring, generalized=True)

    def close(self, triples: Iterable[Triple]) -> Expected:
        """Return the closure of a graph by the reference."""
        everything = close(self.rules, triples, generalized=True)
        bends = any(
            p in SCHEMA and owner((s, "", "")) is None and (s, p, o) not in self.common
            for s, p, o in everything
        )
        rdf = frozenset(t for t in everything if t[0][0] != '"' and t[1][0] == "<")
        return Expected(rdf, not bends)


def difference(expected: Iterable[Triple], found: Iterable[Triple], note: str) -> str | None:
    """Return what is missing and what is extra, or None if nothing is."""
    expected, found = set(expected), set(found)
    if expected == found:
        return None
    lines = [note]
    lines += [f"  missing {' '.join(t)}" for t in sorted(expected - found)]
    lines += [f"  extra   {' '.join(t)}" for t in sorted(found - expected)]
    return "\n".join(lines)


def as_lines(triples: Iterable[Triple]) -> str:
    """Return N-Triples text, sorted."""
    return "".join(f"{s} {p} {o} .\n" for s, p, o in sorted(triples))
