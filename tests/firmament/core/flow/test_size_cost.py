from __future__ import annotations

import numpy as np
import pytest

from firmament.core.flow.heights_and_prices import HeightCharge
from firmament.core.placement.cost import network_cost, placement_cost
from tests.firmament.core.placement.rules import proposed
from tests.support.core import problem
from tests.support.heights import size_cost, with_heights


def given(sizes=(2, 4), start=(10, 30), rates=None):
    plain = problem(tasks=[2, 2], requests=[[1], [1]], free=[[9], [9]])
    return with_heights(plain, start, sizes, rates)


def test_tasks_of_mean_size_cost_what_the_network_charges():
    equal = given(sizes=(3, 3))
    for placed in (proposed((0, 0), (1, 0), (0, 1)), proposed((0, 0, 2), (1, 1, 2)), proposed()):
        assert size_cost(equal, placed) == 0
        assert placement_cost(equal, placed) == network_cost(equal, placed)


def test_each_part_of_a_size_is_charged_the_height_at_which_it_lies():
    # Mean 3. Sizes 2 and 4 on a machine at 10 bring it to 16: (16^2 - 10^2) / 6 + 6 / 2 = 29.
    # The network charges 12 + 14 and, for the second, 3.
    assert size_cost(given(), proposed((0, 0), (1, 0))) == pytest.approx(29 - (12 + 14 + 3))


def test_a_large_task_costs_more_on_the_higher_machine_than_the_network_says():
    uneven, even = proposed((0, 0), (1, 1)), proposed((1, 0), (0, 1))
    assert network_cost(given(), uneven) == network_cost(given(), even)
    # Two units of size from a height of 34 to one of 14, each as the part 1 / 3 of a task.
    assert placement_cost(given(), uneven) - placement_cost(given(), even) == round(2 * (32 - 12) / 3)


def test_sizes_are_those_on_the_machine():
    # Half as large on the second machine, where four tasks stand for what two are on the first.
    one = size_cost(given(start=(10, 10), rates=(1, 0.5)), proposed((0, 0)))
    other = size_cost(given(start=(10, 10), rates=(1, 0.5)), proposed((0, 1)))
    assert one == pytest.approx((12**2 - 10**2) / 6 + 1 - 12)
    assert other == pytest.approx((11**2 - 10**2) / 3 + 0.5 - 11)


def test_machines_on_which_nothing_has_a_size_cost_what_the_network_charges():
    assert size_cost(given(rates=(0, 1)), proposed((0, 0), (1, 0))) == 0


def test_a_charge_is_what_the_network_charges():
    shapes, machines = np.array([0, 0, 1]), np.array([0, 1, 1])
    raw = np.array([[100, 40], [0, -20]], dtype=np.int16)
    assert HeightCharge(raw, 100.0, -2.0, np.inf).units(shapes, machines).tolist() == [0, 120, 240]
    assert HeightCharge(raw, 100.0, -2.0, 200.0).units(shapes, machines).tolist() == [0, 120, 200]
    assert HeightCharge(raw, 50.0, 2.0, 200.0).units(shapes, machines).tolist() == [100, 0, 0]
