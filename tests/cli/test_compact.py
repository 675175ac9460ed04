"""`satura compact` and `satura history`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from satura.cli.compact import read_duration
from satura.errors import ConfigError
from satura.store import Store
from tests.cli.conftest import Cli
from tests.unit.store.samples import make_store
from tests.unit.store.updates import begin_updates, content, run

pytestmark = pytest.mark.spark


def test_history(cli: Cli, tmp_path: Path) -> None:
    run(begin_updates(tmp_path, None), 4, 6)
    shown = cli("history", tmp_path).out
    assert "materialize" in shown
    assert "+1, inferred +" in shown
    entries = json.loads(cli("history", tmp_path, "--json", "--limit", "2").out)
    assert [entry["version"] for entry in entries] == [3, 2]
    assert entries[0]["counts"]["asserted"] == 7
    assert cli("history", tmp_path / "nowhere").code == 1


def test_compact_and_vacuum(cli: Cli, tmp_path: Path) -> None:
    maintainer = begin_updates(tmp_path, None)
    run(maintainer, 0, 8)
    before = content(maintainer.store)
    report = json.loads(cli("compact", tmp_path, "--full", "--json").out)
    assert report["compacted"]
    assert report["files"] < report["files_before"]
    assert report["deleted"] == []
    report = json.loads(cli("compact", tmp_path, "--retain", "0s", "--json").out)
    assert not report["compacted"]
    assert report["deleted"]
    assert content(Store.open(tmp_path)) == before
    assert "vacuumed" in cli("history", tmp_path).out
    assert "files deleted" in cli("compact", tmp_path).out


def test_overwritten_versions_are_vacuumed(cli: Cli, tmp_path: Path) -> None:
    make_store(tmp_path, "a")
    make_store(tmp_path, "b", overwrite=True)
    report = json.loads(cli("compact", tmp_path, "--json").out)
    assert (report["compacted"], report["deleted"]) == (False, [])
    assert len(json.loads(cli("compact", tmp_path, "--retain=0s", "--json").out)["deleted"]) == 4


def test_durations(cli: Cli, tmp_path: Path) -> None:
    assert read_duration("1.5h").total_seconds() == 5400
    for wrong in ("7", "d", "-1d", "7 years", ""):
        with pytest.raises(ConfigError, match="RETAIN-SYNTAX"):
            read_duration(wrong)
    make_store(tmp_path)
    assert cli("compact", tmp_path, "--retain", "soon").code == 2
