"""How many triples come and go by a change, as a reader of the closure sees it."""

from __future__ import annotations

import numpy as np

from satura.closure.equality import Equality
from satura.maintain.arrays import is_among
from satura.maintain.context import Effect, Result
from satura.maintain.equal import expanded
from satura.maintain.model import Counted
from satura.store.state import State


def count_changes(state: State, effect: Effect, done: Result) -> Counted:
    """Count what a change does to the closure.

    If terms are the same as others, before or after, whole closures are compared: what is stored
    is said of representatives, what is counted is what a reader gets.
    """
    quads = (len(effect.added), len(effect.removed))
    before, after = done.before, done.after
    if done.equality is None:
        was, now = before.asserted | before.stands, after.asserted | after.stands
        inferred, inferring = was & ~before.asserted, now & ~after.asserted
        return Counted(
            *quads,
            inferred_added=int((inferring & ~inferred).sum()),
            inferred_removed=int((inferred & ~inferring).sum()),
            closure_added=int((now & ~was).sum()),
            closure_removed=int((was & ~now).sum()),
        )
    given = state.asserted()
    delta = effect.delta
    giving = np.concatenate([given[~is_among(given, delta.removed)], delta.added])
    iris = state.equal_iris() | done.iris
    old = expanded(
        np.concatenate([given, before.facts[before.stands]]), Equality.of(state.equal()), iris
    )
    new = expanded(np.concatenate([giving, after.facts[after.stands]]), done.equality, iris)
    concluded, concluding = old[~is_among(old, given)], new[~is_among(new, giving)]
    return Counted(
        *quads,
        inferred_added=int((~is_among(concluding, concluded)).sum()),
        inferred_removed=int((~is_among(concluded, concluding)).sum()),
        closure_added=int((~is_among(new, old)).sum()),
        closure_removed=int((~is_among(old, new)).sum()),
    )
