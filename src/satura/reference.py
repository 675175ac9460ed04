"""The reference: the naive fixpoint of a rule set over Python sets, the oracle of every test.

It does what SPARQL-RL sections 6.4 and 6.5 say, in the order they say it, and nothing clever: all
rules, all solutions, again and again until nothing is new. Facts are *generalized* triples inside,
so a conclusion with a literal subject or a predicate that is not an IRI takes part in reasoning;
it is only left out of what is returned. A rule with the head `false` concludes nothing: `close`
passes it over, and `violations` says where its body holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import combinations, product
from typing import Final

from satura.entailment import entails, find_inconsistency
from satura.errors import LimitError
from satura.rules.evaluate import (
    Context,
    Solution,
    assigned,
    describe,
    fresh_blank,
    is_true,
    rule_seed,
)
from satura.rules.lists import FIRST, NIL, REST, sequences
from satura.rules.model import (
    Assignment,
    Atom,
    BodyElement,
    Chain,
    Every,
    Filter,
    ListCondition,
    Member,
    Pair,
    Rule,
    RuleSet,
    Slot,
    Variable,
)
from satura.rules.scope import local_variables, named_variables
from satura.rules.strata import stratify
from satura.terms.literals import make_xsd
from satura.terms.ntriples import Term, Triple, is_blank, is_iri, is_literal

__all__ = ["Facts", "close", "entails", "find_inconsistency", "violations"]

MAX_ROUNDS: Final = 10_000
HERE: Final = Variable("")
"""Where a `CHAIN` has come to; no rule can name it."""

Violation = tuple[str, frozenset[tuple[str, Term]]]
"""The id of a rule with the head `false`, and the values of its named variables."""


class Facts:
    """A set of triples that finds those with a given term in a given place."""

    def __init__(self, triples: Iterable[Triple] = ()) -> None:
        self.triples: set[Triple] = set()
        self.by_term: dict[tuple[int, Term], set[Triple]] = {}
        self.add(triples)

    def add(self, triples: Iterable[Triple]) -> bool:
        """Add triples and say whether any was new."""
        new = set(triples) - self.triples
        self.triples |= new
        for triple in new:
            for place, term in enumerate(triple):
                self.by_term.setdefault((place, term), set()).add(triple)
        return bool(new)

    def match(self, atom: Atom, solution: Solution) -> Iterator[dict[Variable, Term]]:
        """Yield every extension of a solution under which the atom is a fact."""
        wanted = [fill(slot, solution) for slot in atom.slots]
        known = [(place, t) for place, t in enumerate(wanted) if isinstance(t, str)]
        candidates = [self.by_term.get(key, set()) for key in known] or [self.triples]
        fewest: set[Triple] = min(candidates, key=len)
        for triple in list(fewest):
            extended = dict(solution)
            if all(
                extended.setdefault(slot, term) == term
                if isinstance(slot, Variable)
                else slot == term
                for slot, term in zip(wanted, triple, strict=True)
            ):
                yield extended

    def objects(self, s: Term, p: Term) -> list[Term]:
        """Return the objects of a subject and a predicate, sorted."""
        return sorted(found[HERE] for found in self.match(Atom(s, p, HERE), {}))

    def lists(self, head: Term) -> Iterator[tuple[tuple[Term, ...], ...]]:
        """Yield the RDF lists that a node is the head of."""
        return sequences(
            head, lambda c: self.objects(c, FIRST), lambda c: self.objects(c, REST), NIL
        )


def fill(slot: Slot, solution: Solution) -> Slot:
    """Return a slot with its variable replaced, if it has a value."""
    return solution.get(slot, slot) if isinstance(slot, Variable) else slot


def solve(
    elements: Sequence[BodyElement],
    solution: dict[Variable, Term],
    facts: Facts,
    base: Facts,
    context: Context,
    local: frozenset[Variable] = frozenset(),
) -> Iterator[dict[Variable, Term]]:
    """Yield the solutions of a sequence of rule elements (section 6.4, `evalRuleElements`).

    `local` are the variables that may differ from member to member of an `EVERY`.
    """
    if not elements:
        yield solution
        return
    element, rest = elements[0], elements[1:]
    following: Iterable[dict[Variable, Term]] = ()
    if isinstance(element, Atom):
        following = facts.match(element, solution)
    elif isinstance(element, Filter):
        following = [solution] if is_true(element.expression, solution, context) else ()
    elif isinstance(element, Assignment):
        matched = {v: t for v, t in solution.items() if v not in context.computed}
        seed = "\0".join((context.seed, *describe(matched)))
        place = Context(context.now, seed, str(element.variable))
        value = assigned(element.expression, solution, place)
        following = [] if value is None else [{**solution, element.variable: value}]
    elif isinstance(element, ListCondition):
        following = solve_list(element, solution, facts, local)
    else:
        inner = base if element.data else facts
        if next(solve(element.body, solution, inner, base, context), None) is None:
            following = [solution]
    for extended in following:
        yield from solve(rest, extended, facts, base, context, local)


def solve_list(
    condition: ListCondition,
    solution: dict[Variable, Term],
    facts: Facts,
    local: frozenset[Variable],
) -> Iterator[dict[Variable, Term]]:
    """Yield the solutions of a condition over the lists that its node is the head of."""
    head = fill(condition.list, solution)
    assert isinstance(head, str)
    for places in facts.lists(head):
        if isinstance(condition, Member):
            for member in (member for place in places for member in place):
                yield from bind(condition.member, member, solution)
        elif isinstance(condition, Pair):
            for one, other in combinations(places, 2):
                for first, second in product(one, other):
                    for extended in bind(condition.first, first, solution):
                        yield from bind(condition.second, second, extended)
        elif places:
            # What a list without members says of each of them, or leads to, holds of nothing.
            found = {frozenset(solution.items())}
            for place in places:
                found = {
                    frozenset(extended.items())
                    for known in found
                    for member in place
                    for extended in _one_place(condition, member, dict(known), facts, local)
                }
            for known in found:
                extended = dict(known)
                if isinstance(condition, Every):
                    yield extended
                else:
                    yield from bind(condition.end, extended.pop(HERE), extended)


def _one_place(
    condition: Every | Chain,
    member: Term,
    solution: dict[Variable, Term],
    facts: Facts,
    local: frozenset[Variable],
) -> Iterator[dict[Variable, Term]]:
    """Yield the solutions of `EVERY` for one member, or of `CHAIN` for one step."""
    if isinstance(condition, Chain):
        start = solution.pop(HERE, None) or condition.start
        yield from facts.match(Atom(start, member, HERE), solution)
        return
    dropped = local | {condition.member}
    start_with = {**solution, condition.member: member}
    for found in solve(condition.body, start_with, facts, facts, Context()):
        yield {v: t for v, t in found.items() if v not in dropped}


def bind(slot: Slot, term: Term, solution: dict[Variable, Term]) -> Iterator[dict[Variable, Term]]:
    """Yield the solution under which a slot stands for a term, if there is one."""
    known = fill(slot, solution)
    if isinstance(known, Variable):
        yield {**solution, known: term}
    elif known == term:
        yield solution


def conclude(rule: Rule, facts: Facts, base: Facts, now: Term) -> Iterator[Triple]:
    """Yield what one evaluation of a rule concludes (section 6.4, `evalRule`)."""
    # A fresh blank node is named after rule and solution, so a run can be repeated.
    seed = rule_seed(rule)
    context = Context(now, seed, computed=frozenset(a.variable for a in rule.assignments))
    read = base if rule.data else facts
    for solution in solve(rule.body, {}, read, base, context, local_variables(rule)):
        for atom in rule.head:
            s, p, o = (instantiate(slot, solution, seed) for slot in atom.slots)
            yield s, p, o


def instantiate(slot: Slot, solution: Solution, seed: str) -> Term:
    """Return what a slot of a head stands for under a solution."""
    if isinstance(slot, Variable):
        return solution[slot]
    return fresh_blank(seed, slot, *describe(solution)) if is_blank(slot) else slot


def close(
    rules: RuleSet,
    triples: Iterable[Triple],
    *,
    max_rounds: int = MAX_ROUNDS,
    generalized: bool = False,
) -> frozenset[Triple]:
    """Return the given triples and all that the rules conclude from them.

    With `generalized` the triples that are not RDF (a literal as subject, a predicate that is not
    an IRI) are returned too. Raises `LimitError` when a stratum takes more than `max_rounds`.
    """
    base = Facts(triples)
    facts = Facts(base.triples)
    facts.add(rules.data)
    now = make_xsd(datetime.now(UTC).isoformat(timespec="milliseconds"), "dateTime")
    for stratum in stratify(rules):
        for rule in (rule for rule in stratum.once if not rule.false):
            facts.add(list(conclude(rule, facts, base, now)))
        rounds, changed = 0, True
        while changed:
            if rounds == max_rounds:
                raise LimitError("LIMIT-ROUNDS", f"no fixpoint after {max_rounds} rounds")
            rounds += 1
            changed = False
            for rule in (rule for rule in stratum.general if not rule.false):
                changed |= facts.add(list(conclude(rule, facts, base, now)))
    return frozenset(t for t in facts.triples if generalized or is_rdf(t))


def violations(
    rules: RuleSet, closure: Iterable[Triple], *, given: Iterable[Triple] | None = None
) -> frozenset[Violation]:
    """Return where the rules with the head `false` hold in a closure of generalized triples.

    `given` are the triples that `WHERE DATA` and `NOT DATA` read; without it, all of the closure.
    """
    facts = Facts(closure)
    base = facts if given is None else Facts(given)
    now = make_xsd(datetime.now(UTC).isoformat(timespec="milliseconds"), "dateTime")
    found = set()
    for rule in (rule for rule in rules if rule.false):
        named = named_variables(rule)
        read, context = base if rule.data else facts, Context(now, rule.id)
        for solution in solve(rule.body, {}, read, base, context, local_variables(rule)):
            found.add((rule.id, frozenset((v.name, solution[v]) for v in named)))
    return frozenset(found)


def is_rdf(triple: Triple) -> bool:
    """Say whether a generalized triple is an RDF triple."""
    return not is_literal(triple[0]) and is_iri(triple[1])
