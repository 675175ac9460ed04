"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import satura

MODULES = sorted(module.name for module in pkgutil.walk_packages(satura.__path__, "satura."))


def examples_in(name: str) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder().find(import_module(name))
    return [test for test in found if test.examples]


@pytest.mark.parametrize("name", ["satura", *MODULES])
def test_docstrings(name: str) -> None:
    result = doctest.testmod(import_module(name))
    assert result.failed == 0


def test_there_are_docstrings_to_test() -> None:
    assert sum(len(examples_in(name)) for name in MODULES) > 20
