"""Writers that race, and writers that are killed: no change is lost, none is half made."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from random import Random

from satura.store import Store, find_orphans, repair
from satura.store.state import State
from tests.unit.store.racing import start
from tests.unit.store.samples import iri
from tests.unit.store.test_compaction import closure, expected
from tests.unit.store.test_crash_updates import is_whole
from tests.unit.store.updates import begin_updates, content


def check_race(path: Path, count: int) -> None:
    begin_updates(path, None)
    racers = [start(path, name, count) for name in ("left", "right")]
    said = [racer.communicate(timeout=600) for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0], said
    store = Store.open(path)
    is_whole(store.path)
    texts = {row[0] for row in closure(store)}
    assert {iri(f"{name}{i}") for name in ("left", "right") for i in range(count)} <= texts
    added = [e for e in Store.history(path) if e.operation == "add"]
    assert len(added) == 2 * count + 1, "each change is one commit"
    assert all(entry.change["asserted_added"] == 1 for entry in added[:-1])
    for entry in Store.history(path):
        counts = Store.open(path, entry.version).info.counts
        assert len(State(Store.open(path, entry.version)).asserted()) == counts.asserted
    assert find_orphans(path, grace=0) == []
    print(f"races lost: {said[0][0].strip()} and {said[1][0].strip()}")  # noqa: T201


def check_kills(path: Path, kills: int, seed: int) -> None:
    random = Random(seed)
    begin_updates(path, None)
    made = 0
    for _ in range(kills):
        writer = start(path, str(made), 40)
        assert writer.stdout is not None
        said = [writer.stdout.readline()]  # it is at work now
        time.sleep(random.uniform(0.0, 1.5))
        writer.send_signal(signal.SIGKILL)
        rest, _ = writer.communicate()
        said += rest.splitlines()
        acknowledged = max(int(line) for line in said if line.strip())
        is_whole(path)
        found = closure(Store.open(path))
        possible = [i for i in (acknowledged, acknowledged + 1) if found == expected(i)]
        assert possible, f"neither {acknowledged} updates nor one more"
        made = possible[0]
    before = content(Store.open(path))
    repair(path, grace=0)
    assert find_orphans(path, grace=0) == []
    assert content(Store.open(path)) == before
    for entry in Store.history(path):
        content(Store.open(path, entry.version))
    print(f"{kills} kills, {made} updates, version {Store.open(path).version}")  # noqa: T201


def test_two_writers_race(tmp_path: Path) -> None:
    check_race(tmp_path, 5)


def test_writers_are_killed(tmp_path: Path) -> None:
    check_kills(tmp_path, 2, seed=5)
