"""What Spark threw, in words a user can act on.

Spark's errors are pages long and name nothing the user wrote. The innermost cause is what
happened; a few causes have a remedy of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from satura.errors import DataError, ExecutionError, SaturaError

_CORRUPT: Final = (
    "ZipException", "EOFException", "Unexpected end of input stream", "CRC mismatch",
    "bad block header", "not in gzip format", "Stream is not BZip2", "BZip2",
)  # fmt: skip


@contextmanager
def translated() -> Iterator[None]:
    """Turn Spark's exceptions into ours, keeping theirs as the cause."""
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise translate(str(error)) from error


def translate(text: str) -> SaturaError:
    """Return the error for the text of a Spark exception.

    >>> translate("java.util.zip.ZipException: invalid block type").code
    'INPUT-CORRUPT'
    >>> translate("java.lang.OutOfMemoryError: Java heap space").code
    'EXECUTION-MEMORY'
    """
    cause = innermost(text)
    if "OutOfMemoryError" in text:
        return ExecutionError(
            "EXECUTION-MEMORY", f"Spark ran out of memory: {cause}", "give it more: `--memory 8g`"
        )
    if "No space left on device" in text:
        return ExecutionError(
            "EXECUTION-DISK", "no space is left on the disk",
            "nothing was committed; free some space, or move Spark's scratch with SPARK_LOCAL_DIRS",
        )  # fmt: skip
    if any(sign in text for sign in _CORRUPT):
        return DataError(
            "INPUT-CORRUPT", f"a compressed input cannot be unpacked: {cause}",
            "test the files with `gzip -t` or `bzip2 -t`; nothing was committed",
        )  # fmt: skip
    return ExecutionError(
        "EXECUTION-FAILED", f"Spark failed: {cause}",
        "nothing was committed; `satura --verbose` shows the whole error",
    )  # fmt: skip


def innermost(text: str) -> str:
    """Return the last cause that an exception's text names, in one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes[-1] if causes else lines[0] if lines else "unknown")[:300]
