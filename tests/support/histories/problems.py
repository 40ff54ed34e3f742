"""Random placement problems, small and full of coincidences, and their translation for the oracles."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import strategies as st

from cost_models.interface import JointRows
from firmament.core.flow.column_generation import GenerationOptions
from firmament.core.flow.network.network import compute_unscheduled_penalties, dearest_path
from firmament.core.flow.problem import WAIT_BUCKETS, Assignments, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.solvers.base import FlowProblem
from tests.oracle.network import Arc
from tests.oracle.placement import JointLimit, PlainProblem

SEEDS = st.integers(0, 2**32 - 1)
FEW_COLUMNS = GenerationOptions(
    whole=0, base_total=1, base_least=1, base_most=1, samples=0.001, samples_each=0
)


def placement_problem(
    seed: int, classes: int, machines: int, *, tasks: int = 4, joint: bool = False, roomy: bool = False
) -> PlacementProblem:
    """A problem of the given size; ``tasks``: most per class and wait bucket; ``roomy``: admission never refuses."""
    rnd = random.Random(seed)
    shapes = rnd.randint(1, classes)
    feasible_share = rnd.choice([0.5, 0.9, 1.0])
    dearest, crowdest = rnd.choice([0, 3, 40]), rnd.choice([0, 2, 9])
    requests = [[1, rnd.randint(0, 4), rnd.randint(0, 4)] for _ in range(shapes)]
    free = [[rnd.randint(1, 8), rnd.randint(-1, 12), rnd.randint(-1, 12)] for _ in range(machines)]
    if roomy:  # one pod per unit of room is all that matters: flows and tasks then count alike
        requests = [[1, 0, 0] for _ in range(shapes)]
    ranks = [rnd.randint(0, 2) for _ in range(classes)]
    pinned = [c for c in range(classes) if rnd.random() < 0.15]
    pins = {c: sorted(rnd.sample(range(machines), rnd.randint(0, machines))) for c in pinned}
    return PlacementProblem(
        counts=np.array(
            [[rnd.randint(0, tasks) for _ in range(WAIT_BUCKETS)] for _ in range(classes)], dtype=np.int64
        ),
        priority=np.array([sorted(set(ranks)).index(rank) for rank in ranks], dtype=np.int64),
        shape=np.array([rnd.randrange(shapes) for _ in range(classes)], dtype=np.int64),
        requests=np.array(requests, dtype=np.int64),
        feasible=np.array(
            [[rnd.random() < feasible_share for _ in range(machines)] for _ in range(shapes)], dtype=np.bool_
        ),
        cost=np.array(
            [[rnd.randint(0, dearest) for _ in range(machines)] for _ in range(shapes)], dtype=np.int32
        ),
        crowd=np.array([rnd.randint(0, crowdest) for _ in range(machines)], dtype=np.int64),
        free=np.array(free, dtype=np.int64),
        rotation=rnd.randrange(machines),
        pins={c: np.array(rows, dtype=np.int64) for c, rows in pins.items()},
        joint=tuple(_joint_rows(rnd, shapes, machines) for _ in range(2)) if joint else (),
    )


def _joint_rows(rnd: random.Random, shapes: int, machines: int) -> JointRows:
    rows = rnd.randint(1, machines)
    return JointRows(
        row_of=np.array([rnd.randint(-1, rows - 1) for _ in range(machines)], dtype=np.int64),
        amount=np.array([rnd.randint(0, 3) for _ in range(shapes)], dtype=np.int64),
        limit=np.array([rnd.randint(0, 9) for _ in range(rows)], dtype=np.int64),
        reason="joint limit",
    )


def plain(residual: Residual) -> PlainProblem:
    """What is left of a problem, as the oracles read it."""
    problem = residual.problem
    return PlainProblem(
        waiting=residual.remaining.tolist(),
        priority=problem.priority.tolist(),
        shape=problem.shape.tolist(),
        requests=problem.requests.tolist(),
        feasible=problem.feasible.tolist(),
        cost=problem.cost.tolist(),
        crowd=problem.crowd.tolist(),
        free=residual.free.T.tolist(),
        placed=residual.placed.tolist(),
        total=int(problem.counts.sum()),
        pins={cls: rows.tolist() for cls, rows in problem.pins.items()},
        joint=[
            JointLimit(each.rows.row_of.tolist(), each.rows.amount.tolist(), each.left.tolist())
            for each in residual.joint
        ],
    )


def fits_of(residual: Residual) -> dict:
    """``residual.fits`` for every waiting shape."""
    shapes = np.unique(residual.problem.shape[residual.active()]).tolist()
    return {shape: residual.find_fitting(shape) for shape in shapes}


def penalties_of(residual: Residual) -> list[list[int]]:
    """What leaving a task costs, by class and wait bucket: a choice of the network's, taken as it is."""
    return compute_unscheduled_penalties(residual, dearest_path(residual)).tolist()


def as_dict(assignments: Assignments) -> dict[tuple[int, int], int]:
    """(class, machine) -> tasks."""
    counts: dict[tuple[int, int], int] = {}
    columns = (assignments.cls.tolist(), assignments.machine.tolist(), assignments.count.tolist())
    for cls, machine, count in zip(*columns, strict=True):
        counts[cls, machine] = counts.get((cls, machine), 0) + count
    return counts


def arcs_of(problem: FlowProblem) -> tuple[list[Arc], dict]:
    """Arcs and supplies of a flow problem, as the oracles read them."""
    columns = (problem.tails, problem.heads, problem.capacities, problem.costs)
    arcs = [Arc(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    return arcs, dict(enumerate(problem.supplies.tolist()))
