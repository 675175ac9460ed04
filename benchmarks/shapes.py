"""Inputs with a shape of their own: three graphs to close transitively, and a deep class hierarchy.

Each generator yields N-Triples lines and is determined by its size, so that a file can be made
again bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

SEED = 0
NAMESPACE = "http://example.org/"
RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
SUBCLASS = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
TRANSITIVE = "<http://www.w3.org/2002/07/owl#TransitiveProperty>"
PROPERTY = f"<{NAMESPACE}p>"
ROOTS = 10
DEGREE = 2
DEPTH = 15
INSTANCES_PER_CLASS = 50


@dataclass(frozen=True, slots=True)
class Shape:
    """A generator, the size it has in the benchmark, and the rules it is closed under."""

    name: str
    size: int
    lines: Callable[[int], Iterator[str]]
    rules: str


def edges(pairs: Iterator[tuple[int, int]]) -> Iterator[str]:
    """Write edges of the one transitive property, and that it is transitive."""
    yield f"{PROPERTY} {RDF_TYPE} {TRANSITIVE} .\n"
    for start, end in pairs:
        yield f"<{NAMESPACE}n{start}> {PROPERTY} <{NAMESPACE}n{end}> .\n"


def path(nodes: int) -> Iterator[str]:
    """Write a path: the longest way there is; n nodes have n (n - 1) / 2 pairs in the closure.

    >>> len(list(path(3)))
    3
    """
    return edges((n, n + 1) for n in range(nodes - 1))


def forest(count: int) -> Iterator[str]:
    """Write so many edges from child to parent, each parent drawn from all earlier nodes.

    Random recursive trees: a node has about ln n ancestors, and some have many more.
    """
    random = Random(SEED)
    return edges((n, random.randrange(n)) for n in range(ROOTS, count + ROOTS))


def random(nodes: int) -> Iterator[str]:
    """Write a random graph with twice as many edges as nodes.

    Four nodes of five reach the same large component, which is strongly connected, so almost all
    of the closure is said again and again by other ways.
    """
    numbers = Random(SEED)
    found: dict[tuple[int, int], None] = {}
    while len(found) < DEGREE * nodes:
        found[numbers.randrange(nodes), numbers.randrange(nodes)] = None
    return edges(iter(found))


def hierarchy(classes: int) -> Iterator[str]:
    """Write a tree of classes fifteen deep, and fifty instances per class.

    A class of layer n has n superclasses; an instance has one class, drawn from all.
    """
    numbers = Random(SEED)
    width = max(1, classes // DEPTH)
    for layer in range(1, DEPTH + 1):
        for n in range(width):
            above = f"<{NAMESPACE}L{layer - 1}C{numbers.randrange(width)}>"
            yield f"<{NAMESPACE}L{layer}C{n}> {SUBCLASS} {above} .\n"
    for n in range(INSTANCES_PER_CLASS * classes):
        of = f"<{NAMESPACE}L{numbers.randint(1, DEPTH)}C{numbers.randrange(width)}>"
        yield f"<{NAMESPACE}i{n}> {RDF_TYPE} {of} .\n"


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("path", 2_000, path, "transitive"),
        Shape("forest", 1_000_000, forest, "transitive"),
        Shape("random", 4_000, random, "transitive"),
        Shape("hierarchy", 100_000, hierarchy, "rdfs"),
    )
}
