"""Publishing what a store's commits did to its closure, up to the latest one.

Commits of others are published with our own: who follows the feed has the closure, whoever wrote.
Commits that only rearrange files are stepped over.

Invariant: what is published between two versions is exactly the difference of their closures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from satura.errors import StoreError
from satura.maintain.changes import (
    SMALL,
    Net,
    changed_frame,
    closure_frame,
    closure_of,
    decode_net,
    is_few,
    net_change,
)
from satura.store import Store, commits
from satura.store.layout import FACTS
from satura.store.rows import RowCache
from satura.store.state import State
from satura.stream.feed import COLUMNS, Feed, Span

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


ROWS_TOGETHER: Final = 10_000


class Publisher:
    """Keeps a feed up to date with a store."""

    def __init__(self, feed: Feed, spark: Callable[[], SparkSession], cache: RowCache) -> None:
        self.feed = feed
        self._spark = spark
        self._cache = cache
        self._last = feed.last()
        self._seen: Store | None = None  # the snapshot of the last time, mostly the next one's base

    def begin(self, store: Store, *, whole: bool) -> None:
        """Begin a feed that nothing has been published to: with the closure, or from here on."""
        if self._last is not None:
            return
        self.feed.publish(Span(None, store.version), self._everything(store) if whole else ())
        self._last = store.version

    def catch_up(self, store: Store) -> int:
        """Publish what differs since the last time; return how many triples that are."""
        assert self._last is not None, "the feed has been begun"
        latest, target = store, store.version
        while target > self._last and self._rearranges(store, target):
            target -= 1
        base = self._last
        while base < target and self._rearranges(store, base + 1):
            base += 1
        seen, self._seen = self._seen, latest
        if base >= target:
            return 0
        store = store if target == store.version else Store.open(store.path, target)
        try:
            is_seen = seen is not None and seen.version == base
            before = seen if seen is not None and is_seen else Store.open(store.path, base)
        except StoreError as error:
            error.hint = (
                f"`{self.feed.label}` ends with version {self._last}, which is no longer kept: "
                "begin a new feed, from `satura export`"
            )
            raise
        rows = self.feed.publish(Span(self._last, store.version), self._changes(before, store))
        self._last = store.version
        return rows

    def _changes(self, before: Store, after: Store) -> Iterable[pa.RecordBatch]:
        if is_few(before, after):
            net = net_change(before, after, self._cache)
            yield from decode_net(net, before, after, self._cache).to_batches()
            return
        yield from _batches(changed_frame(self._spark(), before, after))

    def _everything(self, store: Store) -> Iterable[pa.RecordBatch]:
        """Yield the closure of a store as what came."""
        if store.info.counts.closure <= SMALL:
            state = State(store, self._cache)
            triples = closure_of(state)
            net = Net(triples, state.is_asserted(triples), triples[:0], np.zeros(0, np.bool_))
            yield from decode_net(net, store, store, self._cache).to_batches()
            return
        yield from _batches(closure_frame(self._spark(), store))

    @staticmethod
    def _rearranges(store: Store, version: int) -> bool:
        """Say whether the commit of a version only rearranges files."""
        data = commits.read_metadata(store.path / FACTS, version)
        return data is not None and data.get("operation") == "compact"


def _batches(frame: DataFrame) -> Iterable[pa.RecordBatch]:
    """Yield the rows of a frame of changes, a partition at a time in memory."""
    rows = frame.select(*COLUMNS).toLocalIterator(prefetchPartitions=True)
    while some := list(islice(rows, ROWS_TOGETHER)):
        columns = [pa.array(column) for column in zip(*some, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, names=list(COLUMNS))
