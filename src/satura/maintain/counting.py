"""Maintaining by counting support; see `linear` for why that is exact."""

from __future__ import annotations

from satura.closure.equality import Equality
from satura.maintain.context import Context, NotIncrementalError, Result
from satura.maintain.linear import support_changes, updated_rows
from satura.maintain.schemas import stored_for
from satura.maintain.whole import is_rdf


def maintain_by_counting(context: Context) -> Result:
    """Maintain a store all of whose rules are between schema, or have one instance atom."""
    program = context.program
    if program.plain or program.preliminary:
        raise NotIncrementalError("rules have conditions that Spark tries")
    if program.equality or program.false_rules or program.literal_rules:
        raise NotIncrementalError("rules may join")
    old, new, state = context.old, context.new, context.state
    if old.closed.shapes or new.closed.shapes:
        raise NotIncrementalError("rules join")
    stored = stored_for(state.asserted)
    facts, weights = support_changes(context.delta, old.closed, new.closed, stored)
    valid = is_rdf(facts, Equality(), context.blank)
    before, after = updated_rows(state, context.delta, facts[valid], weights[valid])
    return Result(before, after, new, schema_changed=new is not old)
