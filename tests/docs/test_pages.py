"""Every command and every Python snippet of the documentation is run; what it shows is compared.

With SATURA_WRITE_DOCS set, outputs that differ are written into the pages instead, to review.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from satura import __version__
from tests.docs.pages import ROOT, Block, blocks_of, commands_of, page_name, pages
from tests.docs.runner import Runner, comparable, presentable, runner_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RUN = ("python", "console", "sh")
MOST_NOT_RUN = 4


def runnable_pages() -> list[Path]:
    return [page for page in pages() if any(b.language in RUN for b in blocks_of(page))]


@pytest.mark.spark
@pytest.mark.parametrize("page", runnable_pages(), ids=page_name)
def test_page_shows_what_happens(page: Path, tmp_path: Path, spark: SparkSession) -> None:
    blocks = blocks_of(page)
    printed: list[tuple[Block, str]] = []
    with runner_in(tmp_path, spark) as runner:
        for number, block in enumerate(blocks):
            if block.not_run:
                continue
            where = f"{page_name(page)}:{block.line}"
            if block.language == "python":
                text = runner.python(block.text, where)
                if number + 1 < len(blocks) and blocks[number + 1].argument == "output":
                    printed.append((blocks[number + 1], text))
            elif block.language in ("console", "sh"):
                text = run_commands(runner, block, where)
                if block.language == "console":
                    printed.append((block, text))
            elif block.argument and block.argument != "output":
                Path(block.argument).write_text(block.text, "utf-8")
    differing = [(b, text) for b, text in printed if comparable(b.text) != comparable(text)]
    if differing and "SATURA_WRITE_DOCS" in os.environ:
        write_outputs(page, [(b, presentable(text, tmp_path)) for b, text in differing])
        return
    for block, text in differing:
        assert comparable(text) == comparable(block.text), f"{page_name(page)}:{block.line}\n{text}"


def run_commands(runner: Runner, block: Block, where: str) -> str:
    """Run the commands of a block; return the block as it would look with what they print."""
    commands = commands_of(block)
    assert commands, where
    text = ""
    for number, (command, _) in enumerate(commands):
        text += f"$ {command}\n"
        if command.startswith("make "):
            assert set(command.split()[1:]) <= make_targets(), f"{where}: {command}"
            continue
        printed = runner.command(command)
        asked = number + 1 < len(commands) and commands[number + 1][0] == "echo $?"
        assert runner.code == 0 or asked, f"{where}: {command}\n{printed}"
        text += printed
    return text


def write_outputs(page: Path, printed: list[tuple[Block, str]]) -> None:
    """Put what was printed into a page, from its end so that places stay true."""
    text = page.read_text("utf-8")
    for block, output in sorted(printed, key=lambda item: -item[0].line):
        start, end = block.span
        text = text[:start] + output + text[end:]
    page.write_text(text, "utf-8")


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))


@pytest.mark.parametrize("page", pages(), ids=page_name)
def test_every_block_says_what_it_is(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text.count("\n```") % 2 == 0
    assert len(blocks_of(page)) == text.count("\n```") // 2
    for block in blocks_of(page):
        assert block.language, f"{page_name(page)}:{block.line}: a block without a language"


def test_few_blocks_are_not_run() -> None:
    skipped = [b for page in pages() for b in blocks_of(page) if b.not_run]
    assert len(skipped) <= MOST_NOT_RUN


@pytest.mark.parametrize("page", pages(), ids=page_name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), f"{page_name(page)}: {target}"
        if anchor:
            assert anchor in anchors_of(file), f"{page_name(page)}: {target}"


def anchors_of(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_changelog_names_this_version() -> None:
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")
