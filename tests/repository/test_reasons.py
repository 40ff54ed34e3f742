"""Reasons are values: nobody decides by their words, but the modules that make and read these."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("firmament", "cost_models", "poseidon")

OF_WORDS = {
    "firmament/core/reasons.py": "the solver's reasons and all their words",
    "poseidon/lifecycle/kubelet_reasons.py": "what kubelets say of pods that they refuse",
}
"""Modules that read words."""

_READING = {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition"}
_ABOUT_REASONS = re.compile(r"(^|_)(reasons?|causes?|words|summary|why)$", re.IGNORECASE)
_IN_WORDS = {"words", "summary"}
_ANY_OF_BOTH = re.compile("reason|cause|words|summary|why", re.IGNORECASE)
"""What is in each text that has one of these names; parsing and reading all others would take seconds."""


def last_name(node: ast.expr) -> str:
    """The name that an expression ends with, "" for none."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case ast.Subscript(value=value) | ast.Call(func=value):
            return last_name(value)
    return ""


def is_text(value: object) -> bool:
    """Whether a constant is more than one of the codes that the API has for reasons."""
    return isinstance(value, str) and " " in value.strip()


def read_words(node: ast.AST) -> bool:
    """Whether a part of a program looks into the words of a reason, or compares them."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in _READING:
            return bool(_ABOUT_REASONS.search(last_name(value)))
        case ast.Compare(left=left, ops=ops, comparators=others) if any(
            isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in ops
        ):
            sides = [left, *others]
            texts = [each for each in sides if isinstance(each, ast.Constant) and is_text(each.value)]
            about = [each for each in sides if _ABOUT_REASONS.search(last_name(each))]
            in_words = any(isinstance(each, ast.Attribute) and each.attr in _IN_WORDS for each in sides)
            return bool(texts and about) or in_words
    return False


def places() -> Iterator[str]:
    """Where words of reasons are read, outside of the modules of words."""
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            name = str(file.relative_to(ROOT))
            text = file.read_text()
            if (
                name not in OF_WORDS
                and not name.startswith("poseidon/testbed/")
                and _ANY_OF_BOTH.search(text)
            ):
                yield from (
                    f"{name}:{node.lineno}"
                    for node in ast.walk(ast.parse(text))
                    if isinstance(node, ast.Call | ast.Compare) and read_words(node)
                )


def test_words_of_reasons_are_read_where_they_are_made():
    assert not list(places()), "compare `Reason`s, or let the module of words say what is asked"


def test_the_search_finds_what_it_is_for():
    for source in (
        'reason.startswith("Insufficient")',
        "any(each.reason.startswith(_FULL) for each in found)",
        'reason == "node(s) were unschedulable"',
        '"untolerated taint" in cause.reason',
        "cause.words == other",
        "cause.summary in PASSING",
    ):
        assert any(read_words(node) for node in ast.walk(ast.parse(source))), source
    for source in (
        "cause.reason is Reason.CORDONED",
        "cause.reason in PASSING",
        'condition.reason == "Unschedulable"',
        "name.startswith(prefix)",
    ):
        assert not any(read_words(node) for node in ast.walk(ast.parse(source))), source
