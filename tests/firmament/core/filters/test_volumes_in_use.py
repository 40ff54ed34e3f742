"""Volumes that one task has to itself, and volumes that are not there: no machine will do, and each says why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from firmament.core.events import ClassDefined, JobDefined, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import Job, NodeSelectorTerm, Requirement, Taint, TaskClass, VolumeRule
from firmament.core.results import DeltaKind
from tests.support.core import GIB, Clock, machine, messages, placed, scheduler, task_class, tasks

IN_USE, ABSENT = "node(s) in use by another", "node(s) without it"
TAKEN = VolumeRule(reason=IN_USE, in_use=True)
NOWHERE = VolumeRule(reason=ABSENT)
SLOTS = "attachable-volumes-csi-disk"
ELSEWHERE = VolumeRule((NodeSelectorTerm((Requirement("zone", "In", ("elsewhere",)),)),))


def content(*rules: VolumeRule, **other: object) -> TaskClass:
    return task_class(100, GIB, volumes=rules, node_selector=(("zone", "a"),), **other)


def cluster():
    """Machines of which each but the last two has one fault more than the one after it."""
    there = {"zone": "a"}
    return [
        machine("cordoned", cordoned=True, cpu=1),
        machine("tainted", taints=[Taint("k", "v", "NoSchedule")]),
        machine("mislabelled", memory=1),
        machine("full", labels=there, pods=0),
        machine("small", labels=there, memory=1),
        machine("m", labels=there, extended={SLOTS: 1}),
        machine("n", labels=there),
    ]


BEFORE = (
    "1 Insufficient memory, 1 Too many pods",
    "1 node(s) didn't match Pod's node affinity/selector",
    "1 node(s) had untolerated taint(s)",
)


def test_each_machine_says_what_refuses_it_first():
    core = scheduler(*cluster(), tasks(1, "running"), tasks(2, "t", content=content(TAKEN), priority=1))
    core.apply([TasksBound("full", 1, ("running",))])
    (told,) = messages(core.run_round()).values()
    assert told.startswith(
        f"0/7 nodes are available: {BEFORE[0]}, {BEFORE[1]}, {BEFORE[2]}, 1 node(s) were unschedulable, "
        f"2 {IN_USE}."
    )


@pytest.mark.parametrize(
    ("rules", "told", "helpful"),
    [
        ((TAKEN,), IN_USE, 2),
        ((NOWHERE,), ABSENT, 0),
        ((NOWHERE, TAKEN), IN_USE, 2),
        ((TAKEN, ELSEWHERE), IN_USE, 2),
    ],
)
def test_evictions_may_help_where_a_volume_is_in_use_alone(rules, told, helpful):
    core = scheduler(
        *cluster()[-2:], tasks(1, "t", content=content(*rules), priority=1), tasks(2, content=task_class())
    )
    core.apply([TasksBound("m", 2, ("running",), priority=1)])
    (message,) = messages(core.run_round(), preemption=True).values()
    why = (
        "No preemption victims found for incoming pod"
        if helpful
        else "Preemption is not helpful for scheduling"
    )
    assert message == (
        f"0/2 nodes are available: 2 {told}. no new claims to deallocate, preemption: "
        f"0/2 nodes are available: 2 {why}."
    )


def test_limits_of_attachments_come_after_it_and_before_a_volume_that_is_not_there():
    def told(*rules: VolumeRule) -> str:
        made = content(*rules)
        made = replace(made, requests=(*made.requests, (SLOTS, 2)))
        core = scheduler(*cluster()[-2:], tasks(1, "t", content=made))
        return messages(core.run_round())["t"]

    full = "0/2 nodes are available: 2 node(s) exceed max volume count."
    assert told(NOWHERE) == full
    assert told(TAKEN) == f"0/2 nodes are available: 2 {IN_USE}."


def test_a_resource_that_no_machine_offers_comes_before_it_unless_it_counts_attachments():
    def told(resource: str) -> str:
        made = content(TAKEN)
        made = replace(made, requests=(*made.requests, (resource, 1)))
        core = scheduler(cluster()[-1], tasks(1, "t", content=made))
        return messages(core.run_round())["t"]

    assert told("example.com/device") == "0/1 nodes are available: 1 Insufficient example.com/device."
    assert told(SLOTS) == f"0/1 nodes are available: 1 {IN_USE}."


def test_hosts_of_a_volume_in_use_are_told_as_such():
    named = NodeSelectorTerm((Requirement("kubernetes.io/hostname", "In", ("m",)),))
    core = scheduler(
        machine("m", labels={"kubernetes.io/hostname": "m"}),
        machine("n", labels={"kubernetes.io/hostname": "n"}),
        tasks(1, "t", "u", content=task_class(3_000, volumes=(VolumeRule((named,), IN_USE, in_use=True),))),
    )
    result = core.run_round()
    assert set(placed(result).values()) == {"m"}
    (told,) = messages(result).values()
    assert told.startswith(f"0/2 nodes are available: 1 Insufficient cpu, 1 {IN_USE}.")


@pytest.mark.parametrize("rule", [TAKEN, NOWHERE])
def test_nobody_is_evicted_and_nothing_is_kept_for_it(rule):
    clock = Clock()
    core = scheduler(
        machine("m", cpu=1_000),
        tasks(1, content=task_class(1_000)),
        tasks(2, "t", content=task_class(1_000, volumes=(rule,)), priority=1_000),
        clock=clock,
    )
    core.apply([TasksBound("m", 1, ("running",))])
    for _ in range(5):
        result = core.run_round()
        assert result.deltas == ()
        clock.advance(600.0)
    core.apply([TaskRemoved("running"), *tasks(3, "later", content=task_class(1_000))])
    assert placed(core.run_round()) == {"later": "m"}


@pytest.mark.parametrize("rule", [TAKEN, NOWHERE])
def test_it_is_placed_once_it_is_of_another_class(rule):
    core = scheduler(machine("m"), tasks(1, "t", content=task_class(volumes=(rule,))))
    assert placed(core.run_round()) == {}
    assert core.next_round_in() is None
    core.apply(tasks(2, "t"))
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"t": "m"}


def test_one_that_waits_is_told_when_its_volume_comes_to_be_in_use():
    core = scheduler(machine("m", cpu=50), tasks(1, "t"))
    assert messages(core.run_round()) == {"t": "0/1 nodes are available: 1 Insufficient cpu."}
    core.apply([machine("m"), *tasks(2, "t", content=task_class(volumes=(TAKEN,)))])
    assert messages(core.run_round()) == {"t": f"0/1 nodes are available: 1 {IN_USE}."}


@pytest.mark.parametrize(("least", "bound"), [(3, set()), (2, {"a", "b"})])
def test_a_gang_is_placed_whole_or_not_at_all(least, bound):
    core = scheduler(machine("m"))
    core.apply(
        [
            JobDefined(Job("g", size=3, min_members=least)),
            ClassDefined(1, task_class()),
            ClassDefined(2, task_class(volumes=(TAKEN,))),
            TasksSubmitted(1, ("a", "b"), "g"),
            TasksSubmitted(2, ("c",), "g"),
        ]
    )
    result = core.run_round()
    assert {delta.uid for delta in result.deltas if delta.kind is DeltaKind.PLACE} == bound
    assert IN_USE in messages(result)["c"]
