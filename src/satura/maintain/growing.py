"""Schema that grows where rules join: which instances of rules are new, and what they look at.

A rule that joins has an instance for every solution of its schema. When schema is added, those
there were stay, and only the new ones look at stored facts: by the constants they have, as every
join does. Schema that goes takes instances away; that is not followed here.

Invariant: `Grown` has every instance that the schema has after a change and had not before it, and
every stored conclusion of joins of which more is said. What is not stored, such as facts about
literals, is not followed: `check_literals` refuses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from satura.closure.consequences import Table
from satura.closure.memory import Joins
from satura.closure.relevance import Relevance
from satura.closure.shapes import Shape
from satura.closure.specialize import O
from satura.maintain.arrays import conclude, differences
from satura.maintain.context import Context, NotIncrementalError
from satura.maintain.dred import Grown
from satura.maintain.lazy import MAX_FACTS, TooMuchError
from satura.maintain.schemas import as_facts, stored_for
from satura.maintain.violated import false_shapes
from satura.store.rows import Triples
from satura.store.state import distinct

Instance = tuple[object, ...]


def find_grown(context: Context, falses: Sequence[Shape]) -> Grown | None:
    """Return what a change adds to the rules, None if nothing; `falses` are those after it.

    Raise `NotIncrementalError` if it takes anything away, or says anything new of violations.
    """
    if context.new is context.old:
        return None
    old, new = context.old.closed, context.new.closed
    plus, minus = differences(new.consequences.derives, old.consequences.derives)
    known = set(_instances(old.shapes))
    if minus or not known <= set(_instances(new.shapes)) or not set(old.schema) <= set(new.schema):
        raise NotIncrementalError("the schema shrinks and rules join")
    if context.equality:
        raise NotIncrementalError("the schema changes and terms are the same")
    if set(_instances(falses)) != set(_instances(false_shapes(old, context.texts))):
        raise NotIncrementalError("the schema changes what violates it")
    feeds = new.consequences.feeds
    if feeds and not as_facts(conclude(_joined(context, feeds), feeds)) <= set(new.schema):
        raise NotIncrementalError("rules that join conclude schema")
    fresh = [_without(shape, known) for shape in new.shapes]
    joins = Joins([shape for shape in fresh if shape.rows], context.texts)
    return Grown(joins, plus, as_facts(_joined(context, plus)))


def check_literals(
    context: Context, grown: Grown, relevance: Relevance, falses: Sequence[Shape]
) -> None:
    """Refuse what the new rules would see in facts about literals, which no store holds.

    `falses` are the rules about literals that conclude `false`.
    """
    closed = context.new.closed
    table = closed.consequences.derives
    for root in closed.roots:
        if any(f[0] < 0 and relevance.may_be(f) for f in (root, *table.of(root))):
            raise NotIncrementalError("a literal is a subject in a join")
    turned = _turned_by_joins(closed.shapes)
    if _has_literals(context, turned):
        raise NotIncrementalError("a literal is a subject in a join")
    if falses and _has_literals(context, _turned_by_table(grown.table)):
        raise NotIncrementalError("the schema changes what is said of literals")


def _turned_by_joins(shapes: Iterable[Shape]) -> set[int] | None:
    """Return the predicates whose objects joins make subjects; None stands for every predicate."""
    found: set[int] = set()
    for shape in shapes:
        subjects = {head[0] for head in shape.head} - {s for s, _, _ in shape.body}
        for _, p, o in shape.body:
            if o in subjects:
                values = shape.values(p)
                if values is None:
                    return None
                found |= values
    return found


def _turned_by_table(table: Table) -> set[int] | None:
    """Return the predicates whose objects a table makes subjects; None stands for every one."""
    if any(form[0] == O for form in table.any):
        return None
    found = {
        p
        for rows in (table.predicate, table.loop)
        for p, forms in rows.items()
        if any(form[0] == O for form in forms)
    }
    for keyed in (table.object, table.subject):
        found |= {p for (p, _), forms in keyed.items() if any(form[0] == O for form in forms)}
    return found


def _has_literals(context: Context, predicates: set[int] | None) -> bool:
    """Say whether some predicates have literals as objects, once a change is made."""
    if predicates is not None and not predicates:
        return False
    state, added = context.state, context.delta.added
    new = added[added[:, 2] < 0, 1]
    is_new = len(new) > 0 and (predicates is None or not predicates.isdisjoint(new.tolist()))
    return bool(
        is_new
        or len(state.asserted_literals(predicates))
        or len(state.derived_literals(predicates))
    )


def _instances(shapes: Iterable[Shape]) -> Iterable[Instance]:
    return (_instance(shape, row) for shape in shapes for row in shape.rows)


def _instance(shape: Shape, row: tuple[int, ...]) -> Instance:
    rule, *values = row
    return shape.rules[rule], shape.body, shape.head, shape.irreflexive, tuple(values)


def _without(shape: Shape, known: set[Instance]) -> Shape:
    rows = {row: times for row, times in shape.rows.items() if _instance(shape, row) not in known}
    return replace(shape, rows=rows)


def _joined(context: Context, table: Table) -> Triples:
    """Return the stored facts that joins conclude and that a table says anything about."""
    found = distinct(stored_for(context.state.derived_triples)(table))
    if len(found) > MAX_FACTS:
        raise TooMuchError(f"more than {MAX_FACTS} stored facts take part")
    rows = context.state.derived(found)
    return found[np.flatnonzero(rows.found & rows.joined)]
