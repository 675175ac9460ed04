"""SPARQL-RL: the syntax, well-formedness, stratification and evaluation cases of the rule language.

Cases in `ignored.toml` use RDF 1.2 terms or forms the draft of August 2026 no longer has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import pyoxigraph as ox
import pytest
from pyspark.sql import SparkSession

import satura
from satura.errors import SaturaError, UnsupportedError
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
) -> Mapping[str, frozenset[Triple]]:
    """Close all evaluation cases in one run; the names of each are its own, rules included."""
    directory = tmp_path_factory.mktemp("sparql-rl")
    lines: list[str] = []
    texts: dict[str, str] = {}
    for number, case in enumerate(EVALUATION):
        assert case.data
        lines += [moved(f"{s} {p} {o} .\n", number) for s, p, o in read_graph(case.data)]
        text = moved(case.rules.read_text("utf-8"), number)
        texts.setdefault(text, f"{number}.srl")
    (directory / "data.nt").write_text("".join(lines), encoding="utf-8")
    for text, name in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
    imports = "".join(f"IMPORTS <{(directory / name).as_uri()}>\n" for name in texts.values())
    (directory / "all.srl").write_text(imports, encoding="utf-8")
    kb = satura.materialize(
        spark, directory / "data.nt", rules=directory / "all.srl", store=directory / "store"
    )
    found: dict[str, set[Triple]] = {case.name: set() for case in EVALUATION}
    for row in kb.inferred().collect():
        text = f"{row['s']} {row['p']} {row['o']}"
        number = re.search(rf"<{HOME}(\d+)/", text)
        assert number, f"{text} belongs to no case"
        s, p, o = (
            row[place].replace(f"<{HOME}{number[1]}/", f"<{HOME}") for place in ("s", "p", "o")
        )
        found[EVALUATION[int(number[1])].name].add((s, p, o))
    return {name: frozenset(triples) for name, triples in found.items()}


@pytest.mark.spark
@pytest.mark.parametrize("case", EVALUATION, ids=lambda case: case.name)
def test_evaluation_on_spark(
    case: RulesCase, inferred_on_spark: Mapping[str, frozenset[Triple]]
) -> None:
    assert case.result
    found = canonicalized(inferred_on_spark[case.name])
    assert found == canonicalized(read_graph(case.result))
