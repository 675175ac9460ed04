"""Rules specialized to a closed schema: what is left reads instances only.

Every solution of a rule's schema atoms, lists and tests is put into the rest of the rule. With one
pattern left it is *linear* and goes to the consequence table; with more, or with conditions that
look inside terms, it is joined. Joined rules of the same build share one `Shape`: constants become
parameters, so that seven restrictions are one join with a table of seven rows, not seven joins.

Invariant: linear forms and shapes together fire exactly when the rules of the program do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Final

from satura.closure.program import CompiledRule, Pattern, Slot
from satura.closure.schema import Binding, Relations, fill, solutions
from satura.closure.shapes import Shape, Shapes
from satura.closure.texts import Texts
from satura.errors import LimitError

S: Final = "S"
P: Final = "P"
O: Final = "O"  # noqa: E741

MAX_LISTS: Final = 10_000
"""Ways to read one list; a well-formed list has one."""

Form = Pattern
Head = tuple[Slot, Slot, Slot, str]
"""A form, and the rule that concludes it."""


@dataclass(slots=True)
class LinearForms:
    """Linear rules without their schema atoms, by what their pattern fixes."""

    any: list[Head] = field(default_factory=list)
    predicate: dict[int, list[Head]] = field(default_factory=dict)
    object: dict[tuple[int, int], list[Head]] = field(default_factory=dict)
    subject: dict[tuple[int, int], list[Head]] = field(default_factory=dict)
    loop: dict[int, list[Head]] = field(default_factory=dict)

    def predicates(self) -> set[int]:
        """Return the predicates that some pattern fixes."""
        keys = {p for p, _ in self.object} | {p for p, _ in self.subject}
        return keys | set(self.predicate) | set(self.loop)

    def target(self, pattern: Pattern) -> list[Head] | None:
        """Return the list that a pattern's conclusions go to, or None if there is none for it."""
        s, p, o = pattern
        free_s, free_o = isinstance(s, str), isinstance(o, str)
        if isinstance(p, int):
            if free_s and free_o:
                return (self.loop if s == o else self.predicate).setdefault(p, [])
            if free_s and isinstance(o, int):
                return self.object.setdefault((p, o), [])
            if free_o and isinstance(s, int):
                return self.subject.setdefault((p, s), [])
        elif free_s and free_o and len({s, p, o}) == 3:
            return self.any
        return None


@dataclass(slots=True)
class Specialized:
    """What a set of rules is under one schema."""

    linear: LinearForms
    shapes: list[Shape]


def specialize(
    rules: Iterable[CompiledRule], schema: Relations, texts: Texts, *, linear: bool = True
) -> Specialized:
    """Put every solution of the schema into the rules. Without `linear`, all rules are joined."""
    forms = LinearForms()
    shapes = Shapes()
    for rule in rules:
        if linear and len(rule.instance) == 1 and not rule.loops and not rule.conditions:
            _specialize_linear(rule, schema, texts, forms, shapes)
            continue
        named = bool(rule.conditions)
        for binding, patterns in instances(rule, schema, texts):
            body = [fill(pattern, binding) for pattern in patterns]
            target = forms.target(body[0]) if linear and len(body) == 1 and not named else None
            if target is not None:
                target.extend(_heads(body[0], rule, binding))
            elif named:
                shapes.add_named(rule, patterns, binding)
            else:
                shapes.add(rule, body, [fill(head, binding) for head in rule.head])
    return Specialized(forms, shapes.done())


def named_shapes(rules: Iterable[CompiledRule], schema: Relations, texts: Texts) -> list[Shape]:
    """Return the shapes of rules whose variables keep their names, as witnesses need."""
    shapes = Shapes()
    for rule in rules:
        for binding, body in instances(rule, schema, texts):
            shapes.add_named(rule, body, binding)
    return shapes.done()


