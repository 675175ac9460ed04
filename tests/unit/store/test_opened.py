"""Tables that are kept open are the ones that are there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from satura.errors import ConflictError, StoreError
from satura.maintain.apply import Maintainer
from satura.store import Store
from tests.unit.store.updates import begin_updates, change, content, run, typed


def test_another_store_in_its_place_is_not_mistaken_for_it(tmp_path: Path) -> None:
    begin, other = tmp_path / "kb", tmp_path / "other"
    run(begin_updates(begin, None), 0, 5)
    kept = Maintainer(Store.open(begin), upkeep=None)
    run(begin_updates(other, None), 5, 7)
    shutil.rmtree(begin)
    shutil.copytree(other, begin)
    before = content(Store.open(begin))
    with pytest.raises(StoreError):
        kept.apply(change({typed(99)}))
    assert content(Store.open(begin)) == before
    run(Maintainer(Store.open(begin), upkeep=None), 7, 9)
    assert Store.open(begin).info.counts.asserted == Store.open(other).info.counts.asserted + 1


def test_whoever_comes_second_loses_with_a_table_kept_open(tmp_path: Path) -> None:
    first = begin_updates(tmp_path, None)
    second = Maintainer(Store.open(tmp_path), upkeep=None)
    run(first, 0, 3)
    with pytest.raises(ConflictError):
        run(second, 3, 4)
    second.adopt(Store.open(tmp_path))
    run(second, 3, 6)
    with pytest.raises(ConflictError):
        run(first, 6, 7)
    assert Store.open(tmp_path).version == second.store.version
