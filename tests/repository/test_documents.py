"""Links between the repository's documents lead somewhere."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.documentation.markdown import ROOT, documents

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FOLDERS = (
    "poseidon",
    "firmament",
    "cost_models",
    "protos",
    "tests",
    "benchmarks",
    "docs",
    "examples",
    "deploy",
)
"""Where modules are."""
MODULE = re.compile(r"\b([a-z][\w.]*\.(?:py|js))\b")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def anchors(document: Path) -> set[str]:
    """Names of a document's headings, as hosts of repositories make them."""
    headings = re.findall(r"^#+ (.+)$", CODE.sub(_keep_inline, document.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def _keep_inline(match: re.Match[str]) -> str:
    return "" if match[0].startswith("```") else match[0]


@pytest.mark.parametrize("document", documents(), ids=lambda file: file.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(document):
    broken = []
    for link in LINK.findall(CODE.sub("", document.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


@cache
def modules() -> frozenset[str]:
    """Names of all files with code."""
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    return frozenset(path.name for path in paths if path.suffix in {".py", ".js"})


@pytest.mark.parametrize("document", documents(), ids=lambda file: file.relative_to(ROOT).as_posix())
def test_modules_that_are_named_are_there(document):
    named = {name for code in CODE.findall(document.read_text()) for name in MODULE.findall(code)}
    assert named <= modules()
