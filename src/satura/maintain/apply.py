"""Applying a change: encode, see what it changes, maintain, commit.

A small change never touches Spark: what it needs is looked up on the driver, what it changes is
written as rows on top of the others, and one commit decides. Large changes, and those that no
incremental algorithm takes, close the store again.

Invariant: after `apply` the store holds exactly the closure of what is asserted, or is as before.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from satura.closure.compiling import compile_rules
from satura.closure.program import Program
from satura.closure.saturate import Limits
from satura.closure.whole import schema_table
from satura.coverage import countable, find_ignored, ranked
from satura.errors import ConfigError
from satura.maintain.arrays import is_among
from satura.maintain.choosing import Choice, choose
from satura.maintain.context import Context, Effect, Result
from satura.maintain.counts import count_changes
from satura.maintain.model import Algorithm, Counted, Delta, Outcome
from satura.maintain.reading import check_same
from satura.maintain.schemas import Schema
from satura.maintain.tables import asserted_table, derived_table, equal_table, terms_table
from satura.maintain.violated import violations_table
from satura.rules.model import RuleSet
from satura.rules.reader import read_rules
from satura.store import CommitMetadata, Counts, Store, Upkeep, after_commit
from satura.store.delta import Step
from satura.store.layout import Kind, without_violations
from satura.store.metadata import Operation
from satura.store.rows import NO_GRAPH, Ints, RowCache
from satura.store.state import State, distinct, first_rows
from satura.store.transaction import Kept, Transaction, begin_update
from satura.store.upkeep import DEFAULT
from satura.terms.ntriples import Term

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

SMALL_STORE: Final = 100_000
"""Triples up to which a store is closed anew in memory."""


@dataclass(slots=True)
class Change:
    """Quads that are added and removed, in ids, and the terms in them. The two do not overlap."""

    added: Ints
    removed: Ints
    terms: Mapping[int, Term]


@dataclass(slots=True)
class Clock:
    """Seconds per stage of one update."""

    started: float = field(default_factory=time.perf_counter)
    stages: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure a stage."""
        begun = time.perf_counter()
        yield
        self.stages[name] = self.stages.get(name, 0.0) + time.perf_counter() - begun

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started


