"""The built-in rule sets: their ids against the W3C text, and that lint has nothing to say."""

from __future__ import annotations

import pytest

from satura.rules.lint import lint
from satura.rules.reader import builtin_names, builtin_text, load_rules
from satura.terms.datatypes import RECOGNIZED
from satura.vocab import RDF_TYPE, RDFS, term

RDFS_PATTERNS = {f"rdfs{n}" for n in (2, 3, "4a", "4b", 5, 6, 7, 8, 9, 10, 11, 12, 13)}


@pytest.mark.parametrize("name", builtin_names())
def test_lint_is_silent(name: str) -> None:
    assert lint(builtin_text(name), name, base=f"satura:{name}") == []


@pytest.mark.parametrize("name", builtin_names())
def test_rules_are_named(name: str) -> None:
    rules = load_rules(name)
    assert rules.name == name
    assert len({rule.id for rule in rules}) == len(rules) > 0
    assert all(rule.iri for rule in rules)


def test_rdfs_has_the_patterns_about_data() -> None:
    assert {rule.id for rule in load_rules("rdfs")} == {
        "rdfs2", "rdfs3", "rdfs5", "rdfs7", "rdfs9", "rdfs11",
    }  # fmt: skip


def test_rdfs_full_has_every_pattern() -> None:
    # rdfs1 is the DATA block of datatypes; rdfD1 is left out, with its reason in the file.
    axioms = {f"rdf-axiom-n-{place}" for place in "spo"}
    assert {rule.id for rule in load_rules("rdfs-full")} == RDFS_PATTERNS | {"rdfD2"} | axioms


def test_rdfs_full_states_the_datatypes_whose_values_are_known() -> None:
    datatype = term(RDFS, "Datatype")
    stated = {s for s, p, o in load_rules("rdfs-full").data if (p, o) == (RDF_TYPE, datatype)}
    assert stated == RECOGNIZED
