"""Rows of a store's files on the driver: a small change looks up what it needs without a Spark job.

A file is read column by column into arrays. What is looked up once is found by a scan; a file that
is asked a second time gets an index, a sorted hash of its keys, and then answers in microseconds.
Files never change, so what was read stays right; the least recently used goes when memory is full.

Invariant: a lookup by key returns every row of that key and no other; the hash only narrows.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from satura.errors import CorruptStoreError
from satura.terms.datatypes import value_key
from satura.terms.ids import term_id

Ints: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Triples: TypeAlias = npt.NDArray[np.int64]
"""Triples as an array of three columns."""

NO_GRAPH: Final = -1
"""The default graph in arrays, where a table has null; no graph is a literal, so no id is it."""
CACHE_BYTES: Final = 2 << 30
# Odd numbers of the golden ratio; any odd numbers would do.
_FACTORS: Final = tuple(
    np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
)
_EMPTY: Final = np.zeros(0, np.int64)


def no_triples() -> Triples:
    """Return an array of no triples."""
    return np.zeros((0, 3), np.int64)


def as_triples(facts: Iterable[Sequence[int]]) -> Triples:
    """Return facts as an array."""
    found = list(facts)
    return np.array(found, np.int64).reshape(-1, 3) if found else no_triples()


def mixed(s: Ints, p: Ints, o: Ints) -> npt.NDArray[np.uint64]:
    """Return a hash of triples that has no regularities where ids are hashes themselves."""
    parts = (
        column.view(np.uint64) * factor for column, factor in zip((s, p, o), _FACTORS, strict=True)
    )
    a, b, c = parts
    mixture = (
        a ^ (b << np.uint64(21) | b >> np.uint64(43)) ^ (c << np.uint64(42) | c >> np.uint64(22))
    )
    return np.asarray(mixture, np.uint64)


@dataclass(slots=True)
class FileRows:
    """The columns of one file."""

    columns: dict[str, npt.NDArray[np.generic]]
    _hashes: npt.NDArray[np.uint64] | None = None
    _order: npt.NDArray[np.integer] | None = None
    _asked: int = 0
    _by: dict[str, tuple[Ints, npt.NDArray[np.integer]]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @property
    def bytes(self) -> int:
        """About how much memory this takes."""
        indexed = [x for pair in self._by.values() for x in pair]
        arrays = [*self.columns.values(), self._hashes, self._order, *indexed]
        return sum(array.nbytes for array in arrays if array is not None)

    def column(self, name: str) -> Ints:
        """Return a column of ids."""
        return self.columns[name]  # type: ignore[return-value]

    def triples(self, rows: Ints | Mask | None = None) -> Triples:
        """Return the triples of rows."""
        columns = [self.column(name) for name in ("s", "p", "o")]
        return np.column_stack(columns if rows is None else [column[rows] for column in columns])

    def find(self, keys: Triples) -> tuple[Ints, Ints]:
        """Return the rows whose triple is one of the keys: the numbers of keys, and of rows."""
        if not len(keys) or not len(self):
            return _EMPTY, _EMPTY
        wanted = mixed(*keys.T.copy())
        self._asked += 1
        if self._order is None and self._asked > 1:
            hashes = mixed(self.column("s"), self.column("p"), self.column("o"))
            self._order = _as_order(np.argsort(hashes))
            self._hashes = hashes[self._order]
        if self._order is not None and self._hashes is not None:
            which, at = ranges(self._hashes, wanted)
            rows = self._order[at].astype(np.int64)
        else:
            hashes = mixed(self.column("s"), self.column("p"), self.column("o"))
            rows = np.flatnonzero(_is_in(hashes.view(np.int64), wanted.view(np.int64)))
            order = np.argsort(wanted)
            place, at = ranges(wanted[order], hashes[rows])
            which, rows = order[at], rows[place]
        same = np.all(self.triples(rows) == keys[which], axis=1)
        return which[same], rows[same]

    def where(self, column: str, values: Ints) -> Ints:
        """Return the rows with one of the values in a column, which is sorted the second time."""
        self._asked += 1
        if column not in self._by and self._asked > 1 and len(values) * 50 < len(self):
            order = _as_order(np.argsort(self.column(column)))
            self._by[column] = (self.column(column)[order], order)
        if column in self._by:
            ordered, order = self._by[column]
            _, at = ranges(ordered, np.unique(values))
            return order[at].astype(np.int64)
        return np.flatnonzero(_is_in(self.column(column), values))


def _as_order(order: Ints) -> npt.NDArray[np.integer]:
    return order.astype(np.int32) if len(order) < 1 << 31 else order


def ranges(ordered: npt.NDArray[np.generic], wanted: npt.NDArray[np.generic]) -> tuple[Ints, Ints]:
    """Return where wanted values are in an ordered array: the number of the value, the place."""
    # In order of the values, one search begins in memory where the one before it ended.
    which = np.argsort(wanted)
    values = wanted[which]
    low = np.searchsorted(ordered, values, "left")
    is_here = np.zeros(len(values), np.bool_)
    inside = low < len(ordered)
    is_here[inside] = ordered[low[inside]] == values[inside]
    which, values, low = which[is_here], values[is_here], low[is_here]
    counts = np.searchsorted(ordered, values, "right") - low
    total = int(counts.sum())
    within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(which, counts), np.repeat(low, counts) + within


def _is_in(values: Ints, wanted: Ints) -> Mask:
    found = pc.is_in(pa.array(values), value_set=pa.array(np.unique(wanted)))
    return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)


@dataclass(slots=True)
class FileTerms:
    """Terms of one file, found by id."""

    ids: Ints
    order: Ints
    texts: pa.Array
    _values: dict[str, list[int]] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def bytes(self) -> int:
        """About how much memory this takes."""
        return int(self.ids.nbytes + self.order.nbytes + self.texts.nbytes)

    def values(self) -> dict[str, list[int]]:
        """Return the literals that are not plain strings, by a key that equal values share."""
        if self._values is None:
            odd = pc.or_(
                pc.ends_with(self.texts, ">"),
                pc.match_substring_regex(self.texts, '@[^"]*[A-Z][^"]*$'),
            )
            found: dict[str, list[int]] = {}
            chosen = pc.and_(odd, pc.starts_with(self.texts, '"'))
            for text in self.texts.filter(chosen).to_pylist():
                found.setdefault(value_key(text), []).append(term_id(text))
            self._values = found
        return self._values

    def find(self, wanted: Ints) -> dict[int, str]:
        """Return the texts of those ids that are here."""
        at = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        hit = self.ids[at] == wanted
        texts = self.texts.take(pa.array(self.order[at[hit]])).to_pylist()
        return dict(zip(wanted[hit].tolist(), texts, strict=True))


class RowCache:
    """Files that have been read, up to some memory."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self.limit = limit
        self.rows_read = 0
        self.files_read = 0
        self._files: OrderedDict[Path, FileRows | FileTerms] = OrderedDict()
        self._bytes = self._unmeasured = 0

    def read(self, path: Path) -> FileRows:
        """Return the rows of a file of facts."""
        return self._get(path, read_columns)  # type: ignore[return-value]

    def read_terms(self, path: Path) -> FileTerms:
        """Return the rows of a file of terms."""
        return self._get(path, read_texts)  # type: ignore[return-value]

    def _get(
        self, path: Path, read: Callable[[Path], FileRows | FileTerms]
    ) -> FileRows | FileTerms:
        if path in self._files:
            self._files.move_to_end(path)
            return self._files[path]
        found = read(path)
        self.rows_read += len(found)
        self.files_read += 1
        self._files[path] = found
        self._bytes += found.bytes
        self._unmeasured += 1
        # Indexes come later and count too; to measure all files at every turn would cost more.
        if self._bytes > self.limit or self._unmeasured > len(self._files) // 8 + 8:
            self._bytes = sum(rows.bytes for rows in self._files.values())
            self._unmeasured = 0
        while self._bytes > self.limit and len(self._files) > 1:
            _, dropped = self._files.popitem(last=False)
            self._bytes -= dropped.bytes
        return found


