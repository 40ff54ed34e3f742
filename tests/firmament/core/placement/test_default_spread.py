"""Tasks of one group are kept apart over machines and zones, as far as that costs less than being there together."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import ClassDefined, Event, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.rules.default_spread import SYSTEM_DEFAULTS, SpreadConstraint
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import Clock, machine, placed, task_class, uids

ZONE = "topology.kubernetes.io/zone"
NOTHING = task_class(0)


def core(*events: Event, spread: tuple[SpreadConstraint, ...] = SYSTEM_DEFAULTS) -> Scheduler:
    configuration = CoreConfiguration(policy=WeightedModel(load_model("cpu_mem", {})), spread=spread)
    made = Scheduler(configuration=configuration, solver=OrToolsSolver(), clock=Clock())
    made.apply(events)
    return made


def in_zone(name: str, zone: str, **more: Any) -> Event:
    return machine(name, labels={"kubernetes.io/hostname": name, ZONE: zone}, **more)


def waiting(count: int, group: str = "g", number: int = 1, prefix: str = "t") -> Event:
    return TasksSubmitted(number, uids(prefix, count), spread_group=group)


def per_machine(scheduler: Scheduler) -> Counter[str]:
    return Counter(placed(scheduler.run_round()).values())


def test_tasks_without_requests_are_shared_out_evenly_over_unequal_machines():
    sizes = {f"m{index:02}": 96_000 if index < 4 else 8_000 for index in range(20)}
    scheduler = core(
        *(machine(name, cpu=cpu) for name, cpu in sizes.items()), ClassDefined(1, NOTHING), waiting(60)
    )
    assert per_machine(scheduler) == dict.fromkeys(sizes, 3)


def test_one_in_each_zone():
    zones = [in_zone(f"{zone}{index}", zone) for zone in "abc" for index in range(3)]
    scheduler = core(*zones, ClassDefined(1, NOTHING), waiting(3))
    assert {name[0] for name in per_machine(scheduler)} == {"a", "b", "c"}


def test_those_that_run_already_count():
    scheduler = core(
        *(machine(f"m{index}") for index in range(3)),
        ClassDefined(1, NOTHING),
        TasksBound("m0", 1, ("old-0", "old-1"), spread_group="g"),
        TasksBound("m1", 1, ("other-0", "other-1"), spread_group="other"),
        waiting(4),
    )
    assert per_machine(scheduler) == {"m1": 2, "m2": 2}


def test_those_that_have_gone_do_not():
    scheduler = core(
        *(machine(f"m{index}") for index in range(2)),
        ClassDefined(1, NOTHING),
        TasksBound("m0", 1, ("old-0", "old-1"), spread_group="g"),
        TaskRemoved("old-0"),
        TaskRemoved("old-1"),
        waiting(2),
    )
    assert per_machine(scheduler) == {"m0": 1, "m1": 1}


def test_without_constraints_nothing_is_spread():
    machines = [in_zone("big", "a", cpu=900_000), *(in_zone(f"small{index}", "b") for index in range(3))]
    scheduler = core(*machines, ClassDefined(1, task_class(100)), waiting(3), spread=())
    assert per_machine(scheduler) == {"big": 3}


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_spread_fits_and_everybody_keeps_a_place(seed: int):
    """Random clusters with and without default spread: as many are placed, within room, and groups are more even."""
    random = Random(seed)
    machines = [
        in_zone(
            f"m{index}", random.choice("abc"), cpu=random.randint(1, 8) * 1_000, pods=random.randint(2, 12)
        )
        for index in range(12)
    ]
    events: list[Event] = []
    requests, group_of = {}, {}
    for number in range(1, random.randint(3, 6)):
        requests[number] = random.choice([0, 100, 700])
        events.append(ClassDefined(number, task_class(requests[number])))
        for part in range(random.randint(1, 3)):
            count, prefix = random.randint(1, 9), f"c{number}-{part}"
            events.append(waiting(count, f"g{number}-{part}", number, prefix))
            group_of.update(dict.fromkeys(uids(prefix, count), (number, part)))
    spread = placed(core(*machines, *events).run_round())
    plain = placed(core(*machines, *events, spread=()).run_round())
    assert len(spread) == len(plain)
    for each in machines:
        there = [uid for uid, name in spread.items() if name == each.machine.name]  # type: ignore[union-attr]
        assert len(there) <= each.machine.allocatable["pods"]  # type: ignore[union-attr]
        used = sum(requests[group_of[uid][0]] for uid in there)
        assert used <= each.machine.allocatable["cpu"]  # type: ignore[union-attr]

    def together(where: dict[str, str]) -> int:
        """Pairs of one group on one machine."""
        counts = Counter((group_of[uid], name) for uid, name in where.items())
        return sum(count * (count - 1) // 2 for count in counts.values())

    assert together(spread) <= together(plain)
