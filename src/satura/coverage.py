"""What the input says in RDFS and OWL that a rule set does not act on.

A rule set takes a part of the vocabulary; the rest is kept as plain triples, and nothing follows
from it. That is no error, but nobody should have to find it out by missing conclusions.

A term counts as acted on if some rule mentions it, in its head or in its body, inside `NOT` and
`EVERY` too, or if an axiom among the rules' `DATA` is about it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import functions as F  # noqa: N812

from satura.jobs import collect_first, described
from satura.rules.model import RuleSet
from satura.terms.ids import term_id
from satura.vocab import OWL, PREFIXES, RDF, RDF_TYPE, RDFS, term

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PREDICATES: Final = {
    RDFS: ("subClassOf", "subPropertyOf", "domain", "range"),
    OWL: (
        "allValuesFrom", "assertionProperty", "bottomDataProperty", "bottomObjectProperty",
        "cardinality", "complementOf", "datatypeComplementOf", "differentFrom", "disjointUnionOf",
        "disjointWith", "distinctMembers", "equivalentClass", "equivalentProperty", "hasKey",
        "hasSelf", "hasValue", "intersectionOf", "inverseOf", "maxCardinality",
        "maxQualifiedCardinality", "members", "minCardinality", "minQualifiedCardinality",
        "onClass", "onDataRange", "onDatatype", "onProperties", "onProperty", "oneOf",
        "propertyChainAxiom", "propertyDisjointWith", "qualifiedCardinality", "sameAs",
        "someValuesFrom", "sourceIndividual", "targetIndividual", "targetValue",
        "topDataProperty", "topObjectProperty", "unionOf", "withRestrictions",
    ),
}  # fmt: skip
"""Predicates from which something follows in the semantics of RDFS or OWL 2."""

CLASSES: Final = {
    RDFS: ("ContainerMembershipProperty",),
    OWL: (
        "AllDifferent", "AllDisjointClasses", "AllDisjointProperties", "AsymmetricProperty",
        "FunctionalProperty", "InverseFunctionalProperty", "IrreflexiveProperty",
        "Nothing", "ReflexiveProperty", "SymmetricProperty", "TransitiveProperty",
    ),
}  # fmt: skip
"""Classes whose members something follows for."""

SILENT: Final = {
    "annotations: for readers, nothing follows from them": (
        (RDFS, ("label", "comment", "seeAlso", "isDefinedBy")),
        (OWL, ("versionInfo", "deprecated", "Annotation", "Axiom", "annotatedSource",
               "annotatedProperty", "annotatedTarget", "DeprecatedClass", "DeprecatedProperty")),
    ),
    "documents: which files belong together is the caller's choice": (
        (OWL, ("Ontology", "OntologyProperty", "imports", "versionIRI", "priorVersion",
               "backwardCompatibleWith", "incompatibleWith")),
    ),
    "a name for what its parts say, which are counted": ((OWL, ("NegativePropertyAssertion",)),),
    "declarations: what a name is, which entails at most that it is itself": (
        (RDF, ("Property",)),
        (RDFS, ("Class", "Datatype", "Resource", "Literal")),
        (OWL, ("Class", "Restriction", "DataRange", "ObjectProperty", "DatatypeProperty",
               "AnnotationProperty", "NamedIndividual", "Thing")),
    ),
    "datatypes: objects of typed literals, not of `rdf:type`": (
        (RDF, ("XMLLiteral", "HTML", "JSON", "langString", "dirLangString", "PlainLiteral")),
        (OWL, ("real", "rational")),
    ),
    "lists: read through the construct that points at them, which is counted": (
        (RDF, ("first", "rest", "nil", "List")),
    ),
    "structures without a semantics of their own": (
        (RDF, ("Seq", "Bag", "Alt", "Statement", "subject", "predicate", "object", "value",
               "CompoundLiteral", "language", "direction", "langRange", "reifies")),
        (RDFS, ("Container", "member")),
    ),
    "typing: it is the class that matters, and that is counted": ((RDF, ("type",)),),
}  # fmt: skip
"""The rest of the vocabularies, by why it is never reported."""


def mentioned(rules: RuleSet) -> frozenset[str]:
    """Return the terms that rules mention, and those that axioms among their data are about."""
    found = {slot for rule in rules for atom in rule.every_atom for slot in atom.slots}
    lists = {x.list for rule in rules for x in rule.lists}
    axioms = {s for s, p, _ in rules.data if p != RDF_TYPE}
    return frozenset(slot for slot in found | lists | axioms if isinstance(slot, str))


@dataclass(frozen=True, slots=True)
class Ignored:
    """What rules do not mention, by id, with prefixed names such as `owl:unionOf`."""

    predicates: Mapping[int, str]
    classes: Mapping[int, str]

    def count(self, rows: NDArray[np.int64]) -> Counter[str]:
        """Count rows, of which the second and third column are predicate and object, by name."""
        p, o = rows[:, 1], rows[:, 2]
        is_predicate = np.isin(p, list(self.predicates))
        is_class = (p == term_id(RDF_TYPE)) & np.isin(o, list(self.classes))
        names = [self.predicates[x] for x in p[is_predicate].tolist()]
        names += [self.classes[x] for x in o[is_class & ~is_predicate].tolist()]
        return Counter(names)


def find_ignored(rules: RuleSet) -> Ignored:
    """Return what of RDFS and OWL no rule mentions."""
    known = mentioned(rules)
    return Ignored(_unknown(PREDICATES, known), _unknown(CLASSES, known))


@cache
def countable() -> frozenset[int]:
    """Return the ids of all terms that are ever counted."""
    nothing: frozenset[str] = frozenset()
    return frozenset({*_unknown(PREDICATES, nothing), *_unknown(CLASSES, nothing)})


def ranked(counts: Mapping[str, int]) -> dict[str, int]:
    """Return counts above zero, the most used first."""
    used = [(name, number) for name, number in counts.items() if number > 0]
    return dict(sorted(used, key=lambda item: (-item[1], item[0])))


def not_acted_on(asserted: DataFrame, rules: RuleSet) -> dict[str, int]:
    """Count the asserted triples by what of RDFS and OWL they use that no rule mentions.

    Names are prefixed, such as `owl:unionOf`; the most used come first. One job, whose filter is
    pushed down to the files.
    """
    ignored = find_ignored(rules)
    predicates, classes = dict(ignored.predicates), dict(ignored.classes)
    p, o = F.col("p"), F.col("o")
    is_predicate = p.isin(sorted(predicates))
    is_class = (p == term_id(RDF_TYPE)) & o.isin(sorted(classes))
    used = asserted.where(is_predicate | is_class).select(F.when(is_predicate, p).otherwise(o))
    with described(asserted.sparkSession, "find what no rule acts on"):
        rows = collect_first(used.toDF("id").groupBy("id").count(), len(predicates) + len(classes))
    names = predicates | classes
    return ranked({names[row["id"]]: int(row["count"]) for row in rows})


def _unknown(terms: dict[str, tuple[str, ...]], known: frozenset[str]) -> dict[int, str]:
    """Return the terms not known, by id, with their prefixed names."""
    prefixes = {iri: prefix for prefix, iri in PREFIXES.items()}
    return {
        term_id(term(namespace, name)): f"{prefixes[namespace]}:{name}"
        for namespace, names in terms.items()
        for name in names
        if term(namespace, name) not in known
    }
