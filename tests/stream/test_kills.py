"""A stream that is killed at any moment goes on as if it had not been."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stream.killing import KilledStream, some_batches

pytestmark = pytest.mark.spark


def test_three_kills_of_a_stream(tmp_path: Path) -> None:
    killed = KilledStream(tmp_path, some_batches(8, 1), seed=1)
    killed.run(3)
    killed.finish()


@pytest.mark.soak
def test_thirty_kills_of_a_stream(tmp_path: Path) -> None:
    killed = KilledStream(tmp_path, some_batches(40, 2), seed=2)
    print("\n".join(killed.run(30)))  # noqa: T201
    killed.finish()
