"""How many tasks the arcs from classes to machines take, and which arcs of crowding are left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from firmament.core.flow.network.arc_columns import ArcColumns
from firmament.core.flow.network.network import StepArcs, column_arcs
from firmament.core.flow.residual import Residual
from tests.support.core import problem

ARCS = ArcColumns(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))


@pytest.mark.parametrize(
    ("most", "multiplicity", "expected"),
    [
        ({}, None, [5, 2, 3, 1]),
        ({0: 3}, None, [3, 2, 3, 1]),
        ({0: 1, 1: 2}, None, [1, 1, 2, 1]),
        ({0: 2}, [1, 3], [2, 5, 3, 3]),  # the second row stands for three machines
        ({0: 0}, [1, 3], [0, 0, 3, 3]),
    ],
)
def test_an_arc_takes_what_waits_fits_and_is_allowed_on_one_machine(
    most: dict[int, int], multiplicity: list[int] | None, expected: list[int]
):
    posed = problem(tasks=[5, 3], requests=[[1], [2]], free=[[7], [2]], cost=[[1, 2], [3, 4]])
    posed = replace(
        posed,
        most=most,
        multiplicity=None if multiplicity is None else np.array(multiplicity, dtype=np.int64),
    )
    capacity, cost = column_arcs(Residual(posed), ARCS)
    assert capacity.tolist() == expected
    assert cost.tolist() == [1, 2, 3, 4]
    assert cost.itemsize == 8


def test_arcs_that_take_nothing_are_left_out():
    arcs = StepArcs(np.array([0, 0, 1, 1]), np.array([2, 2]), np.array([1, 0, 0, 3]), np.array([5, 6, 7, 8]))
    left = arcs.drop_empty()
    assert (left.machine.tolist(), left.capacity.tolist(), left.cost.tolist()) == ([0, 1], [1, 3], [5, 8])
    assert left.count.tolist() == [2, 2]
