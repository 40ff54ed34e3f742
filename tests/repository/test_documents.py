"""Links between the repository's documents lead somewhere, and names of code in them are there."""

from __future__ import annotations

import ast
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


EXPLAIN_CODE = (
    "concepts", "devices", "fair-share", "network-aware", "numa", "preemption", "queues", "rescheduling", "round",
    "topology-groups", "topology-solver", "volumes",
)  # fmt: skip
"""Pages that explain the code: what stands in code marks there is a name in the code, a setting or a value."""
ELSEWHERE = re.compile(r"(poseidon|firmament)_\w+|.*\.(py|js)", re.DOTALL)
"""Metrics and modules, which other tests look for."""


@cache
def names() -> frozenset[str]:
    """Names that the packages define or use, and words that they have as values."""
    found: set[str] = set()
    for path in (path for folder in FOLDERS[:4] for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    found.add(name)
                case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                    found.add(name)
                case ast.keyword(arg=str(name)):
                    found.add(name)
                case ast.Constant(value=str(value)) if re.fullmatch(r"\w+(\.\w+)*", value):
                    found.update(value.split("."))
    return frozenset(found)


def snake_case(setting: str) -> str:
    """The field that a setting of the configuration, such as ``maxPasses``, belongs to."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", setting).lower()


def missing_names(text: str) -> set[str]:
    """Names in code marks of a text that the code does not have."""
    marked = [code[1:-1] for code in CODE.findall(text) if not code.startswith("```")]
    named = [code for code in marked if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*(\(\))?", code)]
    parts = {part for code in named if not ELSEWHERE.fullmatch(code) for part in code.rstrip("()").split(".")}
    return {part for part in parts if len(part) > 1 and names().isdisjoint({part, snake_case(part)})}


@pytest.mark.parametrize("page", EXPLAIN_CODE)
def test_names_of_code_are_there(page):
    assert not missing_names((ROOT / f"docs/{page}.md").read_text())


def test_a_name_that_is_gone_is_found():
    assert missing_names("`place_all` and `placed_everything()`, as `Scheduler.mended_long_ago` does") == {
        "placed_everything",
        "mended_long_ago",
    }
