"""A store: a directory of Delta tables in which one commit decides what is true.

`begin` a transaction, write facts and terms with Spark, `commit`; then `Store.open` and read
frames. `verify` checks a store, `repair` removes what crashed runs left.
"""

from satura.store.collisions import check_collisions
from satura.store.layout import FORMAT_VERSION, KINDS, Kind
from satura.store.leftovers import find_orphans, repair
from satura.store.store import CommitMetadata, Counts, Store, StoreInfo
from satura.store.transaction import Transaction, begin
from satura.store.verify import Check, Entailment, Report, verify

__all__ = [
    "FORMAT_VERSION",
    "KINDS",
    "Check",
    "CommitMetadata",
    "Counts",
    "Entailment",
    "Kind",
    "Report",
    "Store",
    "StoreInfo",
    "Transaction",
    "begin",
    "check_collisions",
    "find_orphans",
    "repair",
    "verify",
]
