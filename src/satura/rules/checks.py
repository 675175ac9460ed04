"""Well-formedness of a rule: every variable has a value where it is used (SPARQL-RL section 4.2).

The checks look at the elements in the order they are written, as the draft does: a `FILTER` before
the pattern that binds its variable is a fault, not a puzzle for the evaluator. So is a condition
over a list that nothing before it binds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from satura.rules.expression import Expression, variables_of
from satura.rules.model import (
    Assignment,
    Atom,
    BodyElement,
    Chain,
    Every,
    Filter,
    ListCondition,
    Member,
    Pair,
    Position,
    Rule,
    Variable,
    bound_by,
)
from satura.rules.scope import occurring_in

KEYWORDS: Final = {Member: "SOME", Pair: "PAIR", Every: "EVERY", Chain: "CHAIN"}


@dataclass(frozen=True, slots=True)
class Fault:
    """One violated condition."""

    code: str
    message: str
    hint: str
    position: Position


def find_faults(rule: Rule) -> Iterator[Fault]:
    """Yield every condition of well-formedness that a rule violates."""
    yield from _sequence_faults(rule.body, frozenset())
    yield from _member_faults(rule)
    missing = {v for atom in rule.head for v in atom.variables} - rule.variables
    if missing:
        yield Fault(
            "RULE-UNSAFE-HEAD",
            f"the head of `{rule.id}` uses {_list(missing)}, which the body does not bind",
            "use the variable in a triple pattern of the body, outside `NOT`, or `SET` it",
            rule.position,
        )


def _sequence_faults(
    elements: Sequence[BodyElement], bound: frozenset[Variable]
) -> Iterator[Fault]:
    for element in elements:
        if isinstance(element, Atom):
            bound |= element.variables
        elif isinstance(element, Filter):
            yield from _unbound(element.expression, bound, "FILTER", element.position)
        elif isinstance(element, Assignment):
            yield from _unbound(element.expression, bound, "SET", element.position)
            if element.variable in bound:
                yield Fault(
                    "RULE-REASSIGNED",
                    f"`SET` gives a value to `{element.variable}`, which has one already",
                    "assign to a new variable, and compare with `FILTER` if you meant a test",
                    element.position,
                )
            bound |= {element.variable}
        elif isinstance(element, ListCondition):
            yield from _list_faults(element, bound)
            bound |= bound_by(element)
        else:
            yield from _sequence_faults(element.body, bound)


def _list_faults(element: ListCondition, bound: frozenset[Variable]) -> Iterator[Fault]:
    if isinstance(element.list, Variable) and element.list not in bound:
        keyword = KEYWORDS[type(element)]
        yield Fault(
            "RULE-UNBOUND-VARIABLE",
            f"`{keyword}` reads the list `{element.list}`, which nothing before it binds",
            f"move the `{keyword}` behind the triple pattern that binds the list",
            element.position,
        )


def _member_faults(rule: Rule) -> Iterator[Fault]:
    """Yield the members of an `EVERY` that are used outside it, where they have no value."""
    for every in rule.body:
        if not isinstance(every, Every):
            continue
        others = (element for element in (*rule.head, *rule.body) if element is not every)
        used = frozenset[Variable]().union(*map(occurring_in, others))
        if every.member in used or every.member == every.list:
            yield Fault(
                "RULE-REASSIGNED",
                f"`EVERY` goes through the members as `{every.member}`, "
                "which is used outside its patterns too",
                "use a variable of its own for the members",
                every.position,
            )


def _unbound(
    expression: Expression, bound: frozenset[Variable], keyword: str, position: Position
) -> Iterator[Fault]:
    missing = variables_of(expression) - bound
    if missing:
        yield Fault(
            "RULE-UNBOUND-VARIABLE",
            f"`{keyword}` uses {_list(missing)}, which nothing before it binds",
            f"move the `{keyword}` behind the triple pattern that binds the variable",
            position,
        )


def _list(variables: Iterable[Variable]) -> str:
    return ", ".join(f"`{variable}`" for variable in sorted(variables, key=str))
