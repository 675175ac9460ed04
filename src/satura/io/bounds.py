"""Documents that would overwhelm their parser are refused while they are read.

A parser that recurses for each level ends the process when a document is nested deeply enough, and
one that expands entities fills the memory from a few lines. Both are decided here, in passing, on
bytes: JSON by its brackets outside strings, triple terms by their marks, XML by the text that its
entities stand for.

Invariant: a document within the bounds passes unchanged; one beyond them raises before the parser
gets the bytes that go beyond.
"""

from __future__ import annotations

import io
import re
from typing import IO, Any, Final

import numpy as np

from satura.io.inputs import Format

MAX_DEPTH: Final = 500
"""Levels of brackets, or of triple terms."""
MAX_ENTITY: Final = 4096
"""Bytes that an entity may stand for: a namespace has a hundred."""
_LONGEST_NAME: Final = 4096
_CHUNK: Final = 1 << 20
_ENTITY: Final = re.compile(rb"""<!ENTITY\s+([^\s"'%#&;<>]+)\s+(?:"([^"]*)"|'([^']*)')\s*>""")
_REFERENCE: Final = re.compile(rb"&([^;&\s]+);")
_TRIPLE_TERM: Final = re.compile(rb"<<\(|\)>>")
_LARGER: Final = 64
"""How many times as long as its text a document may be with its entities in place."""
_OPENING: Final = b"<!ENTITY"
_STRING: Final = re.compile(rb'"(?:[^"\\\r\n]|\\.)*"')


class BoundsError(ValueError):
    """A document goes beyond what can be parsed safely."""


def bounded(stream: IO[bytes], format: Format) -> IO[bytes]:
    """Return a stream with the same bytes that raises `BoundsError` where they go too far."""
    watch = _WATCHES.get(format)
    return stream if watch is None else io.BufferedReader(_Watched(stream, watch()), _CHUNK)


def is_too_deep(line: bytes) -> bool:
    """Say whether a line of N-Triples or N-Quads has triple terms nested too deeply.

    >>> is_too_deep(b"<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> ."), is_too_deep(b"<<(" * 1000)
    (False, True)
    """
    # Text may have any number of them.
    return line.count(b"<<") > MAX_DEPTH and _STRING.sub(b"", line).count(b"<<") > MAX_DEPTH


class _Watched(io.RawIOBase):
    def __init__(self, stream: IO[bytes], watch: _Brackets | _Entities | _TripleTerms) -> None:
        self._stream = stream
        self._watch = watch

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        data = self._stream.read(len(view))
        self._watch.see(data)
        view[: len(data)] = data
        return len(data)


class _Brackets:
    """Counts the brackets of JSON that are open, those in strings left out."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = 0
        self._rest = b""

    def see(self, data: bytes) -> None:
        data = self._rest + data
        # A backslash at the end belongs to what follows it.
        odd = (len(data) - len(data.rstrip(b"\\"))) % 2
        self._rest = data[len(data) - odd :]
        data = data[: len(data) - odd]
        if b"\\" in data:
            data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
        found = np.frombuffer(data, np.uint8)
        quotes = np.cumsum(found == ord('"'), dtype=np.int64) + self._in_string
        outside = quotes % 2 == 0
        # `[` and `{` differ in one bit, and so do `]` and `}`.
        folded = found | 0x20
        step = (folded == ord("{")).astype(np.int8) - (folded == ord("}")).astype(np.int8)
        depth = np.cumsum(np.where(outside, step, 0), dtype=np.int64) + self._depth
        if len(data):
            if depth.max() > MAX_DEPTH:
                raise BoundsError(f"nested more than {MAX_DEPTH} levels deep")
            self._depth, self._in_string = int(depth[-1]), int(quotes[-1] % 2)


class _Entities:
    """Adds up what the entities of a document stand for."""

    def __init__(self) -> None:
        self._sizes: dict[bytes, int] = {}
        self._rest = b""
        self._seen = 0
        self._expanded = 0

    def see(self, data: bytes) -> None:
        self._seen += len(data)
        is_last = not data
        data = self._rest + data
        end = 0
        while (begun := data.find(_OPENING, end)) >= 0:
            found = _ENTITY.match(data, begun)
            if found is None:
                break
            end = found.end()
            text = found[2] if found[2] is not None else found[3]
            if self._size(text) > MAX_ENTITY:
                name = found[1].decode("utf-8", "replace")
                raise BoundsError(f"the entity `{name}` stands for more than {MAX_ENTITY} bytes")
            self._sizes[found[1]] = self._size(text)
        if begun >= 0:
            # A declaration may go on in the next bytes, but not for long.
            if is_last or len(data) - begun > MAX_ENTITY + _LONGEST_NAME:
                raise BoundsError("an entity is declared in a way that is not supported")
        else:
            # So may its first letters, or a reference.
            begun = max(end, len(data) - _LONGEST_NAME if self._sizes else len(data) - 8)
        self._rest = data[begun:]
        if self._sizes:
            self._expanded += self._size(data[end:begun])
            if self._expanded > _LARGER * self._seen + _CHUNK:
                raise BoundsError(f"entities make it more than {_LARGER} times as long")

    def _size(self, text: bytes) -> int:
        """Return how long a text is with its entities in place."""
        return len(text) + sum(self._sizes.get(name, 0) for name in _REFERENCE.findall(text))


class _TripleTerms:
    """Counts the triple terms that are open, by their marks alone."""

    def __init__(self) -> None:
        self._depth = 0
        self._rest = b""

    def see(self, data: bytes) -> None:
        data = self._rest + data
        # A mark that is cut has one or two of its letters here.
        self._rest = data[max(0, len(data) - 2) :]
        if not self._depth and b"<<(" not in data:
            return
        end = 0
        for mark in _TRIPLE_TERM.finditer(data):
            end = mark.end()
            self._depth = self._depth + 1 if mark[0] == b"<<(" else max(0, self._depth - 1)
            if self._depth > MAX_DEPTH:
                raise BoundsError(f"triple terms nested more than {MAX_DEPTH} levels deep")
        self._rest = data[max(end, len(data) - 2) :]


_WATCHES: Final[dict[Format, type[_Brackets | _Entities | _TripleTerms]]] = {
    Format.JSONLD: _Brackets,
    Format.RDFXML: _Entities,
    Format.TTL: _TripleTerms,
    Format.TRIG: _TripleTerms,
}
