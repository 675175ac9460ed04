"""Maintaining where rules join: when delete-and-rederive may run, and what it starts from.

What the driver does not follow is refused with the reason, and the store is closed again: schema
that goes, terms that become the same or cease to be, literals in the place of subjects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from satura.closure.consequences import Table
from satura.closure.literals import wanted_bindings
from satura.closure.program import Fact, Pattern
from satura.closure.relevance import Relevance, find_relevance
from satura.closure.shapes import Shape, fit_memory
from satura.closure.specialize import O
from satura.closure.violations import as_row, is_about_literals
from satura.maintain.context import Context, NotIncrementalError, Result, Violation
from satura.maintain.dred import EqualityError, Firing, Row, Run, Touched, settle
from satura.maintain.growing import check_literals, find_grown
from satura.maintain.lazy import Key, LazyFacts, TooMuchError, stored_facts
from satura.maintain.linear import support_changes
from satura.maintain.model import Rows
from satura.maintain.schemas import as_facts, stored_for
from satura.maintain.violated import false_shapes, ill_typed, stored_violations
from satura.store.rows import as_triples
from satura.terms.datatypes import value_key


def maintain_by_dred(context: Context) -> Result:
    """Maintain a store by deletion and rederivation, or raise `NotIncrementalError`."""
    try:
        return _maintain(context)
    except (TooMuchError, EqualityError) as error:
        raise NotIncrementalError(str(error)) from error


def _maintain(context: Context) -> Result:
    program, state, delta = context.program, context.state, context.delta
    if program.plain or program.preliminary:
        raise NotIncrementalError("rules have conditions that Spark tries")
    same = context.equality.representative.keys() | context.equality.members.keys()
    if same & program.names.keys():
        raise NotIncrementalError("terms of the rules are the same as others")
    closed = context.new.closed
    every = false_shapes(closed, context.texts)
    grown = find_grown(context, every)
    about_literals = [shape for shape in every if is_about_literals(shape)]
    falses = [shape for shape in every if not is_about_literals(shape)]
    if not fit_memory([*closed.shapes, *every]):
        raise NotIncrementalError("rules have conditions that Spark tries")
    relevance = find_relevance([*closed.shapes, *falses])
    table = closed.consequences.derives
    turned = _predicates_turned(table, relevance, closed.shapes)
    _check_literals(context, relevance, turned)
    _check_predicates(context, [*closed.shapes, *every])
    if grown is not None:
        check_literals(context, grown, relevance, about_literals)
    stored = stored_for(state.asserted)
    facts, weights = support_changes(delta, context.old.closed, closed, stored)
    check = _refusals(context, relevance, turned)
    check(_facts(facts[(facts[:, 0] < 0) | (facts[:, 1] < 0)]))
    valid = (facts[:, 0] >= 0) & (facts[:, 1] >= 0)
    change = dict(zip(_facts(facts[valid]), weights[valid].tolist(), strict=True))
    asserted = dict.fromkeys(_facts(delta.added), True) | dict.fromkeys(
        _facts(delta.removed), False
    )
    touched = Touched(state, change, asserted)
    lazy = LazyFacts(_without_literals(stored_facts(state)))
    run = Run(
        Firing(closed.shapes, context.texts), table, lazy, touched, same, program.equality, check,
        grown,
    )  # fmt: skip
    run.run([*change, *asserted])
    violations = _violations(context, run, about_literals, falses)
    names = {p for _, p, _ in touched.after} - program.names.keys()
    if context.blank(names):
        raise NotIncrementalError("a predicate is a blank node")
    before, after = _as_rows(touched.before), _as_rows(touched.after)
    return Result(
        before, after, context.new, schema_changed=grown is not None, violations=violations,
        rounds=run.rounds,
    )  # fmt: skip


def _facts(triples: np.ndarray) -> list[Fact]:
    return [(s, p, o) for s, p, o in triples.tolist()]


def _as_rows(rows: dict[Fact, Row]) -> Rows:
    return Rows(
        as_triples(rows),
        np.array([row.support for row in rows.values()], np.int64),
        np.array([row.joined for row in rows.values()], np.bool_),
        np.array([row.asserted for row in rows.values()], np.bool_),
    )


def _refusals(
    context: Context, relevance: Relevance, turned: Collection[int] | None
) -> Callable[[Iterable[Fact]], None]:
    """Return the check of facts that come or go: what they lead to has to be followed here."""
    program, consequences = context.program, context.new.closed.consequences
    table, feeds, is_fed = consequences.derives, consequences.feeds, bool(consequences.feeds)

    def check(facts: Iterable[Fact]) -> None:
        for fact in facts:
            s, p, o = fact
            if (s < 0 or p < 0) and (relevance.may_be(fact) or any(True for _ in table.of(fact))):
                raise NotIncrementalError("a literal is a subject in a join")
            if o < 0 and (turned is None or p in turned):
                raise NotIncrementalError("a literal is a subject in a join")
            if program.is_schema(fact) or (is_fed and any(True for _ in feeds.of(fact))):
                raise NotIncrementalError("rules that join conclude schema")

    return check


def _check_predicates(context: Context, shapes: Sequence[Shape]) -> None:
    """Refuse blank nodes as predicates: no store holds such facts, but joins may look at them."""
    table = context.new.closed.consequences.derives
    found = {p for _, p, _ in table.all_forms() if isinstance(p, int)}
    for shape in shapes:
        for _, p, _ in (*shape.body, *shape.head):
            found |= shape.values(p) or set()
    if context.blank(found - context.program.names.keys()):
        raise NotIncrementalError("a predicate is a blank node")


def _predicates_turned(
    table: Table, relevance: Relevance, shapes: Sequence[Shape]
) -> set[int] | None:
    """Return the predicates whose objects become subjects of facts that joins look at.

    None stands for every predicate.
    """

    def turns(forms: Iterable[tuple[object, ...]]) -> bool:
        return any(form[0] == O and relevance.may_be(form) for form in forms)  # type: ignore[arg-type]

    if turns(table.any):
        return None
    found = {
        p for rows in (table.predicate, table.loop) for p, forms in rows.items() if turns(forms)
    }
    for keyed in (table.object, table.subject):
        found |= {p for (p, _), forms in keyed.items() if turns(forms)}
    for shape in shapes:
        for _, p, _ in _turned_patterns(shape, relevance):
            values = shape.values(p)
            if values is None:
                return None
            found |= values
    return found


def _turned_patterns(shape: Shape, relevance: Relevance) -> list[Pattern]:
    """Return the patterns of a rule whose object becomes the subject of what it concludes.

    A literal in its place would be the subject of a fact that no store holds and joins look at.
    """
    subjects = {head[0] for head in shape.head if relevance.may_be(head)}
    subjects -= {s for s, _, _ in shape.body}
    return [pattern for pattern in shape.body if pattern[2] in subjects]


def _without_literals(
    fetch: Callable[[Collection[Key]], Iterable[Fact]],
) -> Callable[[Collection[Key]], Iterable[Fact]]:
    """Refuse to look for facts whose subject is a literal: the store does not hold them."""

    def read(keys: Collection[Key]) -> Iterable[Fact]:
        if any(s is not None and s < 0 for s, _, _ in keys):
            raise NotIncrementalError("a join goes through a literal")
        return fetch(keys)

    return read


def _check_literals(context: Context, relevance: Relevance, turned: set[int] | None) -> None:
    """Refuse what literals would do that is not followed here."""
    program, state, delta = context.program, context.state, context.delta
    closed = context.new.closed
    if turned is None or turned:
        new = delta.added[delta.added[:, 2] < 0, 1]
        is_new = len(new) > 0 and (turned is None or not turned.isdisjoint(new.tolist()))
        if is_new or len(state.asserted_literals(turned)) or len(state.derived_literals(turned)):
            raise NotIncrementalError("a literal is a subject in a join")
    for rule in program.literal_rules:
        if len(rule.variables) == 1 and not rule.rule.rule.false:
            wanted = wanted_bindings(rule, closed, context.texts, relevance.may_be)
            if any(True for _ in wanted):
                raise NotIncrementalError("rules about literals lead to joins")
    if any(len(rule.variables) == 2 for rule in program.literal_rules):
        _check_values(context)


def _check_values(context: Context) -> None:
    """Refuse literals that come or go and have the value of another that is spelled differently."""
    literals = {key: text for key, text in context.terms.items() if key < 0}
    keys = {value_key(text) if _is_odd(text) else text for text in literals.values()}
    if len(keys) < len(literals) or context.state.literals_of_value(keys) - literals.keys():
        raise NotIncrementalError("two literals have one value")


def _is_odd(text: str) -> bool:
    """Say whether a literal is not a plain string, or has a language tag with capitals."""
    end = text[text.rindex('"') :]
    return end.endswith(">") or end.lower() != end


def _violations(
    context: Context, run: Run, about_literals: Sequence[Shape], falses: Sequence[Shape]
) -> set[Violation] | None:
    """Return the violations after a change, or None if they are as they were."""
    closed, texts, rows = context.new.closed, context.texts, run.touched
    table, delta = closed.consequences.derives, context.delta
    stored = stored_violations(context.state.store)
    gone = {f for f, row in rows.before.items() if row.holds and not rows.after[f].holds}
    came = {f for f, row in rows.after.items() if row.holds and not rows.before[f].holds}
    literals = {key: text for key, text in context.terms.items() if key < 0}
    ill = ill_typed(closed, literals, texts)
    used = context.used({terms[0] for _, _, terms, _ in ill})
    kept = {row for row in stored if gone.isdisjoint(row[3]) and row not in ill}
    kept |= {row for row in ill if row[2][0] in used}
    # What is said of literals is not stored: what is new is looked at, what goes is not followed.
    lost = {f for root in (*gone, *as_facts(delta.removed)) for f in table.of(root) if f[0] < 0}
    if any(not lost.isdisjoint(triples) for _, _, _, triples in stored):
        raise NotIncrementalError("a violation by a literal may be gone")
    said = {f for root in (*came, *as_facts(delta.added)) for f in table.of(root) if f[0] < 0}
    for facts, firing in (
        (said, Firing(about_literals, texts)),
        (came, Firing(falses, texts)),
    ):
        kept |= settle(run.facts, lambda: _found(firing, facts, run.facts))  # noqa: B023
    return None if kept == stored else kept


def _found(firing: Firing, facts: Collection[Fact], among: LazyFacts) -> set[Violation]:
    return {
        as_row(shape, binding) for fact in facts for shape, binding in firing.bindings(fact, among)
    }
