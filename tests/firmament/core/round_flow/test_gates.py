"""How many machines refuse a shape and why, and how many could take one of its tasks."""

from __future__ import annotations

import numpy as np

from firmament.core.reasons import Cause, Reason
from firmament.core.round_flow.refusals_and_prices import (
    BY_RULES,
    find_gates,
    limit_to_capacity,
)
from firmament.core.rules.framework.node_rule import MachineRefusal
from tests.support.core import problem

POSED = problem(
    tasks=[2, 5, 0],
    requests=[[2, 0], [4, 1], [1, 0]],
    free=[[9, 9], [3, 9], [1, 0]],
    feasible=[[False, True, True], [True, True, True], [True, True, True]],
)


def test_gates_of_shapes_by_rules_and_room():
    gates = find_gates(POSED, ["cpu", "gpu"])
    assert gates.keys() == {0, 1}, "of the third nobody waits"
    assert dict(gates[0].refusals) == {BY_RULES: 1, "Insufficient cpu": 1}
    assert gates[0].open == 1
    assert dict(gates[1].refusals) == {"Insufficient cpu": 2, "Insufficient gpu": 1}
    assert gates[1].open == 1


def test_machines_that_are_closed_for_no_stated_reason_are_not_open():
    cordoned = MachineRefusal(Cause(Reason.CORDONED), np.array([False, True, False]))
    gates = find_gates(POSED, ["cpu", "gpu"], lambda shape: [cordoned] if shape == 0 else [])
    assert dict(gates[0].refusals) == {"node(s) were unschedulable": 1, "Insufficient cpu": 1}
    assert gates[0].open == 0


def test_machines_too_small_even_when_empty_are_left_out():
    capacity = np.array([[9, 9], [3, 0], [2, 0]])
    assert limit_to_capacity(POSED, capacity).feasible.tolist() == [
        [False, True, True],
        [True, False, False],
        [True, True, True],
    ]
