"""What the input says in RDFS and OWL that a rule set does not act on.

A rule set takes a part of the vocabulary; the rest is kept as plain triples, and nothing follows
from it. That is no error, but nobody should have to find it out by missing conclusions.

A term counts as acted on if some rule mentions it, in its head or in its body, inside `NOT` and
`EVERY` too, or if an axiom among the rules' `DATA` is about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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


def not_acted_on(asserted: DataFrame, rules: RuleSet) -> dict[str, int]:
    """Count the asserted triples by what of RDFS and OWL they use that no rule mentions.

    Names are prefixed, such as `owl:unionOf`; the most used come first. One job, whose filter is
    pushed down to the files.
    """
    known = mentioned(rules)
    predicates, classes = _unknown(PREDICATES, known), _unknown(CLASSES, known)
    p, o = F.col("p"), F.col("o")
    is_predicate = p.isin(sorted(predicates))
    is_class = (p == term_id(RDF_TYPE)) & o.isin(sorted(classes))
    used = asserted.where(is_predicate | is_class).select(F.when(is_predicate, p).otherwise(o))
    with described(asserted.sparkSession, "find what no rule acts on"):
        rows = collect_first(used.toDF("id").groupBy("id").count(), len(predicates) + len(classes))
    names = predicates | classes
    counts = {names[row["id"]]: int(row["count"]) for row in rows}
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _unknown(terms: dict[str, tuple[str, ...]], known: frozenset[str]) -> dict[int, str]:
    """Return the terms not known, by id, with their prefixed names."""
    prefixes = {iri: prefix for prefix, iri in PREFIXES.items()}
    return {
        term_id(term(namespace, name)): f"{prefixes[namespace]}:{name}"
        for namespace, names in terms.items()
        for name in names
        if term(namespace, name) not in known
    }
