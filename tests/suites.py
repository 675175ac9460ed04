"""Where the conformance suites are. They are other people's data and no part of this repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SUITES = Path(os.environ.get("SATURA_SUITES") or ROOT.parent / "shared" / "suites")


def require(name: str) -> Path:
    """Return the folder of a suite, or skip the test if it is not there."""
    path = SUITES / name
    if not path.is_dir():
        pytest.skip(f"the suite `{name}` is not in {SUITES}; set SATURA_SUITES to its folder")
    return path
