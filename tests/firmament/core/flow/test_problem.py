"""What a problem says of its classes, of their pins, and of what its tasks share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cost_models.interface import JointRows
from firmament.core.constraints.default_spread import SpreadTerms
from firmament.core.constraints.ruleset import ClassRules, RuleSet
from tests.support.core import problem
from tests.support.histories.holding import SeatLedger
from tests.support.rules import counter, ints


@pytest.mark.parametrize(
    ("gang", "gangs", "found"),
    [
        ([], 0, []),
        ([-1, -1, -1], 0, []),
        ([1, -1, 0], 2, [[2], [0]]),
        ([1, 0, 1], 3, [[1], [0, 2], []]),
        ([2, 2, 2], 3, [[], [], [0, 1, 2]]),
    ],
)
def test_each_gang_has_its_classes_in_order(gang: list[int], gangs: int, found: list[list[int]]):
    plain = problem(tasks=[1] * 3, requests=[[1]] * 3, free=[[4]], cost=[[0]] * 3, crowd=[0])
    posed = replace(plain, gang=np.array(gang, dtype=np.int64), gang_need=np.ones(gangs, dtype=np.int64))
    assert [each.tolist() for each in posed.split_by_gang()] == found


POSED = problem(
    tasks=[2, 3, 4],
    requests=[[1], [2], [3]],
    free=[[9]] * 4,
    pins={1: [0, 2], 2: []},
)


def test_pins_confine_a_class_to_its_machines():
    assert [[POSED.pins_allow(cls, machine) for machine in range(4)] for cls in range(3)] == [
        [True] * 4,
        [True, False, True, False],
        [False] * 4,
    ]
    open_to = np.array([True, True, False, True])
    assert POSED.limit_to_pins(0, open_to) is open_to
    assert POSED.limit_to_pins(1, open_to).tolist() == [True, False, False, False]
    assert POSED.limit_to_pins(2, open_to).tolist() == [False] * 4
    assert open_to.tolist() == [True, True, False, True]


def test_sets_of_tasks_are_alike_by_shapes_numbers_and_pins_in_any_order():
    same = replace(POSED, shape=np.array([0, 0, 1]))
    assert same.make_key([0, 2], [1, 5]) == same.make_key([2, 0], [5, 1])
    assert same.make_key([0], [1]) != same.make_key([0], [2])
    assert same.make_key([0], [1]) != same.make_key([1], [1]), "one of them has pins"
    free = replace(same, pins={})
    assert free.make_key([0], [1]) == free.make_key([1], [1])
    assert free.make_key([0], [1]) != free.make_key([2], [1])


def rows(*row_of: int) -> JointRows:
    return JointRows(ints(*row_of), ints(1, 1, 1), ints(*([5] * 4)), "full")


def test_what_tasks_share_and_what_cannot_be_undone():
    ledger = SeatLedger(ints(9, 9, 9, 9), np.array([True] * 3))
    terms: Any = object()
    asked = {
        "plain": POSED,
        "own rows": replace(POSED, joint=(rows(0, 1, 2, -1),)),
        "shared rows": replace(POSED, joint=(rows(0, 1, 2, 3), rows(0, 0, 1, 2))),
        "ledger": replace(POSED, ledgers=(ledger,)),
        "quotas": replace(POSED, quotas=terms),
    }
    found = {
        name: (each.shares_room, each.irrevocable, each.takes_requests_alone) for name, each in asked.items()
    }
    assert found == {
        "plain": (False, False, True),
        "own rows": (False, False, False),
        "shared rows": (True, False, False),
        "ledger": (True, True, False),
        "quotas": (True, False, True),
    }


def test_tasks_depend_on_each_other_by_rules_or_by_pairs_that_steer():
    assert not POSED.interdependent
    ruled = replace(POSED, rules=RuleSet([counter([0] * 4)], {0: ClassRules(adds=(0,))}))
    assert ruled.interdependent
    assert not ruled.derive().interdependent
    assert POSED.list_costing() == []


def test_what_is_derived_keeps_all_but_what_networks_ignore():
    near = SpreadTerms(ints(0, 0, 0), ints(0, 0, 0, 0), np.ones(1), np.zeros(1), ints(), ints())
    ruled = replace(
        POSED,
        spread=near,
        rules=RuleSet([counter([0] * 4)], {0: ClassRules(adds=(0,))}),
        joint=(rows(0, 1, 2, 3),),
    )
    assert ruled.list_costing() == [near]
    less = ruled.derive(priority=ints(7, 8, 9))
    assert (less.list_costing(), less.rules.of) == ([], {})
    assert less.priority.tolist() == [7, 8, 9]
    assert less.joint == ruled.joint
    assert less.pins == ruled.pins


@pytest.mark.parametrize(
    ("tasks", "machines", "times", "step"),
    [
        (31, 1, None, 1),
        (32, 1, None, 2),
        (64, 2, None, 2),
        (64, 2, [1, 1], 2),
        (64, 2, [2, 2], 1),
        (160, 1, [10], 1),
        (0, 1, None, 1),
        (48, 0, None, 3),
    ],
)
def test_crowds_grow_by_steps_where_machines_get_dozens_of_tasks(
    tasks: int, machines: int, times: list[int] | None, step: int
):
    posed = problem(tasks=[tasks], requests=[[1]], free=[[9]] * machines)
    posed = replace(posed, multiplicity=None if times is None else ints(*times))
    assert posed.crowd_step() == step
    assert posed.times().tolist() == (times or [1] * machines)


def test_ledgers_may_number_shapes_otherwise():
    assert POSED.map_to_ledgers(ints(2, 0)).tolist() == [2, 0]
    assert replace(POSED, model_shape=ints(5, 6, 5)).map_to_ledgers(ints(2, 1)).tolist() == [5, 6]
    assert POSED.find_grouped().tolist() == [False] * 3


def test_a_problem_without_gangs_rules_and_limits_states_none():
    plain = problem(tasks=[1, 2], requests=[[1], [1]], free=[[4]])
    assert (plain.gang.tolist(), plain.gang_need.tolist(), plain.split_by_gang()) == ([], [], [])
    assert not plain.find_grouped().any()
    assert (dict(plain.most), plain.joint, plain.ledgers, plain.quotas) == ({}, (), (), None)
    assert plain.times().tolist() == [1]
    assert plain.map_to_ledgers(np.array([1, 0])).tolist() == [1, 0]
    assert not plain.interdependent
