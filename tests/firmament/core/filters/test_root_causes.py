"""Refusals of machines are put in order of their stages, and each answer about them is taken from that."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.filters.root_causes import RootCauses, make_root_causes
from firmament.core.reasons import Cause, Reason, lack_of
from firmament.core.rules.framework.node_rule import MachineRefusal

CORDONED, LABELS = Cause(Reason.CORDONED), Cause(Reason.WRONG_LABELS)
NAMED = Cause(Reason.WRONG_NAME)
CPU, MEMORY = lack_of("cpu"), lack_of("memory")
MACHINES = 5


def refusal(cause: Cause, *machines: int) -> MachineRefusal:
    return MachineRefusal(cause, np.isin(np.arange(MACHINES), machines))


@pytest.fixture
def causes() -> RootCauses:
    """The first machine is cordoned, the next three lack something, the last is free."""
    return make_root_causes(
        MACHINES, [refusal(MEMORY, 2, 3), refusal(CPU, 0, 1, 2), refusal(CORDONED, 0), refusal(LABELS)]
    )


def chosen(flags: np.ndarray) -> list[int]:
    return np.flatnonzero(flags).tolist()


def test_the_first_stage_is_the_root_cause_and_of_resources_all_are_told(causes):
    assert [cause for cause, _ in causes.refusals][:1] == [CORDONED]
    assert causes.counts() == [(CORDONED.summary, 1), (CPU.summary, 2), (MEMORY.summary, 2)]
    assert {reason: chosen(flags) for reason, flags in causes.machines().items()} == {
        CORDONED.summary: [0],
        MEMORY.summary: [2, 3],
        CPU.summary: [1, 2],
    }


def test_one_machine_is_told_its_root_cause_or_all_that_it_lacks(causes):
    assert [set(causes.list_causes(machine)) for machine in range(MACHINES)] == [
        {CORDONED},
        {CPU},
        {CPU, MEMORY},
        {MEMORY},
        set(),
    ]


def test_who_is_refused_and_who_may_be_opened(causes):
    assert chosen(causes.find_refused()) == [0, 1, 2, 3]
    assert chosen(causes.find_at_stage(CORDONED.reason.stage)) == [0]
    assert chosen(causes.find_at_stage(CPU.reason.stage)) == [1, 2, 3]
    assert chosen(causes.curable()) == [1, 2, 3, 4]
    beside = causes.drop_lack()
    assert chosen(beside.find_refused()) == [0]
    assert beside.counts() == [(CORDONED.summary, 1)]


def test_equal_reasons_are_one():
    twice = make_root_causes(
        MACHINES, [refusal(CPU, 0, 1), refusal(CPU, 1, 2), refusal(LABELS, 3), refusal(LABELS, 4)]
    )
    assert twice.counts() == [(LABELS.summary, 2), (CPU.summary, 3)]
    assert {reason: chosen(flags) for reason, flags in twice.machines().items()} == {
        CPU.summary: [0, 1, 2],
        LABELS.summary: [3, 4],
    }
    assert twice.list_causes(1) == (CPU,)


@pytest.mark.parametrize("other", [NAMED, CORDONED, CPU])
def test_those_that_stand_come_before_others_of_their_stage(other):
    standing = [refusal(LABELS, 1), refusal(LABELS, 2)]
    place = np.array([-1, 0, 1, -1, -1], dtype=np.int16)
    found = make_root_causes(MACHINES, [refusal(other, 2, 3)], (standing, place))
    first = NAMED if other is NAMED else LABELS
    assert [found.list_causes(machine) for machine in range(MACHINES)] == [
        (),
        (LABELS,),
        (first,),
        (other,),
        (),
    ]
    of_place = [found.refusals[code].refused for code in found.code[1:3].tolist()]
    assert of_place[0] is standing[0].refused
    assert (of_place[1] is standing[1].refused) == (other is not NAMED)
