"""Engines do not ask whether a family of rules is present: how often some still do only becomes less."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "firmament" / "core"
APART = ("rules", "constraints")
"""Folders that are about rules themselves."""

FAMILIES = frozenset(
    {
        "rules",
        "pairs",
        "topology",
        "spread",
        "heights",
        "ledgers",
        "joint",
        "modelled",
        "rooms_after_eviction",
    }
)
"""Fields of a problem, and of what is made of it, that hold a family; also asked by ``of``, ``groups`` or ``steers``
of these."""

MOST = 17
"""Questions that are left; some are about other things that have such names."""


def list_asked(tree: ast.AST) -> set[tuple[int, int, str]]:
    """Return where the truth, or the presence, of a family is asked, and of which."""
    found = set()
    for node in ast.walk(tree):
        for test in _tests(node):
            for operand in _operands(test):
                family = _family(operand)
                if family:
                    found.add((operand.lineno, operand.col_offset, family))
    return found


def _tests(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Assert(test=test):
            return [test]
        case ast.comprehension(ifs=ifs):
            return ifs
        case ast.BoolOp() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return [node]
        case ast.Call(func=ast.Name(id="bool"), args=[given]):
            return [given]
    return []


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    match test:
        case ast.BoolOp(values=values):
            for value in values:
                yield from _operands(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _operands(operand)
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            yield left
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Name(id=name)]) if (
            name.startswith("NO_")
        ):
            yield left
        case ast.Compare():
            pass
        case _:
            yield test


def _family(operand: ast.expr) -> str:
    match operand:
        case ast.Attribute(
            value=ast.Attribute(attr=name) | ast.Name(id=name), attr="of" | "groups" | "steers"
        ):
            return name if name in FAMILIES else ""
        case ast.Attribute(attr=name) | ast.Name(id=name) if name in FAMILIES:
            return name
    return ""


@cache
def asked_anywhere() -> dict[str, set[tuple[int, int, str]]]:
    """What each module of an engine asks."""
    return {
        file.relative_to(ROOT).as_posix(): asked
        for file in sorted(CORE.rglob("*.py"))
        if file.relative_to(CORE).parts[0] not in APART and (asked := list_asked(ast.parse(file.read_text())))
    }


def test_presence_is_asked_no_more_often_than_before():
    """Lower the number there whenever you can: give the family a value that says nothing, or ask the registry."""
    listed = "\n".join(f"{file}: {sorted(asked)}" for file, asked in asked_anywhere().items())
    assert sum(map(len, asked_anywhere().values())) <= MOST, listed


def test_rules_are_never_absent():
    """A problem without rules between tasks has an empty set of them."""
    absent = [
        (file, line)
        for file in asked_anywhere()
        for line, text in enumerate((ROOT / file).read_text().splitlines(), 1)
        if "problem.rules is " in text or "problem.rules else" in text
    ]
    assert absent == []


def test_questions_are_found_however_they_are_put():
    for asked in (
        "if p.pairs is not None: pass",
        "x = a if not p.rules.of else b",
        "y = bool(p.ledgers)",
        "z = p.joint or q",
        "if p.topology.groups or pairs.steers: pass",
        "if p.pairs is NO_PAIRS: pass",
    ):
        assert list_asked(ast.parse(asked)), asked
    assert not list_asked(ast.parse("if len(p.joint) > 1: pass"))
