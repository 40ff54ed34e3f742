"""Tasks that fit nowhere cause one round and one report each, then nothing until something happens that helps."""

from __future__ import annotations

import pytest

from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    MachineRemoved,
    MachineSampled,
    MachineUpserted,
    TaskRemoved,
    TaskSampled,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job, Machine, Taint, TaskClass
from firmament.core.scheduler import Scheduler
from tests.support.histories.pair import make_scheduler

CLASSES = 10
TASKS = 1000
PLACEABLE = CLASSES + 1


def machine(name: str, cpu: int, **more) -> MachineUpserted:
    return MachineUpserted(Machine(name, {"cpu": cpu, "memory": 100, "pods": 110}, **more))


@pytest.fixture
def scheduler() -> Scheduler:
    """Twenty machines with one running task each, and tasks that ask for more cpu than any of them has."""
    made = make_scheduler()
    made.apply(
        [
            *(machine(f"m{index:02}", 8) for index in range(20)),
            *(
                ClassDefined(number, TaskClass(requests=(("cpu", 100 * number),)))
                for number in range(1, CLASSES + 1)
            ),
            ClassDefined(PLACEABLE, TaskClass(requests=(("cpu", 2),))),
            *(TasksBound(f"m{index:02}", PLACEABLE, (f"running-{index}",)) for index in range(20)),
            *(TasksSubmitted(1 + n % CLASSES, (f"t{n}",), priority=n % 3) for n in range(TASKS)),
        ]
    )
    return made


def settle(scheduler: Scheduler) -> None:
    """The first round, after which all tasks are asleep."""
    assert scheduler.next_round_in() == 0
    result = scheduler.run_round()
    assert result.deltas == ()
    told = [uid for group in result.unscheduled for uid in group.uids]
    assert sorted(told) == sorted(f"t{n}" for n in range(TASKS))
    lacking = "0/20 nodes are available: 20 Insufficient cpu."
    useless = "0/20 nodes are available: 20 Preemption is not helpful for scheduling."
    assert {group.message for group in result.unscheduled} == {
        f"{lacking} no new claims to deallocate, preemption: {useless}"
    }
    assert scheduler.next_round_in() is None


IRRELEVANT: dict[str, tuple[Event, ...]] = {
    "labels": (machine("m03", 8, labels={"zone": "a"}),),
    "taint": (machine("m03", 8, taints=(Taint("old", "", "NoSchedule"),)),),
    "cordon": (machine("m03", 8, unschedulable=True),),
    "room that is still too small": (machine("m03", 99),),
    "a machine that is too small": (machine("new", 50),),
    "a machine that goes": (MachineRemoved("m07"),),
    "a task that ends": (TaskRemoved("running-4"),),
    "a waiting task that goes": (TaskRemoved("t5"),),
    "a task elsewhere": (TasksBound("m05", PLACEABLE, ("foreign",)),),
    "samples": (MachineSampled("m02", 1.0, {"cpu": 1.0}), TaskSampled("running-2", 1.0, {"cpu": 1.0})),
    "a job": (JobDefined(Job("j", size=3)),),
    "the same task again": (TasksSubmitted(1, ("t0",), priority=0),),
}


@pytest.mark.parametrize("events", IRRELEVANT.values(), ids=IRRELEVANT)
def test_what_does_not_help_causes_no_round(scheduler: Scheduler, events: tuple[Event, ...]):
    settle(scheduler)
    scheduler.apply(events)
    assert scheduler.next_round_in() is None


def test_what_helps_wakes_those_it_helps(scheduler: Scheduler):
    settle(scheduler)
    scheduler.apply([machine("m03", 302)])
    assert scheduler.next_round_in() == 0
    result = scheduler.run_round()
    assert result.stats.tasks == 3 * TASKS // CLASSES
    assert {delta.machine for delta in result.deltas} == {"m03"}
    assert scheduler.next_round_in() is None


def test_tasks_that_come_later_do_not_wake_the_others(scheduler: Scheduler):
    settle(scheduler)
    scheduler.apply([TasksSubmitted(PLACEABLE, ("new",))])
    assert scheduler.next_round_in() == 0
    result = scheduler.run_round()
    assert [delta.uid for delta in result.deltas] == ["new"]
    assert result.stats.tasks == 1
    assert result.unscheduled == ()
    assert scheduler.next_round_in() is None


def test_message_is_told_again_only_if_it_changed(scheduler: Scheduler):
    settle(scheduler)
    scheduler.apply([machine("m03", 102)])
    first = scheduler.run_round()
    assert len(first.deltas) == 1
    assert scheduler.next_round_in() is None
    scheduler.apply([TaskRemoved(first.deltas[0].uid)])
    second = scheduler.run_round()
    assert len(second.deltas) == 1
    assert second.unscheduled == ()


def test_many_unplaceable_tasks_amid_a_stream_stay_cheap_to_ask_about(scheduler: Scheduler):
    settle(scheduler)
    for number in range(30):
        scheduler.apply([TasksSubmitted(PLACEABLE, (f"s{number}",))])
        assert len(scheduler.run_round().deltas) == 1
        scheduler.apply([TaskRemoved(f"s{number}")])
        assert scheduler.next_round_in() is None
