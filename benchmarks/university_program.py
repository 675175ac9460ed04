"""Write the university ontology as a flat program, `examples/university.srl`, to standard output.

What a user writes who has no ontology language: every axiom that OWL 2 RL has a rule for becomes
a plain rule with constants, named after the W3C's rule. A restriction gets a name, such as
`:some-worksFor-Organization`. Three recursive groups of rules follow that OWL cannot say, or not
without a chain: who works with whom, whom one descends from academically, and which organizations
one is within.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import pyoxigraph

ONTOLOGY = Path(__file__).resolve().parent.parent / "src/satura/generate/univ-bench.ttl"
UNIVERSITY = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"

HEADER = """\
# The university ontology as a flat program, with rules of its own at the end. Written by
# benchmarks/university_program.py; the name of a rule begins with the OWL 2 RL rule it comes from.

PREFIX rule: <https://satura.dev/rules/university#>
PREFIX : <http://swat.cse.lehigh.edu/onto/univ-bench.owl#>
"""

OWN_RULES = """\

# Colleagues: all who work for the department that one of them heads.
RULE rule:colleague-head { ?x :colleagueOf ?y }
  WHERE { ?y :headOf ?d . ?d a :Department . ?x :worksFor ?d FILTER(!sameTerm(?x, ?y)) }
RULE rule:colleague-symmetric { ?y :colleagueOf ?x } WHERE { ?x :colleagueOf ?y }
RULE rule:colleague-transitive { ?x :colleagueOf ?z }
  WHERE { ?x :colleagueOf ?y . ?y :colleagueOf ?z FILTER(!sameTerm(?x, ?z)) }

# Academic ancestors: the advisor, and the ancestors of the advisor.
RULE rule:ancestor-advisor { ?x :academicAncestor ?y } WHERE { ?x :advisor ?y }
RULE rule:ancestor-further { ?x :academicAncestor ?z }
  WHERE { ?x :advisor ?y . ?y :academicAncestor ?z }

