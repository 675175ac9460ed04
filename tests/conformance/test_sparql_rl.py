"""SPARQL-RL: the syntax, well-formedness, stratification and evaluation cases of the rule language.

Cases in `ignored.toml` use RDF 1.2 terms or forms the draft of August 2026 no longer has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyoxigraph as ox
import pytest
from pyspark.sql import SparkSession

import satura
from satura.errors import SaturaError, UnsupportedError
from satura.kb import KnowledgeBase
from satura.reference import close
from satura.rules.model import RuleSet
from satura.rules.reader import read_rules
from satura.rules.strata import stratify
from satura.terms.ntriples import Triple
from tests.conformance.cases import RulesCase, read_graph, read_ignored, rules_cases
from tests.suites import require

FOLDERS = {"syntax": 100, "wellformed": 8, "stratification": 9, "eval": 14}
CASES = [case for folder in FOLDERS for case in rules_cases(folder)]


def read(case: RulesCase) -> RuleSet:
    base = case.rules.resolve().as_uri()
    return read_rules(case.rules.read_text("utf-8"), source=case.rules.name, base=base)


def canonicalized(graph: frozenset[Triple]) -> frozenset[str]:
    """Return a graph in the one form all graphs have that are equal up to blank nodes."""
    text = "".join(f"{s} {p} {o} .\n" for s, p, o in graph)
    dataset = ox.Dataset(ox.parse(text, ox.RdfFormat.N_TRIPLES))
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return frozenset(map(str, dataset))


def holds(case: RulesCase) -> bool:
    """Say whether the case comes out as the suite says."""
    if case.kind == "RulesEvalTest":
        assert case.data and case.result
        given = read_graph(case.data)
        inferred = close(read(case), given) - given
        return canonicalized(inferred) == canonicalized(read_graph(case.result))
    try:
        rules = read(case)
        if "Stratification" in case.kind:
            stratify(rules)
    except SaturaError:
        return "Negative" in case.kind
    return "Positive" in case.kind


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sparql_rl(case: RulesCase) -> None:
    ignored = read_ignored("sparql-rl")
    if case.name not in ignored:
        assert holds(case)
        return
    assert not holds(case), f"{case.name} passes: take it off ignored.toml"
    # What is not taken is said by name, never passed over or called a syntax error.
    with pytest.raises(UnsupportedError, match="RULE-UNSUPPORTED"):
        read(case)
    pytest.xfail(ignored[case.name])


def test_suite_is_whole() -> None:
    require("sparql-rl")
    for folder, least in FOLDERS.items():
        assert len(list(rules_cases(folder))) >= least
    unknown = set(read_ignored("sparql-rl")) - {case.name for case in CASES}
    assert not unknown, f"ignored.toml names cases that do not exist: {unknown}"


EVALUATION = [case for case in CASES if case.kind == "RulesEvalTest"]
HOME = "http://example/"
"""Where the evaluation cases have their names."""


def moved(text: str, number: int) -> str:
    """Return text with its names in a name space of one case."""
    return text.replace(f"<{HOME}", f"<{HOME}{number}/")


@pytest.fixture(scope="module")
def inferred_on_spark(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, set[Triple]]:
    """Close all evaluation cases; those that share a rule set in one run, all others in another."""
    shared = [case for case in EVALUATION if case.rules.name == "rdfs.srl"]
    others = [case for case in EVALUATION if case not in shared]
    found: dict[str, set[Triple]] = {case.name: set() for case in EVALUATION}
    for cases in (shared, others):
        directory = tmp_path_factory.mktemp("sparql-rl")
        for row in _close(spark, directory, cases).inferred().collect():
            number = re.search(rf"<{HOME}(\d+)/", " ".join((row["s"], row["p"], row["o"])))
            assert number, f"{row} belongs to no case"
            s, p, o = (
                row[place].replace(f"<{HOME}{number[1]}/", f"<{HOME}") for place in ("s", "p", "o")
            )
            found[cases[int(number[1])].name].add((s, p, o))
    return found


def _close(spark: SparkSession, directory: Path, cases: Sequence[RulesCase]) -> KnowledgeBase:
    """Close cases in one run; the names of each are its own, in its rules as well."""
    lines: list[str] = []
    texts: dict[str, str] = {}
    for number, case in enumerate(cases):
        assert case.data
        lines += [moved(f"{s} {p} {o} .\n", number) for s, p, o in read_graph(case.data)]
        texts.setdefault(moved(case.rules.read_text("utf-8"), number), f"{number}.srl")
    (directory / "data.nt").write_text("".join(lines), encoding="utf-8")
    for text, name in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
    imports = "".join(f"IMPORTS <{(directory / name).as_uri()}>\n" for name in texts.values())
    rules = directory / "all.srl"
    rules.write_text(imports, encoding="utf-8")
    return satura.materialize(spark, directory / "data.nt", rules=rules, store=directory / "store")


@pytest.mark.spark
@pytest.mark.parametrize("case", EVALUATION, ids=lambda case: case.name)
def test_evaluation_on_spark(case: RulesCase, inferred_on_spark: Mapping[str, set[Triple]]) -> None:
    assert case.result
    found = canonicalized(frozenset(inferred_on_spark[case.name]))
    assert found == canonicalized(read_graph(case.result))
