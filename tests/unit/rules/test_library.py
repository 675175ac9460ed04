"""The built-in rule sets: their ids against the W3C text, and that lint has nothing to say."""

from __future__ import annotations

import tomllib
from importlib import resources

import pytest

from satura.rules.lint import lint
from satura.rules.reader import builtin_names, builtin_text, load_rules
from satura.terms.datatypes import RECOGNIZED
from satura.vocab import OWL, RDF_TYPE, RDFS, XSD, term

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


# The rules of tables 4 to 9 of OWL 2 Profiles (Second Edition), and those that conclude `false`.
OWL2_RL = """
    eq-ref eq-sym eq-trans eq-rep-s eq-rep-p eq-rep-o eq-diff1 eq-diff2 eq-diff3
    prp-ap prp-dom prp-rng prp-fp prp-ifp prp-irp prp-symp prp-asyp prp-trp prp-spo1 prp-spo2
    prp-eqp1 prp-eqp2 prp-pdw prp-adp prp-inv1 prp-inv2 prp-key prp-npa1 prp-npa2
    cls-thing cls-nothing1 cls-nothing2 cls-int1 cls-int2 cls-uni cls-com cls-svf1 cls-svf2
    cls-avf cls-hv1 cls-hv2 cls-maxc1 cls-maxc2 cls-maxqc1 cls-maxqc2 cls-maxqc3 cls-maxqc4 cls-oo
    cax-sco cax-eqc1 cax-eqc2 cax-dw cax-adc
    dt-type1 dt-type2 dt-eq dt-diff dt-not-type
    scm-cls scm-sco scm-eqc1 scm-eqc2 scm-op scm-dp scm-spo scm-eqp1 scm-eqp2 scm-dom1 scm-dom2
    scm-rng1 scm-rng2 scm-hv scm-svf1 scm-svf2 scm-avf1 scm-avf2 scm-int scm-uni
"""
FALSE = """
    eq-diff1 eq-diff2 eq-diff3 prp-irp prp-asyp prp-pdw prp-adp prp-npa1 prp-npa2 cls-nothing2
    cls-com cls-maxc1 cls-maxqc1 cls-maxqc2 cax-dw cax-adc dt-not-type
"""


def omitted() -> dict[str, dict[str, str]]:
    library = resources.files("satura.rules").joinpath("library")
    return tomllib.loads(library.joinpath("omitted.toml").read_text("utf-8"))


def ids(name: str) -> set[str]:
    return {rule.id for rule in load_rules(name)}


def test_owl2_rl_has_every_rule_but_those_omitted() -> None:
    tables, listed = omitted(), set(OWL2_RL.split())
    assert len(listed) == 78
    full, plain = ids("owl2-rl-full"), ids("owl2-rl")
    assert full == (listed - tables["data"].keys()) | tables["added"].keys()
    assert full - plain == tables["full-only"].keys() - tables["data"].keys()
    assert plain < full
    assert tables["changed"].keys() <= plain & listed
    assert all(reason for table in tables.values() for reason in table.values())


def test_owl2_rl_states_the_rules_without_premises() -> None:
    home = omitted()["data"]
    plain, full = (load_rules(name).data for name in ("owl2-rl", "owl2-rl-full"))
    assert {s for s, _, _ in plain} >= {term(XSD, "integer"), term(RDFS, "Literal")}
    assert {o for _, _, o in plain} == {term(RDFS, "Datatype")} and len(plain) == 32
    assert {o for _, _, o in set(full) - set(plain)} == {
        term(OWL, "AnnotationProperty"), term(OWL, "Class"),
    }  # fmt: skip
    assert {rule for rule, name in home.items() if name == "owl2-rl"} == {"dt-type1"}


def test_owl2_rl_concludes_violations_where_the_tables_do() -> None:
    added = {rule for rule in omitted()["added"] if rule.startswith(("eq-diff", "dt-not-type"))}
    assert {rule.id for rule in load_rules("owl2-rl") if rule.false} == {*FALSE.split(), *added}


def test_owl_horst_has_every_rule() -> None:
    numbers = "1 2 3 4 6 7 8a 8b 9 10 12a 12b 12c 13a 13b 13c 14a 14b 15 16"
    split = {"rdfp9-owl", "rdfp10-object", "rdfp10-datatype", "rdfp11-s", "rdfp11-o", "rdfp11-p"}
    plain = ids("owl-horst")
    assert plain == ids("rdfs") | split | {f"rdfp{number}" for number in numbers.split()}
    assert ids("owl-horst-full") == plain | ids("rdfs-full") | {"rdfp5a", "rdfp5b"}
