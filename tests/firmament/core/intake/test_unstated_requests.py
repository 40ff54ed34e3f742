"""Tasks that state no requests: costs take them to need something, room does not."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest

from firmament.core.events import ClassDefined, Event, MachineRemoved, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.intake.events import apply_events
from firmament.core.state.cluster import Cluster
from tests.support.core import machine, placed, scheduler, task_class, tasks, uids

STATES_NOTHING = task_class(0, assumed=(("cpu", 100), ("memory", 200 * 2**20)))


@pytest.mark.parametrize("policy", ["cpu_mem", "coco"])
def test_a_round_shares_them_out(policy):
    core = scheduler(
        *(machine(f"m{index}") for index in range(10)),
        tasks(1, *uids("t", 30), content=STATES_NOTHING),
        policy=policy,
    )
    assert set(Counter(placed(core.run_round()).values()).values()) == {3}


@pytest.mark.parametrize("policy", ["cpu_mem", "coco"])
def test_those_that_run_already_count(policy):
    core = scheduler(
        *(machine(f"m{index}") for index in range(4)),
        ClassDefined(1, STATES_NOTHING),
        *(TasksBound(f"m{index}", 1, uids(f"old{index}", 5)) for index in range(3)),
        TasksSubmitted(1, ("new",)),
        policy=policy,
    )
    assert placed(core.run_round()) == {"new": "m3"}


def test_they_are_judged_after_others_of_known_size():
    """A machine with ten of them is fuller than one with a task of half a core."""
    core = scheduler(
        machine("many"),
        machine("one"),
        ClassDefined(1, STATES_NOTHING),
        ClassDefined(2, task_class(500)),
        TasksBound("many", 1, uids("old", 10)),
        TasksBound("one", 2, ("half",)),
        TasksSubmitted(2, ("new",)),
    )
    assert placed(core.run_round()) == {"new": "one"}


def test_room_goes_by_what_is_requested():
    core = scheduler(machine("m", cpu=100), tasks(1, *uids("t", 50), content=STATES_NOTHING))
    core.run_round()
    core.apply(tasks(2, "exact", content=task_class(100)))
    assert placed(core.run_round()) == {"exact": "m"}


@pytest.mark.parametrize("seed", range(5))
def test_machines_add_up_what_their_tasks_are_assumed_to_need(seed):
    random, cluster = Random(seed), Cluster()
    amounts = {1: 0, 2: 100, 3: 250}
    events: list[Event] = [
        ClassDefined(number, task_class(10, assumed=(("cpu", amount),) if amount else ()))
        for number, amount in amounts.items()
    ]
    apply_events(cluster, events, 0.0)
    names, where = [f"m{index}" for index in range(4)], {}
    for step in range(200):
        kind = random.choice("mmbbbrs")
        name, uid, number = random.choice(names), f"t{random.randrange(30)}", random.choice([1, 2, 3])
        match kind:
            case "m":
                event: Event = machine(name) if random.random() < 0.5 else MachineRemoved(name)
            case "b":
                event = TasksBound(name, number, (uid,))
                where[uid] = name, number
            case "s":
                event = TasksSubmitted(number, (f"waits-{step}",))
            case _:
                event = TaskRemoved(uid)
                where.pop(uid, None)
        apply_events(cluster, [event], 0.0)
        (cpu,) = cluster.resources.columns(["cpu"])
        expected = [
            sum(amounts[number] for there, number in where.values() if there == each)
            for each in cluster.machines.names
        ]
        assert np.array_equal(cluster.machines.unstated[:, cpu], np.array(expected, dtype=np.int64))
