"""What stages of a round have placed, and what that took, as one result."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from firmament.core.flow.problem import Assignments
from firmament.core.placement.outcome import Placed, StageFigures
from tests.firmament.core.placement.rules import proposed, units

ONE = StageFigures(1, 2, 30, 4, 0.5, 0.25, 0.125)
OTHER = StageFigures(10, 20, 7, 40, 1.0, 2.0, 4.0, time_limited=True)


def test_figures_add_up_but_for_the_largest_network():
    assert ONE + OTHER == OTHER + ONE == StageFigures(11, 22, 30, 44, 1.5, 2.25, 4.125, time_limited=True)
    assert not (ONE + ONE).time_limited
    assert StageFigures() + ONE == ONE


def test_stages_one_after_another_are_one_with_the_first_flow_and_the_last():
    flows: list[Any] = [SimpleNamespace(name=name) for name in "abcd"]
    stages = [
        Placed(shortages={0: "too small"}),
        Placed(proposed((0, 1)), ONE, first=flows[0], last=flows[1], about=flows[2]),
        Placed(proposed((1, 0)), OTHER, first=flows[1], last=flows[3], shortages={1: "too few", 0: "closed"}),
        Placed(),
    ]
    joined = Placed.join(stages)
    assert units(joined.assignments) == [(0, 1), (1, 0)]
    assert joined.figures == ONE + OTHER
    assert (joined.first, joined.last, joined.about) == (flows[0], flows[3], flows[2])
    assert joined.shortages == {0: "closed", 1: "too few"}
    nothing = Placed.join([])
    assert (units(nothing.assignments), nothing.figures, nothing.first) == ([], StageFigures(), None)


def test_further_assignments_come_after_those_before_and_take_time_of_admission():
    placed = Placed(proposed((0, 1)), ONE)
    more = placed.add_assignments(proposed((2, 2)), 1.0)
    assert units(more.assignments) == [(0, 1), (2, 2)]
    assert more.figures == ONE + StageFigures(admit_seconds=1.0)
    assert units(placed.replace_assignments(Assignments.empty()).assignments) == []
    assert placed.replace_assignments(Assignments.empty()).figures == ONE
