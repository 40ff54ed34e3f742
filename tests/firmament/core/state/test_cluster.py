"""Bookkeeping: what is used where, whatever the order of events."""

from __future__ import annotations

import pytest

from firmament.core.events import (
    BindingReport,
    ClassDefined,
    MachineRemoved,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.scheduler import Scheduler
from firmament.core.state.classes import ClassRow
from tests.support.core import machine, placed, scheduler, task_class, tasks, uids

SMALL, LARGE = ClassDefined(1, task_class(cpu=100)), ClassDefined(2, task_class(cpu=1_000))


def used(core: Scheduler) -> dict[str, tuple[int, int]]:
    """Milli-cores and tasks on every machine."""
    return {
        state.name: (state.allocatable.get("cpu", 0) - state.free.get("cpu", 0), state.tasks)
        for state in core.machine_states()
    }


def where(core: Scheduler) -> dict[str, tuple[str, str]]:
    """State and machine of every task."""
    return {state.uid: (state.state, state.machine) for state in core.task_states()}


# --- bound tasks -----------------------------------------------------------------------------------------------------


def test_bound_tasks_use_their_machine():
    core = scheduler(machine("m"), SMALL, TasksBound("m", 1, uids("t", 3)))
    assert used(core) == {"m": (300, 3)}
    assert where(core)["t-0"] == ("BOUND", "m")


def test_a_task_bound_to_a_machine_that_appears_later_counts_from_then_on():
    core = scheduler(SMALL, TasksBound("m", 1, ("t",)))
    assert where(core) == {"t": ("BOUND", "m")}
    core.apply([machine("other")])
    assert used(core) == {"other": (0, 0)}
    core.apply([machine("m")])
    assert used(core) == {"m": (100, 1), "other": (0, 0)}


def test_a_task_that_ends_before_its_machine_appears_never_counts():
    core = scheduler(SMALL, TasksBound("m", 1, ("t", "u")))
    core.apply([TaskRemoved("t"), TasksBound("other", 1, ("u",))])
    core.apply([machine("m"), machine("other")])
    assert used(core) == {"m": (0, 0), "other": (100, 1)}


def test_a_machine_that_is_removed_and_comes_back_has_its_tasks_again():
    core = scheduler(machine("m"), machine("n"), SMALL, TasksBound("m", 1, uids("t", 2)))
    core.apply([MachineRemoved("m")])
    assert used(core) == {"n": (0, 0)}
    assert where(core)["t-0"] == ("BOUND", "m")
    core.apply([TaskRemoved("t-1"), machine("m")])
    assert used(core) == {"m": (100, 1), "n": (0, 0)}


def test_a_task_moves_when_it_is_bound_elsewhere():
    core = scheduler(machine("m"), machine("n"), SMALL, TasksBound("m", 1, ("t",)))
    core.apply([TasksBound("n", 1, ("t",))])
    assert used(core) == {"m": (0, 0), "n": (100, 1)}


def test_a_bound_task_may_change_its_class():
    core = scheduler(machine("m"), SMALL, LARGE, TasksBound("m", 1, ("t", "u")))
    core.apply([TasksBound("m", 2, ("t",))])
    assert used(core) == {"m": (1_100, 2)}
    core.apply([TaskRemoved("t")])
    assert used(core) == {"m": (100, 1)}


def test_others_may_overcommit_a_machine_and_nothing_more_goes_there():
    core = scheduler(machine("m", cpu=1_000), LARGE, TasksBound("m", 2, uids("t", 3)), tasks(1, "u"))
    assert next(core.machine_states()).free["cpu"] == -2_000
    assert placed(core.run_round()) == {}
    core.apply([TaskRemoved("t-0"), TaskRemoved("t-1"), TaskRemoved("t-2")])
    assert placed(core.run_round()) == {"u": "m"}


# --- duplicates ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 2, 5])
def test_repeated_events_change_nothing(times: int):
    core = scheduler()
    for _ in range(times):
        core.apply([machine("m"), SMALL, TasksBound("m", 1, ("t",)), TasksSubmitted(1, ("p",))])
    assert used(core) == {"m": (100, 1)}
    assert where(core) == {"t": ("BOUND", "m"), "p": ("PENDING", "")}
    for _ in range(times):
        core.apply([TaskRemoved("t"), TaskRemoved("p"), TaskRemoved("unknown")])
    assert used(core) == {"m": (0, 0)}
    for _ in range(times):
        core.apply([MachineRemoved("m"), MachineRemoved("unknown")])
    assert used(core) == {}


def test_a_late_submission_does_not_unbind():
    core = scheduler(machine("m"), SMALL, LARGE, TasksBound("m", 1, ("t",)))
    core.apply([TasksSubmitted(1, ("t",)), TasksSubmitted(2, ("t",))])
    assert where(core) == {"t": ("BOUND", "m")}
    assert used(core) == {"m": (100, 1)}


def test_an_assumed_task_is_bound_where_the_event_says():
    core = scheduler(machine("m"), machine("n", cordoned=True), tasks(1, "t"))
    assert placed(core.run_round()) == {"t": "m"}
    assert where(core) == {"t": ("ASSUMED", "m")}
    core.apply([TasksBound("n", 1, ("t",))])
    assert where(core) == {"t": ("BOUND", "n")}
    assert used(core) == {"m": (0, 0), "n": (100, 1)}


def test_the_same_class_under_two_numbers_is_one_class():
    core = scheduler(machine("m"), SMALL, ClassDefined(7, SMALL.task_class))
    core.apply([TasksSubmitted(1, ("a",)), TasksSubmitted(7, ("b",))])
    assert core.run_round().stats.classes == 1


def test_a_pending_task_may_change_its_class():
    core = scheduler(machine("m", cpu=500), SMALL, LARGE, TasksSubmitted(2, ("t",)))
    assert placed(core.run_round()) == {}
    assert core.next_round_in() is None
    core.apply([TasksSubmitted(1, ("t",))])
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"t": "m"}
    assert used(core) == {"m": (100, 1)}


