"""The university generator: the published profile, canonical text, bytes the seed alone decides."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from pathlib import Path

import pyoxigraph as ox
import pytest

from satura.errors import ConfigError
from satura.generate.ontology import (
    UNIV_BENCH,
    ontology_ntriples,
    ontology_triples,
    ontology_turtle,
)
from satura.generate.university import generate_university, university_lines
from satura.terms.ntriples import parse_text
from satura.vocab import OWL, RDF_TYPE, RDFS_DOMAIN, RDFS_RANGE, RDFS_SUBCLASS_OF

SEED = 42
SAMPLE = (0, 1, 7)

# Written out here, not imported: the test states the paper's numbers on its own.
FACULTY = {
    "FullProfessor": ((7, 10), (15, 20)),
    "AssociateProfessor": ((10, 14), (10, 18)),
    "AssistantProfessor": ((8, 11), (5, 10)),
    "Lecturer": ((5, 7), (0, 5)),
}


def ub(name: str) -> str:
    return f"<{UNIV_BENCH}{name}>"


def owl(name: str) -> str:
    return f"<{OWL}{name}>"


@pytest.fixture(scope="module")
def universities() -> dict[int, list[str]]:
    return {index: list(university_lines(index, SEED)) for index in SAMPLE}


class Department:
    """One department's triples, indexed for counting."""

    def __init__(self) -> None:
        self.classes: dict[str, set[str]] = defaultdict(set)
        self.members: dict[str, set[str]] = defaultdict(set)
        self.objects: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))

    def add(self, s: str, p: str, o: str) -> None:
        if p == RDF_TYPE:
            self.classes[s].add(o)
            self.members[o].add(s)
        else:
            self.objects[p][s].append(o)

    def count(self, class_name: str) -> int:
        return len(self.members[ub(class_name)])

    def of(self, class_name: str, property_name: str) -> list[int]:
        """Return for each member of a class how many values it has."""
        values = self.objects[ub(property_name)]
        return [len(values.get(s, ())) for s in self.members[ub(class_name)]]


@pytest.fixture(scope="module")
def departments(universities: dict[int, list[str]]) -> list[Department]:
    found: dict[str, Department] = defaultdict(Department)
    for lines in universities.values():
        for line in lines:
            s, p, o = line.removesuffix(" .").split(" ", 2)
            if match := re.match(r"<http://www\.(Department\d+\.University\d+)\.edu", s):
                found[match[1]].add(s, p, o)
    return list(found.values())


def within(values: list[int], low: float, high: float) -> bool:
    return bool(values) and all(low <= value <= high for value in values)


# Determinism


def test_the_seed_alone_decides_the_lines(universities: dict[int, list[str]]) -> None:
    assert list(university_lines(0, SEED)) == universities[0]
    assert list(university_lines(0, SEED + 1)) != universities[0]


def test_the_lines_of_a_seed_never_change(universities: dict[int, list[str]]) -> None:
    digest = hashlib.sha256("\n".join(universities[0]).encode()).hexdigest()
    assert (len(universities[0]), digest[:16]) == (100_311, "00a647e1c3e7ad3b")


def test_no_triple_is_written_twice(universities: dict[int, list[str]]) -> None:
    lines = [line for each in universities.values() for line in each]
    assert len(lines) > 300_000
    assert len(set(lines)) == len(lines)


# Text


def test_every_line_is_canonical_ntriples(universities: dict[int, list[str]]) -> None:
    for lines in universities.values():
        parsed = [f"{s} {p} {o} ." for s, p, o in parse_text("\n".join(lines))]
        assert parsed == lines


