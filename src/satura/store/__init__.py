"""A store: a directory of Delta tables in which one commit decides what is true.

`begin` a transaction, write facts and terms with Spark, `commit`; then `Store.open` and read
frames. `satura.store.verify` checks a store, `repair` removes what crashed runs left.
"""

from satura.store.collisions import check_collisions
from satura.store.history import Entry
from satura.store.layout import FORMAT_VERSION, KINDS, Kind
from satura.store.leftovers import find_orphans, repair, vacuum
from satura.store.metadata import CommitMetadata, Counts, StoreInfo
from satura.store.store import Store
from satura.store.transaction import Transaction, begin
from satura.store.upkeep import Upkeep, after_commit

__all__ = [
    "FORMAT_VERSION",
    "KINDS",
    "CommitMetadata",
    "Counts",
    "Entry",
    "Kind",
    "Store",
    "StoreInfo",
    "Transaction",
    "Upkeep",
    "after_commit",
    "begin",
    "check_collisions",
    "find_orphans",
    "repair",
    "vacuum",
]
