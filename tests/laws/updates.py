"""Stores that are updated step by step, each held against a store closed from scratch.

The oracle of what follows is the reference; the oracle of rows and support is the definition of
support, taken literally: every given triple through the consequence table, one at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random

from satura.closure.equality import Equality
from satura.closure.literals import said_of_others
from satura.closure.local import close_locally
from satura.closure.program import SAME_AS, Fact
from satura.closure.texts import Texts
from satura.maintain.apply import Change, Maintainer
from satura.maintain.create import create_store
from satura.maintain.model import Algorithm, Outcome
from satura.maintain.reading import Encoder
from satura.maintain.schemas import as_facts
from satura.maintain.violated import stored_violations
from satura.reference import close, is_rdf, violations
from satura.rules.model import RuleSet
from satura.store.state import State
from satura.terms.ids import term_id
from satura.terms.ntriples import Triple

Step = tuple[frozenset[Triple], frozenset[Triple]]
"""What is added and what is removed."""


def change_of(added: Iterable[Triple], removed: Iterable[Triple] = ()) -> Change:
    encoder = Encoder()
    plus = encoder.encode([(*triple, None) for triple in sorted(added)])
    minus = encoder.encode([(*triple, None) for triple in sorted(removed)])
    return Change(plus, minus, encoder.terms())


def random_steps(
    seed: int, graph: Collection[Triple], count: int, *, fixed: Callable[[Triple], bool]
) -> list[Step]:
    """Return steps over the triples of a graph; what is `fixed` stays once it is there."""
    random = Random(f"steps {seed}")
    pool = sorted(graph)
    here: set[Triple] = set()
    steps: list[Step] = []
    for number in range(count):
        added = set(random.sample(pool, random.randint(0, max(1, len(pool) // 2))))
        if number == 0 and random.random() < 0.5:
            added = set(pool)
        some = sorted(here)
        removed = set(random.sample(some, random.randint(0, (len(some) + 1) // 2)))
        removed.add(random.choice(pool))  # perhaps one that is not there
        if number:
            added, removed = ({t for t in x if not fixed(t)} for x in (added, removed))
        removed -= added
        here = (here | added) - removed
        steps.append((frozenset(added), frozenset(removed)))
    return steps


@dataclass(slots=True)
class Followed:
    """A store with what is asserted in it, checked after every step."""

    rules: RuleSet
    maintainer: Maintainer
    asserted: set[Triple] = field(default_factory=set)
    used: Counter[str] = field(default_factory=Counter)

    @classmethod
    def empty(cls, path: Path, rules: RuleSet) -> Followed:
        return cls(rules, Maintainer(create_store(path, rules)))

    def apply(self, step: Step, algorithm: Algorithm = "auto") -> Outcome:
        """Make a step and check all that the store then says."""
        added, removed = step
        before = closure_of(self.maintainer.state)
        given = set(self.asserted)
        outcome = self.maintainer.apply(change_of(added, removed), algorithm=algorithm)
        self.used[outcome.algorithm] += 1
        self.asserted = (self.asserted | added) - removed
        expected = {t for t in close(self.rules, self.asserted) if is_rdf(t)}
        found = closure_of(self.maintainer.state)
        assert_same(expected, found, f"{outcome.algorithm}, {outcome.why}")
        self._check_counts(outcome, given, before, found)
        self._check_rows(outcome)
        self._check_violations(outcome)
        return outcome

    def _check_counts(
        self, outcome: Outcome, given: set[Triple], before: set[Triple], found: set[Triple]
    ) -> None:
        counts, counted = self.maintainer.store.info.counts, outcome.counts
        assert counts.asserted == len(self.asserted)
        assert (counts.closure, counts.inferred) == (len(found), len(found - self.asserted))
        assert counted.asserted_added == len(self.asserted - given)
        assert counted.asserted_removed == len(given - self.asserted)
        # Law 3: what a change says it did is the difference of two closures.
        assert counted.closure_added == len(found - before)
        assert counted.closure_removed == len(before - found)
        inferred, inferring = before - given, found - self.asserted
        assert counted.inferred_added == len(inferring - inferred)
        assert counted.inferred_removed == len(inferred - inferring)

    def _check_rows(self, outcome: Outcome) -> None:
        state = self.maintainer.state
        facts, rows = state.derived_rows()
        found = {
            (s, p, o): (int(n), bool(j), bool(a))
            for (s, p, o), n, j, a in zip(
                facts.tolist(), rows.support, rows.joined, rows.asserted, strict=True
            )
        }
        expected = rows_from_scratch(self.maintainer, self.asserted)
        wrong = {
            fact: (expected.get(fact), found.get(fact))
            for fact in expected.keys() | found.keys()
            if expected.get(fact) != found.get(fact)
        }
        texts = state.terms({x for fact in wrong for x in fact})
        shown = {tuple(texts.get(x, x) for x in f): v for f, v in wrong.items()}
        assert not wrong, f"{outcome.algorithm}: (support, joined, asserted) should be, is: {shown}"
        assert self.maintainer.store.info.counts.derived == len(found)

    def _check_violations(self, outcome: Outcome) -> None:
        if not any(rule.false for rule in self.rules):
            return
        stored = stored_violations(self.maintainer.store)
        assert self.maintainer.store.info.counts.violations == len(stored)
        closure = close(self.rules, self.asserted, generalized=True)
        expected = {rule for rule, _ in violations(self.rules, closure, given=self.asserted)}
        assert {rule for rule, _, _, _ in stored} == expected, outcome.algorithm


def assert_same(expected: set[Triple], found: set[Triple], what: str) -> None:
    missing, extra = sorted(expected - found), sorted(found - expected)
    assert not missing and not extra, f"{what}: missing {missing[:10]}, extra {extra[:10]}"


def closure_of(state: State) -> set[Triple]:
    """Read the closure of a snapshot on the driver, all members of classes included."""
    rows = as_facts(state.asserted()) | as_facts(state.derived_triples())
    facts = expanded(rows, Equality.of(state.equal()), state.equal_iris())
    texts = state.terms({x for fact in facts for x in fact})
    return {(texts[s], texts[p], texts[o]) for s, p, o in facts}


def expanded(facts: Iterable[Fact], equality: Equality, iris: Collection[int]) -> set[Fact]:
    """Spell out classes one triple at a time: no literal as subject, only IRIs as predicates."""
    found: set[Fact] = set()
    for fact in facts:
        s, p, o = (equality.class_of(term) for term in fact)
        subjects = [x for x in s if x >= 0]
        found.update(product(subjects, p if len(p) == 1 else [x for x in p if x in iris], o))
    return found


def rows_from_scratch(
    maintainer: Maintainer, asserted: Iterable[Triple]
) -> dict[Fact, tuple[int, bool, bool]]:
    """Return what derived rows have to be, by the definition of support."""
    program = maintainer.program
    texts = {term_id(x): x for triple in asserted for x in triple} | dict(program.names)
    given = {(term_id(s), term_id(p), term_id(o)) for s, p, o in asserted}
    triples, origin = maintainer.state.schema()
    about_terms = [
        (s, p, o) for (s, p, o), bits in zip(triples.tolist(), origin, strict=True) if bits & 2
    ]
    done = close_locally(program, given, about_terms, texts)
    equality, table = done.equality, done.closed.consequences.derives
    here = {equality.rewrite(fact) for fact in given}
    same_as = equality.find(SAME_AS)
    equal = {(x, same_as, x) for x in equality.members}
    lookup = Texts(lambda ids: {x: texts[x] for x in ids})
    lookup.equality = equality
    said = {equality.rewrite(f) for f in said_of_others(done.closed, equality, lookup)}
    roots = done.closed.roots | equal | said
    support = Counter(dict.fromkeys(roots, 1))
    for root in (*here, *roots):
        support.update(table.of(root))
    concluded = {equality.rewrite(fact) for fact in done.joins} - equal
    joined = {*concluded, *(here - given), *(f for root in concluded for f in table.of(root))}

    def is_valid(fact: Fact) -> bool:
        s, p, _ = fact
        named = p in equality.members or not texts.get(p, "").startswith("_:")
        return s >= 0 and p >= 0 and named

    return {
        fact: (support[fact], fact in joined and not support[fact], fact in given)
        for fact in support.keys() | joined
        if is_valid(fact) and (support[fact] or fact in joined)
    }
