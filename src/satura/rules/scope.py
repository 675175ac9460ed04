"""Which variables of a rule belong to the whole of it, and which to one `EVERY` alone.

A variable of an `EVERY` that occurs nowhere else in the rule is *local*: the condition only asks
that each member has a value for it, and no solution shows one. All others have one value.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from satura.rules.expression import variables_of
from satura.rules.model import (
    Assignment,
    BodyElement,
    Every,
    Filter,
    ListCondition,
    Negation,
    Rule,
    Variable,
    bound_by,
)

MADE: Final = re.compile(r"blank[0-9]+")
"""The names that the reader gives to the variables it makes for blank nodes and paths."""


def occurring_in(element: BodyElement) -> frozenset[Variable]:
    """Return all variables of an element, the member of an `EVERY` excepted."""
    found = bound_by(element)
    if isinstance(element, ListCondition) and isinstance(element.list, Variable):
        found |= {element.list}
    if isinstance(element, Filter | Assignment):
        found |= variables_of(element.expression)
    if isinstance(element, Negation):
        found = found.union(*map(occurring_in, element.body))
    return found


def local_variables(rule: Rule) -> frozenset[Variable]:
    """Return the variables that may differ from member to member of an `EVERY`."""
    places = Counter(v for element in (*rule.head, *rule.body) for v in occurring_in(element))
    inner = {v for e in rule.body if isinstance(e, Every) for v in bound_by(e)}
    # A list has one value, even where the patterns inside name it too.
    lists = {condition.list for condition in rule.lists}
    return frozenset(v for v in inner if places[v] == 1 and v not in lists)


def named_variables(rule: Rule) -> tuple[Variable, ...]:
    """Return the variables that tell one violation of a `false` rule from another, by name.

    Local ones are left out, and those called `blank1`, `blank2`, …, which nobody wrote.
    """
    found = (v for v in rule.variables - local_variables(rule) if not MADE.fullmatch(v.name))
    return tuple(sorted(found, key=str))
