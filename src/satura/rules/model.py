"""The rule model: rules are data, read from text, and nothing here knows how they are run.

A constant is the canonical N-Triples text of a term; a `Variable` is a variable. The same objects
feed the naive reference, the in-memory evaluator, the Spark plans and the documentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from satura.terms.ntriples import Term, Triple, is_blank

if TYPE_CHECKING:
    from satura.rules.expression import Expression


@dataclass(frozen=True, slots=True)
class Variable:
    """A rule variable, without its `?`."""

    name: str

    def __str__(self) -> str:
        return f"?{self.name}"


Slot: TypeAlias = Term | Variable


@dataclass(frozen=True, slots=True)
class Position:
    """Where something stands in a rule file, counted from 1."""

    source: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Atom:
    """A triple pattern."""

    s: Slot
    p: Slot
    o: Slot

    @property
    def slots(self) -> tuple[Slot, Slot, Slot]:
        return self.s, self.p, self.o

    @property
    def variables(self) -> frozenset[Variable]:
        return frozenset(slot for slot in self.slots if isinstance(slot, Variable))

    def __str__(self) -> str:
        return " ".join(str(slot) for slot in self.slots)


@dataclass(frozen=True, slots=True)
class Filter:
    """`FILTER expression`: keeps the solutions for which the expression is true."""

    expression: Expression
    position: Position = field(compare=False)


@dataclass(frozen=True, slots=True)
class Assignment:
    """`SET(?variable := expression)`: binds a new variable, or drops the solution on an error."""

    variable: Variable
    expression: Expression
    position: Position = field(compare=False)


@dataclass(frozen=True, slots=True)
class Negation:
    """`NOT { … }`: keeps the solutions for which the inner elements have none.

    With `data` the inner elements are matched against the given triples only (`NOT DATA`).
    """

    body: tuple[Atom | Filter, ...]
    data: bool
    position: Position = field(compare=False)

    @property
    def atoms(self) -> tuple[Atom, ...]:
        return tuple(element for element in self.body if isinstance(element, Atom))


@dataclass(frozen=True, slots=True)
class Member:
    """`SOME ?member IN ?list`: one solution per member of an RDF list."""

    member: Variable
    list: Slot
    position: Position = field(compare=False)


@dataclass(frozen=True, slots=True)
class Pair:
    """`PAIR ?first ?second IN ?list`: one solution per two places of an RDF list, in its order."""

    first: Variable
    second: Variable
    list: Slot
    position: Position = field(compare=False)


@dataclass(frozen=True, slots=True)
class Every:
    """`EVERY ?member IN ?list { … }`: the patterns hold for each member; never of an empty list.

    A variable that occurs nowhere else in the rule may have another value for each member.
    """

    member: Variable
    list: Slot
    body: tuple[Atom, ...]
    position: Position = field(compare=False)


@dataclass(frozen=True, slots=True)
class Chain:
    """`CHAIN ?list FROM ?start TO ?end`: the properties in the list lead from start to end."""

    list: Slot
    start: Slot
    end: Slot
    position: Position = field(compare=False)


ListCondition: TypeAlias = Member | Pair | Every | Chain
"""Satura's extension of SPARQL-RL: conditions over RDF lists."""

BodyElement: TypeAlias = Atom | Filter | Assignment | Negation | ListCondition


def bound_by(element: BodyElement) -> frozenset[Variable]:
    """Return the variables that an element gives a value, if they have none."""
    if isinstance(element, Atom):
        return element.variables
    if isinstance(element, Assignment):
        return frozenset({element.variable})
    if isinstance(element, Member):
        return frozenset({element.member})
    if isinstance(element, Pair):
        return frozenset({element.first, element.second})
    if isinstance(element, Every):
        inner = (atom.variables for atom in element.body)
        return frozenset[Variable]().union(*inner) - {element.member}
    if isinstance(element, Chain):
        return frozenset(s for s in (element.start, element.end) if isinstance(s, Variable))
    return frozenset()


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. A blank node in the head stands for a fresh one per solution of the body.

    `id` is short and unique in its rule set; `iri` is the full name, if the rule was given one.
    With `data` the body is matched against the given triples only (`WHERE DATA`). With `false` the
    head is empty and every solution of the body is a violation.
    """

    id: str
    head: tuple[Atom, ...]
    body: tuple[BodyElement, ...]
    position: Position = field(compare=False)
    iri: str | None = None
    data: bool = False
    false: bool = False

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The triple patterns of the body, those inside `NOT` and `EVERY` excepted."""
        return tuple(element for element in self.body if isinstance(element, Atom))

    @property
    def every_atom(self) -> tuple[Atom, ...]:
        """All triple patterns of head and body, those inside `NOT` and `EVERY` included."""
        found = list(self.head)
        for element in self.body:
            if isinstance(element, Atom):
                found.append(element)
            elif isinstance(element, Negation):
                found += element.atoms
            elif isinstance(element, Every):
                found += element.body
        return tuple(found)

    @property
    def filters(self) -> tuple[Filter, ...]:
        return tuple(element for element in self.body if isinstance(element, Filter))

    @property
    def negations(self) -> tuple[Negation, ...]:
        return tuple(element for element in self.body if isinstance(element, Negation))

    @property
    def assignments(self) -> tuple[Assignment, ...]:
        return tuple(element for element in self.body if isinstance(element, Assignment))

    @property
    def variables(self) -> frozenset[Variable]:
        """The variables the body binds: all that the head may use."""
        return frozenset[Variable]().union(*map(bound_by, self.body))

    @property
    def lists(self) -> tuple[ListCondition, ...]:
        """The conditions over RDF lists."""
        return tuple(e for e in self.body if isinstance(e, Member | Pair | Every | Chain))

    @property
    def once(self) -> bool:
        """Whether this is a run-once rule: it assigns, or makes blank nodes."""
        return bool(self.assignments) or any(
            isinstance(slot, str) and is_blank(slot) for atom in self.head for slot in atom.slots
        )

    def __str__(self) -> str:
        return f"{self.id} ({self.position})"


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules and the triples their `DATA` blocks state, imports included."""

    name: str
    rules: tuple[Rule, ...]
    data: tuple[Triple, ...] = ()
    prefixes: tuple[tuple[str, str], ...] = ()
    source: str = "<text>"

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, rule_id: str) -> Rule:
        for rule in self.rules:
            if rule.id == rule_id:
                return rule
        raise KeyError(rule_id)
