"""`satura changes`: what came and went between two versions, as an RDF Patch or as triples."""

from __future__ import annotations

import gzip
import io
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, cast

import typer

from satura.cli.console import err, start_session, when_needed
from satura.cli.options import Master, Memory, StoreArgument, Ui
from satura.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from satura.store import Store

Row: TypeAlias = tuple[str, str, str, bool]
"""A triple, and whether it came."""


def changes(
    store: StoreArgument,
    since: Annotated[
        int, typer.Option("--from", metavar="VERSION", help="The version to start from.")
    ],
    until: Annotated[
        int | None,
        typer.Option("--to", metavar="VERSION", help="The version to end at; default: current."),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="PATH", help="A file; - is stdout.")
    ] = "-",
    added: Annotated[bool, typer.Option("--added", help="Only what came.")] = False,
    removed: Annotated[bool, typer.Option("--removed", help="Only what went.")] = False,
    format: Annotated[
        Literal["patch", "nt"],
        typer.Option("--format", help="RDF Patch, or triples of one kind as N-Triples."),
    ] = "patch",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    master: Master = None,
    memory: Memory = "4g",
    ui: Ui = False,
) -> None:
    """Write the exact difference between the closures of two versions of a store."""
    from satura.io.writing import check_target  # noqa: PLC0415
    from satura.store import Store  # noqa: PLC0415

    if format == "nt" and added == removed:
        raise ConfigError(
            "CHANGES-WHAT", "N-Triples cannot say what came and what went",
            "give one of --added and --removed, or take --format patch",
        )  # fmt: skip
    check_target(output, overwrite=overwrite)
    before, after = Store.open(store, since), Store.open(store, until)
    wanted = {True: added or not removed, False: removed or not added}
    start = partial(start_session, master=master, memory=memory, ui=ui)
    with when_needed(start) as session, _written(output) as stream:
        rows = _few(before, after)
        if rows is None:
            rows = _many(before, after, session)
        chosen = (row for row in rows if wanted[row[3]])
        if format == "patch":
            _write_patch(stream, chosen, before.version, after.version)
        else:
            stream.writelines(f"{s} {p} {o} .\n".encode() for s, p, o, _ in chosen)
    if output != "-":
        err.print(f"written to {output}", markup=False)


def _few(before: Store, after: Store) -> Iterable[Row] | None:
    from satura.maintain.changes import ADDED, decode_net, is_few, net_change  # noqa: PLC0415

    if not is_few(before, after):
        return None
    table = decode_net(net_change(before, after), before, after)
    columns = [table[name].to_pylist() for name in ("s", "p", "o", "_change")]
    return ((s, p, o, change == ADDED) for s, p, o, change in zip(*columns, strict=True))


def _many(before: Store, after: Store, session: Callable[[], SparkSession]) -> Iterator[Row]:
    from satura.failures import translated  # noqa: PLC0415
    from satura.maintain.changes import ADDED, changed_frame  # noqa: PLC0415

    with translated():
        frame = changed_frame(session(), before, after)
        ordered = frame.orderBy(frame["_change"].desc(), "s", "p", "o")
        for row in ordered.toLocalIterator():
            yield row["s"], row["p"], row["o"], row["_change"] == ADDED


def _write_patch(stream: IO[bytes], rows: Iterable[Row], since: int, until: int) -> None:
    from satura.io.patch import Change, version_headers, write_patch  # noqa: PLC0415

    changes = (Change(came, s, p, o) for s, p, o, came in rows)
    write_patch(stream, changes, version_headers(since, until))


class _StandardOutput(io.RawIOBase):
    """Standard output as a stream of bytes, whatever stands in for it."""

    def write(self, data: Any) -> int:
        """Write text that is given as bytes."""
        return sys.stdout.write(bytes(data).decode())


@contextmanager
def _written(path: str) -> Iterator[IO[bytes]]:
    """Yield a stream that becomes a file when all of it is written, or goes to stdout."""
    if path == "-":
        yield cast("IO[bytes]", _StandardOutput())
        return
    target = Path(path).absolute()
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
        made = Path(scratch) / "whole"
        zipped = target.suffix == ".gz"
        with cast("IO[bytes]", gzip.open(made, "wb")) if zipped else made.open("wb") as stream:
            yield stream
        made.replace(target)
