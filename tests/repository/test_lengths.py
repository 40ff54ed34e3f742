"""Modules and functions stay short enough to be read at one sitting, and folders to be looked through."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from tests.repository.definitions import iter_definitions

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("benchmarks", "cost_models", "firmament", "poseidon", "protos")
FILES = [
    file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py")) if "_pb2" not in file.name
]

MOST_LINES_OF_A_MODULE, MOST_LINES_OF_A_FUNCTION = 400, 60
MOST_MODULES_OF_A_FOLDER = 16
LARGE_FOLDERS = {
    "benchmarks/commands": 40,  # one module per command
    "poseidon/commands": 20,  # likewise
    "poseidon/offline": 18,
}


def test_no_module_is_long():
    lengths = {file.relative_to(ROOT).as_posix(): file.read_text().count("\n") for file in FILES}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES_OF_A_MODULE} == {}, "split it by subject"


def test_no_folder_is_large():
    modules = Counter(
        file.parent.relative_to(ROOT).as_posix() for file in FILES if file.name != "__init__.py"
    )
    large = {
        folder: count
        for folder, count in modules.items()
        if count > LARGE_FOLDERS.get(folder, MOST_MODULES_OF_A_FOLDER)
    }
    assert large == {}, "divide it by subject"


def test_no_function_is_long():
    long = {
        f"{path}:{node.name}": length
        for path, node in iter_definitions(PACKAGES)
        if not isinstance(node, ast.ClassDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > MOST_LINES_OF_A_FUNCTION
    }
    assert long == {}, "give its parts names"
