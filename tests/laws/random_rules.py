"""Random sets of linear rules over a vocabulary of their own, and graphs for them to work on."""

from __future__ import annotations

from random import Random

from satura.rules.model import Atom, Position, Rule, RuleSet, Slot, Variable
from satura.terms.ntriples import Triple
from satura.vocab import OWL, RDF_TYPE, RDFS_DOMAIN, RDFS_SUBCLASS_OF, term

INDIVIDUALS = tuple(f"<http://u/i{i}>" for i in range(4))
CLASSES = tuple(f"<http://u/C{i}>" for i in range(3))
PROPERTIES = tuple(f"<http://u/p{i}>" for i in range(4))
INVERSE_OF = term(OWL, "inverseOf")
X, Y, V, W = (Variable(name) for name in "xyvw")


def _instance(random: Random) -> Atom:
    """Return a pattern over the data, of any shape a linear rule may have."""
    p = random.choice(PROPERTIES)
    return random.choice(
        [
            Atom(X, p, Y),
            Atom(X, p, Y),
            Atom(X, p, Y),
            Atom(X, p, X),
            Atom(X, p, random.choice(INDIVIDUALS)),
            Atom(random.choice(INDIVIDUALS), p, Y),
            Atom(X, RDF_TYPE, random.choice(CLASSES)),
            Atom(X, RDF_TYPE, Y),
        ]
    )


def _head(random: Random, bound: list[Slot]) -> Atom:
    """Return a conclusion over the variables that the body binds."""

    def resource() -> Slot:
        return random.choice(bound) if random.random() < 0.8 else random.choice(INDIVIDUALS)

    if random.random() < 0.3:
        class_: Slot = random.choice(CLASSES) if random.random() < 0.8 else resource()
        return Atom(resource(), RDF_TYPE, class_)
    return Atom(resource(), random.choice(PROPERTIES), resource())


def random_rule(random: Random, number: int) -> Rule:
    """Return one rule with one instance atom; some of them read schema too."""
    where = Position("<random>", number, 1)
    kind = random.random()
    body: tuple[Atom, ...]
    head: tuple[Atom, ...]
    if kind < 0.1:
        body = (Atom(V, INVERSE_OF, W), Atom(X, V, Y))
        head = (Atom(Y, W, X),)
    elif kind < 0.2:
        body = (Atom(V, RDFS_SUBCLASS_OF, W), Atom(X, RDF_TYPE, V))
        head = (Atom(X, RDF_TYPE, W),)
    elif kind < 0.25:
        body = (Atom(V, RDFS_DOMAIN, W), Atom(X, V, Y))
        head = (Atom(X, RDF_TYPE, W), _head(random, [X, Y]))
    elif kind < 0.32:
        body = (Atom(X, random.choice(PROPERTIES), Y),)
        head = (Atom(Y, RDF_TYPE, X),)  # hasInstance
    elif kind < 0.36:
        body = (Atom(X, V, Y),)
        head = (_head(random, [X, Y]),)
    else:
        body = (_instance(random),)
        bound: list[Slot] = sorted(body[0].variables, key=str)
        head = tuple(_head(random, bound) for _ in range(random.choice((1, 1, 2))))
    return Rule(f"r{number}", head, body, where)


def random_rules(seed: int) -> RuleSet:
    """Return one to five random rules."""
    random = Random(seed)
    count = random.randint(1, 5)
    return RuleSet(f"random-{seed}", tuple(random_rule(random, i) for i in range(count)))


def user_graph(seed: int) -> frozenset[Triple]:
    """Return a graph over the same vocabulary."""
    random = Random(f"graph {seed}")
    found: set[Triple] = set()
    anything = (*INDIVIDUALS, *CLASSES, "_:b", '"l"')
    for _ in range(random.randint(3, 14)):
        kind = random.random()
        s, o = random.choice(INDIVIDUALS), random.choice(anything)
        if kind < 0.5:
            found.add((s, random.choice(PROPERTIES), s if random.random() < 0.2 else o))
        elif kind < 0.75:
            found.add((s, RDF_TYPE, random.choice(CLASSES)))
        elif kind < 0.85:
            found.add((random.choice(PROPERTIES), INVERSE_OF, random.choice(PROPERTIES)))
        elif kind < 0.95:
            found.add((random.choice(CLASSES), RDFS_SUBCLASS_OF, random.choice(CLASSES)))
        else:
            found.add((random.choice(PROPERTIES), RDFS_DOMAIN, random.choice(CLASSES)))
    return frozenset(found)
