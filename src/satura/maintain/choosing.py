"""Which algorithm makes a change: the one asked for, or the first that can and is worth it.

Counting is tried first, then delete-and-rederive; what neither can follow, and what would look up
more than the store holds, closes the store again. The reason goes with the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from satura.closure.local import is_local
from satura.errors import ConfigError
from satura.maintain.context import Context, NotIncrementalError, Result
from satura.maintain.counting import maintain_by_counting
from satura.maintain.estimate import Work, rows_to_close, work_to_follow
from satura.maintain.joined import maintain_by_dred
from satura.maintain.model import Algorithm
from satura.maintain.whole import recompute_in_memory

SPARK_START: Final = 2_000_000
"""What starting the jobs that close a store costs, in rows that are read meanwhile."""
JOINS_START: Final = 20_000_000
"""The same where rules join: there are many more jobs, in rounds."""
JOIN_COST: Final = 50
"""How many rows are read in the time in which one is followed through joins on the driver."""

FOLLOWING = (
    ("counting", maintain_by_counting, "no rule joins"),
    ("dred", maintain_by_dred, "rules join, and what the change touches can be followed"),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen and why, the rows it was expected to look at, and what came of it.

    Without a result, the store is left to be closed by Spark.
    """

    result: Result | None
    name: str
    why: str
    estimate: int

    @property
    def looked_up(self) -> int:
        """How many rows were looked at, as far as it was not Spark that did."""
        return self.estimate if self.result is None else len(self.result.before)


def choose(context: Context, algorithm: Algorithm, small_store: int) -> Choice:
    """Run the algorithm that is asked for, or the best one.

    Up to `small_store` asserted triples a store is closed again in memory.
    """
    whole = rows_to_close(context.state)
    total = context.state.store.info.counts.asserted + len(context.delta)
    is_small = total <= small_store and is_local(context.program)
    why, estimate = "asked for", whole
    if algorithm != "recompute":
        is_free = algorithm == "auto" and not is_small
        why = _too_large(context) if is_free else ""
        if not why and _is_estimated(context):
            work = work_to_follow(context)
            estimate = work.rows
            why = _too_costly(context, work, whole) if is_free else ""
    if algorithm != "recompute" and not why:
        found = _follow(context, algorithm, estimate)
        if isinstance(found, Choice):
            return found
        why = found
    result = recompute_in_memory(context) if is_small else None
    return Choice(result, "recompute", why, max(whole, total))


def _too_large(context: Context) -> str:
    """Return why a change is not even looked at, if so."""
    is_larger = len(context.delta) > context.state.store.info.counts.asserted
    return "the change is larger than the store" if is_larger else ""


def _is_estimated(context: Context) -> bool:
    return not context.program.plain and not context.program.preliminary


def _too_costly(context: Context, work: Work, whole: int) -> str:
    """Return why closing again is cheaper than looking up some rows, if it is."""
    if context.new.closed.shapes:
        cost, start = JOIN_COST * work.concluded + work.concerned, JOINS_START
    else:
        cost, start = work.rows, SPARK_START
    if cost <= whole + start:
        return ""
    return f"about {work.rows} rows would be looked up, the store has {whole}"


def _follow(context: Context, algorithm: Algorithm, estimate: int) -> Choice | str:
    """Follow a change, or return why that cannot be done."""
    why = ""
    for name, run, reason in FOLLOWING:
        if algorithm not in ("auto", name):
            continue
        try:
            words = reason if algorithm == "auto" else "asked for"
            return Choice(run(context), name, words, estimate)
        except NotIncrementalError as error:
            why = str(error)
            if algorithm == name:
                raise ConfigError(
                    "UPDATE-ALGORITHM", f"`{name}` cannot make this change: {why}",
                    "leave the choice to `--algorithm auto`",
                ) from error  # fmt: skip
    return why
