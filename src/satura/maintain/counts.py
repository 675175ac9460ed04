"""How many triples come and go by a change, as a reader of the closure sees it."""

from __future__ import annotations

from collections.abc import Collection
from itertools import product

from satura.closure.equality import Equality
from satura.closure.program import Fact
from satura.maintain.context import Effect, Result
from satura.maintain.model import Counted
from satura.maintain.schemas import as_facts
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
    given = as_facts(state.asserted())
    giving = (given - as_facts(effect.delta.removed)) | as_facts(effect.delta.added)
    equal = Equality()
    equal.representative = {x: rep for x, rep in state.equal().items() if x != rep}
    for member, representative in state.equal().items():
        equal.members.setdefault(representative, []).append(member)
    iris = state.equal_iris() | done.iris
    old = expanded({*given, *as_facts(before.facts[before.stands])}, equal, iris)
    new = expanded({*giving, *as_facts(after.facts[after.stands])}, done.equality, iris)
    return Counted(
        *quads,
        inferred_added=len((new - giving) - (old - given)),
        inferred_removed=len((old - given) - (new - giving)),
        closure_added=len(new - old),
        closure_removed=len(old - new),
    )


def expanded(facts: Collection[Fact], equality: Equality, iris: Collection[int]) -> set[Fact]:
    """Return all triples about all members of classes, from those about representatives.

    What would not be RDF is left out: a literal as subject, a predicate that is no IRI.
    """
    found: set[Fact] = set()
    for fact in facts:
        s, p, o = equality.rewrite(fact)
        subjects = [x for x in equality.class_of(s) if x >= 0]
        predicates = equality.class_of(p)
        if len(predicates) > 1:
            predicates = [x for x in predicates if x in iris]
        found.update(product(subjects, predicates, equality.class_of(o)))
    return found
