"""The reference: the naive fixpoint of a rule set over Python sets, the oracle of every test.

It does what SPARQL-RL sections 6.4 and 6.5 say, in the order they say it, and nothing clever: all
rules, all solutions, again and again until nothing is new. Facts are *generalized* triples inside,
so a conclusion with a literal subject or a predicate that is not an IRI takes part in reasoning;
it is only left out of what is returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from satura.entailment import entails, find_inconsistency
from satura.errors import LimitError
from satura.rules.evaluate import Context, Solution, assigned, fresh_blank, is_true
from satura.rules.model import Assignment, Atom, BodyElement, Filter, Rule, RuleSet, Slot, Variable
from satura.rules.strata import stratify
from satura.terms.literals import make_xsd
from satura.terms.ntriples import Term, Triple, is_blank, is_iri, is_literal

__all__ = ["Facts", "close", "entails", "find_inconsistency"]

MAX_ROUNDS: Final = 10_000


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


def fill(slot: Slot, solution: Solution) -> Slot:
    """Return a slot with its variable replaced, if it has a value."""
    return solution.get(slot, slot) if isinstance(slot, Variable) else slot


def solve(
    elements: Sequence[BodyElement],
    solution: dict[Variable, Term],
    facts: Facts,
    base: Facts,
    context: Context,
) -> Iterator[dict[Variable, Term]]:
    """Yield the solutions of a sequence of rule elements (section 6.4, `evalRuleElements`)."""
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
    else:
        inner = base if element.data else facts
        if next(solve(element.body, solution, inner, base, context), None) is None:
            following = [solution]
    for extended in following:
        yield from solve(rest, extended, facts, base, context)


def describe(solution: Solution) -> list[str]:
    """Return a text per variable; the same solution always gives the same."""
    return sorted(f"{variable}={term}" for variable, term in solution.items())


def conclude(rule: Rule, facts: Facts, base: Facts, now: Term) -> Iterator[Triple]:
    """Yield what one evaluation of a rule concludes (section 6.4, `evalRule`)."""
    # A fresh blank node is named after rule and solution, so a run can be repeated.
    seed = "\0".join((rule.id, *map(str, rule.head), *map(str, rule.atoms)))
    context = Context(now, seed, computed=frozenset(a.variable for a in rule.assignments))
    for solution in solve(rule.body, {}, base if rule.data else facts, base, context):
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
        for rule in stratum.once:
            facts.add(list(conclude(rule, facts, base, now)))
        rounds, changed = 0, True
        while changed:
            if rounds == max_rounds:
                raise LimitError("LIMIT-ROUNDS", f"no fixpoint after {max_rounds} rounds")
            rounds += 1
            changed = False
            for rule in stratum.general:
                changed |= facts.add(list(conclude(rule, facts, base, now)))
    return frozenset(t for t in facts.triples if generalized or is_rdf(t))


def is_rdf(triple: Triple) -> bool:
    """Say whether a generalized triple is an RDF triple."""
    return not is_literal(triple[0]) and is_iri(triple[1])
