"""A commit stopped anywhere leaves the old snapshot or the new one; `repair` leaves no orphan."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from deltalake import DeltaTable

from satura.errors import StoreError
from satura.store import begin, find_orphans, layout, repair, transaction
from tests.unit.store.samples import check_snapshot, files_below, make_store, write_sample


class Killed(BaseException):
    """What no handler of ours may see: stands for `kill -9`."""


# All lines take two minutes, so every fourth is tried; `SATURA_CRASH_STRIDE=1` tries them all.
STRIDE = int(os.environ.get("SATURA_CRASH_STRIDE", "4"))
WATCHED = {"transaction.py", "delta.py", "leftovers.py", "writer.py"}


def stop_at(
    step: int, error: Callable[[], BaseException], stopped: list[bool]
) -> Callable[..., Any]:
    """Return a trace function that raises at the n-th new line run in the store.

    A line is new when it was not yet run by way of the same callers: the second round of a loop
    is not new, but committing facts is, after terms were committed by the same function.
    """
    seen: set[tuple[tuple[str, int], ...]] = set()

    def is_watched(frame: FrameType) -> bool:
        file = Path(frame.f_code.co_filename)
        return file.parent.name == "store" and file.name in WATCHED

    def trace(frame: FrameType, event: str, _arg: object) -> Any:
        if not is_watched(frame):
            return None
        if event == "line":
            callers, at = [], frame
            while at is not None and is_watched(at):
                callers.append((at.f_code.co_filename, at.f_lineno))
                at = at.f_back  # type: ignore[assignment]
            seen.add(tuple(callers))
            if len(seen) == step:
                sys.settrace(None)
                stopped.append(True)
                raise error()
        return trace

    return trace


def crash_everywhere(
    tmp_path: Path,
    *,
    existing: bool,
    error: Callable[[], BaseException],
    survive: Callable[[Path], None],
) -> set[bool]:
    """Run a commit again and again, stopping it at every line in turn, until one completes.

    Return whether the new snapshot was there afterwards: of all runs, the different answers.
    """
    if existing:
        make_store(tmp_path / "template", "a")
    outcomes = set()
    for step in range(1, 10_000, STRIDE):
        path = tmp_path / "s"
        if existing:
            shutil.copytree(tmp_path / "template", path)
        stopped: list[bool] = []
        attempt(path, stop_at(step, error, stopped), overwrite=existing)
        was = check_snapshot(path, "a", "b") if layout.is_store(path) else None
        assert was is not None or not existing
        outcomes.add(was == "b")
        if path.exists():
            survive(path)
            assert find_orphans(path, grace=0) == []
        if was is None:
            assert not path.exists() or files_below(path) == set()
            make_store(path, "b")  # the directory can be used again
        else:
            assert check_snapshot(path, "a", "b") == was
            assert DeltaTable(path / "terms").to_pyarrow_table().num_rows == 7
        shutil.rmtree(path)
        if not stopped:
            assert step > 100
            return outcomes
    raise AssertionError("the commit never completed")


def attempt(path: Path, trace: Callable[..., Any], *, overwrite: bool) -> None:
    sys.settrace(trace)
    try:
        txn = begin(path, overwrite=overwrite)
        metadata = write_sample(txn, "b")
        txn.commit(metadata)
    except (Killed, OSError, StoreError):
        pass
    finally:
        sys.settrace(None)


@pytest.mark.parametrize("existing", [False, True])
def test_kill_at_any_line_leaves_the_old_or_the_new_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existing: bool
) -> None:
    # A killed process runs no handlers, but it does lose its lock.
    monkeypatch.setattr(transaction.Transaction, "rollback", transaction.Transaction._release)
    outcomes = crash_everywhere(tmp_path, existing=existing, error=Killed, survive=_repair_now)
    assert outcomes == {True, False}


@pytest.mark.parametrize("existing", [False, True])
def test_full_disk_at_any_line_leaves_the_old_or_the_new_snapshot(
    tmp_path: Path, existing: bool
) -> None:
    outcomes = crash_everywhere(tmp_path, existing=existing, error=_disk_full, survive=_repair_now)
    assert outcomes == {True, False}


def _repair_now(path: Path) -> None:
    repair(path, grace=0)


def _disk_full() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


KILLED = """
import os, signal, sys
from pathlib import Path
from satura.store import begin, delta
from tests.unit.store.samples import write_sample
txn = begin(Path(sys.argv[1]), overwrite=True)
metadata = write_sample(txn, "b")
real = delta.commit
def commit(table, *args, **kwargs):
    version = real(table, *args, **kwargs)
    if table.name == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
    return version
delta.commit = commit
txn.commit(metadata)
"""


@pytest.mark.parametrize(("table", "left", "lost"), [("terms", "a", 4), ("facts", "b", 0)])
def test_kill_for_real(tmp_path: Path, table: str, left: str, lost: int) -> None:
    make_store(tmp_path, "a")
    root = Path(__file__).parents[3]
    environment = os.environ | {"PYTHONPATH": f"{root / 'src'}:{root}"}
    command = [sys.executable, "-c", KILLED, str(tmp_path), table]
    assert subprocess.run(command, env=environment, check=False).returncode == -signal.SIGKILL
    assert check_snapshot(tmp_path, "a", "b") == left
    assert (tmp_path / "_staging").exists()
    assert len([f for f in repair(tmp_path) if f.suffix == ".parquet"]) == lost
    assert find_orphans(tmp_path) == []
    assert check_snapshot(tmp_path, "a", "b") == left
    assert DeltaTable(tmp_path / "terms").to_pyarrow_table().num_rows == 7
    assert {child.name for child in tmp_path.iterdir()} == {"facts", "terms"}
    make_store(tmp_path, "c", overwrite=True)
    assert check_snapshot(tmp_path, "a", "b", "c") == "c"
