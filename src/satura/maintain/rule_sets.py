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
from satura.closure.whole import schema_table
from satura.coverage import find_ignored, ranked
from satura.maintain.apply import Clock, Maintainer
from satura.maintain.context import Context, Effect, NotIncrementalError, Result
from satura.maintain.counting import check_rules, follow_rules
from satura.maintain.counts import count_changes
from satura.maintain.model import Counted, Delta, Outcome
from satura.maintain.reading import check_same
from satura.maintain.recompute import ANEW, recompute_on_spark
from satura.maintain.tables import derived_table, equal_table, terms_table
from satura.maintain.violated import violations_table
from satura.maintain.whole import recompute_in_memory
from satura.rules.model import RuleSet
from satura.rules.writer import write_rules
from satura.store import CommitMetadata, Counts, Store, Transaction
from satura.store.layout import VIOLATIONS
from satura.store.rows import no_triples
from satura.store.state import State
from satura.store.transaction import Kept, begin_update
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
    if is_same(store, rules):
        return _outcome(maintainer, clock, (0, 0), Counted(), "none", "the rules are the same")
    read = (maintainer.cache.rows_read, maintainer.cache.files_read)
    program, bounds = compile_rules(rules), limits or Limits()
    is_small = store.info.counts.asserted <= maintainer.small_store and is_local(program)
    with begin_update(store) as txn:
        with clock.stage("look up"):
            new_terms = _new_terms(state, program)
            ignored = ranked(find_ignored(rules).count(state.asserted_quads()))
        with clock.stage("maintain"):
            done, name, why = _follow(maintainer, program, new_terms, bounds)
            if done is not None:
                counts, counted, kept = maintainer.write(txn, _nothing(), new_terms, done)
                rounds = 0
            elif is_small:
                counts, counted, kept, rounds = _recompute(state, txn, program, new_terms, bounds)
            else:
                counts, counted, kept, rounds = recompute_on_spark(
                    session(), store, txn, program, _nothing(), new_terms, bounds
                )
        with clock.stage("commit"):
            extra = {**store.info.extra, "not_acted_on": ignored}
            spent = {"algorithm": name, "seconds": round(clock.seconds, 3)}
            change = asdict(counted) | spent
            text = write_rules(rules)
            metadata = CommitMetadata(rules.name, text, counts, extra, "rules", change)
            maintainer.adopt(txn.commit(metadata, kept))
    outcome = _outcome(maintainer, clock, read, counted, name, why)
    return replace(outcome, rounds=rounds)


def _follow(
    maintainer: Maintainer, program: Program, new_terms: dict[int, Term], limits: Limits
) -> tuple[Result | None, str, str]:
    """Count what other rules change; without a result, the store has to be closed again."""
    terms = {**new_terms, **program.names}
    context = Context(maintainer.program, maintainer.state, _nothing(), terms, limits)
    try:
        return follow_rules(context, program), "counting", "no rule joins, before or after"
    except NotIncrementalError as reason:
        return None, "recompute", str(reason)


def _nothing() -> Effect:
    quads = np.zeros((0, 4), np.int64)
    return Effect(quads, quads, Delta(no_triples(), no_triples()))


def _new_terms(state: State, program: Program) -> dict[int, Term]:
    """Return the terms of rules that the dictionary has not."""
    known = state.terms(program.names)
    for key, text in known.items():
        check_same(key, text, program.names[key])
    return {key: text for key, text in program.names.items() if key not in known}


def _recompute(
    state: State, txn: Transaction, program: Program, new_terms: dict[int, Term], limits: Limits
) -> tuple[Counts, Counted, Kept, int]:
    """Close a small store and write everything derived; return what `recompute_on_spark` does."""
    context = Context(program, state, _nothing(), new_terms, limits)
    done = recompute_in_memory(context)
    rows, closed = done.after.pick(done.after.stands), done.schema.closed
    blank = set(context.blank({p for _, p, _ in closed.schema if p >= 0}))
    schema = [f for f in closed.schema if f[0] >= 0 and f[1] >= 0 and f[1] not in blank]
    table = schema_table(schema, closed, done.schema.about_terms)
    txn.put_facts("derived", derived_table(rows, np.ones(len(rows), np.bool_)))
    txn.put_facts("schema", table)
    txn.put_terms(terms_table(new_terms))
    equal = 0
    if done.equality is not None:
        classes = equal_table(done.equality, done.iris)
        txn.put_facts("equal", classes)
        equal = classes.num_rows
    violations = done.violations or ()
    txn.put_violations(violations_table(violations))
    counted = count_changes(state, _nothing(), done)
    info = state.store.info
    counts = replace(
        info.counts,
        derived=len(rows),
        inferred=info.counts.inferred + counted.inferred_added - counted.inferred_removed,
        closure=info.counts.closure + counted.closure_added - counted.closure_removed,
        schema=table.num_rows,
        equal=equal,
        violations=len(violations),
    )
    replaced = [file for file in state.store.facts_snapshot.files if file.kind in ANEW]
    beside = {n: x for n, x in info.beside.items() if not n.startswith(f"{VIOLATIONS}/")}
    return counts, counted, Kept(replaced, (), beside), done.rounds


def _outcome(
    maintainer: Maintainer,
    clock: Clock,
    read: tuple[int, int],
    counted: Counted,
    algorithm: str,
    why: str,
) -> Outcome:
    cache, changed = maintainer.cache, algorithm != "none"
    return Outcome(
        store=str(maintainer.store.path),
        version=maintainer.store.version,
        changed=changed,
        algorithm=algorithm,
        why=why,
        counts=counted,
        estimate=0,
        looked_up=0,
        rows_read=cache.rows_read - read[0] if changed else 0,
        files_read=cache.files_read - read[1] if changed else 0,
        rounds=0,
        seconds=clock.seconds,
        stages=clock.stages,
    )
