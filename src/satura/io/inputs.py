"""Which files there are to read, and as what.

People name files, directories, globs, URIs and `-`; this turns them into a flat list of inputs,
each with a format and a compression, and says precisely what is wrong with a name that leads
nowhere. A name that exists as it is written is never taken for a glob.

Invariant: the result has no input twice, and keeps the order in which inputs were named.
"""

from __future__ import annotations

import glob
import logging
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from satura.errors import ConfigError, DataError, did_you_mean

log = logging.getLogger(__name__)


class Format(StrEnum):
    """What an input is written in."""

    NT = "nt"
    NQ = "nq"
    TTL = "ttl"
    TRIG = "trig"
    RDFXML = "rdfxml"
    JSONLD = "jsonld"
    PARQUET = "parquet"
    DELTA = "delta"


LINE_FORMATS: Final = frozenset({Format.NT, Format.NQ})
TABLE_FORMATS: Final = frozenset({Format.PARQUET, Format.DELTA})
GRAPH_FORMATS: Final = TABLE_FORMATS | {Format.NQ, Format.TRIG, Format.JSONLD}
COMPRESSIONS: Final = {".gz": "gz", ".bz2": "bz2", ".zst": "zst"}
COMPRESSION: Final = 8
"""How much larger compressed text is than its file, about."""
EXTENSIONS: Final = {
    ".nt": Format.NT,
    ".nq": Format.NQ,
    ".ttl": Format.TTL,
    ".trig": Format.TRIG,
    ".rdf": Format.RDFXML,
    ".owl": Format.RDFXML,
    ".xml": Format.RDFXML,
    ".jsonld": Format.JSONLD,
    ".json": Format.JSONLD,
    ".parquet": Format.PARQUET,
}
PATCH_EXTENSIONS: Final = frozenset({".rdfp", ".patch"})
# Too common for other things to be taken out of a directory unasked.
_ONLY_BY_NAME: Final = frozenset({".xml", ".json"})
_ALIASES: Final = {
    "ntriples": Format.NT, "n-triples": Format.NT, "nquads": Format.NQ, "n-quads": Format.NQ,
    "turtle": Format.TTL, "rdf": Format.RDFXML, "xml": Format.RDFXML, "owl": Format.RDFXML,
    "rdf/xml": Format.RDFXML, "json-ld": Format.JSONLD,
}  # fmt: skip
_MAGIC: Final = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zst"}


@dataclass(frozen=True, slots=True)
class Input:
    """One thing to read. `label` is how the user knows it; `base` replaces its URI as base IRI."""

    uri: str
    format: Format
    compression: str | None
    size: int
    label: str
    base: str | None = None

    @property
    def path(self) -> Path | None:
        """The local path, or None for what lies elsewhere."""
        return local_path(self.uri)


def find_inputs(
    paths: Sequence[str], *, format: str | None = None, spool: Path
) -> tuple[Input, ...]:
    """Return the inputs that `paths` name, in order.

    `format` overrides what extensions say for files, globs and `-`; directories are searched for
    files with an RDF extension. Standard input and pipes are copied to `spool` first, because
    Spark reads an input more than once.
    """
    given = parse_format(format) if format else None
    found: dict[str, Input] = {}
    for typed in paths:
        for one in _find(typed, given, spool):
            path = one.path
            found.setdefault(os.path.realpath(path) if path else one.uri, one)
    return tuple(found.values())


def parse_format(name: str) -> Format:
    """Return the format of a name that a user typed.

    >>> parse_format("Turtle")
    <Format.TTL: 'ttl'>
    """
    lower = name.lower().removeprefix(".")
    if lower in _ALIASES:
        return _ALIASES[lower]
    try:
        return Format(lower)
    except ValueError:
        known = [f.value for f in Format]
        raise ConfigError(
            "INPUT-UNKNOWN-FORMAT",
            f"unknown format `{name}`, expected one of {', '.join(known)}",
            did_you_mean(lower, [*known, *_ALIASES]),
        ) from None


def local_path(uri: str) -> Path | None:
    """Return the path of a `file:` URI, None for other schemes."""
    parts = urlsplit(uri)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def file_uri(path: Path) -> str:
    """Return the URI of a path, escaped exactly as Java escapes it.

    `pathlib` escapes more, but Spark reports files in Java's spelling and the scope of blank
    nodes is a hash of it, so both sides must spell alike.

    >>> file_uri(Path("/a b/é+[1].nt"))
    'file:///a%20b/é+%5B1%5D.nt'
    """
    absolute = str(path.absolute())
    return "file://" + "".join(c if _is_plain(c) else _escape(c) for c in absolute)


def _is_plain(char: str) -> bool:
    if char.isascii():
        return char.isalnum() or char in "/_-!.~'()*,;:$&+=@"
    return not char.isspace() and char.isprintable()


