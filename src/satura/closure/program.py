"""A rule set made ready to run: constants as ids, atoms told apart into schema and instance.

Which atoms are *schema* follows from their vocabulary alone: a constant predicate such as
`rdfs:subClassOf`, or `rdf:type` with a constant class such as `rdfs:Datatype`. Schema is small and
lives on the driver; everything else is *instance* and lives in Spark. A rule is then

- a *schema rule* (no instance atom): run on the driver,
- a *linear rule* (one instance atom): becomes rows of the consequence table,
- a *term rule*: says something about every term of a certain form, wherever it occurs.

Invariant: every rule of the set is one of these, or `compile_rules` refuses it by name and line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from satura.errors import UnsupportedError
from satura.rules.expression import Expression, variables_of
from satura.rules.model import Assignment, Atom, Filter, Negation, Rule, RuleSet, Variable
from satura.terms.ids import term_id
from satura.terms.ntriples import Term
from satura.vocab import OWL, RDF, RDF_TYPE, RDFS, term

Slot: TypeAlias = int | str
"""An id, or the name of a variable."""
Pattern: TypeAlias = tuple[Slot, Slot, Slot]
Fact: TypeAlias = tuple[int, int, int]

TYPE: Final = term_id(RDF_TYPE)

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
            "onDatatype", "withRestrictions",
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
            "IrreflexiveProperty", "AllDisjointClasses", "AllDisjointProperties", "DataRange",
            "DeprecatedClass", "DeprecatedProperty",
        )
    ]
)  # fmt: skip
"""Classes of the vocabulary itself: `?x a C` is schema when a rule reads it."""


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule over ids: what it reads of the schema, of the instances, and what it concludes."""

    id: str
    head: tuple[Pattern, ...]
    schema: tuple[Pattern, ...]
    instance: tuple[Pattern, ...]
    rule: Rule = field(compare=False)


@dataclass(frozen=True, slots=True)
class TermRule:
    """A rule about every term that satisfies `condition`, in whatever position it occurs."""

    id: str
    variable: Variable
    condition: tuple[Expression, ...]
    head: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A rule set ready to run; `names` gives the text of every constant in it."""

    name: str
    schema_rules: tuple[CompiledRule, ...]
    linear_rules: tuple[CompiledRule, ...]
    term_rules: tuple[TermRule, ...]
    data: frozenset[Fact]
    schema_predicates: frozenset[int]
    schema_classes: frozenset[int]
    names: Mapping[int, Term]

    def is_schema(self, pattern: Pattern) -> bool:
        """Say whether a fact (or a pattern with enough constants) belongs to the schema."""
        return pattern[1] in self.schema_predicates or (
            pattern[1] == TYPE and pattern[2] in self.schema_classes
        )


def compile_rules(rules: RuleSet) -> Program:
    """Turn a rule set into a program, or refuse what cannot be run yet, by name and line."""
    term_rules, others = _take_term_rules(rules.rules)
    compiled = [_compile(rule) for rule in others]
    schema = [p for rule in compiled for p in rule.schema]
    names = {term_id(text): text for triple in rules.data for text in triple} | {
        term_id(slot): slot
        for rule in rules.rules
        for atom in (*rule.atoms, *rule.head)
        for slot in atom.slots
        if isinstance(slot, str)
    }
    names[TYPE] = RDF_TYPE
    return Program(
        name=rules.name,
        schema_rules=tuple(rule for rule in compiled if not rule.instance),
        linear_rules=tuple(rule for rule in compiled if rule.instance),
        term_rules=tuple(term_rules),
        data=frozenset((term_id(s), term_id(p), term_id(o)) for s, p, o in rules.data),
        schema_predicates=frozenset(p for _, p, _ in schema if isinstance(p, int) and p != TYPE),
        schema_classes=frozenset(o for _, p, o in schema if p == TYPE and isinstance(o, int)),
        names=names,
    )


def is_schema_atom(atom: Atom) -> bool:
    """Say whether a rule's atom reads schema."""
    if atom.p == RDF_TYPE:
        return atom.o in SCHEMA_CLASSES
    return atom.p in SCHEMA_PREDICATES


