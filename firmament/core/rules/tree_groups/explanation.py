"""Explains what the rules of a tree group mean for one of its tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cost_models.group_terms import NOT_IN_TREE, TopologyTerms
from cost_models.interface import Bool
from firmament.core.flow.problem import PlacementProblem
from firmament.core.reasons import AnyReason, by_limit, format_number
from firmament.core.rules.framework.task_verdict import AskedTask, TaskVerdict
from firmament.core.tree_solver.groups import TreeGroup
from firmament.core.tree_solver.nested.trees import NestedGroup


def find_outside(problem: PlacementProblem, cls: int) -> list[tuple[AnyReason, Bool]]:
    """Return the machines outside the tree of a class's group, with the reason; [] if the class has no group."""
    group = problem.topology.every.get(int(problem.gang[cls])) if len(problem.gang) else None
    if not isinstance(group, TreeGroup):
        return []
    return [(by_limit(NOT_IN_TREE), problem.topology.position >= problem.topology.tree.leaves)]


def introduce_group(problem: PlacementProblem, gang: int) -> str:
    """Return the beginning of a message about a member of a tree group; "" for members of other gangs."""
    group = problem.topology.every.get(gang)
    if group is None:
        return ""
    if isinstance(group, NestedGroup):
        return f"gang {group.name} has {format_number(len(group.names), 'group')} to be placed together: "
    many = "1 place" if len(group.order) == 1 else f"{len(group.order)} places at once"
    return f"group {group.name} needs {many}: "


def judge_group(asked: AskedTask) -> Iterator[TaskVerdict]:
    """Yield the verdict of the group's rules on one task, if the task is in a tree group."""
    model, tasks = asked.models.group_model, asked.cluster.tasks
    name = tasks.job[asked.row]
    if model is None or name not in asked.cluster.ruled_gangs:
        return
    terms = model.topology_terms(asked.columns)
    inside = np.array([path is not None for path in terms.paths], dtype=np.bool_)
    answer = replace(asked.former(model), feasible=inside[None, :], reason=NOT_IN_TREE, causes=None)
    members = asked.cluster.jobs.members(name)
    there = (row for row in members if row != asked.row and not tasks.leaving[row])
    others = Counter(int(tasks.machine[row]) for row in there if tasks.machine[row] >= 0)
    yield TaskVerdict(model, answer, _format_unit_lines(terms, others))


def _format_unit_lines(terms: TopologyTerms, others: Counter[int]) -> list[tuple[str, ...]]:
    """Return, for each machine, a line per unit above it (such as its rack) that has other tasks of the group.

    ``others``: machine row -> number of other tasks of the group on the machine.
    """
    units: Counter[tuple[str, ...]] = Counter()
    for row, count in others.items():
        path = terms.paths[row]
        for depth in range(1, len(path or ()) + 1):
            units[(path or ())[:depth]] += count
    return [
        tuple(
            f"{level or 'unit'} {'/'.join(path[:depth])}: {units[path[:depth]]} other pods of the group"
            for depth, level in enumerate(terms.levels, start=1)
            if path[:depth] in units
        )
        for path in (path or () for path in terms.paths)
    ]
