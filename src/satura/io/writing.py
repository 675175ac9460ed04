"""Writing triples: N-Triples and N-Quads by Spark, Turtle through a library, Parquet as it is.

A path with a file's extension becomes one file, any other a directory of parts. Either appears
whole or not at all: everything is written beside its place and then renamed.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, cast

import pyoxigraph as ox
from pyspark.sql import functions as F  # noqa: N812

from satura.errors import ConfigError
from satura.jobs import described
from satura.parquet import NO_MARK, uri
from satura.vocab import PREFIXES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class Export(StrEnum):
    """What triples can be written as."""

    NT = "nt"
    NQ = "nq"
    TTL = "ttl"
    PARQUET = "parquet"


_SUFFIXES: Final = {".nt": Export.NT, ".nq": Export.NQ, ".ttl": Export.TTL}


def guess_export(path: str) -> Export:
    """Return the format that a path's extension says, N-Triples for a directory or stdout."""
    name = path.removesuffix(".gz")
    suffix = Path(name).suffix.lower()
    if suffix == ".parquet":
        return Export.PARQUET
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    if suffix and path != "-":
        raise ConfigError(
            "EXPORT-FORMAT", f"`{path}` does not say its format",
            "end it in .nt, .nq, .ttl (and .gz) or .parquet, or give --format",
        )  # fmt: skip
    return Export.NT


def write_triples(frame: DataFrame, path: str, *, format: Export, overwrite: bool = False) -> None:
    """Write terms (s, p, o and perhaps g) to a file, a directory or, for `-`, standard output."""
    if path == "-":
        if format is Export.PARQUET:
            raise ConfigError(
                "EXPORT-FORMAT", "Parquet cannot go to standard output", "give a path"
            )
        with described(frame.sparkSession, f"export as {format}"):
            for line in _text(frame, format):
                sys.stdout.write(line)
        return
    check_target(path, overwrite=overwrite)
    target = Path(path)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.absolute().parent))
    try:
        with described(frame.sparkSession, f"export as {format}"):
            made = _write(frame, target, scratch, format)
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        os.replace(made, target)  # noqa: PTH105
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def check_target(path: str, *, overwrite: bool) -> None:
    """Check that a path can be written to, before any work is done."""
    if path == "-":
        return
    target = Path(path)
    if target.exists() and not overwrite:
        raise ConfigError(
            "EXPORT-EXISTS", f"`{path}` exists already", "give another path, or --overwrite"
        )
    if not target.absolute().parent.is_dir():
        raise ConfigError(
            "EXPORT-DIRECTORY",
            f"there is no directory `{target.absolute().parent}`",
            "make it first",
        )


def _write(frame: DataFrame, target: Path, scratch: Path, format: Export) -> Path:
    parts, whole = scratch / "parts", scratch / "whole"
    zipped = target.name.endswith(".gz")
    if format is Export.PARQUET:
        frame.write.option(*NO_MARK).parquet(uri(parts))
        return _tidy(parts)
    if format is Export.TTL:
        with _open(whole, zipped) as out:
            for line in _text(frame, format):
                out.write(line.encode())
        return whole
    writer = frame.select(_line(frame, format)).write.option(*NO_MARK)
    if zipped:
        writer = writer.option("compression", "gzip")
    writer.text(uri(parts))
    if Path(target.name.removesuffix(".gz")).suffix.lower() not in _SUFFIXES:
        return _tidy(parts)
    with whole.open("wb") as out:
        # Gzip members in a row are a gzip file.
        for part in sorted(parts.glob("part-*")):
            with part.open("rb") as source:
                shutil.copyfileobj(source, out, 1 << 20)
    return whole


def _tidy(parts: Path) -> Path:
    for checksum in parts.glob(".*.crc"):
        checksum.unlink()
    return parts


def _open(path: Path, zipped: bool) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path, "wb")) if zipped else path.open("wb")


def _line(frame: DataFrame, format: Export) -> Column:
    terms: list[Column | str] = ["s", "p", "o"]
    if format is Export.NQ and "g" in frame.columns:
        terms.append("g")  # null, the default graph, leaves no gap: concat_ws skips it
    return F.concat(F.concat_ws(" ", *terms), F.lit(" ."))


def _text(frame: DataFrame, format: Export) -> Iterator[str]:
    """Yield the text, a partition at a time: the driver never holds more than one."""
    if format is Export.TTL:
        yield from _turtle(frame)
        return
    for row in frame.select(_line(frame, format).alias("line")).toLocalIterator():
        yield row["line"] + "\n"


def _turtle(frame: DataFrame) -> Iterator[str]:
    """Yield Turtle, one block for each subject; sorts the frame by subject."""
    for name, iri in PREFIXES.items():
        yield f"@prefix {name}: <{iri}> .\n"
    block: list[ox.Triple] = []
    subject = None
    for row in frame.select("s", "p", "o").orderBy("s", "p", "o").toLocalIterator():
        if row["s"] != subject and block:
            yield _block(block)
            block = []
        subject = row["s"]
        line = f"{row['s']} {row['p']} {row['o']} ."
        block += [quad.triple for quad in ox.parse(line, ox.RdfFormat.N_TRIPLES)]
    if block:
        yield _block(block)


def _block(triples: list[ox.Triple]) -> str:
    text = ox.serialize(triples, format=ox.RdfFormat.TURTLE, prefixes=PREFIXES)
    lines = (text or b"").decode().splitlines()
    body = [line for line in lines if not line.startswith("@prefix ")]
    return "\n" + "\n".join(body) + "\n"