def test_every_name_of_the_vocabulary_is_declared(universities: dict[int, list[str]]) -> None:
    declared: dict[str, set[str]] = defaultdict(set)
    for s, p, o in ontology_triples():
        if p == RDF_TYPE:
            declared[o].add(s)
    properties = (
        declared[owl("ObjectProperty")]
        | declared[owl("DatatypeProperty")]
        | declared[owl("TransitiveProperty")]
    )
    triples = [line.removesuffix(" .").split(" ", 2) for line in universities[0]]
    used_classes = {o for _, p, o in triples if p == RDF_TYPE}
    used_properties = {p for _, p, _ in triples} - {RDF_TYPE}
    assert (len(used_classes), len(used_properties)) == (14, 16)
    assert used_classes <= declared[owl("Class")]
    assert used_properties <= properties
    literal = {p for _, p, o in triples if o.startswith('"')}
    assert literal == used_properties & declared[owl("DatatypeProperty")]


# The published profile


def test_size_of_a_university(universities: dict[int, list[str]]) -> None:
    for index, lines in universities.items():
        part_of = f"{ub('subOrganizationOf')} <http://www.University{index}.edu> ."
        assert 15 <= sum(line.endswith(part_of) for line in lines) <= 25
        assert 80_000 <= len(lines) <= 190_000


@pytest.mark.parametrize("rank", FACULTY)
def test_faculty(departments: list[Department], rank: str) -> None:
    count, publications = FACULTY[rank]
    assert within([d.count(rank) for d in departments], *count)
    for d in departments:
        written = Counter(p.rpartition("/")[0] + ">" for p in d.members[ub("Publication")])
        assert within([written[s] for s in d.members[ub(rank)]], *publications)
        for degree in ("undergraduate", "masters", "doctoral"):
            assert within(d.of(rank, f"{degree}DegreeFrom"), 1, 1)
        assert within(d.of(rank, "worksFor"), 1, 1)
        assert within(d.of(rank, "teacherOf"), 2, 4)
        assert within(d.of(rank, "researchInterest"), *((0, 0) if rank == "Lecturer" else (1, 1)))


def test_each_department_has_one_head_a_full_professor(departments: list[Department]) -> None:
    for d in departments:
        (head,) = d.objects[ub("headOf")]
        assert head in d.members[ub("FullProfessor")]


def test_each_course_has_one_teacher(departments: list[Department]) -> None:
    for d in departments:
        taught = [c for courses in d.objects[ub("teacherOf")].values() for c in courses]
        courses = d.members[ub("Course")] | d.members[ub("GraduateCourse")]
        assert sorted(taught) == sorted(courses)
        for teacher, each in d.objects[ub("teacherOf")].items():
            graduate = sum(c in d.members[ub("GraduateCourse")] for c in each)
            assert 1 <= graduate <= 2, teacher
            assert 1 <= len(each) - graduate <= 2, teacher


def test_students(departments: list[Department]) -> None:
    advised = undergraduates = 0
    for d in departments:
        faculty = sum(d.count(rank) for rank in FACULTY)
        assert 8 <= d.count("UndergraduateStudent") / faculty <= 14
        assert 3 <= d.count("GraduateStudent") / faculty <= 4
        assert within(d.of("UndergraduateStudent", "takesCourse"), 2, 4)
        assert within(d.of("GraduateStudent", "takesCourse"), 1, 3)
        assert within(d.of("GraduateStudent", "advisor"), 1, 1)
        assert within(d.of("GraduateStudent", "undergraduateDegreeFrom"), 1, 1)
        for name in ("UndergraduateStudent", "GraduateStudent"):
            for p in ("memberOf", "name", "emailAddress", "telephone"):
                assert within(d.of(name, p), 1, 1)
        advised += sum(d.of("UndergraduateStudent", "advisor"))
        undergraduates += d.count("UndergraduateStudent")
        advisors = {a for each in d.objects[ub("advisor")].values() for a in each}
        assert not any(d.classes[a] & {ub("Lecturer")} for a in advisors)
    assert undergraduates > 10_000
    assert advised / undergraduates == pytest.approx(1 / 5, abs=0.02)


