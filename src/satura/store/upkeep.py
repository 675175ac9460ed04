"""When a store is compacted and vacuumed by itself: after a commit, as far as a policy asks for it.

Reading a snapshot costs more with every layer, and every update adds one. So after a commit layers
are merged when there are too many, and merged with what they lie on when they have grown to a share
of it. Versions whose time is over go from time to time.

Invariant: upkeep never makes an update fail that is committed; what cannot be done now is left for
the next time.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from satura.errors import ConflictError, StoreError
from satura.store.compaction import ROWS_ON_DRIVER, Plan, compact, layers, plan_merge
from satura.store.horizon import read_horizon
from satura.store.layout import KEYS
from satura.store.leftovers import vacuum
from satura.store.retention import due_horizon
from satura.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

VACUUM_EVERY: Final = 64
"""Versions that must have become due before files are looked for that may go."""


@dataclass(frozen=True, slots=True)
class Upkeep:
    """The policy: how many layers, how large a share of rows in them, how long versions stay."""

    max_layers: int = 8  # layers on top of the oldest, and transactions with files of terms
    max_share: float = 0.25  # rows on top, of those below, beyond which all are written anew
    min_rows: int = 100_000  # rows on top up to which that is not asked
    retain: timedelta = timedelta(days=7)


DEFAULT: Final = Upkeep()


def plan_upkeep(store: Store, upkeep: Upkeep = DEFAULT, *, spark: bool = False) -> Plan:
    """Plan what a policy asks for; what is too large for the driver only if there is Spark."""
    plan = plan_merge(store, upkeep.max_layers)
    merged, whole = dict(plan.merged), set(plan.whole)
    for kind in KEYS:
        found = layers(store, kind)
        base, rows = (found[0].rows, sum(x.rows for x in found)) if found else (0, 0)
        on_top = rows - base
        large = on_top > upkeep.min_rows and on_top > upkeep.max_share * base
        if large and (spark or rows <= ROWS_ON_DRIVER):
            merged[kind] = tuple(found)
            whole.add(kind)
    return Plan(merged, frozenset(whole), plan.terms)


def after_commit(
    store: Store, upkeep: Upkeep = DEFAULT, spark: SparkSession | None = None
) -> Store:
    """Do what a policy asks for after a commit; return the latest snapshot made."""
    try:
        plan = plan_upkeep(store, upkeep, spark=spark is not None)
        if not plan:
            return store
        store = compact(store, plan, spark)
        if due_horizon(store.path, upkeep.retain) - read_horizon(store.path) >= VACUUM_EVERY:
            vacuum(store.path, upkeep.retain)
    except ConflictError:
        log.info("another run committed to `%s`; compaction is left for the next time", store.path)
    except StoreError as error:
        log.warning("`%s` was not compacted, the update is committed: %s", store.path, error)
    return store
