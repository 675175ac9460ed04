"""Rules about the literals there are: which datatypes they belong to, which have the same value.

Such rules ask nothing of the triples a literal stands in, so the dictionary answers them. Only
conclusions that another rule can use are worked out: that `"a"` is a string is of no interest
unless a class or a restriction says something about strings, for a triple with a literal as its
subject is never part of a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import permutations

from satura.closure.equality import Equality
from satura.closure.program import Fact, LiteralRule, Pattern
from satura.closure.saturate import Closed
from satura.closure.schema import Binding, fill, ground, solutions
from satura.closure.specialize import S
from satura.closure.texts import Texts
from satura.rules.evaluate import Context, is_true
from satura.rules.model import Filter, Variable
from satura.terms.datatypes import value_of
from satura.terms.ntriples import Term

Wanted = Callable[[Pattern], bool]


def literal_facts(closed: Closed, literals: Mapping[int, Term], texts: Texts) -> Iterator[Fact]:
    """Yield what the rules about literals conclude of the given ones."""
    for rule in closed.program.literal_rules:
        if not rule.rule.rule.false:
            for binding in solutions(rule.rule, closed.schema, texts):
                for found in solve_literals(rule, binding, literals, texts):
                    yield from (ground(head, found) for head in rule.rule.head)


def said_of_others(closed: Closed, equality: Equality, texts: Texts) -> frozenset[Fact]:
    """Return what rules about literals say of those that are the same as something else.

    Of a literal nothing can be said in RDF; of what it is the same as, it can.
    """
    mixed = {
        term
        for members in equality.members.values()
        if any(member >= 0 for member in members)
        for term in members
        if term < 0
    }
    if not mixed or not closed.program.literal_rules:
        return frozenset()
    known = texts.of(mixed)
    return frozenset(literal_facts(closed, {term: known[term] for term in mixed}, texts))


def wanted_bindings(
    rule: LiteralRule, closed: Closed, texts: Texts, takes_part: Wanted
) -> Iterator[Binding]:
    """Yield the solutions of a rule's schema for which some other rule can use a conclusion."""
    derives, feeds = closed.consequences.derives, closed.consequences.feeds
    for binding in solutions(rule.rule, closed.schema, texts):
        for head in rule.rule.head:
            s, p, o = fill(head, binding)
            following = [*derives.any, *feeds.any]
            for table in (derives, feeds):
                if isinstance(p, int):
                    following += table.predicate.get(p, ())
                if isinstance(p, int) and isinstance(o, int):
                    following += table.object.get((p, o), ())
            # What follows about the literal itself is no use unless it takes part in a join.
            about_others = (form for form in following if isinstance(s, int) or form[0] != S)
            if takes_part((s, p, o)) or any(map(takes_part, following)) or any(about_others):
                yield binding
                break


def equal_literals(rule: LiteralRule, literals: Mapping[int, Term]) -> list[Fact]:
    """Return what a rule about two literals concludes of the given ones."""
    texts = Texts(lambda _: {})
    return [
        ground(head, found)
        for found in solve_literals(rule, {}, literals, texts)
        for head in rule.rule.head
    ]


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
