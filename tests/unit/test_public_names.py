"""The public functions stay functions, whatever was imported before."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "first", ["import satura.pipeline", "import satura.kb", "import satura.local_spark", "pass"]
)
def test_public_functions_are_callable(first: str) -> None:
    check = "print(*(callable(getattr(satura, n)) for n in ('session', 'materialize', 'open')))"
    code = f"{first}\nimport satura\n{check}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "True"]
