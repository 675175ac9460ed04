"""A stream that is killed again and again, held against one that never was."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from satura.rules.reader import load_rules
from satura.stream.feed import PatchFeed
from satura.terms.ntriples import Triple
from tests.laws.graphs import graph
from tests.laws.test_streams import Operation, check, final, published
from tests.stream.process import StreamProcess


@dataclass
class KilledStream:
    """A stream of batches that come one by one, into a store with a feed."""

    folder: Path
    batches: list[list[Operation]]
    seed: int
    dropped: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.incoming = self.folder / "in"
        self.incoming.mkdir()
        feed = f"patch:{self.folder / 'feed'}"
        self.stream = StreamProcess(
            ["--from", str(self.incoming), "--rules", "rdfs", "--trigger", "50ms",
             "--max-files", "1", "--feed", feed],
            self.folder / "kb", self.folder / "log",
        )  # fmt: skip

    def drop(self, number: int) -> None:
        """Let some batches arrive, whole and in order."""
        for batch in self.batches[self.dropped : self.dropped + number]:
            rows = [f"{'A' if add else 'D'} {' '.join(t)} .\n" for t, add in batch]
            partial = self.incoming / "_partial"
            partial.write_text("TX .\n" + "".join(rows) + "TC .\n", "utf-8")
            self.dropped += 1
            os.utime(partial, (self.dropped, self.dropped))
            partial.rename(self.incoming / f"{self.dropped:05d}.patch")

    def run(self, kills: int) -> list[str]:
        """Kill the stream at random moments; return what each found."""
        story = []
        for number in range(kills):
            self.drop(max(1, len(self.batches) // (kills + 1)))
            before = len(self.stream.reports())
            self.stream.start()
            if number % 2:
                # In the middle of a batch, or between its steps.
                self.stream.wait_for(lambda found, n=before: len(found) > n)  # type: ignore[misc]
                self.drop(1)
                time.sleep(self.random.uniform(0, 0.6))
            else:
                time.sleep(self.random.uniform(0, 12))
            self.stream.kill()
            after = len(self.stream.reports())
            story.append(f"kill {number + 1}: {before} batches before, {after} after")
        return story

    def finish(self) -> None:
        """Let the rest arrive, and hold the result against the reference and the feed."""
        self.drop(len(self.batches))
        self.stream.start()
        count = len(self.batches)
        # A file that Spark had noted when it was killed comes along with the one after it.
        self.stream.wait_for(lambda found: sum(x.units for x in found) >= count)
        assert self.stream.stop() == 0
        reports = self.stream.reports()
        assert sum(x.units for x in reports) == count
        assert [x.batch for x in reports] == list(range(len(reports)))
        asserted: set[Triple] = final(self.batches)
        feed = PatchFeed(self.folder / "feed")
        check(self.folder / "kb", load_rules("rdfs"), asserted, published(feed))


def some_batches(count: int, seed: int) -> list[list[Operation]]:
    """Return batches of additions and removals, of data and of schema."""
    random = Random(seed)
    pool = sorted({t for n in range(4) for t in graph(seed + n, f"k{n}")})
    here: set[Triple] = set()
    batches = []
    for _ in range(count):
        added = random.sample(pool, random.randint(0, 12))
        removed = random.sample(sorted(here), random.randint(0, len(here) // 3))
        batch = [(t, False) for t in removed] + [(t, True) for t in added]
        here = final([[(t, True) for t in here], batch])
        batches.append(batch)
    return batches
