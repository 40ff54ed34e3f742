"""Says what a change is part of: the lines of its statement, and the function that holds it."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tests.mutants.changes import Change


@dataclass(frozen=True, slots=True)
class Place:
    """Where a change is."""

    #: The lines of the innermost statement; of a statement with a body, those of its head.
    lines: range
    #: Qualified name and first line, with decorators, of the outermost function in whose body the change is, as its
    #: code object has them; None if the change has its effect when the module is imported.
    function: tuple[str, int] | None


def find_place(source: bytes, change: Change) -> Place:
    """Find what a change to a module's source is part of."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def holds(node: ast.stmt) -> bool:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = starts[node.lineno - 1] + node.col_offset
        return begin <= change.start and change.end <= starts[node.end_lineno - 1] + node.end_col_offset

    body: list[ast.stmt] = ast.parse(source).body
    names: list[str] = []
    function: tuple[str, int] | None = None
    lines = range(change.line, change.line + 1)
    while inner := [each for each in body if holds(each)]:
        node = inner[0]
        body = list(_list_statements(node))
        within = any(holds(each) for each in body)
        if within and function is None:
            if isinstance(node, ast.ClassDef):
                names.append(node.name)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                function = ".".join([*names, node.name]), first
        last = min((each.lineno for each in body), default=(node.end_lineno or node.lineno) + 1)
        lines = range(node.lineno, max(last, node.lineno + 1))
    return Place(lines, function)


def _list_statements(node: ast.AST) -> list[ast.stmt]:
    """Statements directly in the body, or one of the bodies, of a statement."""
    found: list[ast.stmt] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            found.append(child)
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            found += _list_statements(child)
    return found
