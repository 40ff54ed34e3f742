"""Modules and functions stay short enough to be read at one sitting."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.repository.definitions import iter_definitions

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("benchmarks", "cost_models", "firmament", "poseidon", "protos")
FILES = [
    file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py")) if "_pb2" not in file.name
]

MOST_LINES_OF_A_MODULE, MOST_LINES_OF_A_FUNCTION = 400, 60


def test_no_module_is_long():
    lengths = {file.relative_to(ROOT).as_posix(): file.read_text().count("\n") for file in FILES}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES_OF_A_MODULE} == {}, "split it by subject"


def test_no_function_is_long():
    long = {
        f"{path}:{node.name}": length
        for path, node in iter_definitions(PACKAGES)
        if not isinstance(node, ast.ClassDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > MOST_LINES_OF_A_FUNCTION
    }
    assert long == {}, "give its parts names"
