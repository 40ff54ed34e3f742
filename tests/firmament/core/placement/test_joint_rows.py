"""Limits that tasks share on a rack or a machine are never exceeded within a round, and what is left is used."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.configuration import RoundOptions
from firmament.core.events import ClassDefined, Event, MachineUpserted, TasksSubmitted
from firmament.core.model import Machine, TaskClass
from firmament.core.placement.outcome import PassOptions
from tests.oracle.cluster import OracleCluster
from tests.support.effort import examples
from tests.support.histories.models import RACK, WEIGHT, SharedLimits
from tests.support.histories.pair import make_scheduler
from tests.support.histories.problems import SEEDS

CLASSES = 4


def weight(oracle: OracleCluster, uid: str) -> int:
    return int(dict(oracle.tasks[uid].content.labels).get(WEIGHT, "0"))


def loads(oracle: OracleCluster, placed: dict[str, str]) -> tuple[Counter, Counter]:
    """What was put on each rack and each machine."""
    per_rack: Counter = Counter()
    per_machine: Counter = Counter()
    for uid, name in placed.items():
        per_rack[oracle.machines[name].labels.get(RACK)] += weight(oracle, uid)
        per_machine[name] += weight(oracle, uid)
    return per_rack, per_machine


def check_round(oracle: OracleCluster, placed: dict[str, str], per_rack: dict, per_machine: int) -> None:
    on_rack, on_machine = loads(oracle, placed)
    assert all(on_rack[rack] <= limit for rack, limit in per_rack.items())
    assert all(load <= per_machine for load in on_machine.values())
    for uid in oracle.waiting(0.0):
        for name, machine in oracle.machines.items():
            if not oracle.fits(uid, name):
                continue
            rack, heavy = machine.labels.get(RACK), weight(oracle, uid)
            within_rack = rack is None or on_rack[rack] + heavy <= per_rack[rack]
            within = within_rack and on_machine[name] + heavy <= per_machine
            assert heavy > 0, f"{uid}, which takes no part in the limits, would fit {name}"
            assert not within, f"{uid} would fit {name} and its limits"


@settings(max_examples=examples(150))
@given(seed=SEEDS, machines=st.integers(1, 6), passes=st.sampled_from([8, 1, 0]))
def test_limits_hold_and_are_used_up(seed: int, machines: int, passes: int):
    rnd = random.Random(seed)
    per_rack = {rack: rnd.randint(0, 9) for rack in ("r0", "r1")}
    per_machine = rnd.randint(1, 6)
    scheduler = make_scheduler(
        overlays=[SharedLimits(per_rack, per_machine)],
        options=RoundOptions(passes=PassOptions(max_passes=passes)),
    )
    oracle = OracleCluster()
    contents = [
        TaskClass(
            requests=(("cpu", rnd.randint(1, 3)), ("memory", rnd.randint(0, 3))),
            labels=((WEIGHT, str(rnd.choice([0, 1, 1, 2, 3]))), ("class", str(number))),
        )
        for number in range(1, CLASSES + 1)
    ]
    fleet = [
        Machine(
            f"m{index}",
            {"cpu": rnd.randint(2, 9), "memory": rnd.randint(2, 9), "pods": 20},
            labels={RACK: rack} if (rack := rnd.choice(["r0", "r0", "r1", None])) else {},
        )
        for index in range(machines)
    ]
    events: list[Event] = [
        *(ClassDefined(number, content) for number, content in enumerate(contents, start=1)),
        *map(MachineUpserted, fleet),
    ]
    for batch in range(2):
        uids = [f"t{batch}-{n}" for n in range(10)]
        events += [
            TasksSubmitted(rnd.randint(1, CLASSES), (uid,), priority=rnd.randint(0, 1)) for uid in uids
        ]
        scheduler.apply(events)
        for event in events:
            oracle.apply(event)
        tried = {state.uid for state in scheduler.task_states() if state.state == "PENDING"}
        deltas = scheduler.run_round().deltas
        oracle.place(deltas, 0.0)
        placed = {delta.uid: delta.machine for delta in deltas}
        assert placed.keys() <= tried
        if batch == 0:  # later, tasks that only the limits of the first round kept out sleep until an event
            check_round(oracle, placed, per_rack, per_machine)
        else:
            on_rack, on_machine = loads(oracle, placed)
            assert all(on_rack[rack] <= limit for rack, limit in per_rack.items())
            assert all(load <= per_machine for load in on_machine.values())
        events = []


def test_one_rack_for_two_machines_by_hand():
    scheduler = make_scheduler(overlays=[SharedLimits({"r0": 3}, per_machine=2)])
    heavy = TaskClass(requests=(("cpu", 1),), labels=((WEIGHT, "1"),))
    scheduler.apply(
        [
            ClassDefined(1, heavy),
            *(
                MachineUpserted(Machine(name, {"cpu": 9, "pods": 9}, labels={RACK: "r0"}))
                for name in ("a", "b")
            ),
            TasksSubmitted(1, tuple(f"t{n}" for n in range(6))),
        ]
    )
    placed = Counter(delta.machine for delta in scheduler.run_round().deltas)
    assert sorted(placed.values()) == [1, 2]
