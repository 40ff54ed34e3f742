"""Trials of moves: they say what would happen, and leave everything as it was unless a machine is emptied."""

from __future__ import annotations

from dataclasses import replace

import pytest

from firmament.core.changes import TrialChange
from firmament.core.events import ClassDefined, Event, TasksBound, TasksSubmitted
from firmament.core.rescheduling.trials import TogetherChange, Trials
from tests.support.core import machine, scheduler, task_class, uids
from tests.support.devices import (
    DRIVER,
    claim_record,
    claim_spec,
    class_record,
    device,
    exactly,
    own_claim,
    slice_record,
)

HALF, WHOLE = 1, 2
CLASSES = [ClassDefined(HALF, task_class(500)), ClassDefined(WHOLE, task_class(1000))]


def on(name: str, *tasks: str, number: int = HALF) -> TasksBound:
    return TasksBound(name, number, tasks)


def waiting(*tasks: str, number: int = WHOLE, priority: int = 0) -> TasksSubmitted:
    return TasksSubmitted(number, tasks, priority=priority)


def trials(*events: Event, removed: tuple[str, ...] = ()) -> Trials:
    """Three machines for two halves each, and events."""
    machines = [machine(name, cpu=1000) for name in ("a", "b", "c")]
    return Trials(scheduler(), [*machines, *CLASSES, *events], removed)


def test_what_ends_with_its_machine_takes_room_there_and_needs_none_elsewhere():
    found = trials(on("a", "stays", "ends"), on("b", "b-0"), on("c", "c-0", "c-1"), removed=("ends",))
    assert found.resources[0] == "cpu"
    assert [int(found.free_on(name)[0]) for name in ("a", "b", "c")] == [0, 500, 0]
    assert found.empty(["a"])
    assert found.moved == {"stays": "b"}


def test_a_machine_is_emptied_if_all_its_tasks_have_places_elsewhere():
    found = trials(on("a", "a-0"), on("b", "b-0"), on("c", "c-0", number=WHOLE))
    assert not found.empty(["c"])
    assert found.moved == {}
    assert found.empty(["a"])
    assert (found.moved, [*found.emptied]) == ({"a-0": "b"}, ["a"])
    assert not found.empty(["b"])
    assert found.moved == {"a-0": "b"}


def test_tasks_that_wait_get_as_few_emptied_machines_as_they_need():
    found = trials(on("a", "a-0"), on("b", "b-0"))
    assert found.empty(["c"])
    assert found.empty(["a"])
    assert found.keep_for([]) == {}
    kept = found.keep_for([waiting("big", "too-much", "more")])
    assert len(kept) == 2
    assert {*kept.values()} == {"a", "c"}
    assert not found.emptied
    assert found.moved == {"a-0": "b"}


def test_one_that_waits_keeps_one_machine():
    found = trials(on("a", "a-0"), on("b", "b-0"))
    assert found.empty(["c"])
    assert found.empty(["a"])
    assert len(kept := found.keep_for([waiting("big")])) == 1
    assert [*found.emptied] == [name for name in ("c", "a") if name not in kept.values()]


def test_moves_that_make_room_are_told_and_not_made():
    found = trials(on("a", "a-0"), on("b", "b-0"), on("c", "c-0", "c-1"))
    before = [found.free_on(name).tolist() for name in ("a", "b", "c")]
    for _ in range(2):
        where = found.try_moves(["a-0"], [waiting("big")])
        assert where == {"a-0": "b", "big": "a"}
        assert found.try_moves(["c-0"], [waiting("big")]) is None
    assert [found.free_on(name).tolist() for name in ("a", "b", "c")] == before
    assert [found.place_of(uid) for uid in ("a-0", "b-0", "c-0")] == ["a", "b", "c"]


def test_a_change_is_tried_and_taken_back():
    found = trials(on("a", "a-0"), on("b", "b-0"), on("c", "c-0"))
    big = waiting("big")
    for _ in range(2):
        assert found.place_with(big, TrialChange()) is None
        assert found.place_with(big, TrialChange(task_class(400))) in {"a", "b", "c"}
        assert found.place_with(big, TrialChange(machine=machine("b", cpu=1500).machine)) == "b"
        assert set(found.refusals(big)) == {"a", "b", "c"}
        assert set(found.refusals(big, TrialChange(machine=machine("b", cpu=1500).machine))) == {"a", "c"}


@pytest.mark.parametrize(
    ("change", "places"),
    [
        (TogetherChange(), None),
        (TogetherChange(content=task_class(500)), ["a", "b", "c"]),
        (TogetherChange(machines=tuple(machine(name, cpu=2000).machine for name in "de")), ["d", "d", "e"]),
        (TogetherChange(machines=(machine("d").machine,)), ["d", "d", "d"]),
        (TogetherChange(first=0), []),
    ],
    ids=["nothing", "smaller tasks", "two machines more", "a machine more", "none of them"],
)
def test_changes_for_several_that_wait_together(change, places):
    found = trials(on("a", "a-0"), on("b", "b-0"), on("c", "c-0"))
    for _ in range(2):
        where = found.find_places_of_all([waiting(*uids("w", 3))], change, ())
        assert where is None if places is None else sorted((where or {}).values()) == places


def test_more_important_ones_that_wait_come_first():
    found = trials(on("b", "b-0"), on("c", "c-0"))
    assert found.find_places_of_all([waiting("w")], TogetherChange(), ()) == {"w": "a"}
    assert found.find_places_of_all([waiting("w")], TogetherChange(), [waiting("x", priority=9)]) is None
    assert found.find_places_of_all([waiting("w")], TogetherChange(), ()) == {"w": "a"}


def has_device(uid: str, node: str) -> list[Event]:
    """A task on a machine, with a claim of its own that has the machine's device."""
    result = {"request": "r", "driver": DRIVER, "pool": node, "device": "d0"}
    allocation = {"devices": {"results": [result]}}
    return [
        claim_record(f"claim-{uid}", claim_spec(exactly("gpu")), allocation, uid),
        on(node, uid, number=3),
    ]


def test_devices_go_with_a_task_that_moves_and_come_back_with_it():
    with_device = replace(task_class(100), claims=(own_claim(exactly("gpu")),))
    devices = [slice_record(name, [device("d0")]) for name in ("a", "b", "c")]
    found = trials(
        class_record("gpu"),
        ClassDefined(3, with_device),
        *devices,
        *has_device("t", "a"),
        *has_device("u", "c"),
    )
    before = found.save()
    assert found.empty(["a"])
    assert found.place_of("t") == "b"
    found.restore(before)
    assert found.empty(["b"])
    assert not found.empty(["c"]), "the device of a is the returned task's again"


def test_devices_of_tasks_that_are_placed_anew_are_free_for_others():
    with_device = replace(task_class(100), claims=(own_claim(exactly("gpu")),))
    devices = [slice_record(name, [device("d0")]) for name in ("a", "b")]
    found = trials(class_record("gpu"), ClassDefined(3, with_device), *devices, *has_device("t", "a"))
    places = found.try_moves(["t"], [TasksSubmitted(3, ("w",))])
    assert places is not None
    assert sorted(places.values()) == ["a", "b"]
    assert found.try_moves(["t"], [TasksSubmitted(3, ("w", "x"))]) is None
