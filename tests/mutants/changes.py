"""Lists the small changes that can be made to a module: one operator, condition, constant or call at a time.

Annotations, decorators, docstrings, log lines and what is raised are left alone: a change there is no fault, or none
that a test should hold. Existing libraries change annotations too (``int | None`` is an operator to them), and none
drops calls; so this is a reading of the syntax tree, with the text replaced in place.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

COMPARISONS: Final[dict[type[ast.cmpop], tuple[str, str]]] = {
    ast.Lt: (r"<", "<="),
    ast.LtE: (r"<=", "<"),
    ast.Gt: (r">", ">="),
    ast.GtE: (r">=", ">"),
    ast.Eq: (r"==", "!="),
    ast.NotEq: (r"!=", "=="),
    ast.Is: (r"is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
    ast.In: (r"in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
}
ARITHMETIC: Final[dict[type[ast.operator], tuple[str, str]]] = {
    ast.Add: (r"\+", "-"),
    ast.Sub: (r"-", "+"),
    ast.Mult: (r"\*", "//"),
    ast.FloorDiv: (r"//", "*"),
    ast.Mod: (r"%", "*"),
}
EXTREMES: Final = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "any": "all",
    "all": "any",
}
LOGGERS: Final = re.compile(r"^_?(log|logger|logging|warnings)$")


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """One replacement of text in a module; ``start`` and ``end`` are offsets in the bytes of its source."""

    path: str
    line: int
    start: int
    end: int
    replacement: str
    kind: str

    def apply(self, source: bytes) -> bytes:
        """Return the source of the module with the change made."""
        return source[: self.start] + self.replacement.encode() + source[self.end :]


def list_changes(path: str, source: bytes) -> list[Change]:
    """List all changes that can be made to a module, in the order of its lines."""
    found = _Finder(path, source)
    found.visit(ast.parse(source))
    return sorted(set(found.changes))


class _Finder(ast.NodeVisitor):
    def __init__(self, path: str, source: bytes) -> None:
        self.changes: list[Change] = []
        self._path = path
        self._source = source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def _offset(self, line: int, column: int) -> int:
        return self._lines[line - 1] + column

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def _add(self, kind: str, line: int, start: int, end: int, replacement: str) -> None:
        self.changes.append(Change(self._path, line, start, end, replacement, kind))

    def _between(self, kind: str, left: ast.expr, right: ast.expr, operator: tuple[str, str]) -> None:
        """Replace the operator between two operands, of which the right one may be in parentheses."""
        pattern, replacement = operator
        begin, end = self._span(left)[1], self._span(right)[0]
        gap = self._source[begin:end]
        match = re.search(
            rb"(?<![\w<>=!])" + pattern.encode() + rb"(?![\w=])", re.sub(rb"#[^\n]*", _blank, gap)
        )
        if match:
            self._add(
                kind, left.end_lineno or left.lineno, begin + match.start(), begin + match.end(), replacement
            )

    def _negate(self, test: ast.expr) -> None:
        start, end = self._span(test)
        text = self._source[start:end].decode()
        self._add("condition", test.lineno, start, end, f"(not ({text}))")

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name in ("__repr__", "__str__"):
            return
        for default in [*node.args.defaults, *(each for each in node.args.kw_defaults if each)]:
            self.visit(default)
        for statement in node.body:
            self.visit(statement)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 (the visitor's own naming)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """What is said of a fault is for people."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Says what holds anyway."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Formats have syntax of their own."""

    def visit_Expr(self, node: ast.Expr) -> None:
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(value, ast.Call):
            if _is_log(value.func):
                return
            start, end = self._span(node)
            self._add("dropped call", node.lineno, start, end, "pass")
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self._negate(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        if not isinstance(node.test, ast.Constant):
            self._negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negate(test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, right, operator in zip(
            [node.left, *node.comparators], node.comparators, node.ops, strict=False
        ):
            self._between("comparison", left, right, COMPARISONS[type(operator)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        if len(node.values) == 2:  # with three, a single word changed changes how the others belong together
            for left, right in pairwise(node.values):
                self._between("operator", left, right, words)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            start, end = self._span(node)
            operand = self._span(node.operand)
            self._add("condition", node.lineno, start, end, f"({self._source[slice(*operand)].decode()})")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        texts = any(
            isinstance(each, ast.JoinedStr)
            or (isinstance(each, ast.Constant) and isinstance(each.value, str | bytes))
            for each in (node.left, node.right)
        )
        if type(node.op) in ARITHMETIC and not texts:
            self._between("operator", node.left, node.right, ARITHMETIC[type(node.op)])
        elif isinstance(node.op, ast.BitAnd | ast.BitOr):
            words = (r"&", "|") if isinstance(node.op, ast.BitAnd) else (r"\|", "&")
            self._between("operator", node.left, node.right, words)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        start, end = self._span(node)
        if isinstance(node.value, bool):
            self._add("constant", node.lineno, start, end, str(not node.value))
        elif isinstance(node.value, int):
            self._add("constant", node.lineno, start, end, str(node.value + 1))
        elif isinstance(node.value, float) and node.value:
            self._add("constant", node.lineno, start, end, repr(node.value * 2))

    def visit_Call(self, node: ast.Call) -> None:
        if _is_log(node.func):
            return
        if isinstance(node.func, ast.Name) and node.func.id == "zip":
            node.keywords = []  # that both are equally long is so anyway
        if isinstance(node.func, ast.Name) and node.func.id in EXTREMES:
            start, end = self._span(node.func)
            self._add("operator", node.lineno, start, end, EXTREMES[node.func.id])
        elif isinstance(node.func, ast.Attribute) and node.func.attr in EXTREMES:
            end = self._span(node.func)[1]
            self._add("operator", node.lineno, end - len(node.func.attr), end, EXTREMES[node.func.attr])
        self.generic_visit(node)


def _blank(match: re.Match[bytes]) -> bytes:
    return b" " * len(match.group())


def _is_log(function: ast.expr) -> bool:
    """Whether a call writes a line of a log."""
    if not isinstance(function, ast.Attribute):
        return False
    owner = function.value
    name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    return bool(LOGGERS.match(name))
