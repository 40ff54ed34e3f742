"""Why tasks wait once a round's placements are booked: machines by reason, the most telling one first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from firmament.core.diagnosis.failed_scheduling_message import TOO_FEW_PLACES
from firmament.core.flow.problem import Assignments
from firmament.core.reasons import Cause, Reason
from firmament.core.round_flow import kept_back
from firmament.core.round_flow.kept_back import LEFT_OVER, find_kept_back
from firmament.core.rules.framework.node_rule import MachineRefusal
from tests.firmament.core.placement.rules import proposed
from tests.support.core import problem
from tests.support.rules import ints

RESOURCES = ("cpu", "gpu")


def nothing(_shape: int) -> list[MachineRefusal]:
    return []


def test_everybody_was_placed():
    made = problem(tasks=[1], requests=[[1, 0]], free=[[1, 0]])
    assert find_kept_back(made, proposed((0, 0)), RESOURCES, nothing) == {}


def test_what_took_the_room_of_an_open_machine_comes_first():
    made = problem(tasks=[2], requests=[[2, 1]], free=[[3, 1], [9, 0], [9, 0]])
    found = find_kept_back(made, proposed((0, 0)), RESOURCES, nothing)
    assert found == {0: (("Insufficient gpu", 3), ("Insufficient cpu", 1))}


def test_machines_that_came_nearest_count_if_none_was_open():
    made = problem(tasks=[1], requests=[[2, 1]], free=[[1, 0], [9, 0], [1, 5], [1, 0]])

    def tainted(_shape: int) -> list[MachineRefusal]:
        return [MachineRefusal(Cause(Reason.UNTOLERATED), np.array([False, False, False, True]))]

    found = find_kept_back(made, Assignments.empty(), RESOURCES, tainted)
    # The second and the third lack one thing each, the first both; the last one is not even asked for room.
    assert found == {
        0: (("Insufficient cpu", 2), ("Insufficient gpu", 2), ("node(s) had untolerated taint(s)", 1))
    }


def test_pins_refuse_all_other_machines():
    made = problem(tasks=[1], requests=[[5, 0]], free=[[4, 0], [9, 0], [9, 0]], pins={0: [0]})
    found = find_kept_back(made, Assignments.empty(), RESOURCES, nothing)
    assert found == {0: (("Insufficient cpu", 1), (Reason.NOT_NAMED.value, 2))}


def test_machines_with_room_that_was_not_used():
    made = problem(tasks=[1], requests=[[1, 0]], free=[[1, 0], [1, 0], [0, 0]])
    empty = Assignments.empty()
    assert find_kept_back(made, empty, RESOURCES, nothing) == {0: (("Insufficient cpu", 1), (LEFT_OVER, 2))}
    gang = replace(made, gang=ints(0), gang_need=ints(1))
    assert find_kept_back(gang, empty, RESOURCES, nothing)[0][-1] == (TOO_FEW_PLACES, 2)
    alone = replace(made, gang=ints(-1), gang_need=ints())
    assert find_kept_back(alone, empty, RESOURCES, nothing)[0][-1] == (LEFT_OVER, 2)


def test_classes_with_most_waiting_tasks_are_examined(monkeypatch: pytest.MonkeyPatch):
    made = problem(tasks=[1, 3, 2, 0], requests=[[1, 0]] * 4, free=[[0, 0]])
    empty = Assignments.empty()
    assert sorted(find_kept_back(made, empty, RESOURCES, nothing)) == [0, 1, 2]
    monkeypatch.setattr(kept_back, "MOST_CLASSES", 2)
    assert list(find_kept_back(made, empty, RESOURCES, nothing)) == [1, 2]
