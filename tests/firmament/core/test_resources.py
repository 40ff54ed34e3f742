"""Columns of resources, also of those that appear when everything else is there."""

from __future__ import annotations

import numpy as np

from firmament.core.events import MachineSampled
from firmament.core.resources import FIRST_RESOURCES, LEAST_SURPLUS, NO_COLUMN, ResourceIndex, widen
from tests.support.core import machine, messages, placed, scheduler, task_class, tasks

DEVICE = "example.com/device"
WITH_DEVICE = task_class(requests=(("cpu", 100), (DEVICE, 1)))


def test_what_machines_offer_has_columns_in_order_of_appearance():
    index = ResourceIndex()
    assert tuple(index.names) == FIRST_RESOURCES
    index.add_machine(["b", "cpu"])
    index.add_machine(["a", "b"])
    assert index.columns(["b", "a", "cpu", "other"]) == [4, 5, 1, NO_COLUMN]
    assert len(index) == 6


def test_vectors_hold_amounts_of_what_is_offered():
    index = ResourceIndex()
    assert index.vector({"cpu": 5, "memory": 7, DEVICE: 1}).tolist() == [0, 5, 7, 0]
    index.add_machine([DEVICE])
    assert index.vector({DEVICE: 2, "pods": 1}).tolist() == [1, 0, 0, 0, 2]
    assert index.vector({}).tolist() == [0, 0, 0, 0, 0]


def test_columns_are_taken_back_when_no_machine_offers_them():
    index = ResourceIndex()
    names = [f"example.com/{number}" for number in range(LEAST_SURPLUS)]
    index.add_machine(names)
    index.add_machine([DEVICE])
    index.add_machine(names[3:4])
    index.remove_machine(names)
    seen = [index.has_surplus]  # one of them is still offered
    index.remove_machine(names[3:4])
    assert [*seen, index.has_surplus] == [False, True]
    assert index.compact().tolist() == [0, 1, 2, 3, 4 + LEAST_SURPLUS]
    assert index.names == [*FIRST_RESOURCES, DEVICE]


def test_widening_keeps_what_is_there():
    array = np.array([[1, 2], [3, 4]])
    assert widen(array, 2, 2) is array
    wide = widen(array, 2, 3)
    assert wide.tolist() == [[1, 2, 0], [3, 4, 0]]
    tall = widen(array, 3, 1)
    assert tall.shape == (64, 2)
    assert tall[:3].tolist() == [[1, 2], [3, 4], [0, 0]]


def test_a_resource_that_only_a_task_knows_is_missing_everywhere():
    core = scheduler(machine("m"), tasks(1, "t", content=WITH_DEVICE))
    assert messages(core.run_round()) == {"t": f"0/1 nodes are available: 1 Insufficient {DEVICE}."}


def test_a_resource_that_appears_later_wakes_who_waits_for_it():
    core = scheduler(machine("m"), machine("n"), tasks(1, "t", "u", content=WITH_DEVICE), tasks(2, "plain"))
    assert set(placed(core.run_round())) == {"plain"}
    core.apply([machine("n", extended={"example.com/other": 1})])
    assert core.next_round_in() is None
    core.apply([machine("n", extended={DEVICE: 1})])
    assert placed(core.run_round()) == {"t": "n"}
    assert core.next_round_in() is None


def test_a_resource_may_vanish_again():
    core = scheduler(machine("m", extended={DEVICE: 4}), tasks(1, "t", content=WITH_DEVICE))
    assert placed(core.run_round()) == {"t": "m"}
    core.apply([machine("m"), *tasks(1, "u", content=WITH_DEVICE)])
    assert next(core.machine_states()).free[DEVICE] == -1
    assert messages(core.run_round()) == {"u": f"0/1 nodes are available: 1 Insufficient {DEVICE}."}


def test_resources_that_appear_while_machines_are_many():
    core = scheduler(*(machine(f"m{index}") for index in range(70)))
    core.apply([MachineSampled("m0", 1.0, {"example.com/measured": 3.0})])
    core.apply([machine(f"m{index}", extended={f"example.com/{index}": 1}) for index in range(70)])
    for number in (1, 70):
        wanted = task_class(requests=((f"example.com/{number - 1}", 1),))
        core.apply(tasks(number, f"t{number}", content=wanted))
    assert placed(core.run_round()) == {"t1": "m0", "t70": "m69"}
