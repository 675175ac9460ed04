"""`owl:sameAs` by representatives: which rules mean it, and which terms are the same.

The five rules of equality (symmetry, transitivity, replacement of subject, predicate and object)
make n² triples of n equal terms, and n times all that is said of them. Where a rule set has all
five they are taken out. Every class of equal terms gets a representative, the engine works on
representatives only, and whoever reads the result puts the members back.

Invariant: `representative` maps every member but the representative itself, and is flat.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from satura.closure.program import TYPE, Fact, ground
from satura.rules.model import Atom, Rule, Variable
from satura.vocab import OWL_SAME_AS

A, B, C, P, O = (Variable(name) for name in "abcpo")  # noqa: E741
EQUAL: Final = OWL_SAME_AS

RULES: Final[dict[str, tuple[tuple[Atom, ...], Atom]]] = {
    "sym": ((Atom(A, EQUAL, B),), Atom(B, EQUAL, A)),
    "trans": ((Atom(A, EQUAL, B), Atom(B, EQUAL, C)), Atom(A, EQUAL, C)),
    "rep-s": ((Atom(A, EQUAL, B), Atom(A, P, O)), Atom(B, P, O)),
    "rep-p": ((Atom(A, EQUAL, B), Atom(C, A, O)), Atom(C, B, O)),
    "rep-o": ((Atom(A, EQUAL, B), Atom(C, P, A)), Atom(C, P, B)),
}
"""The rules of equality, up to the names of variables and the order of patterns."""


def take_equality_rules(rules: Iterable[Rule]) -> tuple[bool, list[Rule]]:
    """Take the rules of equality out, if all five are there."""
    wanted = {_shape(body, head): name for name, (body, head) in RULES.items()}
    kinds: dict[str, list[Rule]] = {}
    others: list[Rule] = []
    for rule in rules:
        name = None
        if len(rule.body) == len(rule.atoms) and len(rule.head) == 1 and not rule.data:
            name = next(
                (
                    wanted[shape]
                    for body in (rule.atoms, rule.atoms[::-1])
                    if (shape := _shape(body, rule.head[0])) in wanted
                ),
                None,
            )
        (others if name is None else kinds.setdefault(name, [])).append(rule)
    if len(kinds) == len(RULES):
        return True, others
    return False, list(rules)


def _shape(body: Iterable[Atom], head: Atom) -> object:
    names: dict[Variable, int] = {}
    return tuple(
        tuple(
            names.setdefault(slot, len(names)) if isinstance(slot, Variable) else slot
            for slot in atom.slots
        )
        for atom in (*body, head)
    )


class Equality:
    """Classes of equal terms, which only grow.

    `constants` are preferred as representatives, so that rules need not be rewritten when one of
    their terms gets an equal; then terms that are not literals.
    """

    def __init__(self, constants: Iterable[int] = ()) -> None:
        self.representative: dict[int, int] = {}
        self.members: dict[int, list[int]] = {}
        self._constants = frozenset(constants)

    @classmethod
    def of(cls, chosen: Mapping[int, int], constants: Iterable[int] = ()) -> Equality:
        """Return the classes of terms, each given with its representative."""
        found = cls(constants)
        for term, representative in chosen.items():
            found.members.setdefault(representative, []).append(term)
            if term != representative:
                found.representative[term] = representative
        return found

    def __bool__(self) -> bool:
        return bool(self.members)

    def find(self, term: int) -> int:
        """Return the representative of a term."""
        return self.representative.get(term, term)

    def rewrite(self, fact: Fact) -> Fact:
        """Return a fact about representatives."""
        return ground(fact, self.representative)

    def class_of(self, term: int) -> list[int]:
        """Return all terms equal to one, itself included."""
        return self.members.get(self.find(term), [term])

    def merge(self, pairs: Iterable[tuple[int, int]]) -> set[int]:
        """Take pairs of terms as equal; return the terms that are no longer representatives."""
        lost: set[int] = set()
        for a, b in pairs:
            left, right = self.find(a), self.find(b)
            if left == right:
                continue
            keep, drop = sorted((left, right), key=self._rank)
            moved = self.members.pop(drop, [drop])
            self.members.setdefault(keep, [keep]).extend(moved)
            for member in moved:
                self.representative[member] = keep
            lost.add(drop)
        return lost

    def _rank(self, term: int) -> tuple[bool, bool, bool, int]:
        return term != TYPE, term not in self._constants, term < 0, term
