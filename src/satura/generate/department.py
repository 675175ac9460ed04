"""One department of the university benchmark as N-Triples text.

The numbers are the published profile of the Lehigh University Benchmark (Guo, Pan and Heflin,
"LUBM: A benchmark for OWL knowledge base systems", 2005). A department is the unit of
randomness: it is a pure function of (seed, university, department), so any machine may make
any department in any order. It is also the unit of text: one long string, because a write or a
`yield` per triple would cost more than making it.

Invariants: no line occurs twice, in one department or across departments; terms are in canonical
form; only `Random.random` is drawn from, the one method Python promises to keep stable.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, TypeAlias

from satura.generate.ontology import UNIV_BENCH
from satura.vocab import RDF_TYPE

Span: TypeAlias = tuple[int, int]
Draw: TypeAlias = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Rank:
    """A rank of the faculty: how many a department has, and how much each of them publishes."""

    name: str
    count: Span
    publications: Span


LECTURER: Final = "Lecturer"
RANKS: Final = (
    Rank("FullProfessor", (7, 10), (15, 20)),
    Rank("AssociateProfessor", (10, 14), (10, 18)),
    Rank("AssistantProfessor", (8, 11), (5, 10)),
    Rank(LECTURER, (5, 7), (0, 5)),
)
COURSES_PER_FACULTY: Final = (1, 2)
GRADUATE_COURSES_PER_FACULTY: Final = (1, 2)
UNDERGRADUATES_PER_FACULTY: Final = (8, 14)
GRADUATES_PER_FACULTY: Final = (3, 4)
COURSES_PER_UNDERGRADUATE: Final = (2, 4)
COURSES_PER_GRADUATE: Final = (1, 3)
PUBLICATIONS_PER_GRADUATE: Final = (0, 5)
RESEARCH_GROUPS: Final = (10, 20)
ADVISED_UNDERGRADUATES: Final = 1 / 5
DEGREE_UNIVERSITIES: Final = 1000
RESEARCH_INTERESTS: Final = 30


def _predicate(name: str) -> str:
    return f" <{UNIV_BENCH}{name}> "


def _typed(name: str) -> str:
    return f" {RDF_TYPE} <{UNIV_BENCH}{name}> .\n"


NAME: Final = _predicate("name")
EMAIL: Final = _predicate("emailAddress")
TELEPHONE: Final = _predicate("telephone")
INTEREST: Final = _predicate("researchInterest")
UNDERGRADUATE_DEGREE: Final = _predicate("undergraduateDegreeFrom")
MASTERS_DEGREE: Final = _predicate("mastersDegreeFrom")
DOCTORAL_DEGREE: Final = _predicate("doctoralDegreeFrom")
WORKS_FOR: Final = _predicate("worksFor")
HEAD_OF: Final = _predicate("headOf")
MEMBER_OF: Final = _predicate("memberOf")
PART_OF: Final = _predicate("subOrganizationOf")
TEACHES: Final = _predicate("teacherOf")
TAKES: Final = _predicate("takesCourse")
ASSISTS: Final = _predicate("teachingAssistantOf")
ADVISOR: Final = _predicate("advisor")
AUTHOR: Final = _predicate("publicationAuthor")
A_DEPARTMENT: Final = _typed("Department")
A_GROUP: Final = _typed("ResearchGroup")
A_COURSE: Final = _typed("Course")
A_GRADUATE_COURSE: Final = _typed("GraduateCourse")
A_PUBLICATION: Final = _typed("Publication")
AN_UNDERGRADUATE: Final = _typed("UndergraduateStudent")
A_GRADUATE: Final = _typed("GraduateStudent")
A_TEACHING_ASSISTANT: Final = _typed("TeachingAssistant")
A_RESEARCH_ASSISTANT: Final = _typed("ResearchAssistant")


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the faculty and what belongs to them; ranges number courses department-wide."""

    rank: str
    number: int
    publications: int
    courses: range
    graduate_courses: range


