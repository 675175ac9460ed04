"""The error tree: one base, stable codes, a hint.

Every failure a user can meet is a `SaturaError`. Its `code` never changes once released and is
listed in `docs/errors.md`; its message starts lower case and names what was found and what was
expected; its `hint` says what to do. The command line maps errors to exit codes by class, so
library code raises and never exits.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import ClassVar


class SaturaError(Exception):
    """Base of all errors raised on purpose."""

    exit_code: ClassVar[int] = 1

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        text = f"[{self.code}] {self.message}"
        return f"{text}\n  hint: {self.hint}" if self.hint else text


class ConfigError(SaturaError, ValueError):
    """An option, path or argument that cannot be used as given."""

    exit_code = 2


class ParseError(SaturaError):
    """Text that is not in its language: RDF or rules."""

    def __init__(
        self,
        code: str,
        message: str,
        hint: str | None = None,
        *,
        source: str | None = None,
        line: int | None = None,
        column: int | None = None,
        excerpt: str | None = None,
        caret: int | None = None,
    ) -> None:
        super().__init__(code, message, hint)
        # Where in the excerpt the fault is; differs from `column` when the excerpt is cut.
        self.caret = column if caret is None else caret
        self.source = source
        self.line = line
        self.column = column
        self.excerpt = excerpt

    def __str__(self) -> str:
        where = ":".join(str(x) for x in (self.source, self.line, self.column) if x is not None)
        lines = [f"[{self.code}] {where + ': ' if where else ''}{self.message}"]
        if self.excerpt is not None:
            lines.append(f"  | {self.excerpt}")
            if self.caret is not None and self.caret <= len(self.excerpt) + 1:
                lines.append("  | " + " " * (self.caret - 1) + "^")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class RuleError(ParseError):
    """A rule that is well written but not well formed: unsafe, unknown prefix, not stratified."""


class UnsupportedError(ParseError):
    """A construct that is known but not taken; never passed over in silence."""


class DataError(SaturaError):
    """Input data with faults; `faults` holds the first of them, `total` counts all."""

    def __init__(
        self,
        code: str,
        message: str,
        hint: str | None = None,
        *,
        faults: Sequence[ParseError] = (),
        total: int = 0,
    ) -> None:
        super().__init__(code, message, hint)
        self.faults = tuple(faults)
        self.total = total

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.message}"]
        lines += [str(fault) for fault in self.faults]
        if self.total > len(self.faults):
            lines.append(f"... and {self.total - len(self.faults)} more")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class SourceError(SaturaError):
    """A source of a stream, or a place for its changes, that does not answer; it may come back."""


class InconsistencyError(SaturaError):
    """Data that the rules call inconsistent, raised only when asked for."""

    exit_code = 3


class LimitError(SaturaError):
    """A stated limit of rounds, rows or seconds was reached."""


class StoreError(SaturaError):
    """A store that cannot be read or written."""


class CorruptStoreError(StoreError):
    """A store whose files and log do not agree."""


class ConflictError(StoreError):
    """Another writer committed first; the store is untouched."""


class FormatVersionError(StoreError):
    """A store of a format version this release does not read."""


class ExecutionError(SaturaError):
    """Spark failed; raised `from` its exception."""


def did_you_mean(given: str, known: Iterable[str]) -> str | None:
    """Return a "did you mean" sentence for the nearest of `known`, if any is near.

    >>> did_you_mean("rdsf", ["rdfs", "rhodf"])
    'did you mean `rdfs`?'
    """
    near = difflib.get_close_matches(given, list(known), n=1, cutoff=0.6)
    return f"did you mean `{near[0]}`?" if near else None
