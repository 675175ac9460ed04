"""Maintaining by counting support; see `linear` for why that is exact."""

from __future__ import annotations

from satura.closure.equality import Equality
from satura.closure.program import Program
from satura.maintain.context import Context, NotIncrementalError, Result
from satura.maintain.linear import support_changes, updated_rows
from satura.maintain.schemas import Schema, asserted_schema, stored_for
from satura.maintain.whole import is_rdf


def maintain_by_counting(context: Context) -> Result:
    """Maintain a store all of whose rules are between schema, or have one instance atom."""
    _check(context.program)
    return _count(context, context.old, context.new)


def check_rules(old: Program, new: Program) -> None:
    """Raise `NotIncrementalError` if a change from one program to another cannot be counted."""
    for some in (old, new):
        _check(some)
    if new.term_rules:
        raise NotIncrementalError("rules are about terms")


def follow_rules(context: Context, program: Program) -> Result:
    """Return what other rules make of a store; the program of the context is the old one."""
    check_rules(context.program, program)
    return _count(context, context.old, asserted_schema(program, context.state, context.texts))


def _check(program: Program) -> None:
    if program.plain or program.preliminary:
        raise NotIncrementalError("rules have conditions that Spark tries")
    if program.equality or program.false_rules or program.literal_rules:
        raise NotIncrementalError("rules may join")


def _count(context: Context, old: Schema, new: Schema) -> Result:
    state = context.state
    if old.closed.shapes or new.closed.shapes:
        raise NotIncrementalError("rules join")
    stored = stored_for(state.asserted)
    facts, weights = support_changes(context.delta, old.closed, new.closed, stored)
    valid = is_rdf(facts, Equality(), context.blank)
    before, after = updated_rows(state, context.delta, facts[valid], weights[valid])
    return Result(before, after, new, schema_changed=new is not old)
