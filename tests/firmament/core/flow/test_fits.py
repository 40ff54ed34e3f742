"""Which machines several shapes fit, found together, is what each by itself fits."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cost_models.interface import JointRows
from firmament.core.flow.residual import Residual
from tests.support.core import problem

MACHINES = 15


def some_rows(chance: random.Random, rows: int) -> JointRows:
    """A row for each machine if there are as many; else machines share rows, and some are on none."""
    row_of = list(range(MACHINES))
    if rows < MACHINES:
        row_of = [chance.randrange(-1, rows) if rows else -1 for _ in row_of]
    amounts = [chance.randrange(3) for _ in range(6)]
    limit = [chance.randrange(-1, 3) for _ in range(rows)]
    return JointRows(np.array(row_of), np.array(amounts), np.array(limit, dtype=np.int64), "full")


@pytest.mark.parametrize("rows", [(), (MACHINES,), (4,), (0,), (MACHINES, 4, MACHINES)])
@pytest.mark.parametrize("seed", range(10))
def test_shapes_together_fit_what_each_fits(seed: int, rows: tuple[int, ...]):
    chance = random.Random(seed)
    joint = [some_rows(chance, count) for count in rows]
    given = problem(
        tasks=[1] * 6,
        requests=[[chance.randrange(3), chance.randrange(3)] for _ in range(6)],
        free=[[chance.randrange(-1, 4), chance.randrange(4)] for _ in range(MACHINES)],
        feasible=[[chance.random() < 0.7 for _ in range(MACHINES)] for _ in range(6)],
        joint=joint,
    )
    residual = Residual(given)
    before = given.feasible.copy()
    found = residual.find_fitting_by_shape([0, 2, 3, 5])
    assert list(found) == [0, 2, 3, 5]
    for shape, fits in found.items():
        for machine in range(MACHINES):
            room = all(given.free[machine, k] >= n for k, n in enumerate(given.requests[shape]) if n > 0)
            for each in joint:
                row, amount = int(each.row_of[machine]), int(each.amount[shape])
                room &= row < 0 or amount == 0 or int(each.limit[row]) >= amount
            assert fits[machine] == (room and given.feasible[shape, machine])
    assert (given.feasible == before).all()
