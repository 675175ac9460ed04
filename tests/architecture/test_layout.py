"""The house rules that no linter knows: import order, file sizes, who prints, what is packaged."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "satura"
FILES = sorted(SOURCE.rglob("*.py"))

ORDER = (
    "__init__",  # the version; public names are imported when first used
    "errors", "vocab", "components",
    "terms",
    "jobs", "parquet", "progress", "failures", "stopping",
    "rules", "io",
    "coverage", "entailment",
    "reference",
    "closure",
    "clustering",
    "store",
    "closing",
    "maintain",
    "recheck",
    "pipeline",
    "violations",
    "updating",
    "stream",
    "kb",
    "explain",
    "generate",
    "local_spark",
    "cli",
)  # fmt: skip
"""Every part of the package; each may import those before it, and none after it."""

MAX_LINES = 400

# Results brought to the driver outside `jobs`, each with what bounds it.
COLLECTS = {
    "closure/derive.py": "toArrow of schema facts, refused beyond MAX_SCHEMA",
    "closure/dictionary.py": "toArrow of the terms that conditions look at, MAX_TERMS of them",
    "closure/graphs.py": "toArrow of the facts of transitive properties, up to MAX_EDGES",
    "closure/representatives.py": "toArrow of equalities, refused beyond MAX_PAIRS",
    "closure/rounds.py": "toArrow of facts that are joined on the driver, which are counted first",
    "store/collisions.py": "two texts of one id",
    "stream/files.py": "collect of the names of the files of a batch, which options limit",
    "stream/kafka.py": "toArrow of the messages of a batch, which options limit",
    "stream/tables.py": "collect of the range of versions of a batch, one row",
    "stream/sockets.py": "toArrow of the lines of a batch from a socket, to try things out",
    "updating.py": "toArrow of the statements of a change, refused beyond MAX_STATEMENTS",
}
# An iterator over partitions holds one partition at a time.
ITERATES = {"cli/changes.py", "cli/materialize.py", "io/writing.py", "stream/publishing.py"}


def relative(file: Path) -> str:
    return file.relative_to(SOURCE).as_posix()


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def part_of(file: Path) -> str:
    return relative(file).split("/")[0].removesuffix(".py")


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def running_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below that run, leaving out what only type checkers see."""
    for child in ast.iter_child_nodes(node):
        if not is_type_checking(child):
            yield child
            yield from running_nodes(child)


def imported_parts(file: Path) -> set[str]:
    """Return the parts of the package that a file imports anywhere, functions included."""
    found = set()
    for node in running_nodes(tree(file)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{relative(file)} has a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            head, *rest = name.split(".")
            if head == "satura":
                known = bool(rest) and rest[0] in ORDER
                found.add(rest[0] if known else "__init__")
    return found


def test_every_part_has_its_place() -> None:
    assert {part_of(file) for file in FILES} == set(ORDER)
    assert len(set(ORDER)) == len(ORDER)


@pytest.mark.parametrize("file", FILES, ids=relative)
def test_imports_go_one_way(file: Path) -> None:
    own = ORDER.index(part_of(file))
    later = {name for name in imported_parts(file) if ORDER.index(name) > own}
    assert not later, f"{relative(file)} imports {later}, which come after `{ORDER[own]}`"


def test_modules_of_a_part_do_not_import_one_another_in_a_circle() -> None:
    edges: dict[str, set[str]] = {}
    names = {relative(f).removesuffix(".py").replace("/", "."): f for f in FILES}
    for name, file in names.items():
        edges[name] = set()
        for node in tree(file).body:
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("satura."):
                module = str(node.module).removeprefix("satura.")
                targets = {module, *(f"{module}.{alias.name}" for alias in node.names)}
                edges[name] |= targets & names.keys()
    assert sum(map(len, edges.values())) > 100
    done: set[str] = set()
    while left := {name for name in edges if name not in done}:
        free = {name for name in left if edges[name] <= done}
        assert free, f"these import one another in a circle: {sorted(left)}"
        done |= free


@pytest.mark.parametrize("file", FILES, ids=relative)
def test_files_are_short(file: Path) -> None:
    assert len(file.read_text("utf-8").splitlines()) <= MAX_LINES


def calls(file: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func)


@pytest.mark.parametrize("file", [f for f in FILES if part_of(f) != "cli"], ids=relative)
def test_library_neither_prints_nor_exits(file: Path) -> None:
    found = [call for call in calls(file) if call[1] in ("print", "sys.exit", "exit", "quit")]
    assert not found


@pytest.mark.parametrize("file", FILES, ids=relative)
def test_no_handler_catches_everything_in_silence(file: Path) -> None:
    """A bare `except` never; `BaseException` only to clean up and raise again."""
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"line {node.lineno}"
            if ast.unparse(node.type) == "BaseException":
                assert any(isinstance(n, ast.Raise) for n in ast.walk(node)), f"line {node.lineno}"


def test_results_on_the_driver_are_bounded() -> None:
    collecting, iterating = set(), set()
    for file in FILES:
        for _, name in calls(file):
            method = name.rsplit(".", 1)[-1]
            if method in ("collect", "toPandas", "toArrow", "take") and relative(file) != "jobs.py":
                collecting.add((relative(file), method))
            if method == "toLocalIterator":
                iterating.add(relative(file))
    # `take` of our own row buffers and of Arrow tables is no Spark job.
    spark = {file for file, method in collecting if method != "take"}
    assert spark == COLLECTS.keys()
    assert iterating == ITERATES
    for name in COLLECTS:
        text = (SOURCE / name).read_text("utf-8")
        assert ".limit(" in text or "PerTrigger" in text, name


def tracked() -> list[Path]:
    """Return the files of the repository, without what is ignored."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def test_no_path_of_some_machine_is_in_the_tree() -> None:
    # `/home/you` is nobody's; examples use it.
    homes = re.compile(rb"/(?:home(?!/you)|Users|root|work|mnt|tmp/v)/[A-Za-z0-9_.-]")
    found = []
    for file in tracked():
        for number, line in enumerate(file.read_bytes().splitlines(), 1):
            if homes.search(line):
                found.append(f"{file.relative_to(ROOT)}:{number}: {line[:100]!r}")
    assert not found, "\n".join(found)


def test_rules_and_grammar_are_packaged() -> None:
    """The wheel takes everything below the package; rule files are where the code looks."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = settings["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel == {"packages": ["src/satura"]}, "an include or exclude may leave rule files out"
    outside = (ROOT / "tests", ROOT / "examples", ROOT / "benchmarks", ROOT / "docs")
    ours = [
        f
        for f in tracked()
        if f.suffix in (".srl", ".lark") and not any(map(f.is_relative_to, outside))
    ]
    assert len(ours) >= 4
    assert all(f.is_relative_to(SOURCE / "rules") for f in ours)
    rules = {f.stem for f in ours if f.suffix == ".srl"}
    assert {f.stem for f in (SOURCE / "rules" / "library").glob("*.srl")} == rules
