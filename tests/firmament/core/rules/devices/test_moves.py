"""Trials with tasks that have devices: moves are made only if there are some elsewhere, and none is counted twice;
cures ask for as many as there are.
"""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.changes import NO_CHANGE, CureKind
from firmament.core.cures.search import cures_for
from firmament.core.events import ClassDefined, Event, RecordUpserted, TasksBound, TasksSubmitted
from firmament.core.model import TaskClaim, TaskClass
from firmament.core.record_kinds import DEVICE_SLICE_RECORD
from firmament.core.rescheduling.rehearsal import rehearse, rehearse_waves
from firmament.core.rescheduling.trials import Trials
from tests.support.core import machine, scheduler, task_class
from tests.support.devices import (
    DRIVER,
    claim_record,
    claim_spec,
    class_record,
    device,
    exactly,
    own_claim,
    slice_record,
    slice_spec,
)
from tests.support.effort import examples

ONE = replace(task_class(100), claims=(own_claim(exactly("gpu")),))


def has(name: str, *devices: str, node: str) -> Event:
    """The record of a claim that one task has for itself."""
    results = [{"request": "r", "driver": DRIVER, "pool": node, "device": each} for each in devices]
    return claim_record(f"claim-{name}", claim_spec(exactly("gpu")), {"devices": {"results": results}}, name)


def cluster(**devices: tuple[int, int]) -> list[Event]:
    """Machines with so many devices, the first of which are had by a task each."""
    events: list[Event] = [class_record("gpu"), ClassDefined(1, ONE)]
    for name, (total, used) in devices.items():
        events += [
            machine(name, cpu=4000),
            slice_record(name, [device(f"d{index}") for index in range(total)]),
        ]
        for index in range(used):
            uid = f"{name}{index}"
            events += [has(uid, f"d{index}", node=name), TasksBound(name, 1, (uid,))]
    return events


def test_a_machine_is_emptied_where_there_are_devices_for_its_tasks():
    trials = Trials(scheduler(), cluster(a=(2, 2), b=(2, 1), c=(1, 0)))
    assert trials.empty(["a"])
    assert {trials.place_of(each) for each in ("a0", "a1")} == {"b", "c"}
    assert not trials.empty(["b"])


def test_a_machine_is_not_emptied_where_devices_are_too_few():
    trials = Trials(scheduler(), cluster(a=(2, 2), b=(2, 1), c=(0, 0)))
    assert not trials.empty(["a"])
    assert trials.empty(["c"])
    waiting = TasksSubmitted(1, ("w",))
    assert trials.find_places_until_placed(waiting, NO_CHANGE, []) == {"w": "b"}


def test_a_state_that_is_restored_has_its_devices():
    trials = Trials(scheduler(), cluster(a=(1, 1), b=(1, 0)))
    before = trials.save()
    assert trials.empty(["a"])
    trials.restore(before)
    assert trials.place_of("a0") == "a"
    assert trials.empty(["b"])
    assert not trials.empty(["a"])


def test_tasks_that_change_places_need_a_free_device_in_between():
    made = scheduler()
    made.let_devices_move()
    made.apply(cluster(a=(1, 1), b=(1, 1), c=(1, 0)))
    assert rehearse(made, {"a0": "b", "b0": "c"}) == {"a0", "b0"}
    assert rehearse_waves(made, [{"a0": "b"}]) == {"a0"}
    assert rehearse_waves(made, [{"b0": "c"}, {"a0": "b"}]) == set()
    assert rehearse(made, {"b0": "a"}) == {"b0"}
    assert rehearse_waves(made, [{"b0": "b"}]) == {"b0"}


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.integers(0, 3).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), min_size=2, max_size=4
    ),
    st.lists(st.integers(0, 3), max_size=4),
)
def test_a_machine_is_emptied_if_and_only_if_its_tasks_find_devices(sizes, order):
    trials = Trials(scheduler(), cluster(**{f"m{at}": size for at, size in enumerate(sizes)}))
    for at in order:
        name = f"m{at}"
        if at >= len(sizes) or name in trials.emptied:
            continue
        closed = {*trials.emptied, name}
        free = sum(
            total - len(trials.tasks_on(f"m{index}"))
            for index, (total, _) in enumerate(sizes)
            if f"m{index}" not in closed
        )
        moving = len(trials.tasks_on(name))
        assert trials.empty([name]) == (moving <= free)
        for index, (total, _) in enumerate(sizes):
            assert len(trials.tasks_on(f"m{index}")) <= total


def fewer_of(content: TaskClass, events: list[Event]) -> list[tuple[str, object, object]]:
    trials = Trials(scheduler(), [*events, ClassDefined(2, content)])
    cures = cures_for(trials, TasksSubmitted(2, ("t",)), tries=30, most=5)
    steps = [step for cure in cures for step in cure.steps if step.kind is CureKind.FEWER_DEVICES]
    return [(step.subject, step.before, step.after) for step in steps]


def test_a_claim_may_ask_for_as_many_devices_as_there_are():
    four = replace(task_class(100), claims=(own_claim(exactly("gpu", 4), name="g"),))
    assert fewer_of(four, cluster(a=(3, 1), b=(1, 0))) == [("request r of claim g", 4, 2)]
    assert fewer_of(four, cluster(a=(1, 1), b=(1, 1))) == []
    both = replace(
        task_class(100), claims=(own_claim(exactly("gpu", 1), exactly("gpu", 9, name="s"), name="g"),)
    )
    assert fewer_of(both, cluster(a=(6, 0))) == [("request s of claim g", 9, 4)]


def more_of(content: TaskClass, events: list[Event]) -> list[tuple[str, str, object]]:
    trials = Trials(scheduler(), [*events, ClassDefined(2, content)])
    cures = cures_for(trials, TasksSubmitted(2, ("t",)), tries=30, most=5)
    steps = [step for cure in cures for step in cure.steps if step.kind is CureKind.ADD_DEVICES]
    return [(step.subject, step.machine, step.after) for step in steps]


def test_a_machine_may_have_more_devices_like_those_that_it_has():
    events = cluster(a=(1, 1))
    unlike = [
        device(name, attributes={"kind": kind}) for name, kind in (("x0", "X"), ("y0", "Y"), ("y1", "Y"))
    ]
    events += [machine("b", cpu=4000), slice_record("b", unlike)]
    wanted = 'device.attributes["gpu.example.com"].kind == "X"'
    three = replace(task_class(100), claims=(own_claim(exactly("gpu", 3, wanted), name="g"),))
    assert more_of(three, events) == [("gpu.example.com/b/x0", "b", 2)]


def test_parts_of_devices_are_no_cure():
    uses = [{"counterSet": "c", "counters": {"slots": {"value": "1"}}}]
    counters = [{"name": "c", "counters": {"slots": {"value": "1"}}}]
    events = [*cluster(), machine("a", cpu=4000), class_record("gpu")]
    events += [slice_record("a", [device("p0", consumesCounters=uses)], slices=2)]
    events += [
        RecordUpserted(
            DEVICE_SLICE_RECORD,
            "c",
            json.dumps(slice_spec("a", [], slices=2, sharedCounters=counters)).encode(),
        )
    ]
    two = replace(task_class(100), claims=(own_claim(exactly("gpu", 2), name="g"),))
    assert more_of(two, events) == []


def test_claims_that_cannot_be_read_have_no_cure():
    for text in ("", "{", '{"devices": 1}', '{"devices": {"requests": [1, {"exactly": {"count": "4"}}]}}'):
        assert (
            fewer_of(replace(task_class(100), claims=(TaskClaim("g", spec=text),)), cluster(a=(1, 0))) == []
        )
