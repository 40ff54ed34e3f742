"""What the documents hold, taken apart: fenced blocks, sections and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = {"build", "dist"}
"""Besides folders whose names begin with a dot: environments and caches."""


@cache
def documents() -> tuple[Path, ...]:
    """Every Markdown file of the repository, sorted."""
    return tuple(sorted(_below(ROOT)))


def _below(folder: Path) -> Iterator[Path]:
    for each in folder.iterdir():
        if each.name in SKIPPED or each.name.startswith("."):
            continue  # an environment holds more files than the repository
        if each.is_dir():
            yield from _below(each)
        elif each.suffix == ".md":
            yield each


def text(name: str) -> str:
    """The text of a document, by its path in the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(document: str, language: str | None = None) -> list[str]:
    """Contents of the fenced blocks, or of those in one language ("" for none)."""
    found = re.findall(r"^```([a-z]*)\n(.*?)^```", document, re.DOTALL | re.MULTILINE)
    return [content for kind, content in found if language is None or kind == language]


def section(document: str, heading: str) -> str:
    """What stands below a heading that begins with ``heading``, up to the next one of the same level or above."""
    found = re.search(rf"^(#+) {re.escape(heading)}.*?$", document, re.MULTILINE)
    assert found, f"no heading begins with {heading!r}"
    rest = document[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def rows(document: str) -> list[list[str]]:
    """Cells of all table rows, without headers and rules."""
    found: list[list[str]] = []
    lines = [line for line in document.splitlines() if line.startswith("|")]
    for index, line in enumerate(lines):
        rule = set(line) <= set("|-: ")
        header = index + 1 < len(lines) and set(lines[index + 1]) <= set("|-: ")
        if not rule and not header:
            found.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return found


def codes(cell: str) -> list[str]:
    """What stands in backticks."""
    return re.findall(r"`([^`]+)`", cell)