def test_assistants(departments: list[Department]) -> None:
    for d in departments:
        graduates = d.count("GraduateStudent")
        assert 1 / 5 <= d.count("TeachingAssistant") / graduates <= 1 / 4
        assert 1 / 4 <= d.count("ResearchAssistant") / graduates <= 1 / 3
        assert not d.members[ub("TeachingAssistant")] & d.members[ub("ResearchAssistant")]
        assert within(d.of("TeachingAssistant", "teachingAssistantOf"), 1, 1)


def test_research_groups_and_coauthors(departments: list[Department]) -> None:
    assert within([d.count("ResearchGroup") for d in departments], 10, 20)
    for d in departments:
        authors = [a for each in d.objects[ub("publicationAuthor")].values() for a in each]
        written = Counter(a for a in authors if a in d.members[ub("GraduateStudent")])
        assert within(list(written.values()), 1, 5)
        assert len(written) < d.count("GraduateStudent")


# The ontology


def test_ontology_declares_the_published_vocabulary() -> None:
    kinds = Counter(o for _, p, o in ontology_triples() if p == RDF_TYPE)
    assert kinds == {
        owl("Ontology"): 1,
        owl("Class"): 43,
        owl("ObjectProperty"): 24,
        owl("TransitiveProperty"): 1,
        owl("DatatypeProperty"): 7,
        owl("Restriction"): 8,
    }


def test_ontology_has_the_axioms_that_inference_needs() -> None:
    triples = set(ontology_triples())
    predicates = Counter(p for _, p, _ in triples)
    assert len(triples) == 293
    assert predicates[owl("intersectionOf")] == 6
    assert predicates[owl("someValuesFrom")] == 8
    sub_property = "<http://www.w3.org/2000/01/rdf-schema#subPropertyOf>"
    assert {(s, o) for s, p, o in triples if p == sub_property} == {
        (ub("headOf"), ub("worksFor")),
        (ub("worksFor"), ub("memberOf")),
        (ub("undergraduateDegreeFrom"), ub("degreeFrom")),
        (ub("mastersDegreeFrom"), ub("degreeFrom")),
        (ub("doctoralDegreeFrom"), ub("degreeFrom")),
    }
    assert {(s, o) for s, p, o in triples if p == owl("inverseOf")} == {
        (ub("degreeFrom"), ub("hasAlumnus")),
        (ub("hasAlumnus"), ub("degreeFrom")),
        (ub("memberOf"), ub("member")),
    }
    assert (ub("subOrganizationOf"), RDF_TYPE, owl("TransitiveProperty")) in triples
    assert (ub("teacherOf"), RDFS_DOMAIN, ub("Faculty")) in triples
    assert (ub("advisor"), RDFS_RANGE, ub("Professor")) in triples
    assert (ub("Chair"), RDFS_SUBCLASS_OF, ub("Professor")) in triples
    assert (ub("GraduateStudent"), RDFS_SUBCLASS_OF, ub("Student")) not in triples


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("Chair", ["Person", ("headOf", "Department")]),
        ("Dean", [("headOf", "College")]),
        ("Director", ["Person", ("headOf", "Program")]),
        ("Employee", ["Person", ("worksFor", "Organization")]),
        ("Student", ["Person", ("takesCourse", "Course")]),
        ("TeachingAssistant", ["Person", ("teachingAssistantOf", "Course")]),
    ],
)
def test_defined_classes(name: str, members: list[str | tuple[str, str]]) -> None:
    value = {(s, p): o for s, p, o in ontology_triples()}
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    node = value[ub(name), owl("intersectionOf")]
    found: list[str | tuple[str, str]] = []
    while node != f"<{rdf}nil>":
        first, node = value[node, f"<{rdf}first>"], value[node, f"<{rdf}rest>"]
        found.append(
            (value[first, owl("onProperty")], value[first, owl("someValuesFrom")])
            if first.startswith("_:")
            else first
        )
    assert found == [ub(m) if isinstance(m, str) else (ub(m[0]), ub(m[1])) for m in members]


