"""Machines kept for tasks that others keep overtaking."""

from __future__ import annotations

import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import MachineRemoved, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.scheduler import Scheduler
from tests.support.core import machine, messages, placed, scheduler, task_class, tasks

SOON = RoundOptions(reserve_after_rounds=3, reserve_for_rounds=5)
RESERVED = "node(s) were reserved for a pod that has waited longer"


def overtaken(options: RoundOptions = SOON, *, priority: int = 0) -> Scheduler:
    """A large task that three rounds of small ones have overtaken; small ones use half of the machine.

    Machine "m" has room for the large task only when it is empty; "n" is too small for it.
    """
    core = scheduler(
        machine("m", cpu=1_000),
        machine("n", cpu=100),
        tasks(1, content=task_class(cpu=500)),
        tasks(2, content=task_class(cpu=1_000)),
        tasks(3, content=task_class(cpu=100)),
        options=options,
    )
    core.apply(
        [
            TasksBound("m", 1, ("running",), priority=priority),
            TasksSubmitted(2, ("large",), priority=priority),
        ]
    )
    for number in range(3):
        core.apply([TasksSubmitted(1, (f"small-{number}",))])
        assert placed(core.run_round()) == {f"small-{number}": "m"}
        core.apply([TaskRemoved(f"small-{number}")])
    return core


def submit(core: Scheduler, number: int, uid: str, *, priority: int = 0) -> dict[str, str]:
    """Submit one task and run a round."""
    core.apply([TasksSubmitted(number, (uid,), priority=priority)])
    return placed(core.run_round())


def test_before_its_time_nothing_is_reserved():
    core = overtaken(RoundOptions(reserve_after_rounds=4))
    assert submit(core, 1, "small") == {"small": "m"}


def test_an_overtaken_task_gets_the_machine_once_it_has_drained():
    core = overtaken()
    core.apply([TasksSubmitted(1, ("small",))])
    assert messages(core.run_round()) == {
        "small": f"0/2 nodes are available: 1 Insufficient cpu, 1 {RESERVED}."
    }
    core.apply([TaskRemoved("running")])
    assert placed(core.run_round()) == {"large": "m"}


def test_machines_that_are_too_small_for_it_stay_open():
    assert submit(overtaken(), 3, "tiny") == {"tiny": "n"}


def test_more_important_tasks_may_use_a_reserved_machine():
    assert submit(overtaken(priority=5), 1, "small", priority=6) == {"small": "m"}
    assert submit(overtaken(priority=5), 1, "small", priority=5) == {}


def test_a_reservation_ends_with_the_task():
    core = overtaken()
    assert submit(core, 1, "small") == {}
    core.apply([TaskRemoved("large")])
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"small": "m"}


def test_a_reservation_ends_when_the_task_is_placed_elsewhere():
    core = overtaken()
    core.apply([machine("o", cpu=1_000)])
    assert placed(core.run_round()) == {"large": "o"}
    assert submit(core, 1, "small") == {"small": "m"}


@pytest.mark.parametrize("event", [MachineRemoved("m"), machine("m", cpu=1_000, cordoned=True)])
def test_a_reservation_ends_with_its_machine(event: MachineRemoved):
    core = overtaken()
    assert submit(core, 1, "small") == {}
    core.apply([event, machine("o", cpu=900)])
    assert placed(core.run_round()) == {"small": "o"}


def test_a_reservation_lapses_after_a_number_of_rounds():
    core = overtaken()
    assert submit(core, 1, "small") == {}
    for number in range(5):
        assert submit(core, 3, f"tiny-{number}") == {f"tiny-{number}": "n"}
        core.apply([TaskRemoved(f"tiny-{number}")])
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"small": "m"}


def test_rounds_that_place_nothing_do_not_count():
    core = scheduler(
        machine("m", cpu=1_000),
        tasks(1, "large", content=task_class(cpu=1_000)),
        tasks(2, content=task_class(cpu=500)),
        options=SOON,
    )
    core.apply([TasksBound("m", 2, ("running",))])
    for _ in range(9):
        core.run_round()
    assert submit(core, 2, "small") == {"small": "m"}
