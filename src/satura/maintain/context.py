"""What every algorithm of maintenance starts from: a snapshot, a change, the rules, the schema."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from satura.closure.equality import Equality
from satura.closure.program import FIRST, NIL, REST, SAME_AS, TYPE, Fact, Program
from satura.closure.saturate import Limits
from satura.closure.texts import Texts
from satura.maintain.arrays import is_among
from satura.maintain.model import Delta, Rows
from satura.maintain.schemas import Schema, changed_schema, stored_schema
from satura.store.rows import Ints
from satura.store.state import State
from satura.terms.ntriples import Term

Violation = tuple[str, tuple[str, ...], tuple[int, ...], tuple[Fact, ...]]
"""A rule, its variables and their terms, and the triples that its patterns match."""


class NotIncrementalError(Exception):
    """An algorithm cannot do what is asked; its text says why."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The quads that come and go, and the triples that are asserted from now on, or no more."""

    added: Ints
    removed: Ints
    delta: Delta


@dataclass(frozen=True, slots=True)
class Result:
    """What an algorithm found: the rows a change touches, before and after, and the schema.

    `before` and `after` have the same facts. What is None is as it was.
    """

    before: Rows
    after: Rows
    schema: Schema
    schema_changed: bool = False
    equality: Equality | None = None
    iris: frozenset[int] = frozenset()
    """Those of the terms that are the same as others that are IRIs."""
    violations: Collection[Violation] | None = None
    rounds: int = 0


@dataclass
class Context:
    """A change of a snapshot, about to be made."""

    program: Program
    state: State
    effect: Effect
    terms: Mapping[int, Term]
    """The terms of the change."""
    limits: Limits
    known_schema: Schema | None = None

    @property
    def delta(self) -> Delta:
        """The triples that are asserted from now on, or no more."""
        return self.effect.delta

    @cached_property
    def equality(self) -> Equality:
        """Which terms are the same, before the change."""
        constants = {*self.program.names, TYPE, SAME_AS, FIRST, REST, NIL}
        return Equality.of(self.state.equal(), constants)

    @cached_property
    def texts(self) -> Texts:
        """The texts of terms, those of the change included."""

        def fetch(ids: Collection[int]) -> Mapping[int, Term]:
            names, terms = self.program.names, self.terms
            known = {x: text for x in ids if (text := names.get(x) or terms.get(x))}
            return known | self.state.terms(set(ids) - known.keys())

        texts = Texts(fetch)
        texts.equality = self.equality
        return texts

    @cached_property
    def old(self) -> Schema:
        """The schema before the change."""
        if self.known_schema is not None:
            return self.known_schema
        return stored_schema(self.program, self.state, self.texts)

    @cached_property
    def new(self) -> Schema:
        """The schema after the change; the same object if it does not change."""
        return changed_schema(
            self.program, self.old, self.state, self.delta, self.terms, self.used, self.texts
        )

    def used(self, ids: Collection[int]) -> set[int]:
        """Return those of some terms that still occur in asserted triples after the change."""
        if not ids:
            return set()
        wanted = np.array(sorted(ids), np.int64)
        found: set[int] = set()
        for at, place in enumerate(("s", "p", "o")):
            quads = self.state.asserted_quads(**{place: ids})
            quads = quads[~is_among(quads, self.effect.removed)]
            for some in (quads, self.effect.added):
                found |= {int(x) for x in some[np.isin(some[:, at], wanted), at]}
        return found

    def blank(self, ids: Collection[int]) -> Collection[int]:
        """Return those of some ids that are blank nodes."""
        unknown = {x for x in ids if x not in self.program.names}
        texts = self.texts.of(unknown)
        return [x for x in unknown if texts[x].startswith("_:")]
