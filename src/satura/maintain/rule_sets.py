"""Other rules for the same assertions: the store is closed again, in one commit.

Nothing of a closure tells what other rules would conclude, so this is no update but a run from
scratch over what is asserted. Files of assertions stay where they are.

Invariant: afterwards the store holds exactly the closure under the new rules, or is as before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from satura.closure.compiling import compile_rules
from satura.closure.program import Program
from satura.closure.saturate import Limits
from satura.closure.shapes import fit_memory
from satura.closure.whole import schema_table
from satura.coverage import find_ignored, ranked
from satura.errors import UnsupportedError
from satura.maintain.apply import SMALL_STORE, Clock, Maintainer, derived_table
from satura.maintain.arrays import is_among
from satura.maintain.model import Counted, Outcome
from satura.maintain.reading import check_same
from satura.maintain.whole import close_anew
from satura.rules.model import RuleSet
from satura.rules.writer import write_rules
from satura.store import CommitMetadata, Counts, Store
from satura.store.transaction import Kept, begin_update

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


def is_same(store: Store, rules: RuleSet) -> bool:
    """Say whether a store is closed under these very rules already."""
    return store.info.rules == write_rules(rules)


def set_rules(
    maintainer: Maintainer,
    rules: RuleSet,
    *,
    session: Callable[[], SparkSession],
    limits: Limits | None = None,
) -> Outcome:
    """Close a store under other rules, as one commit. The same rules change nothing."""
    clock, store = Clock(), maintainer.store
    if is_same(store, rules):
        return _outcome(maintainer, clock, (0, 0), Counted(), "none", "the rules are the same")
    program = compile_rules(rules)
    why_not = _why_not_in_memory(store, program)
    if why_not:
        return recompute_on_spark(maintainer, rules, session, why_not)
    cache = maintainer.cache
    read = (cache.rows_read, cache.files_read)
    with begin_update(store) as txn:
        state = maintainer.state
        with clock.stage("look up"):
            given = state.asserted()
            texts = state.terms({int(x) for x in np.unique(given)})
            facts, rows = state.derived_rows()
            known = state.terms(program.names)
            for key, text in known.items():
                check_same(key, text, program.names[key])
        blank = {x for x, text in {**texts, **program.names}.items() if text.startswith("_:")}
        with clock.stage("close"):
            anew = close_anew(program, given, texts, lambda ids: blank & set(ids), limits)
        closed, after = anew.closure.closed, anew.rows
        with clock.stage("write"):
            schema = [f for f in closed.schema if f[0] >= 0 and f[1] >= 0 and f[1] not in blank]
            table = schema_table(schema, closed, anew.about_terms)
            txn.put_facts("derived", derived_table(after, np.ones(len(after), np.bool_)))
            txn.put_facts("schema", table)
            new = {key: text for key, text in program.names.items() if key not in known}
            ids, terms = pa.array(new.keys(), pa.int64()), pa.array(new.values(), pa.string())
            txn.put_terms(pa.table({"id": ids, "term": terms}))
        was, now = facts[~rows.asserted], after.facts[~after.asserted]
        added, removed = int((~is_among(now, was)).sum()), int((~is_among(was, now)).sum())
        with clock.stage("commit"):
            counts = Counts(
                asserted=store.info.counts.asserted,
                derived=len(after),
                inferred=len(now),
                closure=len(given) + len(now),
                schema=table.num_rows,
                rejected=store.info.counts.rejected,
                duplicates=store.info.counts.duplicates,
            )
            ignored = ranked(find_ignored(rules).count(state.asserted_quads()))
            extra = {**store.info.extra, "not_acted_on": ignored}
            metadata = CommitMetadata(rules.name, write_rules(rules), counts, extra)
            replaced = [
                x for x in store.facts_snapshot.files if x.kind in ("derived", "schema", "equal")
            ]
            maintainer.adopt(txn.commit(metadata, Kept(replaced, (), _rejects(store))))
    counted = Counted(
        inferred_added=added, inferred_removed=removed, closure_added=added, closure_removed=removed
    )
    done = _outcome(maintainer, clock, read, counted, "recompute", "the rules are others")
    return replace(done, rounds=anew.closure.rounds)


def recompute_on_spark(
    maintainer: Maintainer,
    rules: RuleSet,
    session: Callable[[], SparkSession],  # noqa: ARG001
    why: str,
) -> Outcome:
    """Close a store under other rules on Spark."""
    raise UnsupportedError(
        "UPDATE-RULES", f"the rules of `{maintainer.store.path}` cannot be replaced by"
        f" `{rules.name}`: {why}",
        "export what is asserted, and materialize it under the new rules",
    )  # fmt: skip


def _why_not_in_memory(store: Store, program: Program) -> str:
    if store.info.counts.asserted > SMALL_STORE:
        return f"more than {SMALL_STORE:,} triples are asserted"
    if program.plain or program.preliminary or not fit_memory(program.instance_rules):
        return "the new rules have conditions that Spark runs"
    if program.equality or program.false_rules or program.literal_rules:
        return "the new rules are about equality, violations or literals"
    return ""


def _rejects(store: Store) -> dict[str, int]:
    """Return the files of skipped input; violations are those of the old rules."""
    return {name: size for name, size in store.info.beside.items() if name.startswith("rejects")}


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
        rows_read=cache.rows_read - read[0] if changed else 0,
        files_read=cache.files_read - read[1] if changed else 0,
        rounds=0,
        seconds=clock.seconds,
        stages=clock.stages,
    )
