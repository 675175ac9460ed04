"""A rule set made ready to run: what its rules read of the schema, of lists, of the instances.

Which atoms are *schema* follows from their vocabulary alone: a constant predicate such as
`rdfs:subClassOf`, or `rdf:type` with a constant class such as `rdfs:Datatype`, and whatever leads
to a list that a rule looks into. Schema is small and lives on the driver; everything else is
*instance* and lives in Spark. Once the schema is known, a rule without instance atoms has been
run, one with a single instance atom becomes rows of the consequence table, and one with more is
joined in rounds.

Here are only the data; `compiling` makes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from satura.rules.expression import Expression
from satura.rules.model import Assignment, Filter, Negation, Rule, Variable
from satura.terms.ids import term_id
from satura.terms.ntriples import Term
from satura.vocab import OWL, OWL_SAME_AS, RDF, RDF_TYPE, RDFS, term

Slot: TypeAlias = int | str
"""An id, or the name of a variable."""
Pattern: TypeAlias = tuple[Slot, Slot, Slot]
Fact: TypeAlias = tuple[int, int, int]

PLACES: Final = ("s", "p", "o")
"""The columns of facts in frames."""

TYPE: Final = term_id(RDF_TYPE)
SAME_AS: Final = term_id(OWL_SAME_AS)
FIRST: Final = term_id(term(RDF, "first"))
REST: Final = term_id(term(RDF, "rest"))
NIL: Final = term_id(term(RDF, "nil"))

SCHEMA_PREDICATES: Final = frozenset(
    [term(RDFS, name) for name in ("subClassOf", "subPropertyOf", "domain", "range")]
    + [
        term(OWL, name)
        for name in (
            "equivalentClass", "equivalentProperty", "inverseOf", "disjointWith",
            "propertyDisjointWith", "onProperty", "onProperties", "hasValue", "someValuesFrom",
            "allValuesFrom", "cardinality", "maxCardinality", "minCardinality",
            "qualifiedCardinality", "maxQualifiedCardinality", "minQualifiedCardinality",
            "onClass", "onDataRange", "intersectionOf", "unionOf", "complementOf", "oneOf",
            "hasKey", "propertyChainAxiom", "hasSelf", "datatypeComplementOf", "disjointUnionOf",
            "onDatatype", "withRestrictions", "members", "distinctMembers", "sourceIndividual",
            "assertionProperty", "targetIndividual", "targetValue",
        )
    ]
)  # fmt: skip
"""Predicates whose triples are schema when a rule reads them."""

SCHEMA_CLASSES: Final = frozenset(
    [term(RDF, name) for name in ("Property", "List")]
    + [term(RDFS, name) for name in ("Class", "Datatype", "ContainerMembershipProperty")]
    + [
        term(OWL, name)
        for name in (
            "Class", "Restriction", "ObjectProperty", "DatatypeProperty", "AnnotationProperty",
            "OntologyProperty", "FunctionalProperty", "InverseFunctionalProperty",
            "TransitiveProperty", "SymmetricProperty", "AsymmetricProperty", "ReflexiveProperty",
            "IrreflexiveProperty", "AllDisjointClasses", "AllDisjointProperties", "AllDifferent",
            "NegativePropertyAssertion", "DataRange", "DeprecatedClass", "DeprecatedProperty",
        )
    ]
)  # fmt: skip
"""Classes of the vocabulary itself: `?x a C` is schema when a rule reads it."""


@dataclass(frozen=True, slots=True)
class FromList:
    """One or two members of a list, whose names are bound: `SOME` and `PAIR`."""

    names: tuple[str, ...]
    sequence: Slot


@dataclass(frozen=True, slots=True)
class ForEach:
    """Patterns that hold for every member of a list; `own` variables differ from member to member.

    `CHAIN` is one too: its patterns, one per member, share the variable in between.
    """

    sequence: Slot
    member: str
    body: tuple[Pattern, ...]
    own: frozenset[str]

    def unroll(self, members: tuple[int, ...], number: int) -> list[Pattern]:
        """Return the patterns for the members of one list; `number` keeps `own` names apart."""

        def slot(value: Slot, i: int) -> Slot:
            if value == self.member:
                return members[i]
            return f"{value}·{number}·{i}" if value in self.own else value

        return [
            (slot(s, i), slot(p, i), slot(o, i))
            for i in range(len(members))
            for s, p, o in self.body
        ]


@dataclass(frozen=True, slots=True)
class Along:
    """Properties of a list that lead from one term to another: `CHAIN`."""

    sequence: Slot
    start: Slot
    end: Slot

    def unroll(self, members: tuple[int, ...], number: int) -> list[Pattern]:
        """Return one pattern per member, each starting where the last ended."""
        stops = [self.start, *(f"·{number}·{i}" for i in range(1, len(members))), self.end]
        return [(stops[i], p, stops[i + 1]) for i, p in enumerate(members)]


Condition: TypeAlias = Filter | Assignment | Negation


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule over ids, its body sorted by where it is answered.

    `schema` and `lists` are answered on the driver, and so are `tests`, filters over what those
    bind. `instance` and `loops` (unrolled once the lists are known) are matched with the data,
    `conditions` are tried on the solutions. An `irreflexive` rule concludes nothing of a term and
    itself.
    """

    id: str
    head: tuple[Pattern, ...]
    schema: tuple[Pattern, ...]
    instance: tuple[Pattern, ...]
    rule: Rule = field(compare=False)
    lists: tuple[FromList, ...] = ()
    loops: tuple[ForEach | Along, ...] = ()
    tests: tuple[Filter, ...] = ()
    conditions: tuple[Condition, ...] = ()
    irreflexive: bool = False

    @property
    def is_schema(self) -> bool:
        """Whether the driver alone can run it."""
        return not (self.instance or self.loops or self.conditions)


