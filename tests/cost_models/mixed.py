"""A workload of tasks that disturb each other, and the interference that a placement of it leads to by the model."""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np

from cost_models.firmament_policies.coco import PENALTIES
from cost_models.firmament_policies.task_types import TYPES, TaskType
from firmament.core.events import Event
from tests.support.core import machine, task_class, tasks, uids

GIB = 2**30


def mixed_machines(count: int) -> list[Event]:
    """Machines of 8 cores and 32 GiB."""
    return [machine(f"m{index}", cpu=8_000, memory=32 * GIB) for index in range(count)]


def mixed_tasks(batch: int, each: int, *, seed: int = 3) -> tuple[list[Event], dict[str, TaskType]]:
    """``each`` tasks of every type, in classes of different sizes, submitted in no order of type; type by uid."""
    chance = random.Random(seed + batch)
    events: list[list[Event]] = []
    type_of: dict[str, TaskType] = {}
    for kind in TaskType:
        content = task_class(
            cpu=chance.choice((250, 500, 750)),
            memory=chance.choice((1, 2)) * GIB,
            labels=(("taskType", kind.name.capitalize()),),
        )
        members = uids(f"{kind.name}-{batch}", each)
        events.append(tasks(1 + batch * TYPES + kind, *members, content=content))
        type_of.update(dict.fromkeys(members, kind))
    chance.shuffle(events)
    return [event for group in events for event in group], type_of


def interference(placement: Mapping[str, str], type_of: Mapping[str, TaskType]) -> float:
    """What all tasks together pay for all their neighbours."""
    on: dict[str, np.ndarray] = {}
    for uid, name in placement.items():
        on.setdefault(name, np.zeros(TYPES))[type_of[uid]] += 1
    return float(sum(counts @ PENALTIES @ counts - counts @ PENALTIES.diagonal() for counts in on.values()))
