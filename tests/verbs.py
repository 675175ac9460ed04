"""The modules of the command line that start Spark, so that tests can lend them a session."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from satura import cli

VERBS = tuple(
    module
    for found in iter_modules(cli.__path__, "satura.cli.")
    if found.name != "satura.cli.console"
    and hasattr(module := import_module(found.name), "start_session")
)
