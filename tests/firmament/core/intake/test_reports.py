"""Reports on bindings: accepted, refused with back-off, refused for good, and beside the point."""

from __future__ import annotations

import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import (
    BindingReport,
    MachineRemoved,
    RecordUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from tests.support.core import Clock, machine, placed, scheduler, task_class, tasks


def accepted(uid: str, name: str) -> BindingReport:
    return BindingReport(uid, name, bound=True)


def refused(uid: str, name: str, *, retry: bool = True) -> BindingReport:
    return BindingReport(uid, name, bound=False, reason="conflict", retry=retry)


def test_a_refused_binding_gives_its_room_back_and_is_tried_elsewhere():
    clock = Clock()
    core = scheduler(machine("m"), tasks(1, "t"), clock=clock)
    core.run_round()
    core.report([refused("t", "m")])
    assert next(core.machine_states()).tasks == 0
    assert [state.state for state in core.task_states()] == ["BACKOFF"]
    assert core.next_round_in() == 1.0
    assert placed(core.run_round()) == {}
    clock.advance(1.0)
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"t": "m"}


def test_the_back_off_doubles_up_to_its_cap():
    clock = Clock()
    core = scheduler(machine("m"), tasks(1, "t"), clock=clock)
    waits = []
    for _ in range(9):
        assert placed(core.run_round()) == {"t": "m"}
        core.report([refused("t", "m")])
        wait = core.next_round_in()
        assert wait is not None
        waits.append(wait)
        clock.advance(wait)
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]


def test_the_back_off_is_configurable_and_starts_anew_after_a_success():
    clock = Clock()
    options = RoundOptions(first_backoff=0.5, last_backoff=1.5)
    core = scheduler(machine("m"), tasks(1, "t"), clock=clock, options=options)
    for expected in (0.5, 1.0, 1.5, 1.5):
        core.run_round()
        core.report([refused("t", "m")])
        assert core.next_round_in() == expected
        clock.advance(expected)
    core.run_round()
    core.report([accepted("t", "m")])
    core.apply([TaskRemoved("t"), TasksSubmitted(1, ("t",))])
    core.run_round()
    core.report([refused("t", "m")])
    assert core.next_round_in() == 0.5


def test_other_tasks_do_not_wait_for_one_in_back_off():
    core = scheduler(machine("m"), tasks(1, "t"))
    core.run_round()
    core.report([refused("t", "m")])
    core.apply([TasksSubmitted(1, ("u",))])
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"u": "m"}


def test_a_refusal_without_retry_waits_for_an_event_about_the_task():
    clock = Clock()
    core = scheduler(machine("m"), tasks(1, "t"), clock=clock)
    core.run_round()
    core.report([refused("t", "m", retry=False)])
    assert core.next_round_in() is None
    clock.advance(3_600.0)
    assert core.next_round_in() is None
    core.apply([machine("n"), RecordUpserted("kind", "name", b"")])  # not about the task
    assert core.next_round_in() is None
    assert placed(core.run_round()) == {}
    core.apply([TasksSubmitted(1, ("t",))])
    assert core.next_round_in() == 0.0
    assert set(placed(core.run_round())) == {"t"}


def test_a_refusal_without_retry_may_turn_out_to_be_bound_elsewhere():
    core = scheduler(machine("m"), machine("n"), tasks(1, "t"))
    (name,) = placed(core.run_round()).values()
    other = "n" if name == "m" else "m"
    core.report([refused("t", name, retry=False)])
    core.apply([TasksBound(other, 1, ("t",))])
    assert [(state.state, state.machine) for state in core.task_states()] == [("BOUND", other)]
    assert {state.name: state.tasks for state in core.machine_states()} == {name: 0, other: 1}


@pytest.mark.parametrize(
    "report",
    [
        accepted("unknown", "m"),
        refused("unknown", "m"),
        accepted("assumed", "elsewhere"),
        refused("assumed", "elsewhere"),
        refused("bound", "m"),
        refused("bound", "m", retry=False),
        accepted("pending", "m"),
        refused("pending", "m"),
        accepted("pending", ""),
    ],
)
def test_reports_about_anything_but_a_decision_of_ours_are_ignored(report: BindingReport):
    core = scheduler(machine("m"), tasks(1, "assumed"))
    core.run_round()
    core.apply([TasksBound("m", 1, ("bound",)), *tasks(2, "pending", content=task_class(cpu=9_000))])
    core.run_round()
    before = [list(core.task_states()), list(core.machine_states()), core.counts(), core.next_round_in()]
    core.report([report])
    assert [
        list(core.task_states()),
        list(core.machine_states()),
        core.counts(),
        core.next_round_in(),
    ] == before


def test_a_binding_that_the_cluster_has_confirmed_cannot_be_refused_any_more():
    # The reply to a bind was lost: the report says failed, the watch says bound. Giving the room back would overcommit.
    core = scheduler(machine("m", cpu=100), tasks(1, "t"))
    core.run_round()
    core.apply([TasksBound("m", 1, ("t",))])
    core.report([refused("t", "m")])
    core.apply([TasksSubmitted(1, ("u",))])
    assert placed(core.run_round()) == {}


def test_a_task_whose_machine_vanished_before_its_binding_failed_is_placed_again():
    clock = Clock()
    core = scheduler(machine("m"), tasks(1, "t"), clock=clock)
    core.run_round()
    core.apply([MachineRemoved("m"), machine("n")])
    core.report([refused("t", "m")])
    clock.advance(1.0)
    assert placed(core.run_round()) == {"t": "n"}
    core.apply([machine("m")])
    assert {state.name: state.tasks for state in core.machine_states()} == {"m": 0, "n": 1}


@pytest.mark.parametrize(("priority", "wakes"), [(9, True), (0, False)])
def test_a_binding_wakes_who_may_evict_it_from_now_on(priority: int, wakes: bool):
    core = scheduler(machine("m", cpu=1000), tasks(1, "small", content=task_class(cpu=1000)))
    assert placed(core.run_round()) == {"small": "m"}
    core.apply(tasks(2, "large", content=task_class(cpu=1000), priority=priority))
    core.run_round()
    assert core.next_round_in() is None
    core.report([accepted("small", "m")])
    assert (core.next_round_in() == 0.0) is wakes
