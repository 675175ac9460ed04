"""What a micro-batch brings: statements that come and go, in order, and what could not be read.

Invariant: of each statement the last word counts, however the batch is cut into files or messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from satura.io.slow import Quad

MAX_RAW = 1 << 20
"""Bytes of one rejected message that are kept; the place says where the rest is."""


@dataclass(frozen=True, slots=True)
class Reject:
    """Something that could not be read: where it is from, where there, why, and its bytes."""

    source: str
    offset: str
    reason: str
    raw: bytes


@dataclass(slots=True)
class Intake:
    """What a batch brings, as far as it has been read."""

    last: dict[Quad, bool] = field(default_factory=dict)
    """Every statement with whether it is there after the batch."""
    rejects: list[Reject] = field(default_factory=list)
    statements: int = 0
    units: int = 0
    """Files or messages."""
    size: int = 0
    """Bytes of them."""
    oldest: float | None = None
    """When the oldest of them came, in seconds since the epoch."""

    def take(self, quads: Iterable[Quad], *, add: bool = True) -> None:
        """Take statements that are added, or removed."""
        for quad in quads:
            self.last[quad] = add
            self.statements += 1

    def came(self, seconds: float | None) -> None:
        """Note when a file or message came."""
        self.units += 1
        if seconds is not None and (self.oldest is None or seconds < self.oldest):
            self.oldest = seconds

    def reject(self, source: str, offset: str, reason: str, raw: bytes) -> None:
        """Note what could not be read."""
        self.rejects.append(Reject(source, offset, reason, raw[:MAX_RAW]))

    def net(self) -> tuple[list[Quad], list[Quad]]:
        """Return what is added and what is removed."""
        added = [quad for quad, add in self.last.items() if add]
        removed = [quad for quad, add in self.last.items() if not add]
        return added, removed