def _escape(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogateescape"))


def _find(typed: str, given: Format | None, spool: Path) -> Iterator[Input]:
    if typed == "-":
        yield _spooled(typed, given, spool)
        return
    if "://" in typed or typed.startswith("file:/"):
        local = local_path(typed)
        if local is None:
            yield _remote(typed, given)
            return
        path = local
    else:
        path = Path(typed)
    if os.path.lexists(path):
        yield from _existing(path, typed, given, spool)
    elif any(c in typed for c in "*?["):
        names = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207  (`**` and absolute)
        if not names:
            raise ConfigError(
                "INPUT-EMPTY-GLOB", f"no file matches `{typed}`",
                "quote the pattern only if the shell should not expand it; check the directory",
            )  # fmt: skip
        for name in names:
            yield from _existing(Path(name), name, given, spool)
    else:
        raise ConfigError("INPUT-MISSING", f"there is no file `{typed}`", _near(path))


def _near(path: Path) -> str | None:
    parent = path.parent
    if not parent.is_dir():
        return f"the directory `{parent}` does not exist either"
    try:
        return did_you_mean(path.name, os.listdir(parent))  # noqa: PTH208  (names, not paths)
    except OSError:
        return None


def _existing(path: Path, typed: str, given: Format | None, spool: Path) -> Iterator[Input]:
    try:
        if path.is_dir():
            yield from _directory(path, typed, given)
        elif path.is_file():
            with path.open("rb") as stream:
                head = stream.read(4)
            yield _file(path, typed, given, head)
        elif path.exists():
            yield _spooled(typed, given, spool)
        else:
            raise ConfigError("INPUT-MISSING", f"`{typed}` is a link that leads nowhere")
    except PermissionError as error:
        raise DataError(
            "INPUT-UNREADABLE", f"`{typed}` may not be read: {error.strerror}",
            "check the permissions of the file and of the directories above it",
        ) from error  # fmt: skip


def _directory(path: Path, typed: str, given: Format | None) -> Iterator[Input]:
    if (path / "_delta_log").is_dir():
        yield _table(path, typed, Format.DELTA)
        return
    if given in TABLE_FORMATS:
        yield _table(path, typed, given)
        return
    ignored = found = 0
    for here, folders, names in os.walk(path, onerror=_raise):
        directory = Path(here)
        tables = [f for f in folders if (directory / f / "_delta_log").is_dir()]
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in tables)
        parts: list[Input] = [
            _table(directory / f, str(directory / f), Format.DELTA) for f in sorted(tables)
        ]
        if any(name.endswith(".parquet") for name in names):
            parts.append(_table(directory, here, Format.PARQUET))
        for name in sorted(names):
            kind, _ = _by_extension(name)
            if kind is None or _stem_extension(name) in _ONLY_BY_NAME:
                ignored += 1
            elif kind is not Format.PARQUET:
                parts.append(_file(directory / name, str(directory / name), None, None))
        found += len(parts)
        yield from parts
    if ignored:
        log.info("%s: ignored %d files without an RDF extension", typed, ignored)
    if not found:
        raise ConfigError(
            "INPUT-NO-RDF",
            f"the directory `{typed}` holds no RDF file ({ignored} other files)",
            f"known extensions are {' '.join(EXTENSIONS)}, with .gz, .bz2 or .zst after them",
        )


def _raise(error: OSError) -> None:
    raise error


def _file(path: Path, typed: str, given: Format | None, head: bytes | None) -> Input:
    kind, compression = _by_extension(path.name)
    if kind is None and given is None:
        raise ConfigError(
            "INPUT-UNKNOWN-FORMAT",
            f"the name of `{typed}` does not tell its format",
            f"say `--format nt` or another of {', '.join(f.value for f in Format)}",
        )
    if head is not None and compression is None:
        packed = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
        if packed:
            raise ConfigError(
                "INPUT-UNKNOWN-FORMAT",
                f"`{typed}` is compressed with {packed} but its name does not end in .{packed}",
                f"rename it to `{path.name}.{packed}`",
            )
    size = path.stat().st_size
    return Input(file_uri(path), given or kind or Format.NQ, compression, size, typed)


def is_patch(name: str) -> bool:
    """Say whether a file is an RDF Patch, by its name.

    >>> is_patch("log/0001.rdfp.gz"), is_patch("0001.nt")
    (True, False)
    """
    return _stem_extension(name) in PATCH_EXTENSIONS


def text_size(inputs: Iterable[Input]) -> int:
    """Return how many bytes of text the inputs hold, about."""
    return sum(one.size * (COMPRESSION if one.compression else 1) for one in inputs)


def _by_extension(name: str) -> tuple[Format | None, str | None]:
    path = Path(name.lower())
    compression = COMPRESSIONS.get(path.suffix)
    return EXTENSIONS.get(_stem_extension(name)), compression


def _stem_extension(name: str) -> str:
    path = Path(name.lower())
    # A leading dot or underscore is part of the name: `_x.nt`, `.nt` (which has no extension).
    return Path(path.stem).suffix if path.suffix in COMPRESSIONS else path.suffix


def _table(path: Path, typed: str, kind: Format) -> Input:
    size = sum(f.stat().st_size for f in path.rglob("*.parquet"))
    return Input(file_uri(path), kind, None, size, typed)


def _remote(typed: str, given: Format | None) -> Input:
    kind, compression = _by_extension(typed.rstrip("/").rsplit("/", 1)[-1])
    if kind is None and given is None:
        raise ConfigError(
            "INPUT-UNKNOWN-FORMAT",
            f"the name of `{typed}` does not tell its format",
            "say `--format nt` or another format",
        )
    return Input(typed, given or kind or Format.NQ, compression, 0, typed)


def _spooled(typed: str, given: Format | None, spool: Path) -> Input:
    kind = given or Format.NQ
    spool.mkdir(parents=True, exist_ok=True)
    name = "stdin" if typed == "-" else Path(typed).name
    target = spool / f"{name}.{kind.value}"
    with target.open("wb") as out:
        if typed == "-":
            shutil.copyfileobj(sys.stdin.buffer, out, 1 << 20)
        else:
            with Path(typed).open("rb") as pipe:
                shutil.copyfileobj(pipe, out, 1 << 20)
    return Input(file_uri(target), kind, None, target.stat().st_size, typed)
