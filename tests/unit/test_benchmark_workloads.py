"""What the benchmark closes, and under which rules: the inputs, the programs, who takes part.

Nothing in this file starts a JVM or needs a peer installed. The Nemo programs are evaluated here by
a few lines of Python, so that what is compared is known to be the same rules.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from satura.reference import close, violations
from satura.rules.reader import load_rules, read_rules
from satura.terms.ntriples import Term, Triple
from tests.unit.test_benchmarks import BENCHMARKS, load

nemo_program = load("nemo_program")
shapes = load("shapes")
suites = load("suites")
university_program = load("university_program")
workload = load("workload")

PROGRAM = BENCHMARKS.parent / "examples" / "university.srl"
UNIVERSITY = university_program.UNIVERSITY
TYPE = shapes.RDF_TYPE

Fact = tuple[str, ...]
ATOM = re.compile(r"(\w+)\(([^()]*)\)")
TERM = re.compile(r'<[^>]*>|"[^"]*"(?:\^\^<[^>]*>)?|[?_][\w:]+')


def evaluate(program: str, facts: set[Fact]) -> set[Fact]:
    """Return the fixpoint of a Datalog program as Nemo writes it, naively."""
    rules = []
    for line in program.splitlines():
        if line.startswith(("%", "@")):
            continue
        head, _, body = line.partition(":-")
        atoms = [[parsed(match) for match in ATOM.finditer(part)] for part in (head, body)]
        conditions = re.findall(r"(\?\w+) (!?=) (\S+)", body)
        rules.append((*atoms, conditions))
    known = {("triple", *fact) for fact in facts}
    while True:
        new = {
            tuple(binding.get(slot, slot) for slot in atom)
            for heads, body, conditions in rules
            for binding in solutions(body, conditions, known)
            for atom in heads
        }
        if new <= known:
            return known
        known |= new


def parsed(match: re.Match[str]) -> Fact:
    return (match[1], *TERM.findall(match[2]))


def solutions(
    body: list[Fact], conditions: list[tuple[str, str, str]], known: set[Fact]
) -> Iterator[dict[str, str]]:
    found: list[dict[str, str]] = [{}]
    for atom in body:
        extended = []
        rows = [row for row in known if row[0] == atom[0] and len(row) == len(atom)]
        for binding, row in product(found, rows):
            values = dict(binding)
            if all(
                values.setdefault(slot, value) == value if slot[0] == "?" else slot == value
                for slot, value in zip(atom, row, strict=True)
            ):
                extended.append(values)
        found = extended
    for binding in found:
        if all(
            (binding[left] == binding.get(right, right)) == (sign == "=")
            for left, sign, right in conditions
        ):
            yield binding


def triples_of(facts: set[Fact]) -> set[Fact]:
    return {fact[1:] for fact in facts if fact[0] == "triple"}


def test_nemo_program_of_rdfs_is_its_six_rules() -> None:
    text = nemo_program.text_of(load_rules("rdfs"))
    assert [line[2:] for line in text.splitlines()[1:] if line.startswith("%")] == [
        f"rdfs{n}" for n in (2, 3, 5, 7, 9, 11)
    ]
    assert text.count(":-") == 6


def test_nemo_program_of_owl_leaves_out_only_value_spaces() -> None:
    rules = load_rules("owl2-rl")
    program = nemo_program.write_rules(rules)
    assert all(name.startswith("dt-") for name in program.left_out)
    assert len(program.left_out) == 5
    named = [line[2:] for line in program.lines if line.startswith("%")]
    assert named == [rule.id for rule in rules if rule.id not in program.left_out]
    assert "left out: dt-type2, dt-eq" in nemo_program.text_of(rules).splitlines()[0]


LISTS = """
PREFIX : <e:>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
RULE :some { ?m a :Member } WHERE { ?x :list ?l . SOME ?m IN ?l }
RULE :pair { ?a :before ?b } WHERE { ?x :list ?l . PAIR ?a ?b IN ?l }
RULE :every { ?y :all ?x } WHERE { ?x :list ?l . EVERY ?m IN ?l { ?y :has ?m . ?z :knows ?m } }
RULE :chain { ?u :leads ?v } WHERE { ?x :chain ?l . CHAIN ?l FROM ?u TO ?v }
RULE :other { ?a :unlike ?b } WHERE { ?a :has ?m . ?b :has ?m FILTER(!sameTerm(?a, ?b)) }
RULE :setup { ?u a ?x } WHERE { ?x owl:hasValue ?y . ?x owl:onProperty ?p . ?u ?p ?y }
RULE :wrong false WHERE { ?a :before ?a }
"""


def cells(name: str, members: str, end: str = "nil") -> set[Triple]:
    """Return a list whose cells are named, of members `a`, `b`, …; it may end nowhere."""
    rdf = university_program.RDF
    found: set[Triple] = set()
    for n, member in enumerate(members):
        rest = f"<e:{name}{n + 1}>" if n + 1 < len(members) else f"<{rdf}{end}>"
        found |= {
            (f"<e:{name}{n}>", f"<{rdf}first>", f"<e:{member}>"),
            (f"<e:{name}{n}>", f"<{rdf}rest>", rest),
        }
    return found


def test_nemo_program_means_what_the_rules_mean() -> None:
    def triple(s: str, p: str, o: str) -> Triple:
        return (f"<e:{s}>", f"<e:{p}>", f"<e:{o}>")

    owl = university_program.OWL
    given = cells("l", "aba") | cells("k", "pqp") | cells("open", "cd", end="missing")
    given |= {triple("x", "list", "l0"), triple("x", "chain", "k0"), triple("y", "list", "open0")}
    given |= {triple("i", "has", "a"), triple("i", "has", "b"), triple("j", "has", "a")}
    given |= {triple("n", "knows", "a"), triple("o", "knows", "b")}
    given |= {triple("1", "p", "2"), triple("2", "q", "3"), triple("3", "p", "4")}
    given |= {("<e:R>", f"<{owl}hasValue>", "<e:2>"), ("<e:R>", f"<{owl}onProperty>", "<e:p>")}
    rules = read_rules(LISTS, source="lists.srl")
    closure = close(rules, given)
    found = evaluate(nemo_program.text_of(rules), given)
    assert triples_of(found) == closure
    assert {triple("1", "leads", "4"), triple("i", "all", "x")} <= closure
    assert ("<e:1>", TYPE, "<e:R>") in closure
    assert violations(rules, closure)
    assert ("violation", '"wrong"') in found


def sample() -> set[Triple]:
    """Return a department with its head, two more who work there, a student and an assistant."""

    def name(local: str) -> Term:
        return f"<{UNIVERSITY}{local}>"

    def triple(s: str, p: str, o: str) -> Triple:
        return (f"<e:{s}>", name(p), f"<e:{o}>")

    return {
        ("<e:d>", TYPE, name("Department")),
        ("<e:head>", TYPE, name("FullProfessor")),
        ("<e:c>", TYPE, name("GraduateCourse")),
        ("<e:s>", TYPE, name("GraduateStudent")),
        ("<e:r>", TYPE, name("ResearchAssistant")),
        triple("head", "headOf", "d"),
        triple("one", "worksFor", "d"),
        triple("two", "worksFor", "d"),
        triple("d", "subOrganizationOf", "u"),
        triple("u", "subOrganizationOf", "state"),
        triple("s", "takesCourse", "c"),
        triple("s", "advisor", "head"),
        triple("head", "advisor", "old"),
        triple("s", "mastersDegreeFrom", "u"),
    }


def test_university_program_is_what_the_generator_writes() -> None:
    assert PROGRAM.read_text("utf-8") == university_program.program(university_program.read())
    assert len(load_rules(str(PROGRAM))) > 100


def test_university_program_concludes_what_owl_does_and_its_own() -> None:
    def about(local: str, value: str) -> set[Triple]:
        return {t for t in closure if t[1] == f"<{UNIVERSITY}{local}>" and t[0] == f"<e:{value}>"}

    rules = load_rules(str(PROGRAM))
    closure = close(rules, sample())
    ontology = {
        tuple(map(str, (t.subject, t.predicate, t.object)))
        for t in university_program.read().triples
    }
    own = {f"<{UNIVERSITY}{name}>" for name in ("colleagueOf", "academicAncestor", "within")}
    by_owl = close(load_rules("owl2-rl"), sample() | ontology)
    data = {t for t in by_owl if t[0].startswith("<e:") and not t[2].startswith("_:")}
    some = f"<{UNIVERSITY}some-"
    plain = {t for t in closure if t[1] not in own and not t[2].startswith(some)}
    assert plain == data
    restricted = {t for t in by_owl if t[0].startswith("<e:") and t[2].startswith("_:")}
    nodes = university_program.restrictions(university_program.read())
    assert len(nodes) == 8
    assert len({t for t in closure if t[2].startswith(some)}) == len(restricted)
    assert {len(about("colleagueOf", value)) for value in ("head", "one", "two")} == {2}
    assert {t[2] for t in about("academicAncestor", "s")} == {"<e:head>", "<e:old>"}
    assert {t[2] for t in about("within", "one")} == {"<e:d>", "<e:u>", "<e:state>"}


def test_nemo_program_of_the_university_program_gives_the_same_closure() -> None:
    rules = load_rules(str(PROGRAM))
    found = evaluate(nemo_program.text_of(rules), set(sample()))
    assert triples_of(found) == close(rules, sample())


def test_closure_of_a_path_and_a_forest_has_the_expected_size(tmp_path: Path) -> None:
    rules = load_rules(str(BENCHMARKS / "transitive.srl"))
    path = [tuple(line[:-3].split()) for line in shapes.path(12)]
    assert len(close(rules, path)) == 1 + 12 * 11 // 2
    forest = [tuple(line[:-3].split()) for line in shapes.forest(60)]
    parent = {s: o for s, p, o in forest if p == shapes.PROPERTY}
    assert len(parent) == 60

    def depth(node: str) -> int:
        return 1 + depth(parent[node]) if node in parent else 0

    assert len(close(rules, forest)) == 1 + sum(map(depth, parent))
    made = [workload.shaped(shapes.SHAPES["random"], 0.01, tmp_path / name) for name in "ab"]
    assert made[0].sha256 == made[1].sha256
    assert (made[0].name, made[0].triples, made[0].family) == ("random-40", 81, "random")


def test_hierarchy_has_depth_and_instances() -> None:
    triples = [tuple(line[:-3].split()) for line in shapes.hierarchy(30)]
    above = {s: o for s, p, o in triples if p == shapes.SUBCLASS}
    instances = [(s, o) for s, p, o in triples if p == shapes.RDF_TYPE]
    assert (len(above), len(instances)) == (30, 1500)

    def depth(name: str) -> int:
        return 1 + depth(above[name]) if name in above else 0

    assert {depth(name) for name in above} == set(range(1, shapes.DEPTH + 1))
    assert {of for _, of in instances} <= set(above)


def test_plan_is_everything_or_what_is_asked_for() -> None:
    assert [suite.label for suite in suites.plan(None, None, None)] == [
        *("university-rdfs", "university-owl2-rl", "university-program"),
        *("graphs-transitive", "hierarchy-rdfs"),
    ]
    (owl,) = suites.plan(None, "owl2-rl", None)
    assert owl.systems == ("satura", "nemo", "reasonable", "owlrl")
    mixed = suites.plan(["path", "hierarchy"], None, ["nemo", "maplib"])
    assert [(suite.label, suite.systems) for suite in mixed] == [
        ("path-transitive", ("nemo",)),
        ("hierarchy-rdfs", ("nemo", "maplib")),
    ]


@pytest.mark.parametrize("system", ["satura", "reasonable"])
def test_systems_with_rules_by_name_need_no_program(system: str, tmp_path: Path) -> None:
    assert suites.rules_for(system, "owl2-rl", tmp_path) == "owl2-rl"
    assert not list(tmp_path.iterdir())


def test_nemo_script_adds_input_and_output() -> None:
    sys.path.insert(0, str(BENCHMARKS / "systems"))
    try:
        nemo = importlib.import_module("nemo")
    finally:
        sys.path.remove(str(BENCHMARKS / "systems"))
    text = nemo.program("a(?x) :- triple(?x, ?x, ?x) .\n", Path("/a b.nt"))
    assert 'ntriples{resource="/a b.nt"}' in text
    assert text.count(":-") == 4
