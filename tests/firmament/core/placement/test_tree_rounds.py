"""Rounds of many trees of groups: those of one kind share the work, and all of them the room."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from firmament.core.events import ClassDefined, Event, JobDefined, TasksSubmitted
from firmament.core.model import Job, JobGroup, Requirement, TaskClass, TaskSelector, TaskTerm
from tests.support.core import machine, placed, scheduler
from tests.support.effort import examples

ZONE, RACK = "zone", "rack"
NODES, RACKS = 4, 3
"""Machines of a rack, and racks of a zone."""


def tree(name: str, pods: tuple[int, ...]) -> Job:
    leaves = [JobGroup(f"g{index}", "root", count, within=(RACK,)) for index, count in enumerate(pods)]
    root = JobGroup("root", least=len(pods), within=(ZONE,))
    return Job(name, name=name, min_members=sum(pods), groups=(root, *leaves))


@pytest.mark.parametrize("seed", range(examples(100)))
def test_trees_of_several_kinds_in_one_round_keep_to_their_domains_and_to_the_room(seed):
    draw = random.Random(seed)
    zones = draw.randint(1, 3)
    kinds = [tuple(draw.randint(1, 5) for _ in range(draw.randint(1, 3))) for _ in range(draw.randint(1, 3))]
    cpu = {index: draw.choice((500, 1_000, 1_500)) for index in range(3)}
    events: list[Event] = [
        machine(f"m{zone}-{rack}-{node}", cpu=4_000, labels={ZONE: f"z{zone}", RACK: f"r{zone}-{rack}"})
        for zone in range(zones)
        for rack in range(RACKS)
        for node in range(NODES)
    ]
    events += [
        ClassDefined(index + 1, TaskClass(requests=(("cpu", cpu[index]),), group=f"g{index}"))
        for index in cpu
    ]
    need: dict[str, tuple[int, ...]] = {}
    for number in range(draw.randint(2, 12)):
        name, pods = f"tree{number}", draw.choice(kinds)
        need[name] = pods
        events.append(JobDefined(tree(name, pods)))
        for index, count in enumerate(pods):
            events.append(
                TasksSubmitted(index + 1, tuple(f"{name}/{index}/{pod}" for pod in range(count)), job=name)
            )
    used: Counter[str] = Counter()
    placed: Counter[str] = Counter()
    domains: dict[tuple[str, ...], set[str]] = {}
    for delta in scheduler(events).run_round().deltas:
        name, leaf, _ = delta.uid.split("/")
        used[delta.machine] += cpu[int(leaf)]
        placed[name] += 1
        zone, rack, _ = delta.machine.split("-")
        domains.setdefault((name,), set()).add(zone)
        domains.setdefault((name, leaf), set()).add(f"{zone}-{rack}")
    assert all(amount <= 4_000 for amount in used.values())
    assert all(len(each) == 1 for each in domains.values())
    assert all(count == sum(need[name]) for name, count in placed.items())
    asked = sum(cpu[index] * count for pods in need.values() for index, count in enumerate(pods))
    if asked <= 4_000 * NODES * RACKS * zones // 3:
        assert placed.keys() == need.keys()


def test_a_leaf_that_must_be_near_another_of_its_own_tree_is_placed_with_it():
    """Nobody whom it must be near is there before the tree itself comes."""
    near = TaskTerm(ZONE, TaskSelector(labels=(Requirement("app", "In", ("leader",)),), namespaces=("",)))
    leader = TaskClass(requests=(("cpu", 1_000),), group="g0", labels=(("app", "leader"),))
    worker = TaskClass(requests=(("cpu", 1_000),), group="g1", affinity=(near,))
    core = scheduler(
        [machine(f"m{rack}", cpu=4_000, labels={ZONE: "z", RACK: f"r{rack}"}) for rack in range(2)],
        JobDefined(tree("train", (1, 3))),
        [ClassDefined(1, leader), ClassDefined(2, worker)],
        TasksSubmitted(1, ("leader",), job="train"),
        TasksSubmitted(2, ("w0", "w1", "w2"), job="train"),
    )
    assert placed(core.run_round()).keys() == {"leader", "w0", "w1", "w2"}


def test_of_equally_full_machines_a_tree_takes_one_that_others_of_the_round_have_not():
    """The first tree may use m0 alone, and leaves as much there as m1 has."""
    pinned = TaskClass(requests=(("cpu", 1_000),), group="g0", node_selector=(("host", "m0"),))
    events: list[Event] = [
        machine(f"m{index}", cpu=cpu, labels={ZONE: "z", RACK: "r", "host": f"m{index}"})
        for index, cpu in enumerate((3_000, 2_000))
    ]
    for number, (name, content) in enumerate(
        {"a": pinned, "b": replace(pinned, node_selector=())}.items(), 1
    ):
        events += [ClassDefined(number, content), JobDefined(tree(name, (1,)))]
        events.append(TasksSubmitted(number, (name,), job=name))
    assert placed(scheduler(events, policy="octopus").run_round()) == {"a": "m0", "b": "m1"}
