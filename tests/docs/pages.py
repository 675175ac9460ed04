"""The pages of the documentation, cut into the fenced blocks that are run.

What a block is follows from its first line:

    ```python          run in order, all blocks of a page in one namespace
    ```console         `$ ` lines are commands, the lines below each are what it prints
    ```sh              commands, one a line, that must succeed
    ```text output     what the Python block before it prints
    ```LANGUAGE FILE   a file that later blocks of the page read
    ```LANGUAGE        anything else; only shown

`<!-- not run: reason -->` above a block says why it cannot be run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
FENCE: Final = re.compile(
    r"^(?:<!-- not run: (?P<why>[^>]+) -->\n\n?)?```(?P<info>[^\n]*)\n(?P<body>.*?)^```$",
    re.M | re.S,
)


def pages() -> list[Path]:
    """Return every page of the documentation."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    return [*top, *sorted((ROOT / "docs").rglob("*.md"))]


def page_name(page: Path) -> str:
    """Return the name of a page for test ids."""
    return page.relative_to(ROOT).as_posix()


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the word after that, its text and place, why it is not run."""

    language: str
    argument: str | None
    text: str
    line: int
    span: tuple[int, int]
    not_run: str | None


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    text = page.read_text("utf-8")
    found = []
    for match in FENCE.finditer(text):
        words = match["info"].split()
        found.append(
            Block(
                language=words[0] if words else "",
                argument=words[1] if len(words) > 1 else None,
                text=match["body"],
                line=text.count("\n", 0, match.start()) + 1,
                span=match.span("body"),
                not_run=match["why"],
            )
        )
    return found


def commands_of(block: Block) -> list[tuple[str, str]]:
    """Return the commands of a `console` or `sh` block, each with the output shown for it."""
    if block.language == "sh":
        lines = (line.split("  #")[0].strip() for line in block.text.splitlines())
        return [(line, "") for line in lines if line]
    found: list[tuple[str, str]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:].strip(), ""))
        else:
            command, shown = found[-1]
            found[-1] = (command, f"{shown}{line}\n")
    return found
