"""Rules about the literals there are: which datatypes they belong to, which have the same value.

Such rules ask nothing of the triples a literal stands in, so the dictionary answers them. Only
conclusions that another rule can use are worked out: that `"a"` is a string is of no interest
unless a class or a restriction says something about strings, for a triple with a literal as its
subject is never part of a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import permutations

from satura.closure.program import Fact, LiteralRule, Pattern
from satura.closure.saturate import Closed
from satura.closure.schema import Binding, fill, ground, solutions
from satura.closure.texts import Texts
from satura.rules.evaluate import Context, is_true
from satura.rules.model import Filter, Variable
from satura.terms.datatypes import value_of
from satura.terms.ntriples import Term

Wanted = Callable[[Pattern], bool]


def literal_facts(
    closed: Closed, literals: Mapping[int, Term], texts: Texts, wanted: Wanted | None = None
) -> Iterator[Fact]:
    """Yield what the rules about literals conclude of the given ones."""
    for rule in closed.program.literal_rules:
        if rule.rule.rule.false:
            continue
        for binding in solutions(rule.rule, closed.schema, texts):
            heads = [fill(head, binding) for head in rule.rule.head]
            if wanted is not None:
                heads = [head for head in heads if wanted(head)]
            if not heads:
                continue
            for found in solve_literals(rule, binding, literals, texts):
                yield from (ground(head, found) for head in heads)


def solve_literals(
    rule: LiteralRule, binding: Binding, literals: Mapping[int, Term], texts: Texts
) -> Iterator[Binding]:
    """Yield the bindings of a rule's literals that pass its filters."""
    filters = [x.expression for x in rule.rule.conditions if isinstance(x, Filter)]
    known = texts.of(set(binding.values()))
    given = {Variable(name): known[value] for name, value in binding.items()}
    context = Context()
    for chosen in _candidates(len(rule.variables), literals):
        solution = given | {
            Variable(name): literals[key] for name, key in zip(rule.variables, chosen, strict=True)
        }
        if all(is_true(expression, solution, context) for expression in filters):
            yield binding | dict(zip(rule.variables, chosen, strict=True))


def _candidates(count: int, literals: Mapping[int, Term]) -> Iterable[tuple[int, ...]]:
    if count == 1:
        return ((key,) for key in literals)
    # Two literals are of interest to each other only if they have the same value.
    groups: dict[object, list[int]] = {}
    for key, text in literals.items():
        groups.setdefault(value_of(text), []).append(key)
    return (pair for group in groups.values() for pair in permutations(group, 2))
