"""The `satura` command: gathers the verbs and turns errors into messages and exit codes.

Exit codes: 0 ok, 1 failure, 2 usage, 3 inconsistent data, 130 interrupted.
"""

from __future__ import annotations

import sys
from typing import Final

import typer

from satura import __version__
from satura.cli import (
    add,
    apply,
    changes,
    check,
    compact,
    cut,
    export,
    generate,
    history,
    info,
    materialize,
    remove,
    rules,
    stream,
    verify,
    warm_up,
    why,
)
from satura.cli.console import err, set_up_logging
from satura.errors import SaturaError

INTERRUPTED: Final = 130

app = typer.Typer(
    name="satura",
    help="Keep RDF saturated: materialize everything your triples and rules entail.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"satura {__version__}")
        raise typer.Exit


@app.callback()
def common(
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Log every stage to stderr."),
    _version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Options of every verb."""
    set_up_logging(verbose)


app.command("materialize")(materialize.materialize)
app.command("add")(add.add)
app.command("remove")(remove.remove)
app.command("apply")(apply.apply)
app.command("changes")(changes.changes)
app.command("info")(info.info)
app.command("export")(export.export)
app.command("verify")(verify.verify)
app.command("check")(check.check)
app.command("history")(history.history)
app.command("compact")(compact.compact)
app.command("why")(why.why)
app.command("cut")(cut.cut)
app.command("warm-up")(warm_up.warm_up)
app.add_typer(rules.app, name="rules")
app.add_typer(stream.app, name="stream")
app.add_typer(generate.app, name="generate")


def run() -> None:
    """Run the command line and exit."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: list[str]) -> int:
    """Run the command line and return its exit code."""
    try:
        result = app(arguments, standalone_mode=False)
    except SaturaError as error:
        err.print(f"satura: {error}", markup=False, style="red" if err.is_terminal else "")
        return error.exit_code
    except typer.TyperException as error:
        err.print(f"satura: [USAGE] {error.format_message()}", markup=False)
        err.print("  hint: add `--help` to the command to see what it takes")
        return 2
    except (typer.Abort, KeyboardInterrupt):
        result = INTERRUPTED
    except BrokenPipeError:
        sys.stdout = None  # the reader has gone; so may we
        return 0
    except Exception as error:
        return _unexpected(error)
    if result == INTERRUPTED:  # Typer makes this of an interrupt, and says nothing
        err.print("satura: interrupted; what was under way is not committed")
    return result if isinstance(result, int) else 0


def _unexpected(error: Exception) -> int:
    """Say what Spark or we could not do, in one line, with the whole of it when asked."""
    import logging  # noqa: PLC0415

    first = next((line for line in str(error).splitlines() if line.strip()), "")
    err.print(f"satura: [INTERNAL] {type(error).__name__}: {first[:500]}", markup=False)
    err.print("  hint: run again with `satura --verbose …` for the whole error, and report it")
    logging.getLogger("satura").info("unexpected error", exc_info=error)
    return 1


if __name__ == "__main__":
    run()
