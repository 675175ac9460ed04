"""Counter-examples to closing OWL in one pass, each named: what it takes to get them is a loop.

Most are cases that published systems miss: what a join concludes feeds schema, other joins or
equality, and equality feeds everything. `|` stands before what has to be concluded.
"""

from __future__ import annotations

import re

from satura.terms.ntriples import Triple
from satura.vocab import OWL, RDF, RDF_TYPE, RDFS, XSD, term

SHORT = {
    "a": RDF_TYPE,
    "sc": term(RDFS, "subClassOf"),
    "sp": term(RDFS, "subPropertyOf"),
    "dom": term(RDFS, "domain"),
    "range": term(RDFS, "range"),
    "same": term(OWL, "sameAs"),
    "some": term(OWL, "someValuesFrom"),
    "all": term(OWL, "allValuesFrom"),
    "has": term(OWL, "hasValue"),
    "on": term(OWL, "onProperty"),
    "most": term(OWL, "maxCardinality"),
    "inv": term(OWL, "inverseOf"),
    "eqc": term(OWL, "equivalentClass"),
    "eqp": term(OWL, "equivalentProperty"),
    "int": term(OWL, "intersectionOf"),
    "chain": term(OWL, "propertyChainAxiom"),
    "key": term(OWL, "hasKey"),
    "first": term(RDF, "first"),
    "rest": term(RDF, "rest"),
    "nil": term(RDF, "nil"),
    "Class": term(OWL, "Class"),
    "Object": term(OWL, "ObjectProperty"),
    "Functional": term(OWL, "FunctionalProperty"),
    "Inverse": term(OWL, "InverseFunctionalProperty"),
    "Transitive": term(OWL, "TransitiveProperty"),
    "Symmetric": term(OWL, "SymmetricProperty"),
    "1": f'"1"^^{term(XSD, "nonNegativeInteger")}',
    "five": f'"5"^^{term(XSD, "integer")}',
    "vive": f'"05"^^{term(XSD, "int")}',
}

BOTH = {
    "a join feeds a linear rule": "v some w, v on p, v sc z, u p x, x a w | u a z",
    "a join feeds a join": "v some w, v on p, k some v, k on q, t q u, u p x, x a w | t a k",
    "a join feeds itself": "w some w, w on p, a1 p a2, a2 p a3, a3 p a4, a4 a w | a1 a w",
    "a join feeds a linear rule that feeds a join":
        "v some w, v on p, v sc z, k some z, k on q, t q u, u p x, x a w | t a k",
    "the middle link": "p a Transitive, a0 p b, c p d, q sp p, b q c | a0 p d",
    "the middle link comes of a join":
        "p a Transitive, a0 p b, c p d, v has c, v on p, v some w, v on q, b q x, x a w | a0 p d",
    "transitivity feeds its own inverse": "p a Transitive, p inv q, a0 p b, c q b | c q a0",
    "transitive and symmetric": "p a Transitive, p a Symmetric, x p y, y p z | z p z, x p x",
    "equality feeds transitivity": "p a Transitive, a0 p b, b same c, c p d | a0 p d",
    "equality feeds a restriction": "v some w, v on p, u p x, x same y, y a w | u a v",
    "equality feeds allValuesFrom": "v all w, v on p, u a v, u same t, t p x | x a w",
    "equality by two steps": "p a Functional, x p y, x p z, z same w, w q t | y q t",
    "equality makes a key equal":
        "p a Functional, q a Inverse, x p y, x p z, s q y, t q z | s same t",
    "equality makes equality makes equality":
        "p a Functional, x0 p x1, x0 p y1, x1 p x2, y1 p y2, x2 p x3, y2 p y3 | x3 same y3",
    "equal classes by their instances": "p a Functional, x p C, x p D, i a C | i a D",
    "equal properties by their instances": "r a Functional, x r p, x r q, s p t | s q t",
    "equal properties reach the schema": "r a Functional, x r p, x r q, q dom C, s p t | s a C",
    "equal classes reach the schema":
        "r a Functional, x r C, x r D, D sc E, v some E, v on p, u p i, i a C | u a v",
    "equality with a property that a restriction is on":
        "r a Functional, x r p, x r q, v some w, v on q, u p i, i a w | u a v",
    "hasValue of an equal value": "v has w, v on p, u p x, x same w | u a v",
    "hasValue concludes of an equal": "v has w, v on p, w same x, u a v | u p x",
    "hasValue makes equal what it gives":
        "v has w, v on p, p a Functional, u a v, u p x | x same w",
    "a characteristic that is entailed": "C sc Transitive, p a C, x p y, y p z | x p z",
    "a characteristic that a join entails":
        "C some w, C on q, C sc Transitive, p q i, i a w, x p y, y p z | x p z",
    "a subproperty of subclass": "p sp sc, A p B, v some B, v on q, u q i, i a A | u a v",
    "a restriction that is entailed": "q sp some, v q w, v on p, u p x, x a w | u a v",
    "a subproperty that a join entails": "v has sc, v on q, q sp sp, p a v, A p B, i a A | i a B",
    "the property gets its facts from an inverse":
        "v some w, v on p, p inv q, x q u, x a w | u a v",
    "symmetric and functional": "p a Symmetric, p a Functional, x p y, z p y | x same z",
    "the same as a class of the vocabulary": "C same Transitive, p a C, x p y, y p z | x p z",
    "the same as a property of the vocabulary": "t same a, x t C, C sc D | x a D, x t D",
    "same as itself, over others": "x same y, y same z, z p x | y p y",
}  # fmt: skip