# Within: the organization one is a member of, and all that it is a part of.
RULE rule:within-member { ?x :within ?o } WHERE { ?x :memberOf ?o }
RULE rule:within-part { ?x :within ?o } WHERE { ?x :within ?part . ?part :subOrganizationOf ?o }
"""

Node = pyoxigraph.NamedNode | pyoxigraph.BlankNode


@dataclass(frozen=True, slots=True)
class Ontology:
    """The triples of an ontology, asked by predicate or by subject and predicate."""

    triples: tuple[pyoxigraph.Triple, ...]

    def pairs(self, predicate: str) -> list[tuple[Node, Node]]:
        """Return the subjects and objects of a predicate, in the order of the file."""
        return [(t.subject, t.object) for t in self.triples if t.predicate.value == predicate]

    def one(self, subject: Node, predicate: str) -> Node | None:
        """Return the object of a subject and a predicate, if there is one."""
        return next((o for s, o in self.pairs(predicate) if s == subject), None)

    def members(self, head: Node) -> Iterator[Node]:
        """Yield the members of an RDF list."""
        while (first := self.one(head, f"{RDF}first")) is not None:
            yield first
            rest = self.one(head, f"{RDF}rest")
            assert rest is not None
            head = rest


def read(path: Path = ONTOLOGY) -> Ontology:
    """Read an ontology in Turtle."""
    quads = pyoxigraph.parse(path=path, format=pyoxigraph.RdfFormat.TURTLE)
    return Ontology(tuple(quad.triple for quad in quads))


def name(node: Node) -> str:
    """Return the local name of a term of the ontology."""
    return node.value.removeprefix(UNIVERSITY)


@dataclass(frozen=True, slots=True)
class Restriction:
    """The class of all that have some value of a class for a property."""

    on: str
    of: str

    @property
    def name(self) -> str:
        return f"some-{self.on}-{self.of}"


def restrictions(ontology: Ontology) -> dict[Node, Restriction]:
    """Return the restrictions of an ontology by their nodes."""
    found = {}
    for node, of in ontology.pairs(f"{OWL}someValuesFrom"):
        on = ontology.one(node, f"{OWL}onProperty")
        assert on is not None
        found[node] = Restriction(name(on), name(of))
    return found


def rule(kind: str, names: Iterable[str], head: str, *body: str) -> str:
    """Write one rule.

    >>> rule("cax-sco", ["A", "B"], "?x a :B", "?x a :A")
    'RULE rule:cax-sco-A-B { ?x a :B } WHERE { ?x a :A }'
    """
    return f"RULE rule:{'-'.join([kind, *names])} {{ {head} }} WHERE {{ {' . '.join(body)} }}"


def class_rules(ontology: Ontology) -> Iterator[str]:
    """Write the rules of subclasses, intersections and restrictions."""
    some = restrictions(ontology)

    def named(node: Node) -> str:
        return some[node].name if node in some else name(node)

    direct = [(named(a), named(b)) for a, b in ontology.pairs(f"{RDFS}subClassOf")]
    for lower, upper in direct:
        yield rule("cax-sco", (lower, upper), f"?x a :{upper}", f"?x a :{lower}")
    for defined, head in ontology.pairs(f"{OWL}intersectionOf"):
        members = [named(member) for member in ontology.members(head)]
        target = name(defined)
        yield rule("cls-int1", (target,), f"?x a :{target}", *(f"?x a :{m}" for m in members))
        for member in members:
            direct.append((target, member))
            yield rule("cls-int2", (target, member), f"?x a :{member}", f"?x a :{target}")
    classes = transitive(direct)
    properties = transitive((name(a), name(b)) for a, b in ontology.pairs(f"{RDFS}subPropertyOf"))
    distinct = sorted(set(some.values()), key=lambda one: one.name)
    for one in distinct:
        yield rule(
            "cls-svf1", (one.on, one.of), f"?x a :{one.name}", f"?x :{one.on} ?y", f"?y a :{one.of}"
        )
    for one, other in permutations(distinct, 2):
        below = one.on == other.on and (one.of, other.of) in classes
        if below or (one.of == other.of and (one.on, other.on) in properties):
            pair = (one.name, other.name)
            yield rule("scm-svf", pair, f"?x a :{other.name}", f"?x a :{one.name}")


def transitive(pairs: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the transitive closure of a small relation.

    >>> sorted(transitive([("a", "b"), ("b", "c")]))
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    closed = set(pairs)
    while new := {(a, d) for a, b in closed for c, d in closed if b == c} - closed:
        closed |= new
    return closed


def property_rules(ontology: Ontology) -> Iterator[str]:
    """Write the rules of domains, ranges, subproperties, inverses and transitivity."""
    for on, of in ontology.pairs(f"{RDFS}domain"):
        yield rule("prp-dom", (name(on), name(of)), f"?x a :{name(of)}", f"?x :{name(on)} ?y")
    for on, of in ontology.pairs(f"{RDFS}range"):
        yield rule("prp-rng", (name(on), name(of)), f"?y a :{name(of)}", f"?x :{name(on)} ?y")
    for lower, upper in ontology.pairs(f"{RDFS}subPropertyOf"):
        low, up = name(lower), name(upper)
        yield rule("prp-spo1", (low, up), f"?x :{up} ?y", f"?x :{low} ?y")
    directions = {}
    for one, other in ontology.pairs(f"{OWL}inverseOf"):
        directions |= {(name(one), name(other)): None, (name(other), name(one)): None}
    for one, other in directions:
        yield rule("prp-inv", (one, other), f"?y :{other} ?x", f"?x :{one} ?y")
    for on, kind in ontology.pairs(f"{RDF}type"):
        if kind.value == f"{OWL}TransitiveProperty":
            p = name(on)
            yield rule("prp-trp", (p,), f"?x :{p} ?z", f"?x :{p} ?y", f"?y :{p} ?z")


def program(ontology: Ontology) -> str:
    """Return the text of the whole program."""
    parts = [HEADER, *class_rules(ontology), *property_rules(ontology)]
    return "\n".join(parts) + "\n" + OWN_RULES


if __name__ == "__main__":
    sys.stdout.write(program(read()))
