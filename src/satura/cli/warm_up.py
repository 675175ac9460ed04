"""`satura warm-up`: write the JVM's class archive; later starts take half as long."""

from __future__ import annotations

from satura.cli.console import err


def warm_up() -> None:
    """Write the class archive of this Java and Spark (part of `make setup`)."""
    from satura.local_spark import write_class_archive  # noqa: PLC0415

    archive = write_class_archive()
    err.print(
        f"class archive {archive}"
        if archive
        else "no class archive could be made; starts stay slower"
    )
