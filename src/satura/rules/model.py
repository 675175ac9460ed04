"""The rule model: rules are data, read from text, and nothing here knows how they are run.

A constant is the canonical N-Triples text of a term; a `Variable` is a variable. The same objects
feed the naive reference, the in-memory evaluator, the Spark plans and the documentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from satura.terms.ntriples import Term


@dataclass(frozen=True, slots=True)
class Variable:
    """A rule variable, without its `?`."""

    name: str

    def __str__(self) -> str:
        return f"?{self.name}"


Slot: TypeAlias = Term | Variable


@dataclass(frozen=True, slots=True)
class Position:
    """Where something stands in a rule file, counted from 1."""

    source: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Atom:
    """A triple pattern."""

    s: Slot
    p: Slot
    o: Slot

    @property
    def slots(self) -> tuple[Slot, Slot, Slot]:
        return self.s, self.p, self.o

    @property
    def variables(self) -> frozenset[Variable]:
        return frozenset(slot for slot in self.slots if isinstance(slot, Variable))

    def __str__(self) -> str:
        return " ".join(str(slot) for slot in self.slots)
