"""A handful of tasks on the few machines that they need: the optimum of the full network."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from cost_models.interface import JointRows
from firmament.core.flow.column_generation import GenerationOptions, optimal_flow
from firmament.core.flow.network.network import compute_unscheduled_penalties, dearest_path
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.reduction import narrow
from firmament.core.flow.residual import Residual
from firmament.core.placement.outcome import Means
from firmament.core.placement.passes import place_all
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import problem
from tests.support.effort import examples
from tests.support.tuning import FLOW

MACHINES = 40
SHARED = JointRows(np.zeros(5, np.int64), np.ones(1, np.int64), np.ones(1, np.int64), "link")


def scene(seed: int, *, tied: bool = False) -> PlacementProblem:
    """Up to five classes with a few tasks each, on machines of which some are full, forbidden or pinned to."""
    chance = random.Random(seed)
    classes = chance.randrange(1, 6)
    dearest = 2 if tied else 300
    limits = [chance.choice([2, 9]) for _ in range(MACHINES)]
    own = JointRows(
        np.array([machine if chance.random() < 0.8 else -1 for machine in range(MACHINES)]),
        np.array([chance.randrange(3) for _ in range(classes)]),
        np.array(limits),
        "node(s) full",
    )
    return problem(
        tasks=[[chance.randrange(2), 0, 0, chance.randrange(4)] for _ in range(classes)],
        requests=[[1, chance.randrange(4)] for _ in range(classes)],
        free=[[chance.choice([0, 1, 2, 8]), chance.randrange(9)] for _ in range(MACHINES)],
        cost=[[chance.randrange(dearest) for _ in range(MACHINES)] for _ in range(classes)],
        feasible=[[chance.random() < 0.7 for _ in range(MACHINES)] for _ in range(classes)],
        crowd=[chance.choice([0, 1, 100]) for _ in range(MACHINES)],
        priority=[chance.randrange(2) for _ in range(classes)],
        pins={0: sorted(chance.sample(range(MACHINES), 5))} if chance.random() < 0.4 else {},
        rotation=chance.randrange(MACHINES),
        joint=[own] if chance.random() < 0.5 else [],
    )


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(examples(60)))
def test_the_few_machines_have_the_optimum_of_all(seed: int, tied: bool):
    residual = Residual(scene(seed, tied=tied))
    chance = random.Random(seed)
    residual.placed[:] = [chance.randrange(3) for _ in range(MACHINES)]
    shapes = np.unique(residual.problem.shape[residual.active()]).tolist()
    fits = {shape: residual.find_fitting(shape) for shape in shapes}
    few = narrow(residual, fits, tuning=FLOW.reduction)
    if few is None:
        assert not residual.remaining.any() or not any(row.any() for row in fits.values())
        return
    tasks = int(residual.remaining.sum())
    assert few.residual.problem.machines <= tasks * len(residual.active())
    penalties = compute_unscheduled_penalties(residual, dearest_path(residual))
    outcomes = [
        optimal_flow(
            each, open_to, OrToolsSolver(), GenerationOptions(whole=0), penalties=penalties, tuning=FLOW
        )
        for each, open_to in ((residual, fits), (few.residual, few.fits))
    ]
    assert (outcomes[0] is None) == (outcomes[1] is None)
    if outcomes[0] is not None and outcomes[1] is not None:
        assert outcomes[1].certified
        assert outcomes[0].bound == outcomes[1].bound
        places = few.distribute(outcomes[1].assignments())
        assert set(places.machine.tolist()) <= set(few.members.tolist())
        for cls, machine in zip(places.cls.tolist(), places.machine.tolist(), strict=True):
            assert fits[int(residual.problem.shape[cls])][machine]
            assert machine in residual.problem.pins.get(cls, [machine])


@pytest.mark.parametrize("seed", range(examples(30)))
def test_a_round_of_a_handful_leaves_nothing_behind_that_fits(seed: int):
    residual = Residual(scene(seed))
    placed = place_all(residual, Means(OrToolsSolver())).assignments
    assert (residual.free >= np.minimum(residual.problem.free.T, 0)).all()
    assert int(placed.count.sum()) + int(residual.remaining.sum()) == int(residual.problem.counts.sum())
    for cls in residual.active().tolist():
        open_to = residual.find_fitting(int(residual.problem.shape[cls]))
        assert not open_to[residual.problem.pins.get(cls, np.arange(MACHINES))].any()


def test_among_machines_that_cost_the_same_the_rotation_says_who_comes_first():
    given = problem(tasks=[1], requests=[[1]], free=[[5]] * 10)
    chosen = []
    for rotation in (0, 3, 9):
        placed = place_all(Residual(replace(given, rotation=rotation)), Means(OrToolsSolver())).assignments
        chosen += placed.machine.tolist()
    assert chosen == [0, 3, 9]


@pytest.mark.parametrize(
    "case",
    [
        {"tasks": [FLOW.reduction.handful + 1], "free": [[99]] * 100},
        {"tasks": [3], "free": [[99]] * 5},
        {"tasks": [0], "free": [[99]] * 5},
        {"tasks": [1], "free": [[0]] * 5},
        {"tasks": [1], "free": [[9]] * 5, "joint": [SHARED]},
    ],
    ids=["many tasks", "few machines", "no tasks", "no room", "a shared row"],
)
def test_what_is_left_alone(case):
    residual = Residual(problem(requests=[[1]], **case))
    assert narrow(residual, {0: residual.find_fitting(0)}, tuning=FLOW.reduction) is None


def test_nothing_is_placed_where_nothing_fits():
    residual = Residual(problem(tasks=[2], requests=[[1]], free=[[0]] * 9))
    placed = place_all(residual, Means(OrToolsSolver())).assignments
    assert placed.count.tolist() == Assignments.empty().count.tolist()
