"""Applying a change: encode, see what it changes, maintain, commit.

A small change never touches Spark: what it needs is looked up on the driver, what it changes is
written as rows on top of the others, and one commit decides. Large changes, and those that no
incremental algorithm takes, close the store again.

Invariant: after `apply` the store holds exactly the closure of what is asserted, or is as before.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from satura.closure.compiling import compile_rules
from satura.closure.equality import Equality
from satura.closure.program import Program
from satura.closure.saturate import Limits
from satura.closure.texts import Texts
from satura.closure.whole import schema_table
from satura.errors import ConfigError
from satura.maintain.arrays import is_among
from satura.maintain.linear import support_changes, updated_rows
from satura.maintain.model import Algorithm, Counted, Delta, Outcome, Rows
from satura.maintain.reading import check_same
from satura.maintain.schemas import Schema, changed_schema, stored_for, stored_schema
from satura.maintain.whole import close_anew, is_rdf
from satura.rules.model import RuleSet
from satura.rules.reader import read_rules
from satura.store import CommitMetadata, Counts, Store
from satura.store.layout import Kind
from satura.store.rows import NO_GRAPH, Ints, RowCache, Triples
from satura.store.state import State, distinct, first_rows
from satura.store.transaction import Kept, Transaction, begin_update
from satura.terms.ntriples import Term

log = logging.getLogger(__name__)

SMALL_STORE: Final = 20_000
"""Triples up to which a store is closed anew in memory."""


class NotIncrementalError(Exception):
    """An algorithm cannot do what is asked; its text says why."""


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

    def __init__(self, store: Store, cache: RowCache | None = None) -> None:
        self.cache = RowCache() if cache is None else cache
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

    def schema(self, texts: Texts) -> Schema:
        """Return the closed schema of the snapshot, kept from one update to the next."""
        if self._schema is None or self._schema[0] != self.store.version:
            self._schema = (self.store.version, stored_schema(self.program, self.state, texts))
        return self._schema[1]

    def apply(
        self,
        change: Change,
        *,
        algorithm: Algorithm = "auto",
        limits: Limits | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """Apply a change in one commit. If it changes nothing, there is none."""
        clock = Clock()
        read = (self.cache.rows_read, self.cache.files_read)
        with clock.stage("look up"):
            effect = self._effect(change)
        if not len(effect.added) and not len(effect.removed):
            return self._outcome(clock, read, Counted(), "none", "nothing changes", changed=False)
        with begin_update(self.store) as txn:
            with clock.stage("look up"):
                new_terms = self._new_terms(effect, change.terms)
            with clock.stage("maintain"):
                done, name, why = self._maintain(effect, change.terms, algorithm, limits)
            with clock.stage("write"):
                counts, counted, kept = self._write(txn, effect, new_terms, done)
            with clock.stage("commit"):
                metadata = self._metadata(counts, counted, name, extra)
                store = txn.commit(metadata, kept)
        self.adopt(store)
        if done.schema is not None:
            self._schema = (store.version, done.schema)
        return self._outcome(clock, read, counted, name, why, rounds=done.rounds)

    def _effect(self, change: Change) -> Effect:
        """Return what of a change is not so already."""
        added, removed = _distinct_quads(change.added), _distinct_quads(change.removed)
        quads = np.concatenate([added, removed])
        triples = distinct(quads[:, :3])
        which, graphs = self.state.graphs(triples)
        present = np.column_stack([triples[which], graphs])
        added = added[~_quads_among(added, present)]
        removed = removed[_quads_among(removed, present)]
        # A triple may stand in several graphs: it is asserted as long as it stands in one.
        left = present[~_quads_among(present, removed)]
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

    def _maintain(
        self,
        effect: Effect,
        terms: Mapping[int, Term],
        algorithm: Algorithm,
        limits: Limits | None,
    ) -> tuple[Result, str, str]:
        """Choose an algorithm and run it; return what it did, its name and why it was that one."""
        if algorithm in ("auto", "counting"):
            try:
                return self._count(effect, terms), "counting", "every rule has one instance atom"
            except NotIncrementalError as reason:
                if algorithm == "counting":
                    raise ConfigError(
                        "UPDATE-ALGORITHM", f"counting cannot do this: {reason}",
                        "leave the choice to `--algorithm auto`",
                    ) from reason  # fmt: skip
                why = str(reason)
        else:
            why = "asked for"
        return self._recompute(effect, terms, limits), "recompute", why

    def _texts(self, terms: Mapping[int, Term]) -> Texts:
        def fetch(ids: Collection[int]) -> Mapping[int, Term]:
            known = {x: text for x in ids if (text := self.program.names.get(x, terms.get(x)))}
            return known | self.state.terms(set(ids) - known.keys())

        return Texts(fetch)

    def _blank(self, terms: Mapping[int, Term], ids: Collection[int]) -> Collection[int]:
        """Return those of some ids that are blank nodes."""
        unknown = [x for x in ids if x not in self.program.names]
        texts = {x: terms[x] for x in unknown if x in terms}
        texts |= self.state.terms({x for x in unknown if x not in texts})
        return [x for x, text in texts.items() if text.startswith("_:")]

    def _count(self, effect: Effect, terms: Mapping[int, Term]) -> Result:
        """Maintain by counting support."""
        program, state, delta = self.program, self.state, effect.delta
        if why := self._why_not_linear():
            raise NotIncrementalError(why)
        texts = self._texts(terms)
        old = self.schema(texts)
        new = changed_schema(
            program, old, state, delta, terms, lambda ids: self._used(ids, effect), texts
        )
        for schema in (old, new):
            if schema.closed.shapes:
                raise NotIncrementalError("rules join")
        facts, weights = support_changes(delta, old.closed, new.closed, stored_for(state))
        valid = is_rdf(facts, Equality(), lambda ids: self._blank(terms, ids))
        before, after = updated_rows(state, delta, facts[valid], weights[valid])
        return Result(before, after, new, schema_changed=new is not old)

    def _why_not_linear(self) -> str:
        program = self.program
        if program.plain or program.preliminary:
            return "rules have conditions that Spark runs"
        if program.equality:
            return "terms may be the same as others"
        if program.false_rules or program.literal_rules:
            return "rules look for violations or into literals"
        return ""

    def _used(self, ids: Collection[int], effect: Effect) -> set[int]:
        """Return those of some terms that still occur in asserted triples after a change."""
        if not ids:
            return set()
        wanted = np.array(sorted(ids), np.int64)
        found: set[int] = set()
        for at, place in enumerate(("s", "p", "o")):
            quads = self.state.asserted_quads(**{place: ids})
            quads = quads[~_quads_among(quads, effect.removed)]
            for some in (quads, effect.added):
                found |= {int(x) for x in some[np.isin(some[:, at], wanted), at]}
        return found

    def _recompute(
        self, effect: Effect, terms: Mapping[int, Term], limits: Limits | None
    ) -> Result:
        """Close the store again, in memory."""
        state, delta = self.state, effect.delta
        given = state.asserted()
        given = distinct(np.concatenate([given[~is_among(given, delta.removed)], delta.added]))
        ids = {int(x) for x in np.unique(given)}
        texts = {x: terms[x] for x in ids if x in terms}
        texts |= state.terms(ids - texts.keys())
        blank = {x for x, text in texts.items() if text.startswith("_:")}
        anew = close_anew(self.program, given, texts, lambda some: blank & set(some), limits)
        facts, found = state.derived_rows()
        old = Rows(facts, found.support, found.joined, found.asserted)
        every = distinct(np.concatenate([old.facts, anew.rows.facts, delta.added, delta.removed]))
        before, after = (_spread(rows, every) for rows in (old, anew.rows))
        asserted_before = state.is_asserted(every)
        before = replace(before, asserted=asserted_before)
        after = replace(after, asserted=is_among(every, given))
        schema = Schema(frozenset(), anew.about_terms, anew.closure.closed)
        return Result(before, after, schema, schema_changed=True, rounds=anew.closure.rounds)

    def _write(
        self, txn: Transaction, effect: Effect, new_terms: Mapping[int, Term], done: Result
    ) -> tuple[Counts, Counted, Kept]:
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
        txn.put_facts("asserted", _asserted_table(effect))
        txn.put_terms(
            pa.table(
                {
                    "id": pa.array(new_terms.keys(), pa.int64()),
                    "term": pa.array(new_terms.values(), pa.string()),
                }
            )
        )
        replaced: list[Kind] = []
        schema_rows = self.store.info.counts.schema
        if done.schema_changed and done.schema is not None:
            closed = done.schema.closed
            blank = set(self._blank(new_terms, {p for _, p, _ in closed.schema if p >= 0}))
            rdf = [f for f in closed.schema if f[0] >= 0 and f[1] >= 0 and f[1] not in blank]
            table = schema_table(rdf, closed, done.schema.about_terms)
            schema_rows = table.num_rows
            txn.put_facts("schema", table)
            replaced.append("schema")
        files = [x for x in self.store.facts_snapshot.files if x.kind in replaced]
        counted = _counted(effect, before, after)
        old = self.store.info.counts
        counts = replace(
            old,
            asserted=old.asserted + counted.asserted_added - counted.asserted_removed,
            derived=old.derived + int(stands.sum()) - int(stood.sum()),
            inferred=old.inferred + counted.inferred_added - counted.inferred_removed,
            closure=old.closure + counted.closure_added - counted.closure_removed,
            schema=schema_rows,
        )
        return counts, counted, Kept(files, (), self.store.info.beside)

    def _metadata(
        self, counts: Counts, counted: Counted, name: str, extra: Mapping[str, Any] | None
    ) -> CommitMetadata:
        info = self.store.info
        return CommitMetadata(info.rule_set, info.rules, counts, {**info.extra, **(extra or {})})

    def _outcome(
        self,
        clock: Clock,
        read: tuple[int, int],
        counted: Counted,
        name: str,
        why: str,
        *,
        changed: bool = True,
        rounds: int = 0,
    ) -> Outcome:
        return Outcome(
            store=str(self.store.path),
            version=self.store.version,
            changed=changed,
            algorithm=name,
            why=why,
            counts=counted,
            estimate=0,
            rows_read=self.cache.rows_read - read[0],
            files_read=self.cache.files_read - read[1],
            rounds=rounds,
            seconds=clock.seconds,
            stages=clock.stages,
        )


@dataclass(frozen=True, slots=True)
class Effect:
    """The quads that come and go, and the triples that are asserted from now on, or no more."""

    added: Ints
    removed: Ints
    delta: Delta


@dataclass(frozen=True, slots=True)
class Result:
    """What an algorithm found: the rows a change touches, before and after, and the schema."""

    before: Rows
    after: Rows
    schema: Schema | None
    schema_changed: bool
    rounds: int = 0


def _distinct_quads(quads: Ints) -> Ints:
    return quads[first_rows(*quads.T)]


def _quads_among(quads: Ints, others: Ints) -> np.ndarray:
    return is_among(quads, others)


def _spread(rows: Rows, every: Triples) -> Rows:
    """Return rows for more facts than have any."""
    at = is_among(every, rows.facts)
    order = np.lexsort(rows.facts.T[::-1])
    support, joined = np.zeros(len(every), np.int64), np.zeros(len(every), np.bool_)
    asserted = np.zeros(len(every), np.bool_)
    support[at], joined[at] = rows.support[order], rows.joined[order]
    asserted[at] = rows.asserted[order]
    return Rows(every, support, joined, asserted)


def derived_table(rows: Rows, stands: np.ndarray) -> pa.Table:
    """Return derived rows as they are written; those that do not stand are gone."""
    s, p, o = rows.facts.T
    return pa.table(
        {
            "s": s, "p": p, "o": o,
            "support": rows.support.astype(np.int32),
            "joined": rows.joined,
            "asserted": rows.asserted,
            "gone": ~stands,
        }
    )  # fmt: skip


def _asserted_table(effect: Effect) -> pa.Table:
    quads = np.concatenate([effect.added, effect.removed])
    gone = np.repeat([False, True], [len(effect.added), len(effect.removed)])
    s, p, o, g = quads.T
    graph = pa.array(g, pa.int64(), mask=g == NO_GRAPH)
    return pa.table({"s": s, "p": p, "o": o, "g": graph, "gone": gone})


def _counted(effect: Effect, before: Rows, after: Rows) -> Counted:
    was, now = before.asserted | before.stands, after.asserted | after.stands
    inferred, inferring = was & ~before.asserted, now & ~after.asserted
    return Counted(
        asserted_added=len(effect.added),
        asserted_removed=len(effect.removed),
        inferred_added=int((inferring & ~inferred).sum()),
        inferred_removed=int((inferred & ~inferring).sum()),
        closure_added=int((now & ~was).sum()),
        closure_removed=int((was & ~now).sum()),
    )
