"""Kills a run that replaces a store, at a random moment, and looks at what is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random

from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import satura
from satura.kb import KnowledgeBase
from satura.recheck import check_entailment
from satura.store import KINDS, Counts, Store, layout, repair
from satura.store.leftovers import vacuum
from satura.store.verify import verify
from tests.suites import ROOT

Snapshot = tuple[Counts, tuple[int | None, ...]]


def fingerprint(spark: SparkSession, path: Path) -> Snapshot:
    """Return counts and a checksum of every frame: equal for equal content, in any order."""
    store = Store.open(path)
    frames = [*(store.frame(spark, kind) for kind in KINDS), store.terms(spark)]
    sums = []
    for frame in frames:
        row = frame.agg(F.sum(F.xxhash64(*frame.columns).cast("decimal(38,0)"))).first()
        assert row is not None
        sums.append(None if row[0] is None else int(row[0]))
    return store.info.counts, tuple(sums)


@dataclass(slots=True)
class Killing:
    """A store, and two inputs that take turns to be what it holds."""

    spark: SparkSession
    store: Path
    inputs: tuple[Path, Path]
    seed: int

    def run(self, kills: int, *, full: bool) -> list[str]:
        """Kill runs until `kills` of them died; return what was found after each."""
        random = Random(self.seed)
        known, window = self._both()
        story: list[str] = []
        killed = 0
        while killed < kills:
            assert len(story) < 3 * kills, "\n".join(story)
            before = fingerprint(self.spark, self.store)
            wanted = self.inputs[1 - known.index(before)]
            moment = random.uniform(0.0, window)
            lasted = kill(self.store, wanted, moment)
            after = fingerprint(self.spark, self.store)
            killed += lasted is None
            if lasted is not None:
                window = lasted  # it was done before its time: aim within what it takes
            found = "old" if after == before else "new" if after in known else "NEITHER"
            how = "killed" if lasted is None else f"done after {lasted:.2f} s, to be killed"
            story.append(f"seed {self.seed}: {how} {moment:.2f} s into its transaction: {found}")
            assert after in known, "\n".join(story)
            assert lasted is None or after != before, "\n".join(story)
            self.verify(full=full)
        return story

    def _both(self) -> tuple[list[Snapshot], float]:
        """Make both snapshots once in this process; return how long a new one may take at most."""
        known = []
        seconds = 0.0
        for file in self.inputs:
            kb: KnowledgeBase = satura.materialize(
                self.spark, file, store=self.store, overwrite=True
            )
            assert kb.summary is not None
            seconds = kb.summary.seconds
            known.append(fingerprint(self.spark, self.store))
        assert known[0] != known[1]
        # A process that has just started takes up to thrice as long as this warm one.
        return known, 3 * seconds

    def verify(self, *, full: bool) -> None:
        """Check the store as `satura verify` does, entailment of everything if `full`."""
        check = check_entailment if full else None
        report = verify(self.spark, Store.open(self.store), entailment=check)
        assert report.ok, [c for c in report.checks if not c.ok] or report.skipped

    def finish(self) -> None:
        """Replace the store undisturbed, repair, and see that no file is left that no log names.

        Older versions are given up, so that only the last may name files.
        """
        satura.materialize(self.spark, self.inputs[0], store=self.store, overwrite=True)
        repair(self.store)
        vacuum(self.store, timedelta(0))
        self.verify(full=True)
        files = {file for file in self.store.rglob("*") if file.is_file()}
        logs = {file for file in files if "_delta_log" in file.parts}
        assert files - logs - named(self.store) == {self.store / layout.HORIZON}
        assert not (self.store / "_staging").exists()


def named(store: Path) -> set[Path]:
    """Return the data files that the current logs name, and their checksums, by a plain reader."""
    version = Store.open(store).info.terms_version
    found = set()
    for table in (DeltaTable(store / "facts"), DeltaTable(store / "terms", version=version)):
        for uri in table.file_uris():
            file = Path(uri.removeprefix("file://"))
            found |= {file, file.with_name(f".{file.name}.crc")}
    return found


def has_begun(staging: Path, earlier: set[Path]) -> bool:
    """Say whether a new transaction is there to stay: a first one only tries whether it could."""
    new = set(staging.glob("*")) - earlier
    if new:
        time.sleep(0.3)
    return any(child.exists() for child in new)


def kill(store: Path, file: Path, moment: float) -> float | None:
    """Start a run in a process of its own and kill it `moment` seconds into its transaction.

    Return how long the transaction took if it was done before that.
    """
    staging = store / "_staging"
    earlier = set(staging.glob("*"))
    arguments = ["materialize", file, "--store", store, "--overwrite", "--master", "local[2]"]
    process = subprocess.Popen(
        [sys.executable, "-m", "satura.cli.main", *map(str, arguments), "--memory", "1g"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    while process.poll() is None and not has_begun(staging, earlier):
        time.sleep(0.02)
    began = time.monotonic()
    try:
        _, said = process.communicate(timeout=moment)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    assert process.returncode == 0, said.decode()
    return time.monotonic() - began
