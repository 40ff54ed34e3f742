"""The problem of tasks that belong to no group is posed without the groups."""

from __future__ import annotations

import numpy as np

from firmament.core.board.board import Board
from firmament.core.events import ClassDefined, JobDefined, TasksSubmitted
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.model import Job
from firmament.core.placement.tree_groups.groups import build_rest_problem
from tests.cost_models.tree_groups.scene import CPU, cluster, group, machines, racks, singles, tree
from tests.support.core import task_class


def rest(*events) -> PlacementProblem:
    given = racks(a=(4, 4))
    snapshot = cluster(machines(given), tree(given), group("g", 2), *events).open_round().snapshot
    assert snapshot is not None
    problem = snapshot.problem
    everyone = np.ones(problem.classes, dtype=np.bool_)
    return build_rest_problem(Board(problem), Assignments.empty(), everyone)


def test_no_gang_is_left_where_all_gangs_are_groups():
    left = rest(singles("p"))
    assert int(left.counts.sum()) == 1
    assert (len(left.gang), len(left.gang_need)) == (0, 0)


def test_other_gangs_are_left():
    left = rest(
        [ClassDefined(5, task_class(CPU)), JobDefined(Job("other", min_members=2))],
        TasksSubmitted(5, ("o0", "o1"), job="other"),
    )
    waiting = left.counts.sum(axis=1) > 0
    assert left.gang_need[left.gang[waiting]].tolist() == [2]
