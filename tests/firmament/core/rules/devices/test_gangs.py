"""Gangs whose members can all be served are placed, however the devices that the first ones would take mislead.

Each member asks for a whole GPU, a half or a quarter of one, or for one of several of these in an order of preference.
The gang is what some division of the GPUs serves, so it is feasible by construction; who serves its members one after
another, by their preferences, finds nothing for the last ones.
"""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from firmament.core.events import ClassDefined, Event, JobDefined, RecordUpserted, TasksSubmitted
from firmament.core.model import Job
from firmament.core.record_kinds import DEVICE_SLICE_RECORD
from firmament.core.results import RoundResult
from tests.support.core import machine, scheduler, task_class
from tests.support.devices import (
    DRIVER,
    class_record,
    device,
    exactly,
    list_devices,
    own_claim,
    slice_record,
)
from tests.support.effort import examples

QUARTERS = 4
PARTS = {
    "whole": (0, 1, 2, 3),
    "half0": (0, 1),
    "half1": (2, 3),
    "q0": (0,),
    "q1": (1,),
    "q2": (2,),
    "q3": (3,),
}
DIVISIONS = ((4,), (2, 2), (2, 1, 1), (1, 1, 1, 1))
SIZES = (4, 2, 1)


def list_parts(gpu: int) -> list[dict[str, Any]]:
    """Return the parts of a GPU; each takes the quarters that it consists of."""
    return [
        device(
            f"{gpu}-{name}",
            attributes={"size": len(quarters)},
            consumesCounters=[
                {"counterSet": f"g{gpu}", "counters": {f"s{each}": {"value": "1"} for each in quarters}}
            ],
        )
        for name, quarters in PARTS.items()
    ]


def describe_node(name: str, gpus: int, random: Random) -> list[Event]:
    """Return the events of a node with GPUs that can be divided, their parts in any order."""
    parts = [each for gpu in range(gpus) for each in list_parts(gpu)]
    random.shuffle(parts)
    quarters = {f"s{each}": {"value": "1"} for each in range(QUARTERS)}
    counters = {
        "driver": DRIVER,
        "nodeName": name,
        "pool": {"name": name, "generation": 1, "resourceSliceCount": 2},
        "sharedCounters": [{"name": f"g{gpu}", "counters": quarters} for gpu in range(gpus)],
    }
    return [
        machine(name, cpu=64_000),
        slice_record(name, parts, slices=2),
        RecordUpserted(DEVICE_SLICE_RECORD, f"counters-{name}", json.dumps(counters).encode()),
    ]


def ask(sizes: tuple[int, ...]) -> dict[str, Any]:
    """Return a request for a part of one of some sizes, in this order of preference."""
    options = [
        exactly("gpu", 1, f'device.attributes["{DRIVER}"].size == {size}')["exactly"] for size in sizes
    ]
    if len(options) == 1:
        return {"name": "r", "exactly": options[0]}
    listed = [{**option, "name": f"s{size}"} for option, size in zip(options, sizes, strict=True)]
    return {"name": "r", "firstAvailable": listed}


def draw_members(gpus: int, random: Random) -> list[tuple[int, ...]]:
    """Draw what members ask for: sizes of the parts of a division of all GPUs, and others that they accept."""
    members = []
    for _ in range(gpus):
        for size in random.choice(DIVISIONS):
            others = [each for each in SIZES if each != size and random.random() < 0.5]
            members.append(tuple(sorted((size, *others), reverse=random.random() < 0.7)))
    random.shuffle(members)
    return members


def judge(result: RoundResult) -> None:
    """Assert that no quarter of a GPU is given twice."""
    used = []
    for delta in result.deltas:
        for each in delta.allocations:
            for pool, name in list_devices(each.allocation):
                gpu, _, part = name.partition("-")
                used += [(pool, gpu, quarter) for quarter in PARTS[part]]
    assert len(set(used)) == len(used)


@pytest.mark.parametrize("seed", [*range(examples(60, 4, slow=True)), 1091, 1093])
def test_a_gang_that_can_be_served_is_placed(seed: int):
    random = Random(seed)
    gpus = [random.randint(1, 3) for _ in range(random.choice((1, 2, 3, 6)))]
    nodes = [describe_node(f"n{index}", count, random) for index, count in enumerate(gpus)]
    core = scheduler(class_record("gpu"), *nodes)
    members = draw_members(sum(gpus), random)
    kinds = {sizes: number for number, sizes in enumerate(sorted(set(members)), 1)}
    classes = [
        ClassDefined(number, replace(task_class(10), claims=(own_claim(ask(sizes)),)))
        for sizes, number in kinds.items()
    ]
    submitted = [TasksSubmitted(kinds[sizes], (f"t{index}",), job="g") for index, sizes in enumerate(members)]
    core.apply([JobDefined(Job("g", min_members=len(members))), *classes, *submitted])
    result = core.run_round()
    assert len(result.deltas) == len(members), [each.message for each in result.unscheduled]
    judge(result)
