"""Only modules in firmament/core/state/ write columns of the task table, so that each change has a name and a place."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import firmament
from firmament.core.state.tasks import TaskTable

PACKAGE = Path(firmament.__file__).parent
OWNER = PACKAGE / "core" / "state"
TEXTS = ("uid", "name", "job", "message", "orphan_of")
COLUMNS = frozenset((*TaskTable.COLUMNS, *TEXTS))
TABLES = {"tasks", "table"}
"""What variables and attributes are called that hold the table."""
WRITERS = {
    "add",
    "append",
    "at",
    "clear",
    "copyto",
    "extend",
    "fill",
    "insert",
    "pop",
    "put",
    "putmask",
    "remove",
    "sort",
}


def writes(source: str) -> list[str]:
    """Where a source writes a column of a task table, in its own words, by line."""
    tree = ast.parse(source)
    expressions = (node for node in ast.walk(tree) if isinstance(node, ast.expr))
    found = [node for node in expressions if _assigns(node) or _calls_writer(node)]
    return [f"{node.lineno}: {ast.unparse(node)}" for node in sorted(found, key=lambda each: each.lineno)]


def _assigns(node: ast.expr) -> bool:
    """Whether this is the place of an assignment (or ``del``), of any kind, in a column, or a column itself."""
    if not isinstance(node, ast.Subscript | ast.Attribute) or isinstance(node.ctx, ast.Load):
        return False
    return _is_column(node)


def _calls_writer(node: ast.expr) -> bool:
    """Whether this calls something that changes a column: ``tasks.job.fill(0)``, ``np.add.at(tasks.job, ...)``."""
    if not (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITERS
    ):
        return False
    numpy = isinstance(root(node.func), ast.Name) and ast.unparse(root(node.func)) == "np"
    return _is_column(node.args[0]) if numpy and node.args else _is_column(node.func.value)


def root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _is_column(node: ast.expr) -> bool:
    """Whether this is ``<...>.tasks.<column>``, or a part of it."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if not (isinstance(node, ast.Attribute) and node.attr in COLUMNS):
        return False
    table = node.value
    name = table.attr if isinstance(table, ast.Attribute) else table.id if isinstance(table, ast.Name) else ""
    return name.lstrip("_") in TABLES


def modules() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if OWNER not in path.parents]


def test_only_the_state_writes_columns_of_tasks():
    found = [f"{path.relative_to(PACKAGE)}:{line}" for path in modules() for line in writes(path.read_text())]
    assert found == []


def test_of_the_state_few_modules_do():
    """The table itself aside, which adds and removes rows."""
    assert {path.name for path in OWNER.glob("*.py") if writes(path.read_text())} == {
        "cluster.py",  # where tasks are, and in which order they came there
        "task_description.py",
        "transitions.py",
        "waiting.py",
    }


def test_there_is_something_to_look_through():
    assert len(modules()) > 100


def test_all_columns_are_known():
    table = TaskTable()
    public = {name for name in vars(table) if not name.startswith("_")}
    assert public == COLUMNS | {"row_of"}


@pytest.mark.parametrize(
    "source",
    [
        "cluster.tasks.state[task] = State.PENDING",
        "self._cluster.tasks.unschedulable[rows] = cluster.dirty.any = False",
        "tasks.unschedulable[task] = tasks.refused[task] = True",
        "tasks.failures[task] += 1",
        "a, tasks.owed[task] = 1, False",
        "(a, [tasks.owed[task], *b]) = c",
        "tasks.revised[:] = False",
        "tasks.message[task]: str = ''",
        "table.state[rows][first] = 0",
        "for tasks.job[task] in jobs: pass",
        "with here as tasks.name[task]: pass",
        "cluster.tasks.state = other",
        "del tasks.uid[task]",
        "tasks.arrival_number.fill(0)",
        "tasks.uid.append('a')",
        "np.add.at(cluster.tasks.failures, rows, 1)",
    ],
)
def test_the_search_finds(source):
    assert writes(f"def change():\n    {source}\n")


@pytest.mark.parametrize(
    "source",
    [
        "waiting = tasks.state[rows] == State.PENDING",
        "usable[tasks.machine[task]] = False",
        "state[task] = tasks.state[task]",
        "self.machine[own] = after",
        "found = tasks = cluster.tasks",
        "found.append(tasks.uid[task])",
        "np.add.at(used, tasks.machine[rows], 1)",
        "f(tasks.state[rows], name=tasks.name[task])",
    ],
)
def test_the_search_lets_pass(source):
    assert writes(f"def look():\n    {source}\n") == []
