"""All classes and functions that are written by hand, read once for all tests about them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

ROOT = Path(__file__).resolve().parents[2]

Node: TypeAlias = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Definition(NamedTuple):
    """A class or a function, and the path of its module in the repository."""

    path: str
    node: Node
    """Of a function's body only the docstring is left, of a class's only fields and texts."""


def iter_definitions(packages: Sequence[str]) -> Iterator[Definition]:
    """Yield what is defined below some folders, module by module."""
    for package in packages:
        yield from _read(package)


@cache
def _read(package: str) -> tuple[Definition, ...]:
    return tuple(
        Definition(file.relative_to(ROOT).as_posix(), node)
        for file in sorted((ROOT / package).rglob("*.py"))
        if "_pb2" not in file.name
        for node in _find(ast.parse(file.read_text(encoding="utf-8")))
    )


def _find(tree: ast.Module) -> Iterator[Node]:
    """Find definitions in any statement; expressions hold none."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, part, ())
        if isinstance(node, ast.ClassDef):
            node.body = [each for each in node.body if isinstance(each, ast.AnnAssign | ast.Expr)]
            yield node
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [each for each in node.body[:1] if isinstance(each, ast.Expr)]
            yield node