# --- rows that move --------------------------------------------------------------------------------------------------


def test_tasks_stay_with_their_machine_when_rows_move():
    names = [f"m{index}" for index in range(5)]
    core = scheduler(
        *(machine(name, labels={"name": name}) for name in names),
        SMALL,
        *(TasksBound(name, 1, uids(name, index)) for index, name in enumerate(names) if index),
    )
    core.apply([MachineRemoved("m1"), MachineRemoved("m0")])
    assert used(core) == {"m2": (200, 2), "m3": (300, 3), "m4": (400, 4)}
    core.apply([TaskRemoved("m4-0"), TaskRemoved("m3-2")])
    assert used(core) == {"m2": (200, 2), "m3": (200, 2), "m4": (300, 3)}
    picky = task_class(node_selector=(("name", "m4"),))
    core.apply(tasks(9, "picky", content=picky))
    assert placed(core.run_round()) == {"picky": "m4"}


def test_samples_flags_and_taints_move_along_with_the_row():
    core = scheduler(
        machine("first"),
        machine("last", cordoned=True, cpu=8_000, extended={"example.com/device": 2}),
    )
    core.apply([MachineRemoved("first"), *tasks(1, "t")])
    (state,) = core.machine_states()
    assert (state.name, state.allocatable["cpu"], state.allocatable["example.com/device"]) == (
        "last",
        8_000,
        2,
    )
    assert placed(core.run_round()) == {}


def test_removing_the_first_machine_among_many_tasks():
    # More tasks than the tables have rows for at first.
    core = scheduler(machine("a"), machine("b"), SMALL, TasksBound("b", 1, uids("t", 70)))
    core.apply([MachineRemoved("a")])
    assert used(core) == {"b": (7_000, 70)}
    assert core.counts().bound == 70


def test_many_machines_come_and_go():
    core = scheduler(SMALL, *(machine(f"m{index}") for index in range(200)))
    core.apply([TasksBound(f"m{index}", 1, (f"t{index}",)) for index in range(200)])
    core.apply([MachineRemoved(f"m{index}") for index in range(0, 200, 2)])
    assert used(core) == {f"m{index}": (100, 1) for index in range(1, 200, 2)}
    core.apply([machine(f"m{index}") for index in range(0, 200, 2)])
    assert used(core) == {f"m{index}": (100, 1) for index in range(200)}


def test_rows_of_tasks_are_used_again_without_traces():
    core = scheduler(machine("m", cpu=100), SMALL, TasksSubmitted(1, ("a", "b"), priority=7))
    core.run_round()
    core.report([BindingReport("a", "m", bound=True)])
    core.apply([TaskRemoved("a"), TaskRemoved("b")])
    core.apply([TasksSubmitted(1, ("c", "d"))])
    states = list(core.task_states())
    assert [(state.uid, state.state, state.priority, state.message) for state in states] == [
        ("c", "PENDING", 0, ""),
        ("d", "PENDING", 0, ""),
    ]
    assert len(placed(core.run_round())) == 1


def test_classes_are_pinned_by_names_of_machines_or_by_hosts_of_volumes():
    names, hosts = ("m",), ("h",)
    rows = [ClassRow(task_class(), 0, pins, on) for pins in (None, names) for on in (None, hosts)]
    assert [each.pinned for each in rows] == [False, True, True, True]
