"""Gangs that ask for room as a whole: none of their tasks is placed while all machines together have less."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.configuration import RoundOptions
from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    MachineRemoved,
    MachineUpserted,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.intake.events import apply_events
from firmament.core.model import Job
from firmament.core.rules.gangs.least_room import list_lacking_resources
from firmament.core.state.cluster import Cluster
from tests.support.core import Clock, machine, messages, placed, scheduler, task_class, uids
from tests.support.effort import examples

CORE = ClassDefined(1, task_class(cpu=1000))
OTHER = ClassDefined(2, task_class(cpu=1000))


def gang(need: int, **room: int) -> JobDefined:
    return JobDefined(Job("g", name="ns/g", min_members=need, least_room=tuple(sorted(room.items()))))


def members(*names: str, priority: int = 0, cls: int = 1) -> TasksSubmitted:
    return TasksSubmitted(cls, names, job="g", priority=priority)


def test_a_gang_waits_until_machines_together_have_what_it_asks_for():
    core = scheduler(machine("a", cpu=2000), CORE, gang(2, cpu=4000), members("g-0", "g-1"))
    result = core.run_round()
    assert not placed(result)
    assert messages(result)["g-0"] == (
        "gang ns/g waits for the least resources that it asks for: all 1 node together have too little "
        "room left of cpu"
    )
    assert core.next_round_in() is None
    core.apply([machine("b", cpu=2000)])
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()).keys() == {"g-0", "g-1"}


@pytest.mark.parametrize("changed", [{"cordoned": True}, {"not_ready": True}])
def test_machines_that_take_nothing_do_not_count(changed):
    core = scheduler(
        machine("a", cpu=2000),
        machine("b", cpu=2000, **changed),
        CORE,
        gang(2, cpu=3000),
        members("g-0", "g-1"),
    )
    assert not placed(core.run_round())


def test_a_resource_that_no_machine_offers_is_lacking():
    core = scheduler(
        machine(cpu=8000), CORE, gang(2, **{"example.com/gpu": 2, "cpu": 2000}), members("g-0", "g-1")
    )
    result = core.run_round()
    assert messages(result)["g-0"].endswith("of example.com/gpu")
    core.apply([machine("b", extended={"example.com/gpu": 1}), machine("c", extended={"example.com/gpu": 1})])
    assert len(placed(core.run_round())) == 2


def test_what_its_own_members_hold_counts_as_room():
    core = scheduler(
        machine(cpu=4000),
        CORE,
        gang(4, cpu=4000),
        TasksBound("m", 1, ("g-0", "g-1"), job="g"),
        members("g-2", "g-3"),
    )
    assert len(placed(core.run_round())) == 2


def test_no_more_counts_than_a_machine_has_even_if_members_hold_more():
    core = scheduler(
        machine("m", cpu=4000),
        machine("n", cpu=1000),
        CORE,
        gang(4, cpu=4000),
        TasksBound("m", 1, ("g-0", "g-1", "g-2"), job="g"),
        machine("m", cpu=2000),
        members("g-3"),
    )
    result = core.run_round()
    assert not placed(result)
    assert messages(result)["g-3"].endswith("have too little room left of cpu")


@pytest.mark.parametrize(("priority", "preempts", "gone"), [(10, True, 2), (0, True, 0), (10, False, 0)])
def test_what_less_important_tasks_hold_counts_if_they_may_be_evicted(priority, preempts, gone):
    core = scheduler(
        machine(cpu=2000),
        CORE,
        OTHER,
        gang(2, cpu=2000),
        TasksBound("m", 2, ("x", "y")),
        members("g-0", "g-1", priority=priority),
        options=RoundOptions(preemption=preempts),
    )
    result = core.run_round()
    assert sum(delta.uid in ("x", "y") for delta in result.deltas) == gone
    assert ("least resources" in messages(result).get("g-0", "")) is not bool(gone)


def test_one_task_may_ask_for_the_room_of_those_that_are_to_follow():
    core = scheduler(machine("a", cpu=2000), CORE, gang(1, cpu=3000), members("g-0"))
    assert not placed(core.run_round())
    core.apply([machine("b", cpu=1000)])
    assert placed(core.run_round()).keys() == {"g-0"}


def test_a_gang_that_no_longer_asks_for_room_is_placed():
    core = scheduler(machine("a", cpu=2000), CORE, gang(2, cpu=3000), members("g-0", "g-1"))
    assert not placed(core.run_round())
    core.apply([gang(2)])
    assert len(placed(core.run_round())) == 2


PEACEFUL, LEAVING = 3, 4


def lacking(
    room: dict[str, int], *events: Event, preempts: bool = True, able: tuple[str, ...] = ("g-0",)
) -> list[str]:
    """What a gang lacks that asks for ``room`` on one machine of 4 cores; its members have the priority 5."""
    made, job = Cluster(), Job("g", min_members=2, least_room=tuple(room.items()))
    classes = [
        CORE,
        OTHER,
        ClassDefined(PEACEFUL, task_class(cpu=1000, never_preempts=True)),
        ClassDefined(LEAVING, task_class(cpu=1000, terminating=True)),
    ]
    waiting = [members("g-0", priority=5), members("p-0", priority=5, cls=PEACEFUL)]
    apply_events(made, [machine("m", cpu=4000), *classes, JobDefined(job), *waiting, *events], 0.0)
    return list_lacking_resources(made, job, [made.tasks.row_of[uid] for uid in able], preempts=preempts)


def there(cls: int, *uids: str, priority: int = 5, job: str = "") -> TasksBound:
    return TasksBound("m", cls, uids, priority=priority, job=job)


@pytest.mark.parametrize(
    ("events", "free"),
    [
        ([], 4000),
        ([there(2, "a", "b")], 2000),
        ([there(2, "a", priority=4), there(2, "b")], 3000),
        ([there(2, "a", "b", "c", "d", "e")], 0),
        ([there(1, "g-1", "g-2", job="g"), there(2, "a")], 3000),
        ([there(LEAVING, "a", priority=4)], 3000),
        ([there(LEAVING, "g-1", job="g")], 3000),
        ([machine("n", cpu=500)], 4500),
        ([machine("n", cpu=500, cordoned=True)], 4000),
        ([machine("n", cpu=500), MachineRemoved("n")], 4000),
    ],
)
def test_room_is_what_is_free_or_held_by_members_or_less_important_tasks(events: list[Event], free: int):
    assert lacking({"cpu": free}, *events) == []
    assert lacking({"cpu": free + 1}, *events) == ["cpu"]


def test_members_that_never_preempt_need_what_is_free():
    less = there(2, "a", priority=4)
    assert lacking({"cpu": 4000}, less) == []
    assert lacking({"cpu": 4000}, less, preempts=False) == ["cpu"]
    assert lacking({"cpu": 4000}, less, able=("p-0",)) == ["cpu"]
    assert lacking({"cpu": 4000}, less, able=("p-0", "g-0")) == [], "one of them may evict"


def test_every_resource_is_told_that_is_lacking():
    asked = {"memory": 2**40, "example.com/gpu": 1, "cpu": 4000, "pods": 111, "x.y/z": 0}
    assert lacking(asked) == ["memory", "example.com/gpu", "pods"]


@given(
    rooms=st.lists(st.integers(0, 4), min_size=1, max_size=5),
    asked=st.integers(0, 14),
    need=st.integers(2, 4),
    singles=st.integers(0, 3),
)
@settings(max_examples=examples(100), deadline=None)
def test_it_is_placed_exactly_when_it_fits_and_all_together_have_the_room(rooms, asked, need, singles):
    machines: list[MachineUpserted] = [machine(f"m{at}", cpu=1000 * cpu) for at, cpu in enumerate(rooms)]
    core = scheduler(
        *machines,
        CORE,
        gang(need, **({"cpu": asked * 1000} if asked else {})),
        members(*uids("g", need), priority=1),
        TasksSubmitted(1, uids("single", singles)),
        clock=Clock(),
    )
    found = [uid for uid in placed(core.run_round()) if uid.startswith("g-")]
    fits = sum(rooms) >= need and sum(rooms) >= asked
    assert len(found) == (need if fits else 0)