def stable_random(*parts: int | str) -> Random:
    """Return a generator seeded by `parts` alone: the same on every machine and version."""
    text = "/".join(map(str, parts)).encode()
    return Random(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big"))


def between(draw: Draw, span: Span) -> int:
    """Draw an integer from `span`, both ends included."""
    low, high = span
    return low + int(draw() * (high - low + 1))


def department_text(seed: int, *, university: int, department: int) -> str:
    """Return all triples of one department, a line each, a subject's lines mostly together."""
    draw = stable_random(seed, university, department).random
    host = f"Department{department}.University{university}.edu"
    site = f"http://www.{host}"
    faculty = _draw_faculty(draw)
    graduates = between(draw, _times(GRADUATES_PER_FACULTY, len(faculty)))
    undergraduates = between(draw, _times(UNDERGRADUATES_PER_FACULTY, len(faculty)))
    coauthors = _draw_coauthors(draw, faculty, graduates)

    out = [
        f'<{site}>{A_DEPARTMENT}<{site}>{NAME}"Department{department}" .\n'
        f"<{site}>{PART_OF}<http://www.University{university}.edu> .\n"
    ]
    _write_faculty(out, draw, faculty, host=host, coauthors=coauthors)
    courses = [f"<{site}/Course{i}> .\n" for i in range(faculty[-1].courses.stop)]
    seminars = [f"<{site}/GraduateCourse{i}> .\n" for i in range(faculty[-1].graduate_courses.stop)]
    professors = [f"<{site}/{m.rank}{m.number}> .\n" for m in faculty if m.rank != LECTURER]
    _write_undergraduates(
        out, draw, undergraduates, host=host, courses=courses, professors=professors
    )
    _write_graduates(
        out, draw, graduates, host=host, courses=courses, seminars=seminars, professors=professors
    )
    for i in range(between(draw, RESEARCH_GROUPS)):
        group = f"<{site}/ResearchGroup{i}>"
        out.append(f"{group}{A_GROUP}{group}{PART_OF}<{site}> .\n")
    return "".join(out)


def _times(span: Span, factor: int) -> Span:
    return span[0] * factor, span[1] * factor


def _pick(draw: Draw, items: Sequence[str], count: int) -> list[str]:
    """Draw `count` different items; by rejection, so `count` should be well below their number."""
    size = len(items)
    chosen: dict[str, None] = {}
    while len(chosen) < count:
        chosen[items[int(draw() * size)]] = None
    return list(chosen)


def _draw_faculty(draw: Draw) -> list[Member]:
    """Decide who works in the department and which courses each teaches, no course twice."""
    faculty: list[Member] = []
    course = seminar = 0
    for rank in RANKS:
        for number in range(between(draw, rank.count)):
            courses = range(course, course + between(draw, COURSES_PER_FACULTY))
            seminars = range(seminar, seminar + between(draw, GRADUATE_COURSES_PER_FACULTY))
            course, seminar = courses.stop, seminars.stop
            publications = between(draw, rank.publications)
            faculty.append(Member(rank.name, number, publications, courses, seminars))
    return faculty


def _draw_coauthors(draw: Draw, faculty: list[Member], graduates: int) -> dict[str, list[int]]:
    """Decide which graduate students share which professors' publications, keyed by path.

    Decided before anything is written so that all authors of a publication stand together.
    """
    papers = [
        f"{m.rank}{m.number}/Publication{i}"
        for m in faculty
        if m.rank != LECTURER
        for i in range(m.publications)
    ]
    coauthors: dict[str, list[int]] = {}
    for graduate in range(graduates):
        for paper in _pick(draw, papers, between(draw, PUBLICATIONS_PER_GRADUATE)):
            coauthors.setdefault(paper, []).append(graduate)
    return coauthors


def _person(draw: Draw, subject: str, *, local: str, host: str) -> str:
    """Return what every person has: a name, an address and a telephone number."""
    digits = f"{int(draw() * 10_000_000_000):010d}"
    return (
        f'{subject}{NAME}"{local}" .\n{subject}{EMAIL}"{local}@{host}" .\n'
        f'{subject}{TELEPHONE}"{digits[:3]}-{digits[3:6]}-{digits[6:]}" .\n'
    )


def _degree(draw: Draw, subject: str, predicate: str) -> str:
    number = int(draw() * DEGREE_UNIVERSITIES)
    return f"{subject}{predicate}<http://www.University{number}.edu> .\n"


def _write_faculty(
    out: list[str],
    draw: Draw,
    faculty: list[Member],
    *,
    host: str,
    coauthors: dict[str, list[int]],
) -> None:
    """Write the faculty, their courses and publications; one full professor heads the place."""
    site = f"http://www.{host}"
    full = RANKS[0].name
    head = int(draw() * sum(m.rank == full for m in faculty))
    for m in faculty:
        local = f"{m.rank}{m.number}"
        s = f"<{site}/{local}>"
        out.append(f"{s}{_typed(m.rank)}{_person(draw, s, local=local, host=host)}")
        out.append(_degree(draw, s, UNDERGRADUATE_DEGREE))
        out.append(_degree(draw, s, MASTERS_DEGREE))
        out.append(_degree(draw, s, DOCTORAL_DEGREE))
        out.append(f"{s}{WORKS_FOR}<{site}> .\n")
        if m.rank == full and m.number == head:
            out.append(f"{s}{HEAD_OF}<{site}> .\n")
        if m.rank != LECTURER:
            out.append(f'{s}{INTEREST}"Research{int(draw() * RESEARCH_INTERESTS)}" .\n')
        out += [f"{s}{TEACHES}<{site}/Course{i}> .\n" for i in m.courses]
        out += [f"{s}{TEACHES}<{site}/GraduateCourse{i}> .\n" for i in m.graduate_courses]
        for i in m.courses:
            out.append(f'<{site}/Course{i}>{A_COURSE}<{site}/Course{i}>{NAME}"Course{i}" .\n')
        for i in m.graduate_courses:
            c = f"<{site}/GraduateCourse{i}>"
            out.append(f'{c}{A_GRADUATE_COURSE}{c}{NAME}"GraduateCourse{i}" .\n')
        for i in range(m.publications):
            path = f"{local}/Publication{i}"
            p = f"<{site}/{path}>"
            out.append(f'{p}{A_PUBLICATION}{p}{NAME}"Publication{i}" .\n{p}{AUTHOR}{s} .\n')
            for graduate in coauthors.get(path, ()):
                out.append(f"{p}{AUTHOR}<{site}/GraduateStudent{graduate}> .\n")


def _write_undergraduates(
    out: list[str],
    draw: Draw,
    count: int,
    *,
    host: str,
    courses: list[str],
    professors: list[str],
) -> None:
    """Write the undergraduates; about one in five of them has an advisor."""
    site = f"http://www.{host}"
    for i in range(count):
        local = f"UndergraduateStudent{i}"
        s = f"<{site}/{local}>"
        out.append(
            f"{s}{AN_UNDERGRADUATE}{_person(draw, s, local=local, host=host)}"
            f"{s}{MEMBER_OF}<{site}> .\n"
        )
        taken = _pick(draw, courses, between(draw, COURSES_PER_UNDERGRADUATE))
        out += [f"{s}{TAKES}{course}" for course in taken]
        if draw() < ADVISED_UNDERGRADUATES:
            out.append(f"{s}{ADVISOR}{professors[int(draw() * len(professors))]}")


def _write_graduates(
    out: list[str],
    draw: Draw,
    count: int,
    *,
    host: str,
    courses: list[str],
    seminars: list[str],
    professors: list[str],
) -> None:
    """Write the graduate students; some assist in a course each, some others in research."""
    site = f"http://www.{host}"
    subjects = [f"<{site}/GraduateStudent{i}>" for i in range(count)]
    teaching = between(draw, (-(-count // 5), count // 4))
    research = between(draw, (-(-count // 4), count // 3))
    assistants = _pick(draw, subjects, teaching + research)
    # There are enough courses: at most one assistant, at least one course per faculty member.
    assisted = dict(zip(assistants[:teaching], _pick(draw, courses, teaching), strict=True))
    researchers = set(assistants[teaching:])
    for i, s in enumerate(subjects):
        out.append(
            f"{s}{A_GRADUATE}{_person(draw, s, local=f'GraduateStudent{i}', host=host)}"
            f"{s}{MEMBER_OF}<{site}> .\n{_degree(draw, s, UNDERGRADUATE_DEGREE)}"
            f"{s}{ADVISOR}{professors[int(draw() * len(professors))]}"
        )
        taken = _pick(draw, seminars, between(draw, COURSES_PER_GRADUATE))
        out += [f"{s}{TAKES}{course}" for course in taken]
        if s in assisted:
            out.append(f"{s}{A_TEACHING_ASSISTANT}{s}{ASSISTS}{assisted[s]}")
        elif s in researchers:
            out.append(f"{s}{A_RESEARCH_ASSISTANT}")
