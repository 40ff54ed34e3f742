"""Modules and functions stay short enough to be read at one sitting."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("benchmarks", "cost_models", "firmament", "poseidon", "protos")
FILES = [
    file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py")) if "_pb2" not in file.name
]

MOST_LINES_OF_A_MODULE, MOST_LINES_OF_A_FUNCTION = 400, 60


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """By its path in the repository, each module that is written by hand."""
    return {file.relative_to(ROOT).as_posix(): file.read_text() for file in FILES}


def test_no_module_is_long(texts):
    lengths = {name: text.count("\n") for name, text in texts.items()}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES_OF_A_MODULE} == {}, "split it by subject"


def test_no_function_is_long(texts):
    long = {
        f"{name}:{node.name}": length
        for name, text in texts.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > MOST_LINES_OF_A_FUNCTION
    }
    assert long == {}, "give its parts names"