def instances(
    rule: CompiledRule, schema: Relations, texts: Texts
) -> Iterator[tuple[Binding, list[Pattern]]]:
    """Yield each solution of a rule's schema, with the patterns to fill in, lists unrolled."""
    for binding in solutions(rule, schema, texts):
        choices = []
        for loop in rule.loops:
            head = binding[loop.sequence] if isinstance(loop.sequence, str) else loop.sequence
            choices.append(_choices(schema, head))
        for chosen in product(*choices):
            body = list(rule.instance)
            for number, (loop, members) in enumerate(zip(rule.loops, chosen, strict=True)):
                body += loop.unroll(members, number)
            yield binding, body


def _choices(schema: Relations, head: int) -> list[tuple[int, ...]]:
    """Return the lists that begin at a cell and are not empty, in the usual sense of a list."""
    everything = (members for places in schema.lists(head) for members in product(*places))
    found = list(islice((members for members in everything if members), MAX_LISTS + 1))
    if len(found) > MAX_LISTS:
        raise LimitError(
            "LIMIT-LISTS", f"one RDF list can be read in more than {MAX_LISTS} ways",
            "look for cells with several `rdf:first` or `rdf:rest`",
        )  # fmt: skip
    return list(dict.fromkeys(found))


def _heads(pattern: Pattern, rule: CompiledRule, binding: Binding) -> Iterator[Head]:
    places: dict[Slot, Slot] = {
        slot: place
        for slot, place in zip(reversed(pattern), (O, P, S), strict=True)
        if isinstance(slot, str)
    }
    for head in rule.head:
        s, p, o = (places.get(slot, slot) for slot in fill(head, binding))
        yield s, p, o, rule.id


def _specialize_linear(
    rule: CompiledRule, schema: Relations, texts: Texts, out: LinearForms, shapes: Shapes
) -> None:
    """Specialize a rule with one instance pattern.

    Which slots stay variables is the same for all solutions of a rule, so it is worked out once;
    a hierarchy has millions of solutions.
    """
    names = sorted(
        {slot for atom in rule.schema for slot in atom if isinstance(slot, str)}
        | {name for condition in rule.lists for name in condition.names}
    )
    pattern = rule.instance[0]
    free = {
        slot: place
        for slot, place in zip(reversed(pattern), (O, P, S), strict=True)
        if isinstance(slot, str) and slot not in names
    }
    key = _slots(pattern, names, {name: name for name in free})
    heads = [_slots(head, names, free) for head in rule.head]
    for values in _values(rule, schema, texts, names):
        target = out.target(key(values))
        if target is not None:
            target.extend([(*head(values), rule.id) for head in heads])
        else:
            binding = dict(zip(names, values, strict=True))
            shapes.add(rule, [key(values)], [fill(head, binding) for head in rule.head])


def _values(
    rule: CompiledRule, schema: Relations, texts: Texts, names: Sequence[str]
) -> Iterable[tuple[int, ...]]:
    """Return the values of `names` in every solution of the rule's schema."""
    if len(rule.schema) == 1 and not rule.lists and not rule.tests:
        s, p, o = rule.schema[0]
        if isinstance(s, str) and isinstance(p, int) and isinstance(o, str) and s != o:
            pairs = schema.pairs.get(p, ())
            return pairs if list(names) == [s, o] else ((b, a) for a, b in pairs)
    found = solutions(rule, schema, texts)
    return (tuple(binding[name] for name in names) for binding in found)


def _slots(
    pattern: Pattern, names: Sequence[str], places: Mapping[str, str]
) -> Callable[[tuple[int, ...]], Pattern]:
    """Return the function that fills a pattern: solved variables by value, others by place."""
    (x, i), (y, j), (z, k) = (
        (slot, None)
        if isinstance(slot, int)
        else (slot, names.index(slot))
        if slot in names
        else (places[slot], None)
        for slot in pattern
    )

    def fill_in(values: tuple[int, ...]) -> Pattern:
        return (
            x if i is None else values[i],
            y if j is None else values[j],
            z if k is None else values[k],
        )

    return fill_in
