"""The pages that users read, and the code blocks in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^( *)(`{3,})([a-z-]*)[^\n]*\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)
_NO_RUN = re.compile(r"<!-- no-run: [^>]+ -->\s*\Z")


@dataclass(frozen=True)
class Block:
    """A fenced code block; blocks that cannot run here stand behind a comment ``<!-- no-run: why -->``."""

    line: int
    language: str
    text: str
    runs: bool


def blocks(page: Path) -> list[Block]:
    """The code blocks of ``page``, in order."""
    source = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(source):
        before = source[: match.start()]
        text = "\n".join(line.removeprefix(match[1]) for line in match[4].splitlines())
        found.append(Block(before.count("\n") + 2, match[3], text, _NO_RUN.search(before) is None))
    return found


def name_of(page: Path) -> str:
    """The page's path in the repository, for test ids."""
    return page.relative_to(ROOT).as_posix()
