"""The shortest histories that once went wrong, or easily could: one event too early, too late or out of order."""

from __future__ import annotations

from firmament.core.configuration import RoundOptions
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    MachineRemoved,
    MachineUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Machine, TaskClass
from tests.support.histories.pair import NO_RESERVATIONS, Pair
from tests.support.histories.strategies import Apply

ONE_CPU = ClassDefined(1, TaskClass(requests=(("cpu", 1),)))
TWO_CPU = ClassDefined(2, TaskClass(requests=(("cpu", 2),)))
MEMORY_ONLY = ClassDefined(3, TaskClass(requests=(("memory", 1),)))


def machine(name: str, cpu: int, memory: int = 10) -> MachineUpserted:
    return MachineUpserted(Machine(name, {"cpu": cpu, "memory": memory, "pods": 100}))


def pair(*events, options: RoundOptions = NO_RESERVATIONS) -> Pair:
    made = Pair(options)
    made.apply(ONE_CPU, TWO_CPU, MEMORY_ONLY, *events)
    return made


def placed(result) -> dict[str, str]:
    return {delta.uid: delta.machine for delta in result.deltas}


def test_room_of_a_task_that_goes_while_the_round_is_solved_is_offered_to_others():
    both = pair(machine("m", 1), TasksSubmitted(1, ("a", "b"), created=(1.0, 2.0)))
    assert placed(both.round((Apply((TaskRemoved("a"),)),))) == {}
    assert both.scheduler.next_round_in() == 0
    assert placed(both.round()) == {"b": "m"}


def test_task_whose_class_changes_while_the_round_is_solved_is_tried_as_what_it_is():
    both = pair(machine("m", 1), TasksSubmitted(2, ("a",)))
    assert placed(both.round((Apply((TasksSubmitted(1, ("a",)),)),))) == {}
    assert both.scheduler.next_round_in() == 0
    assert placed(both.round()) == {"a": "m"}


def test_question_asked_while_the_round_is_solved_does_not_lose_what_happened():
    both = pair(machine("m", 1), TasksSubmitted(2, ("a",)))
    opened = both.scheduler.open_round()
    placement = opened.solve()
    both.apply(machine("n", 2))
    both.scheduler.next_round_in()
    both.scheduler.close_round(opened, placement)
    assert both.scheduler.next_round_in() == 0
    assert placed(both.round()) == {"a": "n"}


def test_machine_in_the_first_row_may_go_after_many_tasks_have_come():
    many = tuple(f"t{number}" for number in range(100))
    both = pair(machine("m", 1), machine("n", 1), TasksSubmitted(1, many))
    both.settle()
    both.apply(MachineRemoved("m"))
    both.apply(machine("m", 5))
    assert len(both.settle()) == 1


def test_reserved_machine_may_go():
    both = pair(
        machine("m", 2), machine("n", 1), options=RoundOptions(reserve_after_rounds=1, reserve_after=0.0)
    )
    both.apply(TasksBound("m", 1, ("old",)))
    both.apply(TasksSubmitted(2, ("large", "large too")), TasksSubmitted(1, ("small",)))
    both.settle()
    both.scheduler.next_round_in()
    both.apply(MachineRemoved("m"))
    assert both.scheduler.next_round_in() is None
    both.apply(machine("m", 6))
    assert sum(len(result.deltas) for result in both.settle()) == 2


def test_refused_for_good_waits_for_an_event_about_itself():
    both = pair(machine("m", 1), TasksSubmitted(1, ("a",)))
    both.settle()
    report = BindingReport("a", "m", bound=False, retry=False)
    both.scheduler.report([report])
    both.oracle.report(report, both.now)
    both.now += 100.0
    assert both.scheduler.next_round_in() is None
    both.apply(machine("m", 5))
    assert both.scheduler.next_round_in() is None
    both.apply(TasksSubmitted(1, ("a",)))
    assert both.scheduler.next_round_in() == 0
    assert placed(both.round()) == {"a": "m"}


def test_late_refusal_of_a_task_that_was_seen_running_is_ignored():
    both = pair(machine("m", 1), TasksSubmitted(1, ("a", "b"), created=(1.0, 2.0)))
    both.settle()
    both.apply(TasksBound("m", 1, ("a",)))
    report = BindingReport("a", "m", bound=False)
    both.scheduler.report([report])
    both.oracle.report(report, both.now)
    both.compare()
    assert both.settle() == []


def test_machine_that_others_overcommitted_in_one_resource_takes_tasks_that_do_not_ask_for_it():
    both = pair(machine("m", 1, memory=0), TasksBound("m", 2, ("foreign",)), TasksSubmitted(3, ("a",)))
    assert placed(both.round()) == {}
    both.apply(machine("m", 1, memory=1))
    assert both.scheduler.next_round_in() == 0
    assert placed(both.round()) == {"a": "m"}


def test_resource_that_no_machine_has_ever_offered():
    both = pair(machine("m", 1), ClassDefined(4, TaskClass(requests=(("example.com/new", 1),))))
    both.apply(TasksSubmitted(4, ("a",)))
    assert placed(both.round()) == {}
    both.apply(MachineUpserted(Machine("n", {"pods": 1, "example.com/new": 1})))
    assert placed(both.round()) == {"a": "n"}


def test_round_without_machines_or_tasks():
    both = pair()
    assert both.round().deltas == ()
    both.apply(TasksSubmitted(1, ("a",)))
    result = both.round()
    assert "0/0 nodes" in result.unscheduled[0].message
    assert both.scheduler.next_round_in() is None