@dataclass(frozen=True, slots=True)
class TermRule:
    """A rule about every term that satisfies `condition`, in whatever position it occurs."""

    id: str
    variable: Variable
    condition: tuple[Expression, ...]
    head: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class LiteralRule:
    """A rule about every literal (or two of them) of the data, and perhaps some schema.

    `variables` are those that stand for literals.
    """

    id: str
    variables: tuple[str, ...]
    rule: CompiledRule


@dataclass(frozen=True, slots=True)
class Stratum:
    """Rules that are run together: `once` first and once, then `general` to the fixpoint."""

    once: tuple[CompiledRule, ...]
    general: tuple[CompiledRule, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A rule set ready to run; `names` gives the text of every constant in it.

    `preliminary` rules read what is given only. With `equality` the rules of `owl:sameAs` have
    been taken out, and whoever runs the program works with representatives. A `plain` program has
    no schema: all its rules are in `strata` and are joined, however few atoms they have.
    """

    name: str
    schema_rules: tuple[CompiledRule, ...]
    strata: tuple[Stratum, ...]
    preliminary: tuple[CompiledRule, ...]
    false_rules: tuple[CompiledRule, ...]
    term_rules: tuple[TermRule, ...]
    literal_rules: tuple[LiteralRule, ...]
    data: frozenset[Fact]
    schema_predicates: frozenset[int]
    schema_classes: frozenset[int]
    names: Mapping[int, Term]
    equality: bool = False
    plain: bool = False
    reads_lists: bool = False

    @property
    def instance_rules(self) -> tuple[CompiledRule, ...]:
        """The rules of the first stratum that go to the fixpoint."""
        return self.strata[0].general if self.strata else ()

    def instances(self, conclusions: Mapping[str, int]) -> dict[str, int]:
        """Return how many instances of each rule have made so many conclusions."""
        every = [rule for x in self.strata for rule in (*x.once, *x.general)]
        heads = {rule.id: len(rule.head) for rule in (*self.preliminary, *every)}
        return {rule: times // heads.get(rule, 1) for rule, times in conclusions.items()}

    def is_schema(self, pattern: Pattern) -> bool:
        """Say whether a fact (or a pattern with enough constants) belongs to the schema."""
        return pattern[1] in self.schema_predicates or (
            pattern[1] == TYPE and pattern[2] in self.schema_classes
        )

    def rewritten(self, representative: Mapping[int, int]) -> Program:
        """Return the program with every constant replaced by its representative.

        Nothing changes unless somebody equates terms of the vocabulary itself.
        """
        if not any(constant in representative for constant in self.names):
            return self

        def slot(value: Slot) -> Slot:
            return representative.get(value, value) if isinstance(value, int) else value

        def patterns(many: tuple[Pattern, ...]) -> tuple[Pattern, ...]:
            return tuple((slot(s), slot(p), slot(o)) for s, p, o in many)

        def rule(one: CompiledRule) -> CompiledRule:
            return replace(
                one,
                head=patterns(one.head),
                schema=patterns(one.schema),
                instance=patterns(one.instance),
                loops=tuple(
                    replace(x, body=patterns(x.body)) if isinstance(x, ForEach) else x
                    for x in one.loops
                ),
            )

        def rules(many: tuple[CompiledRule, ...]) -> tuple[CompiledRule, ...]:
            return tuple(rule(one) for one in many)

        def ids(many: frozenset[int]) -> frozenset[int]:
            return frozenset(representative.get(value, value) for value in many)

        return replace(
            self,
            schema_rules=rules(self.schema_rules),
            strata=tuple(Stratum(rules(x.once), rules(x.general)) for x in self.strata),
            preliminary=rules(self.preliminary),
            false_rules=rules(self.false_rules),
            term_rules=tuple(replace(x, head=patterns(x.head)) for x in self.term_rules),
            literal_rules=tuple(replace(x, rule=rule(x.rule)) for x in self.literal_rules),
            data=frozenset(ground(fact, representative) for fact in self.data),
            schema_predicates=ids(self.schema_predicates),
            schema_classes=ids(self.schema_classes),
        )


def ground(fact: Fact, representative: Mapping[int, int]) -> Fact:
    """Return a fact with every term replaced by its representative."""
    s, p, o = fact
    return representative.get(s, s), representative.get(p, p), representative.get(o, o)