def read_columns(path: Path) -> FileRows:
    """Read a file of facts whole."""
    table = read_table(path)
    return FileRows({name: _as_array(table[name]) for name in table.column_names})


def read_texts(path: Path) -> FileTerms:
    """Read a file of terms whole."""
    table = read_table(path)
    ids = table["id"].to_numpy()
    order = np.argsort(ids)
    texts = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in table["term"].chunks])
    return FileTerms(ids[order], order, texts)


def read_table(path: Path) -> pa.Table:
    """Read a Parquet file of a store whole."""
    try:
        # Not mapped into memory: a mapping would keep a deleted file on disk.
        return pq.read_table(path, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise CorruptStoreError(
            "STORE-CORRUPT", f"`{path}` cannot be read: {error}",
            "run `satura verify`; restore the file from a copy, or build the store again",
        ) from error  # fmt: skip


def _as_array(column: pa.ChunkedArray) -> npt.NDArray[np.generic]:
    # Most stores have no graphs, and most files nothing that is gone: that needs no memory.
    if column.null_count == len(column):
        return np.broadcast_to(np.int64(NO_GRAPH), len(column))
    if column.type == pa.bool_() and not pc.any(column).as_py():
        return np.broadcast_to(np.False_, len(column))
    if column.null_count:
        column = pc.fill_null(column, NO_GRAPH)
    return np.asarray(column.to_numpy())
