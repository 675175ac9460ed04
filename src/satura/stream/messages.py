r"""Messages of RDF: N-Triples, N-Quads, RDF Patch rows or JSON, one or many statements in each.

A label of a blank node names the store's own node, as in patches: messages that speak of one node
come one after another, and nothing else could tie them together.

Invariant: a message is taken as a whole or rejected as a whole.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, TypeAlias

from satura.errors import SaturaError
from satura.io.inputs import Format
from satura.io.slow import Fault, Quad, parse_lines
from satura.io.tables import parse_cell, parse_row
from satura.stream.intake import Intake

MessageFormat: TypeAlias = Literal["auto", "nt", "nq", "patch", "json"]
Operation: TypeAlias = tuple[Quad, bool]

ADDING: Final = frozenset({"added", "add", "insert", "update_postimage"})
REMOVING: Final = frozenset({"removed", "remove", "delete", "update_preimage"})
CHANGE_COLUMNS: Final = ("_change", "_change_type")
LABELS: Final = "_:"
"""The scope of labels of blank nodes: none."""


@dataclass(frozen=True, slots=True)
class Message:
    """Bytes, and where and when they came."""

    source: str
    offset: str
    value: bytes
    seconds: float | None = None


def take_messages(intake: Intake, messages: Iterable[Message], format: MessageFormat) -> None:
    """Read messages in order."""
    waiting: list[Message] = []
    for message in messages:
        intake.came(message.seconds)
        intake.size += len(message.value)
        kind = kind_of(message.value) if format == "auto" else format
        if kind in ("nt", "nq"):
            waiting.append(message)
            continue
        _take_lines(intake, waiting, Format.NQ)
        waiting.clear()
        try:
            operations = list((_patch if kind == "patch" else _json)(message.value))
        except ValueError as error:
            intake.reject(message.source, message.offset, str(error), message.value)
            continue
        for quad, add in operations:
            intake.take([quad], add=add)
    _take_lines(intake, waiting, Format.NT if format == "nt" else Format.NQ)


def kind_of(value: bytes) -> Literal["nq", "patch", "json"]:
    """Tell the format of a message by how it begins.

    >>> kind_of(b'{"s": "<a:s>"}'), kind_of(b"A <a:s> <a:p> <a:o> ."), kind_of(b"<a:s> <a:p> 1 .")
    ('json', 'patch', 'nq')
    """
    begin = value[:64].lstrip()
    if begin[:1] in (b"{", b"["):
        return "json"
    word = begin.split(None, 1)[0] if begin else b""
    return "patch" if word in (b"A", b"D", b"H", b"TX", b"TC", b"TA", b"PA", b"PD") else "nq"


def _take_lines(intake: Intake, messages: Sequence[Message], format: Format) -> None:
    """Read messages of one or more lines each, all at once."""
    if not messages:
        return
    lines: list[bytes] = []
    ends: list[int] = []
    for message in messages:
        lines += message.value.strip().replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        ends.append(len(lines))
    found = list(parse_lines(lines, format, LABELS))
    start = 0
    for message, end in zip(messages, ends, strict=True):
        parsed = found[start:end]
        start = end
        fault = next((x for x in parsed if isinstance(x, Fault)), None)
        if fault is not None:
            intake.reject(message.source, message.offset, fault.message, message.value)
        else:
            intake.take(quad for quad in parsed if isinstance(quad, tuple))


def _patch(value: bytes) -> Iterator[Operation]:
    """Read rows of a patch, with or without `TX` and `TC`."""
    from satura.io.patch import read_patch  # noqa: PLC0415  (compiles large patterns)

    try:
        for transaction in read_patch(io.BytesIO(value)):
            for change in transaction.changes:
                yield (change.s, change.p, change.o, change.g), change.add
    except SaturaError as error:
        raise ValueError(error.message) from error


def _json(value: bytes) -> Iterator[Operation]:
    """Read an object with `s p o` and perhaps `g` and `_change`, or a list of such."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    objects = found if isinstance(found, list) else [found]
    parse = row_parser()
    for data in objects:
        if not isinstance(data, dict):
            raise ValueError("expected an object with `s`, `p` and `o`")  # noqa: TRY004
        yield parse(data)


def row_parser() -> Callable[[dict[str, Any]], Operation]:
    """Return what reads a row of terms with a column that says whether it comes or goes.

    It raises `ValueError` with what is wrong.
    """
    parse = cache(parse_cell)

    def read(row: dict[str, Any]) -> Operation:
        cells = []
        for name in "spog":
            cell = row.get(name)
            if cell is not None and not isinstance(cell, str):
                raise ValueError(f"`{name}` is not text")
            cells.append(None if cell is None else cell.encode())
        quad = parse_row(tuple(cells), LABELS, parse)
        if isinstance(quad, Fault):
            raise ValueError(quad.message)  # noqa: TRY004
        change = next((row[name] for name in CHANGE_COLUMNS if row.get(name) is not None), "added")
        if change in ADDING:
            return quad, True
        if change in REMOVING:
            return quad, False
        raise ValueError(f"`_change` is `{change}`, expected `added` or `removed`")

    return read