class Maintainer:
    """A store kept open for updates: what was read, compiled and closed stays for the next."""

    def __init__(
        self,
        store: Store,
        spark: Callable[[], SparkSession] | None = None,
        *,
        cache: RowCache | None = None,
        small_store: int = SMALL_STORE,
        upkeep: Upkeep | None = DEFAULT,
    ) -> None:
        """Keep a store open. `spark` is asked for a session only if a change needs one."""
        self.cache = RowCache() if cache is None else cache
        self.small_store = small_store
        self.upkeep = upkeep  # None leaves compaction to others
        self._spark = spark
        self.rule_set: RuleSet
        self.program: Program
        self._rules_sha256 = ""
        self._schema: tuple[int, Schema] | None = None
        self.adopt(store)

    def adopt(self, store: Store) -> None:
        """Go on with another snapshot of the same store."""
        self.store = store
        self.state = State(store, self.cache)
        if store.info.rules_sha256 != self._rules_sha256:
            info = store.info
            self.rule_set = read_rules(info.rules, source=info.rule_set, name=info.rule_set)
            self.program = compile_rules(self.rule_set)
            self._rules_sha256 = info.rules_sha256
            self._schema = None

    def apply(
        self,
        change: Change,
        *,
        algorithm: Algorithm = "auto",
        limits: Limits | None = None,
        step: Step | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """Apply a change in one commit. If it changes nothing, there is none.

        As the step of an application a change is committed even then, for the step has been made.
        `extra` is recorded with the change.
        """
        clock = Clock()
        read = (self.cache.rows_read, self.cache.files_read)
        with clock.stage("look up"):
            effect = self._effect(change)
        if not len(effect.added) and not len(effect.removed):
            nothing = Choice(None, "none", "nothing changes", 0)
            if step is not None:
                self._record(step, clock, extra)
            return self.outcome(clock, read, Counted(), nothing, changed=False)
        with begin_update(self.store) as txn:
            with clock.stage("look up"):
                new_terms = self._new_terms(effect, change.terms)
            with clock.stage("maintain"):
                context = Context(
                    self.program,
                    self.state,
                    effect,
                    change.terms,
                    limits or Limits(),
                    self._known(),
                )
                choice = choose(context, algorithm, self.small_store)
                done = choice.result
                if done is None:
                    counts, counted, kept, rounds = self._recompute(context, txn, new_terms)
            if done is not None:
                rounds = done.rounds
                with clock.stage("write"):
                    counts, counted, kept = self.write(txn, context, new_terms, done)
            with clock.stage("commit"):
                metadata = self._metadata(counts, counted, choice, clock, context)
                recorded = {**metadata.change, **(extra or {})}
                store = txn.commit(replace(metadata, step=step, change=recorded), kept)
        version = store.version
        if self.upkeep is not None:
            with clock.stage("compact"):
                store = after_commit(store, self.upkeep)
        self.adopt(store)
        if done is not None and choice.name != "recompute":
            self._schema = (store.version, done.schema)
        outcome = self.outcome(clock, read, counted, choice, rounds=rounds)
        return replace(outcome, version=version)

    def _record(self, step: Step, clock: Clock, extra: Mapping[str, Any] | None) -> None:
        """Commit that a step has been made that changes nothing."""
        info = self.store.info
        change = {**asdict(Counted()), "seconds": round(clock.seconds, 3), **(extra or {})}
        metadata = CommitMetadata(
            info.rule_set, info.rules, info.counts, info.extra, "apply", change, step
        )
        with begin_update(self.store) as txn:
            self.adopt(txn.commit(metadata, Kept((), (), dict(info.beside))))

    def _recompute(
        self, context: Context, txn: Transaction, new_terms: Mapping[int, Term]
    ) -> tuple[Counts, Counted, Kept, int]:
        """Close a store that is not small."""
        from satura.maintain.recompute import recompute_on_spark  # noqa: PLC0415

        if self._spark is None:
            raise ConfigError(
                "UPDATE-SPARK", "this change needs the store closed again, which needs Spark",
                "give a session",
            )  # fmt: skip
        return recompute_on_spark(
            self._spark(), self.store, txn, self.program, context.effect, new_terms, context.limits
        )

    def _known(self) -> Schema | None:
        """Return the closed schema of the snapshot, if it is kept from the update before."""
        version, schema = self._schema or (-1, None)
        return schema if version == self.store.version else None

    def _effect(self, change: Change) -> Effect:
        """Return what of a change is not so already."""
        added, removed = _distinct_quads(change.added), _distinct_quads(change.removed)
        quads = np.concatenate([added, removed])
        triples = distinct(quads[:, :3])
        which, graphs = self.state.graphs(triples)
        present = np.column_stack([triples[which], graphs])
        added = added[~is_among(added, present)]
        removed = removed[is_among(removed, present)]
        # A triple may stand in several graphs: it is asserted as long as it stands in one.
        left = present[~is_among(present, removed)]
        before, after = distinct(present[:, :3]), distinct(np.concatenate([left, added])[:, :3])
        delta = Delta(after[~is_among(after, before)], before[~is_among(before, after)])
        return Effect(added, removed, delta)

    def _new_terms(self, effect: Effect, terms: Mapping[int, Term]) -> dict[int, Term]:
        """Return the terms of what is added that the dictionary has not."""
        ids = {int(x) for x in np.unique(effect.added)} - {NO_GRAPH}
        known = self.state.terms(ids)
        for key, text in known.items():
            check_same(key, text, terms[key])
        return {key: terms[key] for key in ids - known.keys()}

    def write(
        self, txn: Transaction, context: Context, new_terms: Mapping[int, Term], done: Result
    ) -> tuple[Counts, Counted, Kept]:
        """Write what changes; return the counts after it, what came and went, and what stays."""
        effect = context.effect
        before, after = done.before, done.after
        stood, stands = before.stands, after.stands
        differs = (stood != stands) | (
            stands
            & (
                (before.support != after.support)
                | (before.joined != after.joined)
                | (before.asserted != after.asserted)
            )
        )
        txn.put_facts("derived", derived_table(after.pick(differs), stands[differs]))
        txn.put_facts("asserted", asserted_table(effect))
        txn.put_terms(terms_table(new_terms))
        old, beside = self.store.info.counts, dict(self.store.info.beside)
        counts, replaced = old, list[Kind]()
        if done.schema_changed:
            closed = done.schema.closed
            blank = context.blank({p for _, p, _ in closed.schema if p >= 0})
            table = schema_table(closed, done.schema.about_terms, set(blank))
            txn.put_facts("schema", table)
            counts = replace(counts, schema=table.num_rows)
            replaced.append("schema")
        if done.equality is not None:
            table = equal_table(done.equality, done.iris)
            txn.put_facts("equal", table)
            counts = replace(counts, equal=table.num_rows)
            replaced.append("equal")
        if done.violations is not None:
            txn.put_violations(violations_table(done.violations))
            counts = replace(counts, violations=len(done.violations))
            beside = without_violations(beside)
        counted = count_changes(self.state, effect, done)
        counts = replace(
            counts,
            asserted=old.asserted + counted.asserted_added - counted.asserted_removed,
            derived=old.derived + int(stands.sum()) - int(stood.sum()),
            inferred=old.inferred + counted.inferred_added - counted.inferred_removed,
            closure=old.closure + counted.closure_added - counted.closure_removed,
        )
        files = [x for x in self.store.facts_snapshot.files if x.kind in replaced]
        return counts, counted, Kept(files, (), beside)

    def _metadata(
        self, counts: Counts, counted: Counted, choice: Choice, clock: Clock, context: Context
    ) -> CommitMetadata:
        info, operation = self.store.info, _operation(counted)
        change = asdict(counted) | {"algorithm": choice.name, "seconds": round(clock.seconds, 3)}
        extra = {**info.extra, **self._not_acted_on(context)}
        return CommitMetadata(info.rule_set, info.rules, counts, extra, operation, change)

    def _not_acted_on(self, context: Context) -> dict[str, dict[str, int]]:
        """Return what no rule acts on after a change, if the change has anything to do with it."""
        if countable().isdisjoint(context.terms):
            return {}
        ignored = find_ignored(self.rule_set)
        counts = Counter(self.store.info.extra.get("not_acted_on", {}))
        counts.update(ignored.count(context.effect.added))
        counts.subtract(ignored.count(context.effect.removed))
        return {"not_acted_on": ranked(counts)}

    def outcome(
        self,
        clock: Clock,
        read: tuple[int, int],
        counted: Counted,
        choice: Choice,
        *,
        changed: bool = True,
        rounds: int = 0,
    ) -> Outcome:
        """Return what an update did; `read` is what had been read before it."""
        return Outcome(
            store=str(self.store.path),
            version=self.store.version,
            changed=changed,
            algorithm=choice.name,
            why=choice.why,
            counts=counted,
            estimate=choice.estimate,
            looked_up=choice.looked_up,
            rows_read=self.cache.rows_read - read[0],
            files_read=self.cache.files_read - read[1],
            rounds=rounds,
            seconds=clock.seconds,
            stages=clock.stages,
        )


def _operation(counted: Counted) -> Operation:
    if not counted.asserted_removed:
        return "add"
    return "apply" if counted.asserted_added else "remove"


def _distinct_quads(quads: Ints) -> Ints:
    return quads[first_rows(*quads.T)]
