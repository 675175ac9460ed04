"""A store on a file system that is full: clear errors, nothing lost, and it goes on with space."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from satura.errors import StoreError
from satura.io.slow import Quad
from satura.maintain.apply import Maintainer
from satura.maintain.create import create_store
from satura.store import Store
from satura.store.leftovers import vacuum
from satura.updating import change_of

pytestmark = pytest.mark.soak

EACH = 300


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of three megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a file system cannot be mounted here: {error}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def statements(number: int) -> list[Quad]:
    name = "x" * 50
    return [
        (f"<urn:s{number}-{i}>", "<urn:p>", f"<urn:o{number}-{i}-{name}>", None)
        for i in range(EACH)
    ]


def test_full_disk(small_disk: Path) -> None:
    path = small_disk / "store"
    maintainer = Maintainer(create_store(path, "rdfs"))
    written = failures = number = 0
    while failures < 3:
        number += 1
        assert number < 2000, "the disk never got full"
        try:
            maintainer.apply(change_of(statements(number), []))
            written += EACH
        except StoreError as error:
            assert error.code == "STORE-WRITE"
            failures += 1
            maintainer = Maintainer(Store.open(path))
            assert maintainer.store.info.counts.asserted == written
    # Versions that nobody needs make room, and the store goes on as if nothing had been.
    assert vacuum(path, timedelta(0))
    maintainer.apply(change_of(statements(0), []))
    assert Store.open(path).info.counts.asserted == written + EACH
