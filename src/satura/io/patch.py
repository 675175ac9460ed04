r"""RDF Patch, text form: transactions of additions and removals, read and written without Spark.

The format is that of https://afs.github.io/rdf-delta/rdf-patch.html, a row to a line. A label of a
blank node names the store's own node, not one of the document, so labels are taken as they are and
what `write_patch` wrote reads back to the same terms. Prefixed names, which the format leaves out,
are read through the `PA` rows before them.

Rows in canonical form are matched by one pattern, made of those of `terms.patterns`; any other row
is parsed in full.

Invariants: both ways give the same terms, or a fault; a transaction comes whole or not at all, so
a patch that ends before its `TC` is an error and never a shorter transaction.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Final, TypeAlias

from satura.errors import ConfigError, DataError, ParseError, did_you_mean
from satura.io.documents import DAMAGE, OnError, open_stream
from satura.io.inputs import Format, find_inputs, local_path
from satura.io.patch_rows import (
    WORD,
    Line,
    ends_row,
    parse_key,
    parse_prefix,
    parse_quad,
    parse_value,
    row_error,
)
from satura.io.slow import Quad
from satura.terms.literals import make_literal, make_xsd, split_literal
from satura.terms.ntriples import Term, is_blank, is_iri
from satura.terms.patterns import BAD_PERCENT, IRI, LITERAL, STATEMENT

Header: TypeAlias = tuple[str, Term]

BEGIN: Final = b"TX .\n"
END: Final = b"TC .\n"
OPERATIONS: Final = ("H", "TX", "TC", "TA", "PA", "PD", "A", "D")
_ROW: Final = rf"([AD]) {STATEMENT}"
_CANONICAL: Final = re.compile(rf"{_ROW}\n?")
_ROWS: Final = re.compile(f"^{_ROW}$", re.MULTILINE)
_MARKS: Final = re.compile(r"\n(TX|TC) \.(?=\n)")
_HEADERS: Final = re.compile(rf"(?:H {WORD} (?:{IRI}|{LITERAL}) \.\n)+")
_BAD_PERCENT: Final = re.compile(BAD_PERCENT)
_OPERATION: Final = re.compile(r"[ \t]*(\w*)")
# Rows that are written in one go.
_TOGETHER: Final = 4096


@dataclass(frozen=True, slots=True)
class Change:
    """One quad added or removed; `g` is None in the default graph, `line` is where it was read."""

    add: bool
    s: Term
    p: Term
    o: Term
    g: Term | None = None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Transaction:
    """Changes that belong together, in order.

    `headers` are those before it, or before the patch it is one of; `line` is where it begins;
    `faults` are the rows left out of it, with `on_error="skip"` only.
    """

    changes: tuple[Change, ...]
    headers: tuple[Header, ...] = ()
    line: int = field(default=0, compare=False)
    faults: tuple[ParseError, ...] = ()


def read_patch(
    source: str | Path | IO[bytes], *, on_error: OnError = "fail"
) -> Iterator[Transaction]:
    r"""Yield the transactions of a patch, each as soon as it is complete.

    `source` is a path, perhaps with `.gz`, `.bz2` or `.zst` at its end, `-` for standard input, or
    a binary stream. Changes outside `TX` and `TC` are a transaction that the next `TX` or header,
    or the end, completes. With `on_error="skip"` a faulty row is left out and is in the `faults` of
    its transaction; where transactions begin and end is never guessed, that always raises.

    >>> import io
    >>> text = b'TX .\nA <a:s> <a:p> "A"@EN .\nTC .\nTX .\nD <a:s> <a:p> _:b .\nTA .\n'
    >>> for transaction in read_patch(io.BytesIO(text)):
    ...     print(*transaction.changes)
    Change(add=True, s='<a:s>', p='<a:p>', o='"A"@en', g=None, line=2)
    """
    if not isinstance(source, str | Path):
        name = getattr(source, "name", None)
        yield from _transactions(source, name if isinstance(name, str) else "patch", on_error)
    elif str(source) == "-":
        yield from _transactions(sys.stdin.buffer, "-", on_error)
    else:
        for label, stream in _open(str(source)):
            with stream:
                yield from _transactions(stream, label, on_error)


def version_headers(since: int | None, until: int) -> list[Header]:
    """Return the headers of a patch that leads from one version of a store to another."""
    ends = (("from", since), ("to", until))
    return [
        (key, make_xsd(str(version), "integer")) for key, version in ends if version is not None
    ]


def read_canonical(path: str | Path) -> list[tuple[str, str, str, str, str]] | None:
    """Return the changes of a file at once: `A` or `D`, s, p, o, and g or nothing.

    None if there is anything but canonical rows in whole transactions, headers before them; such a
    patch is for `read_patch` to read, or to refuse.
    """
    try:
        text = Path(path).read_bytes().decode()
    except UnicodeDecodeError:
        return None
    headers = _HEADERS.match(text)
    begins = 0 if headers is None else headers.end()
    if "\r" in text or not text.startswith("TX .\n", begins) or not text.endswith("\nTC .\n"):
        return None
    marks = ["TX", *_MARKS.findall(text, begins)]
    if marks != ["TX", "TC"] * (len(marks) // 2):
        return None
    found = _ROWS.findall(text, begins)
    if len(found) + len(marks) != text.count("\n", begins):
        return None
    return None if "%" in text and _BAD_PERCENT.search(text) else found


def net(transaction: Transaction) -> tuple[list[Quad], list[Quad]]:
    """Return what a transaction adds and what it removes: of each quad, the last change counts.

    >>> quad = ("<a:s>", "<a:p>", "<a:o>")
    >>> net(Transaction((Change(True, *quad), Change(False, *quad))))
    ([], [('<a:s>', '<a:p>', '<a:o>', None)])
    """
    last = {(c.s, c.p, c.o, c.g): c.add for c in transaction.changes}
    return [q for q, add in last.items() if add], [q for q, add in last.items() if not add]


def write_patch(
    stream: IO[bytes], changes: Iterable[Change], headers: Iterable[Header] = ()
) -> int:
    r"""Write changes as a patch of one transaction; return their number.

    Terms are in canonical form. `changes` is read once and not kept; if it fails midway, the patch
    has no `TC`, and no reader takes it.

    >>> import io
    >>> out = io.BytesIO()
    >>> write_patch(out, [Change(True, "<a:s>", "<a:p>", '"x\\ny"')], [("id", "<a:1>")])
    1
    >>> print(out.getvalue().decode(), end="")
    H id <a:1> .
    TX .
    A <a:s> <a:p> "x\ny" .
    TC .
    """
    for key, value in headers:
        stream.write(f"H {_written_key(key)} {value} .\n".encode())
    stream.write(BEGIN)
    number = 0
    rest = iter(changes)
    while some := list(islice(rest, _TOGETHER)):
        number += len(some)
        stream.write("".join(map(_row, some)).encode())
    stream.write(END)
    return number


def _row(change: Change) -> str:
    graph = "" if change.g is None else f" {change.g}"
    return f"{'A' if change.add else 'D'} {change.s} {change.p} {change.o}{graph} .\n"


def _written_key(key: str) -> str:
    return key if re.fullmatch(WORD, key) else make_literal(key)


def _open(typed: str) -> Iterator[tuple[str, IO[bytes]]]:
    path = local_path(typed) or Path(typed)
    if path.is_dir():
        raise ConfigError(
            "INPUT-MISSING", f"`{typed}` is a directory, expected a patch",
            "name the files in it, such as `log/*.patch`",
        )  # fmt: skip
    if path.exists() and not path.is_file():
        # A pipe: what comes through it must not wait for its end.
        yield typed, path.open("rb")
        return
    for source in find_inputs([typed], format=Format.NQ, spool=path.parent):
        with _damage_reported(source.label):
            stream = open_stream(source)
        yield source.label, stream


def _lines(stream: IO[bytes], label: str) -> Iterator[bytes]:
    """Yield lines, which end at CR, LF or both. Line by line: a transaction must not wait."""
    with _damage_reported(label):
        for line in stream:
            if b"\r" in line:
                yield from line.splitlines()
            else:
                yield line


@contextmanager
def _damage_reported(label: str) -> Iterator[None]:
    try:
        yield
    except DAMAGE as error:
        raise DataError(
            "INPUT-CORRUPT", f"`{label}` cannot be read to its end: {error}",
            "test a compressed file with `gzip -t` or `bzip2 -t`; the transaction that was being"
            " read is left out",
        ) from error  # fmt: skip


def _transactions(stream: IO[bytes], label: str, on_error: OnError) -> Iterator[Transaction]:
    reader = _Reader(label, on_error)
    canonical, number = _CANONICAL.fullmatch, 0
    for number, raw in enumerate(_lines(stream, label), 1):
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            column = len(raw[: error.start].decode()) + 1
            text = raw.decode("utf-8", "replace").rstrip("\n")
            reader.left_out(
                row_error(
                    "PATCH-SYNTAX", Line(label, number, text), "bytes that are not UTF-8", column,
                    "convert the patch to UTF-8",
                )
            )  # fmt: skip
            continue
        found = canonical(line)
        if found is not None and not ("%" in line and _BAD_PERCENT.search(line)):
            op, s, p, o, g = found.groups()
            reader.changes.append(Change(op == "A", s, p, o, g, number))
        elif (done := reader.row(number, line)) is not None:
            yield done
    if (done := reader.end(number)) is not None:
        yield done


@dataclass(slots=True)
class _Reader:
    """A patch as far as it is read: the transaction that is growing, and the prefixes."""

    label: str
    on_error: OnError
    changes: list[Change] = field(default_factory=list)
    _faults: list[ParseError] = field(default_factory=list)
    _headers: tuple[Header, ...] = ()
    _prefixes: dict[str, str] = field(default_factory=dict)
    _prefixes_before: dict[str, str] = field(default_factory=dict)
    _begun: int = 0  # the line of a `TX` that is still open
    _headed: bool = False  # a transaction has come since the headers

    def row(self, number: int, text: str) -> Transaction | None:
        """Take a row that is not in canonical form; return the transaction it completes."""
        text = text.rstrip("\n")
        if number == 1:
            text = text.removeprefix("\ufeff")
        line = Line(self.label, number, text)
        operation = _OPERATION.match(text)
        assert operation is not None  # it may be empty
        at, op = operation.end(), operation[1]
        if op in ("TX", "TC", "TA"):
            if not ends_row(line, at):
                raise row_error(
                    "PATCH-SYNTAX", line, f"expected ` .` after `{op}`, and no more", at + 1,
                    "without it nobody can tell what belongs to the transaction",
                )  # fmt: skip
            return self._boundary(line, op)
        if not op and text[at : at + 1] in ("", "#"):
            return None
        done = self._header_begins(line) if op == "H" else None
        try:
            self._take_row(line, op, at)
        except ParseError as error:
            self.left_out(error)
        return done

    def left_out(self, error: ParseError) -> None:
        """Leave a faulty row out of the transaction, or raise what is wrong with it."""
        if self.on_error == "fail":
            raise error
        self._faults.append(error)

    def end(self, number: int) -> Transaction | None:
        """Return the transaction that the end of the patch completes."""
        if self._begun:
            raise ParseError(
                "PATCH-TRUNCATED",
                f"the patch ends inside the transaction that begins in line {self._begun}",
                "the transaction is left out as a whole; get all of the patch, or end it with"
                " `TC .` if nothing is missing",
                source=self.label, line=number,
            )  # fmt: skip
        return self._complete()

    def _boundary(self, line: Line, op: str) -> Transaction | None:
        if op == "TX":
            if self._begun:
                raise _misplaced(line, f"`TX` inside the transaction of line {self._begun}")
            done = self._complete()
            self._begun, self._prefixes_before = line.number, dict(self._prefixes)
            return done
        if not self._begun:
            raise _misplaced(line, f"`{op}` without a `TX` before it")
        if op == "TA":
            self._prefixes = self._prefixes_before
        done = self._complete()
        return done if op == "TC" else None

    def _complete(self) -> Transaction | None:
        """Return the transaction that has grown, if there is one, and begin anew."""
        if not (self._begun or self.changes or self._faults):
            return None
        places = [change.line for change in self.changes[:1]]
        places += [fault.line or 0 for fault in self._faults[:1]]
        begun = self._begun or min(places)
        done = Transaction(tuple(self.changes), self._headers, begun, tuple(self._faults))
        self.changes, self._faults, self._begun, self._headed = [], [], 0, True
        return done

    def _header_begins(self, line: Line) -> Transaction | None:
        if self._begun:
            raise _misplaced(line, f"`H` inside the transaction of line {self._begun}")
        done = self._complete() if self.changes else None
        if self._headed:
            self._headers, self._headed = (), False
        return done

    def _take_row(self, line: Line, op: str, at: int) -> None:
        if op in ("A", "D"):
            quad = parse_quad(line, at, self._prefixes)
            self.changes.append(Change(op == "A", *quad, line.number))
        elif op == "H":
            key, at = parse_key(line, at)
            self._headers += ((key, parse_value(line, at, self._prefixes)),)
        elif op == "PA":
            prefix, at = parse_prefix(line, at)
            namespace = parse_value(line, at, self._prefixes)
            if is_blank(namespace):
                raise row_error(
                    "PATCH-SYNTAX", line, f"`{namespace}` is no namespace", at + 1, "give an IRI"
                )
            iri = namespace[1:-1] if is_iri(namespace) else split_literal(namespace).lexical
            self._prefixes[prefix] = iri
        elif op == "PD":
            prefix, at = parse_prefix(line, at)
            if not ends_row(line, at):
                parse_value(line, at, self._prefixes)
            self._prefixes.pop(prefix, None)
        else:
            word = op or line.text[at : at + 1]
            known = ", ".join(f"`{name}`" for name in OPERATIONS)
            raise row_error(
                "PATCH-SYNTAX", line, f"`{word}` is no operation, expected one of {known}",
                at - len(op) + 1,
                did_you_mean(word, OPERATIONS) or "each row is one line that begins with it",
            )  # fmt: skip


def _misplaced(line: Line, message: str) -> ParseError:
    hint = "a transaction is `TX .`, its changes, then `TC .` or `TA .`; headers come before it"
    return row_error("PATCH-TRANSACTION", line, message, 1, hint)
