"""The page of errors lists every code of the source, and no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.docs.pages import ROOT

CODE = re.compile(r"[A-Z]+(?:-[A-Z0-9]+)+|INTERNAL")


def codes_in(module: Path) -> set[str]:
    """Return the codes that a module raises: strings of this form that are arguments of calls."""
    found = set()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            found |= {
                argument.value
                for argument in node.args
                if isinstance(argument, ast.Constant)
                and isinstance(argument.value, str)
                and CODE.fullmatch(argument.value)
            }
    return found


def test_page_lists_every_code() -> None:
    source = {code for module in (ROOT / "src").rglob("*.py") for code in codes_in(module)}
    assert len(source) > 40
    page = (ROOT / "docs" / "errors.md").read_text("utf-8")
    listed = re.findall(r"^\| `([A-Z0-9-]+)` \|", page, re.M)
    assert len(listed) == len(set(listed))
    # These are no arguments: the command line says them of errors that are not ours.
    assert set(listed) == source | {"INTERNAL", "USAGE"}
