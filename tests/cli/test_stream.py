"""`satura stream` and `satura stream report`."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from satura.store import Store
from tests.cli.conftest import Cli

LINE = "<http://e/a> <http://e/p> <http://e/{}> .\n"


@pytest.fixture
def incoming(tmp_path: Path) -> Path:
    place = tmp_path / "in"
    place.mkdir()
    for number in range(3):
        (place / f"{number}.nt").write_text(LINE.format(number))
    (place / "3.nt").write_text("nonsense\n")
    return place


@pytest.mark.spark
def test_stream_and_its_report(cli: Cli, tmp_path: Path, incoming: Path) -> None:
    store, numbers = tmp_path / "kb", tmp_path / "numbers.prom"
    arguments = ("stream", "--store", store, "--from", incoming, "--name", "it", "--max-files", 1,
                 "--trigger", "available-now", "--metrics", numbers)  # fmt: skip
    done = cli(*arguments, "--json")
    assert done.code == 0, done.err
    batches = [json.loads(line) for line in done.out.splitlines()]
    assert [x["batch"] for x in batches] == [0, 1, 2, 3]
    assert sum(x["asserted_added"] for x in batches) == 3
    assert sum(x["rejected"] for x in batches) == 1
    assert Store.open(store).info.counts.asserted == 3
    text = numbers.read_text()
    assert 'satura_stream_statements_total{stream="it"} 3' in text
    assert 'satura_stream_rejected_total{stream="it"} 1' in text
    assert "# TYPE satura_stream_batch gauge" in text
    (incoming / "4.nt").write_text(LINE.format(4))
    again = cli(*arguments)
    assert again.code == 0, again.err
    assert "batches" in again.out and str(store / "streams" / "it") in again.out

    run, chart = store / "streams" / "it", tmp_path / "chart.svg"
    shown = cli("stream", "report", run, "--chart", chart)
    assert shown.code == 0 and "counting" in shown.out
    root = ET.parse(chart).getroot()
    assert root.tag.endswith("svg")
    bars = [x for x in root.iter() if x.tag.endswith("title")]
    assert any("batch 4" in (bar.text or "") for bar in bars)
    data = json.loads(cli("stream", "report", run, "--json").out)
    assert [x["batch"] for x in data] == [0, 1, 2, 3, 4]


@pytest.mark.spark
def test_failing_on_a_bad_message(cli: Cli, tmp_path: Path, incoming: Path) -> None:
    done = cli("stream", "--store", tmp_path / "kb", "--from", incoming, "--on-error", "fail",
                  "--trigger", "available-now")  # fmt: skip
    assert done.code == 1
    assert "STREAM-BAD-MESSAGE" in done.err and "3.nt:1" in done.err
    assert Store.open(tmp_path / "kb").info.counts.asserted == 0


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        ((), 2, "--store"),
        (("--store", "kb"), 2, "--from"),
        (("--store", "kb", "--from", "http://e/x"), 2, "STREAM-SOURCE"),
        (("--store", "kb", "--from", "kafka://host:1"), 2, "STREAM-SOURCE"),
        (("--store", "kb", "--from", "socket://host"), 2, "STREAM-SOURCE"),
        (("--store", "kb", "--from", ".", "--trigger", "soon"), 2, "STREAM-TRIGGER"),
        (("--store", "kb", "--from", ".", "--feed", "mail:me"), 2, "STREAM-FEED"),
        (("--store", "kb", "--from", ".", "--max-files", "1", "--max-bytes", "1"), 2,
         "STREAM-LIMITS"),
        (("--store", "kb", "--from", "kafka://h:1/t", "--format", "xml"), 2, "STREAM-FORMAT"),
        (("--store", "kb", "--from", "kafka://h:1/t", "--kafka", "x"), 2, "--kafka"),
        (("report", "nowhere"), 1, "STREAM-NO-RUN"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_for(
    no_spark: Cli, arguments: tuple[str, ...], code: int, word: str
) -> None:
    """Told before Spark is started."""
    done = no_spark("stream", *arguments)
    assert done.code == code
    assert word in done.err
