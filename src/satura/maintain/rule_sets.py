"""Other rules for the same assertions, in one commit.

If neither the old rules nor the new ones join, it is a change of the consequence table like any
other, and only what differs is counted. Else the store is closed again from what is asserted: in
memory if that is little, on Spark if not. Files of assertions stay where they are.

Invariant: afterwards the store holds exactly the closure under the new rules, or is as before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np

from satura.closure.compiling import compile_rules
from satura.closure.local import is_local
from satura.closure.program import Program
from satura.closure.saturate import Limits
from satura.coverage import find_ignored, ranked
from satura.maintain.apply import Clock, Maintainer
from satura.maintain.choosing import Choice
from satura.maintain.context import Context, Effect, NotIncrementalError
from satura.maintain.counting import check_rules, follow_rules
from satura.maintain.estimate import rows_to_close
from satura.maintain.model import Counted, Delta, Outcome
from satura.maintain.reading import check_same
from satura.maintain.recompute import recompute_on_spark
from satura.maintain.whole import recompute_in_memory
from satura.rules.model import RuleSet
from satura.rules.writer import write_rules
from satura.store import CommitMetadata, Store
from satura.store.rows import no_triples
from satura.store.state import State
from satura.store.transaction import begin_update
from satura.terms.ntriples import Term

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def is_same(store: Store, rules: RuleSet) -> bool:
    """Say whether a store is closed under these very rules already."""
    return store.info.rules == write_rules(rules)


def is_closed_again(maintainer: Maintainer, rules: RuleSet) -> bool:
    """Say whether other rules take closing the store again, as far as the rules alone tell."""
    try:
        check_rules(maintainer.program, compile_rules(rules))
    except NotIncrementalError:
        return True
    return False


def set_rules(
    maintainer: Maintainer,
    rules: RuleSet,
    *,
    session: Callable[[], SparkSession],
    limits: Limits | None = None,
) -> Outcome:
    """Close a store under other rules, as one commit. The same rules change nothing."""
    clock, store, state = Clock(), maintainer.store, maintainer.state
    read = (maintainer.cache.rows_read, maintainer.cache.files_read)
    if is_same(store, rules):
        same = Choice(None, "none", "the rules are the same", 0)
        return maintainer.outcome(clock, read, Counted(), same, changed=False)
    program, bounds = compile_rules(rules), limits or Limits()
    is_small = store.info.counts.asserted <= maintainer.small_store and is_local(program)
    with begin_update(store) as txn:
        with clock.stage("look up"):
            new_terms = _new_terms(state, program)
            ignored = ranked(find_ignored(rules).count(state.asserted_quads()))
        with clock.stage("maintain"):
            terms = {**new_terms, **program.names}
            context = Context(maintainer.program, state, _nothing(), terms, bounds)
            choice = _choose(context, program, is_small=is_small)
            if choice.result is not None:
                rounds = choice.result.rounds
                counts, counted, kept = maintainer.write(txn, context, new_terms, choice.result)
            else:
                counts, counted, kept, rounds = recompute_on_spark(
                    session(), store, txn, program, context.effect, new_terms, bounds
                )
        with clock.stage("commit"):
            extra = {**store.info.extra, "not_acted_on": ignored}
            spent = {"algorithm": choice.name, "seconds": round(clock.seconds, 3)}
            change = asdict(counted) | spent
            text = write_rules(rules)
            metadata = CommitMetadata(rules.name, text, counts, extra, "rules", change)
            maintainer.adopt(txn.commit(metadata, kept))
    return maintainer.outcome(clock, read, counted, choice, rounds=rounds)


def _choose(context: Context, program: Program, *, is_small: bool) -> Choice:
    """Count what other rules change, or close a small store again; else Spark is to close it."""
    try:
        result = follow_rules(context, program)
    except NotIncrementalError as reason:
        anew = recompute_in_memory(replace(context, program=program)) if is_small else None
        return Choice(anew, "recompute", str(reason), rows_to_close(context.state))
    return Choice(result, "counting", "no rule joins, before or after", len(result.before))


def _nothing() -> Effect:
    quads = np.zeros((0, 4), np.int64)
    return Effect(quads, quads, Delta(no_triples(), no_triples()))


def _new_terms(state: State, program: Program) -> dict[int, Term]:
    """Return the terms of rules that the dictionary has not."""
    known = state.terms(program.names)
    for key, text in known.items():
        check_same(key, text, program.names[key])
    return {key: text for key, text in program.names.items() if key not in known}
