"""Which machines several shapes fit, found together, is what each by itself fits."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cost_models.interface import JointRows
from firmament.flow.problem import Residual
from tests.support.core import problem

MACHINES = 15


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_shapes_together_fit_what_each_fits(seed: int, joint: bool):
    chance = random.Random(seed)
    amounts = np.array([chance.randrange(2) for _ in range(6)])
    limit = np.array([chance.randrange(2) for _ in range(MACHINES)])
    given = problem(
        tasks=[1] * 6,
        requests=[[chance.randrange(3), chance.randrange(3)] for _ in range(6)],
        free=[[chance.randrange(-1, 4), chance.randrange(4)] for _ in range(MACHINES)],
        feasible=[[chance.random() < 0.7 for _ in range(MACHINES)] for _ in range(6)],
        joint=[JointRows(np.arange(MACHINES), amounts, limit, "full")] if joint else [],
    )
    residual = Residual(given)
    before = given.feasible.copy()
    found = residual.fits_of([0, 2, 3, 5])
    assert list(found) == [0, 2, 3, 5]
    for shape, fits in found.items():
        for machine in range(MACHINES):
            room = all(given.free[machine, k] >= n for k, n in enumerate(given.requests[shape]) if n > 0)
            room &= not joint or not amounts[shape] or limit[machine] >= amounts[shape]
            assert fits[machine] == (room and given.feasible[shape, machine])
    assert (given.feasible == before).all()