def _compile(rule: Rule) -> CompiledRule:
    unsupported: list[tuple[Sequence[Filter | Negation | Assignment], str]] = [
        (rule.filters, "`FILTER`"),
        (rule.negations, "`NOT`"),
        (rule.assignments, "`SET`"),
    ]
    for elements, construct in unsupported:
        if elements:
            raise _refuse(
                rule, f"{construct} is not run on Spark yet", line=elements[0].position.line
            )
    if rule.once:
        raise _refuse(rule, "a blank node in a head is not run on Spark yet")
    if rule.data:
        raise _refuse(rule, "`WHERE DATA` is not run on Spark yet")
    schema = tuple(_pattern(atom) for atom in rule.atoms if is_schema_atom(atom))
    instance = tuple(_pattern(atom) for atom in rule.atoms if not is_schema_atom(atom))
    if len(instance) > 1:
        raise _refuse(
            rule, f"it joins {len(instance)} instance patterns, which is not run on Spark yet"
        )
    if not rule.atoms:
        raise _refuse(rule, "a rule without patterns is not run on Spark yet; use `DATA`")
    return CompiledRule(
        rule.id, tuple(_pattern(atom) for atom in rule.head), schema, instance, rule
    )


def _pattern(atom: Atom) -> Pattern:
    s, p, o = (slot.name if isinstance(slot, Variable) else term_id(slot) for slot in atom.slots)
    return s, p, o


def _refuse(rule: Rule, why: str, *, line: int | None = None) -> UnsupportedError:
    return UnsupportedError(
        "RULE-UNSUPPORTED", f"rule `{rule.id}`: {why}",
        "`satura rules lint` accepts it; leave the rule out to materialize with the others",
        source=rule.position.source, line=line or rule.position.line, column=rule.position.column,
    )  # fmt: skip


def _take_term_rules(rules: Iterable[Rule]) -> tuple[list[TermRule], list[Rule]]:
    """Take out the triples of rules that filter the subject, the predicate and the object alike.

    One such rule alone would need to know the position of a term; the three together do not, and
    the dictionary of all terms answers them.
    """
    groups: dict[object, dict[str, tuple[Rule, TermRule]]] = {}
    others: list[Rule] = []
    for rule in rules:
        found = _as_term_rule(rule)
        if found is None:
            others.append(rule)
        else:
            position, shape, term_rule = found
            groups.setdefault(shape, {})[position] = (rule, term_rule)
    taken: list[TermRule] = []
    for group in groups.values():
        if set(group) == {"s", "p", "o"}:
            taken.append(group["s"][1])
        else:
            others += [rule for rule, _ in group.values()]
    return taken, others


def _as_term_rule(rule: Rule) -> tuple[str, object, TermRule] | None:
    if len(rule.body) != 1 + len(rule.filters) or len(rule.atoms) != 1 or not rule.filters:
        return None
    atom = rule.atoms[0]
    read = frozenset[Variable]().union(*(variables_of(f.expression) for f in rule.filters))
    if len(atom.variables) != 3 or len(read) != 1:
        return None
    (variable,) = read
    if any(not head.variables <= read for head in rule.head):
        return None
    position = "spo"[atom.slots.index(variable)]
    # The same rule for another position differs only in the name of its variable.
    shape = (
        tuple(str(f.expression).replace(str(variable), "?") for f in rule.filters),
        tuple(str(head).replace(str(variable), "?") for head in rule.head),
    )
    head = tuple(_pattern(h) for h in rule.head)
    condition = tuple(f.expression for f in rule.filters)
    return position, shape, TermRule(rule.id, variable, condition, head)
