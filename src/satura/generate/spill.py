"""Lines put aside on disk: each once, in their order or shuffled, with little held in memory.

A cut has to know how many statements there are before it can write the first batch, and inputs
are slow to parse, so statements are parsed once into a file of canonical lines. Repeated lines are
found by digests of 128 bits, sorted a part at a time.

Invariants: only `Random.random` is drawn from, the one method Python promises to keep stable;
memory does not grow with the lines, but for 8 bytes for each that is repeated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import xxhash
from numpy.typing import NDArray

Draw: TypeAlias = Callable[[], float]

_CHUNK: Final = 1 << 20
_HELD: Final = 64 << 20
_PARTS: Final = 64
_DIGEST: Final = np.dtype([("high", ">u8"), ("low", ">u8")])
_ROW: Final = np.dtype([("high", "<u8"), ("low", "<u8"), ("at", "<u8")])
# Text that is shuffled at a time, and lines that are passed on at a time.
_SHUFFLED: Final = 32 << 20
_TOGETHER: Final = 4096


class Shelves:
    """Bytes on numbered shelves: in memory up to a limit, beyond it in a file for each shelf."""

    def __init__(self, directory: Path, held: int = _HELD) -> None:
        self._directory = directory
        self._most = held
        self._held = 0
        self._pieces: defaultdict[int, list[bytes]] = defaultdict(list)

    def put(self, number: int, piece: bytes) -> None:
        """Add to the end of a shelf."""
        self._pieces[number].append(piece)
        self._held += len(piece)
        if self._held > self._most:
            self._spill()

    def take(self, number: int) -> Iterator[bytes]:
        """Yield what is on a shelf, in order, and clear it."""
        path = self._path(number)
        if path.exists():
            with path.open("rb") as file:
                while some := file.read(_CHUNK):
                    yield some
            path.unlink()
        pieces = self._pieces.pop(number, [])
        self._held -= sum(map(len, pieces))
        yield from pieces

    def _spill(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        for number, pieces in self._pieces.items():
            with self._path(number).open("ab") as file:
                file.write(b"".join(pieces))
        self._pieces.clear()
        self._held = 0

    def _path(self, number: int) -> Path:
        return self._directory / str(number)


class Spill:
    """Lines on disk, of which each counts once: first written, then finished, then read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch()
        self._digests = Shelves(path.with_name(f"{path.name}-digests"))
        self._repeated: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._lines = 0
        self.bytes = 0

    @property
    def repeated(self) -> int:
        """How many lines had been there before, known when the spill is finished."""
        return len(self._repeated)

    def add(self, lines: Sequence[str]) -> None:
        """Add lines, each with its line break."""
        if not lines:
            return
        text = "".join(lines).encode()
        with self._path.open("ab") as file:
            self.bytes += file.write(text)
        digested = map(xxhash.xxh3_128_digest, text.splitlines())
        digests = np.frombuffer(b"".join(digested), _DIGEST)
        rows = np.empty(len(lines), _ROW)
        rows["high"], rows["low"] = digests["high"], digests["low"]
        rows["at"] = np.arange(self._lines, self._lines + len(lines))
        part = (rows["high"] >> np.uint64(58)).astype(np.int64)
        rows = rows[np.argsort(part, kind="stable")]
        ends = np.cumsum(np.bincount(part, minlength=_PARTS)).tolist()
        for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            if start < end:
                self._digests.put(number, rows[start:end].tobytes())
        self._lines += len(lines)

    def finish(self) -> int:
        """Find the lines that are repeated; return how many there are without them."""
        found = []
        for number in range(_PARTS):
            rows = np.frombuffer(b"".join(self._digests.take(number)), _ROW)
            rows = rows[np.lexsort((rows["at"], rows["low"], rows["high"]))]
            same = (rows["high"][1:] == rows["high"][:-1]) & (rows["low"][1:] == rows["low"][:-1])
            found.append(rows["at"][1:][same])
        self._repeated = np.sort(np.concatenate(found))
        return self._lines - self.repeated

    def chunks(self) -> Iterator[list[bytes]]:
        """Yield the lines in order, each where it first occurs."""
        before = 0
        with self._path.open("rb") as file:
            while lines := file.readlines(_CHUNK):
                after = before + len(lines)
                first, last = np.searchsorted(self._repeated, [before, after])
                for at in reversed(self._repeated[first:last].tolist()):
                    del lines[at - before]
                yield lines
                before = after

    def shuffled(self, draw: Draw) -> Iterator[list[bytes]]:
        """Yield the lines in random order, every order being as likely."""
        # A random part for each line, then a random order within each part.
        parts = self.bytes // _SHUFFLED + 1
        shelves = Shelves(self._path.with_name(f"{self._path.name}-shuffled"))
        for lines in self.chunks():
            for line in lines:
                shelves.put(int(draw() * parts), line)
        for number in range(parts):
            lines = b"".join(shelves.take(number)).splitlines(keepends=True)
            keys = [draw() for _ in lines]
            order = sorted(range(len(lines)), key=keys.__getitem__)
            for start in range(0, len(order), _TOGETHER):
                yield [lines[at] for at in order[start : start + _TOGETHER]]


class Portions:
    """Chunks of lines, taken in portions of given sizes."""

    def __init__(self, chunks: Iterable[list[bytes]]) -> None:
        self._chunks = iter(chunks)
        self._rest: list[bytes] = []

    def take(self, count: int) -> Iterator[list[bytes]]:
        """Yield the next `count` lines, in lists."""
        while count:
            if not self._rest:
                self._rest = next(self._chunks)
            some, self._rest = self._rest[:count], self._rest[count:]
            count -= len(some)
            yield some
