"""Merging machines that are alike, where each has joint rows of its own: the optimum stays the same."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from cost_models.interface import JointRows
from firmament.core.flow.column_generation import GenerationOptions, optimal_flow
from firmament.core.flow.joint_admission import admit
from firmament.core.flow.network.network import compute_unscheduled_penalties, dearest_path
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.reduction import merge_alike
from firmament.core.flow.residual import Residual
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import problem
from tests.support.effort import examples
from tests.support.tuning import FLOW


def rows(limits: Sequence[int | None], amounts: Sequence[int]) -> JointRows:
    """A row of its own for each machine that has a limit; numbered from the last machine on."""
    count = len(limits)
    row_of = [-1 if limit is None else count - 1 - index for index, limit in enumerate(limits)]
    limit = [0] * count
    for row, value in zip(row_of, limits, strict=True):
        if value is not None:
            limit[row] = value
    return JointRows(np.array(row_of), np.array(amounts), np.array(limit), "node(s) full")


def scene(seed: int) -> PlacementProblem:
    """Twelve machines of two kinds, of which some have less left on their joint row than others, or none."""
    chance = random.Random(seed)
    kinds = [chance.randrange(2) for _ in range(12)]
    room = [[chance.choice([3, 7]) for _ in range(2)] for _ in range(2)]
    cost = [[chance.randrange(300) for _ in range(2)] for _ in range(3)]
    limits = [chance.choice([None, 5, 5, 9]) for _ in range(12)]
    return problem(
        tasks=[chance.randrange(1, 9) for _ in range(3)],
        requests=[[chance.randrange(1, 3), chance.randrange(2)] for _ in range(3)],
        free=[room[kind] for kind in kinds],
        cost=[[row[kind] for kind in kinds] for row in cost],
        crowd=chance.choice([0, 7, 100]),
        joint=[rows(limits, [chance.randrange(5) for _ in range(3)])],
    )


@pytest.mark.parametrize("seed", range(examples(40)))
def test_the_merged_network_has_the_same_optimum(seed: int):
    residual = Residual(scene(seed))
    fits = {shape: residual.find_fitting(shape) for shape in range(3)}
    alike = merge_alike(residual, fits, tuning=FLOW.reduction)
    assert alike is not None
    penalties = compute_unscheduled_penalties(residual, dearest_path(residual))
    bounds, proposed = [], Assignments.empty()
    for each, open_to in ((residual, fits), (alike.residual, alike.fits)):
        outcome = optimal_flow(
            each,
            open_to,
            OrToolsSolver(),
            GenerationOptions(whole=0),
            penalties=penalties,
            time_limit=None,
            tuning=FLOW,
        )
        assert outcome is not None
        assert outcome.certified
        bounds.append(outcome.bound)
        proposed = outcome.assignments()
    assert bounds[0] == bounds[1]
    dealt = alike.distribute(proposed)
    units = residual.count_fitting(residual.problem.shape[dealt.cls], dealt.machine)
    assert (dealt.count <= units).all()  # what fits the group fits each member by itself
    admit(residual, dealt)
    assert all((left >= 0).all() for left in (each.left for each in residual.joint))


def test_machines_with_more_left_on_their_rows_stay_apart():
    made = problem(
        tasks=[4],
        requests=[[1]],
        free=[[9]] * 6,
        joint=[rows([5, 5, 5, 8, 8, None], [1])],
    )
    residual = Residual(made)
    alike = merge_alike(residual, {0: residual.find_fitting(0)}, tuning=FLOW.reduction)
    assert alike is not None
    groups = np.split(alike.members, alike.first[1:-1])
    assert sorted(sorted(group.tolist()) for group in groups) == [[0, 1, 2], [3, 4], [5]]


def test_machines_that_share_a_row_are_left_alone():
    shared = JointRows(np.zeros(6, dtype=np.int64), np.array([1]), np.array([5]), "node(s) full")
    residual = Residual(problem(tasks=[4], requests=[[1]], free=[[9]] * 6, joint=[shared]))
    assert merge_alike(residual, {0: residual.find_fitting(0)}, tuning=FLOW.reduction) is None
