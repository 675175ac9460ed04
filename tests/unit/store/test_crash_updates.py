"""An update or compaction stopped anywhere leaves the version before or after it, and goes on."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from satura.errors import StoreError
from satura.maintain.apply import Maintainer
from satura.store import Store, find_orphans, repair, transaction
from satura.store.compaction import compact, plan_full
from satura.store.rows import RowCache
from tests.unit.store import test_crash
from tests.unit.store.test_crash import Killed, stop_at
from tests.unit.store.updates import begin_updates, content, run

Work = Callable[[Path], None]
UPDATES = 4
# Every line would take minutes; `SATURA_CRASH_STRIDE=1` tries them all.
STRIDE = int(os.environ.get("SATURA_CRASH_STRIDE", "25"))


def update(path: Path) -> None:
    run(Maintainer(Store.open(path), upkeep=None), UPDATES, UPDATES + 2)


def compaction(path: Path) -> None:
    store = Store.open(path)
    compact(store, plan_full(store))


def make_template(path: Path) -> None:
    run(begin_updates(path, None), 0, UPDATES)


def is_whole(path: Path) -> None:
    """Check that the latest version is the sample after some number of updates."""
    store = Store.open(path)
    ids = [
        int(x)
        for file in store.terms_snapshot.files
        for x in RowCache().read_terms(store.terms_snapshot.table / file.path).ids
    ]
    assert len(ids) == len(set(ids)) == store.info.terms
    assert len(content(store)[0]) == store.info.counts.asserted
    assert len(content(store)[1]) == store.info.counts.derived


def finish(path: Path, wanted: object) -> None:
    """Repeat what was stopped, and check that it comes to what it would have come to."""
    update(path)
    compaction(path)
    is_whole(path)
    assert content(Store.open(path)) == wanted
    repair(path, grace=0)
    assert find_orphans(path, grace=0) == []
    assert content(Store.open(path)) == wanted


def disk_full() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("work", [update, compaction])
@pytest.mark.parametrize("error", [Killed, disk_full])
def test_stopped_at_any_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    work: Work,
    error: Callable[[], BaseException],
) -> None:
    template = tmp_path / "template"
    make_template(template)
    shutil.copytree(template, tmp_path / "done")
    finish(tmp_path / "done", wanted := after_all(tmp_path / "done"))
    monkeypatch.setattr(
        test_crash,
        "WATCHED",
        test_crash.WATCHED | {"compaction.py", "writing.py", "metadata.py", "commits.py"},
    )
    if error is Killed:
        monkeypatch.setattr(transaction.Transaction, "rollback", transaction.Transaction._release)
    for step in range(1, 10_000, STRIDE):
        path = tmp_path / "s"
        shutil.copytree(template, path)
        stopped: list[bool] = []
        sys.settrace(stop_at(step, error, stopped))
        try:
            work(path)
        except (Killed, OSError, StoreError):
            pass
        finally:
            sys.settrace(None)
        is_whole(path)
        finish(path, wanted)
        shutil.rmtree(path)
        if not stopped:
            assert step > 100
            return
    raise AssertionError("the work never completed")


def after_all(path: Path) -> object:
    copy = path.with_name("wanted")
    shutil.copytree(path, copy)
    update(copy)
    return content(Store.open(copy))


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    """Let writing more than some bytes to a file fail, whoever writes: Python, Arrow or Rust."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("work", [update, compaction])
def test_no_room_for_a_file(tmp_path: Path, work: Work) -> None:
    """Whichever file does not fit, the error is ours and the store as it was."""
    path, outcomes = tmp_path / "s", set()
    make_template(path)
    before = content(Store.open(path))
    sizes = [0, 50, 400, 600, 800, 1200, 1600, 2000, 2400, 3000, 4000, 8000, 100_000]
    for size in sizes:
        version = Store.open(path).version
        try:
            with files_no_longer_than(size):
                work(path)
        except StoreError as error:
            assert error.code == "STORE-WRITE", error
            outcomes.add("refused")
            if work is compaction:
                assert Store.open(path).version == version
        else:
            outcomes.add("done")
            break
        is_whole(path)
        if work is compaction:
            assert content(Store.open(path)) == before
    assert outcomes == {"refused", "done"}
    is_whole(path)
    finish(path, after_all(path))