ONLY_RL = {
    "a chain feeds itself": "p chain (p q), x p y, y q z, z q w | x p w",
    "a chain through equals": "r chain (p q), x p y, y same u, u q z | x r z",
    "a chain of an entailed subproperty": "r chain (p p), t sp p, x t y, y p z | x r z",
    "a key through an equal value": "C key (p), x a C, y a C, x p u, y p v, u same v | x same y",
    "a key through a literal of the same value":
        "C key (p), x a C, y a C, x p five, y p vive | x same y",
    "a key of a class that a join entails":
        "C key (p), C some w, C on q, x q i, i a w, y a C, x p v, y p v | x same y",
    "equality completes a list":
        "l first A, l rest k, m same k, m first B, m rest nil, C int l, x a A, x a B | x a C",
    "a member of an intersection by a join":
        "C int (A B), B some w, B on p, x a A, x p y, y a w | x a C",
    "at most one, of an entailed class":
        "v most 1, v on p, C sc v, C some w, C on q, u q i, i a w, u p x, u p y | x same y",
    "hasValue of a literal of the same value": "v has five, v on p, u p vive | u a v",
    "equal literals make equal subjects": "p a Inverse, x p five, y p vive, y q z | x q z",
    "two classes that contain each other": "A sc B, B sc A, i a A, B eqc C | i a C, A eqc C",
}  # fmt: skip

CASES = {"owl-horst": BOTH, "owl2-rl": BOTH | ONLY_RL}


def spelled(short: str, space: str) -> set[Triple]:
    """Return triples: `(p q)` is a list, what `SHORT` does not have is an IRI of the case."""
    for number, members in enumerate(re.findall(r"\(([^)]*)\)", short)):
        cells = [f"cell{number}-{i}" for i in range(len(members.split()))] + ["nil"]
        for i, member in enumerate(members.split()):
            short = f"{cells[i]} first {member}, {cells[i]} rest {cells[i + 1]}, {short}"
        short = short.replace(f"({members})", cells[0], 1)
    triples = (row.split() for row in short.split(",") if row.strip())
    return {
        tuple(SHORT.get(name, f"<http://e/{space}/{name}>") for name in triple)  # type: ignore[misc]
        for triple in triples
    }


def case(name: str, text: str, space: str = "e") -> tuple[set[Triple], set[Triple]]:
    """Return what is given, and some of what has to be concluded; the reference has to agree."""
    given, conclusions = (spelled(part, space) for part in text.split("|"))
    assert not given & conclusions, f"{name}: nothing to conclude"
    return given, conclusions


def is_shared(name: str) -> bool:
    """Say whether a case changes the vocabulary for all others."""
    return "of the vocabulary" in name