def test_ontology_text_is_the_same_every_time_and_the_same_graph() -> None:
    assert ontology_ntriples() == ontology_ntriples()
    turtle = ox.Dataset(ox.parse(ontology_turtle(), ox.RdfFormat.TURTLE))
    lines = ox.Dataset(ox.parse(ontology_ntriples(), ox.RdfFormat.N_TRIPLES))
    for dataset in (turtle, lines):
        dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    assert turtle == lines


# Files through Spark


def digests(output: Path) -> dict[str, str]:
    return {
        str(path.relative_to(output)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(output.rglob("*"))
        if path.is_file()
    }


@pytest.mark.spark
def test_files_do_not_depend_on_partitions_nor_on_how_many(spark, tmp_path: Path) -> None:
    one = generate_university(
        spark, universities=2, seed=SEED, output=tmp_path / "one", partitions=1
    )
    two = generate_university(
        spark, universities=3, seed=SEED, output=str(tmp_path / "two"), partitions=3
    )
    first, second = digests(tmp_path / "one"), digests(tmp_path / "two")
    assert list(first) == ["data/part-00000.nt", "data/part-00001.nt", "ontology.ttl"]
    assert list(second) == [*list(first)[:2], "data/part-00002.nt", "ontology.ttl"]
    assert all(second[name] == digest for name, digest in first.items())

    lines = (tmp_path / "one/data/part-00001.nt").read_text().splitlines()
    assert lines == list(university_lines(1, SEED))
    assert (one.universities, one.files, two.files) == (2, 2, 3)
    assert one.triples == 100_311 + len(lines)
    assert one.bytes == sum(p.stat().st_size for p in (tmp_path / "one/data").iterdir())


@pytest.mark.spark
def test_overwrite_replaces_the_data_and_nothing_else(spark, tmp_path: Path) -> None:
    generate_university(spark, universities=2, seed=1, output=tmp_path)
    mine = ["data/mine.nt", "notes.txt"]
    for name in [*mine, "data/.part-00001.nt.left-by-a-crash"]:
        (tmp_path / name).write_text("mine")
    generate_university(spark, universities=1, seed=SEED, output=tmp_path, overwrite=True)
    assert set(digests(tmp_path)) == {*mine, "data/part-00000.nt", "ontology.ttl"}
    lines = (tmp_path / "data/part-00000.nt").read_text().splitlines()
    assert lines == list(university_lines(0, SEED))


class NoSpark:
    """Fails on any use: bad arguments are to be refused before a job is started."""

    def __getattr__(self, name: str) -> object:
        if name == "sparkContext":
            return type("Context", (), {"defaultParallelism": 2})
        raise AssertionError(f"used spark.{name}")


@pytest.mark.parametrize("universities", [0, -1])
def test_fewer_than_one_university_is_refused(universities: int, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        generate_university(NoSpark(), universities=universities, seed=1, output=tmp_path / "out")
    assert caught.value.code == "GENERATE-UNIVERSITIES"
    assert not (tmp_path / "out").exists()


def test_fewer_than_one_partition_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        generate_university(NoSpark(), universities=1, seed=1, output=tmp_path, partitions=0)
    assert caught.value.code == "GENERATE-PARTITIONS"


def test_output_that_is_not_empty_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError) as caught:
        generate_university(NoSpark(), universities=1, seed=1, output=tmp_path)
    assert caught.value.code == "GENERATE-OUTPUT-EXISTS"
    assert caught.value.hint is not None
    assert "overwrite" in caught.value.hint
    assert list(digests(tmp_path)) == ["notes.txt"]


def test_output_that_is_a_file_is_refused_even_with_overwrite(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(ConfigError) as caught:
        generate_university(
            NoSpark(), universities=1, seed=1, output=tmp_path / "out", overwrite=True
        )
    assert caught.value.code == "GENERATE-OUTPUT-EXISTS"
    assert (tmp_path / "out").read_text() == "mine"
