"""A run that is killed leaves the old snapshot or the new one, and both are whole."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from satura.generate.ontology import ontology_turtle
from satura.generate.university import generate_university, university_lines
from tests.soak.killing import Killing

pytestmark = pytest.mark.spark


def test_three_kills(spark: SparkSession, tmp_path: Path) -> None:
    inputs = []
    for seed in (1, 2):
        directory = tmp_path / f"in{seed}"
        directory.mkdir()
        with (directory / "part.nt").open("w") as out:
            some = islice(university_lines(0, seed), 20_000)
            out.writelines(line.rstrip("\n") + "\n" for line in some)
        (directory / "ontology.ttl").write_text(ontology_turtle())
        inputs.append(directory)
    killing = Killing(spark, tmp_path / "store", (inputs[0], inputs[1]), seed=3)
    killing.run(3, full=False)
    killing.finish()


@pytest.mark.soak
def test_ten_kills_of_a_million_triples(spark: SparkSession, tmp_path: Path) -> None:
    inputs = []
    for seed in (1, 2):
        generate_university(spark, universities=8, seed=seed, output=tmp_path / f"in{seed}")
        inputs.append(tmp_path / f"in{seed}")
    killing = Killing(spark, tmp_path / "store", (inputs[0], inputs[1]), seed=11)
    story = killing.run(10, full=True)
    print("\n".join(story))  # noqa: T201
    killing.finish()
