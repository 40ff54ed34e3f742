"""Draws cases: a few queues in a tree of cohorts, workloads that run in them, and workloads that wait."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from benchmarks.judge.queues.cases import Amounts, Case, Use, Workload
from benchmarks.judge.queues.quotas import QuotaCount

RESOURCES = ("cpu", "example.com/gpu")
FLAVORS = ("one", "two")
STRATEGIES = (
    ("LessThanOrEqualToFinalShare", "LessThanInitialShare"),
    ("LessThanOrEqualToFinalShare",),
    ("LessThanInitialShare",),
)
MOST_RUNNING = 9
MOST_WAITING = 4


@dataclass(frozen=True, slots=True)
class DrawnWorkload:
    """A workload of equal pods."""

    name: str
    """Its name."""
    queue: str
    """Its ClusterQueue."""
    priority: int
    """Its priority."""
    created: int
    """Second at which it was created."""
    pods: int
    """Number of its pods."""
    requests: Amounts
    """What each pod requests."""
    flavor: str = ""
    """Flavor of all of its pods while it runs, "" while it waits."""
    admitted: int = 0
    """Second at which it was admitted, if it runs."""

    @property
    def use(self) -> Use:
        """The amounts that the workload takes of its queue's quota."""
        return self.use_in(self.flavor) if self.flavor else {}

    def use_in(self, flavor: str) -> Use:
        """Return the amounts that the workload would take of its queue's quota in a flavor."""
        return {flavor: {resource: amount * self.pods for resource, amount in self.requests.items()}}


@dataclass(frozen=True, slots=True)
class DrawnCase:
    """Specs of ClusterQueues and Cohorts by name, amounts being whole numbers, and the workloads."""

    name: str
    fair: bool
    strategies: tuple[str, ...]
    queues: dict[str, Any]
    cohorts: dict[str, Any]
    workloads: list[DrawnWorkload] = field(default_factory=list)

    def make_case(self) -> Case:
        """Return the case for the judge, without decisions."""
        workloads = tuple(
            Workload(each.name, each.queue, each.priority, each.created, each.use or None)
            for each in self.workloads
        )
        return Case(self.name, self.queues, self.cohorts, {}, workloads, fair=self.fair)


def draw_case(seed: int) -> DrawnCase:
    """Return the case of a seed."""
    draw = random.Random(seed)  # noqa: S311  # random numbers choose test cases, not secrets
    fair = draw.random() < 0.35
    flavors = FLAVORS[: draw.choice((1, 1, 2))]
    resources = RESOURCES[: draw.choice((1, 1, 2))]
    cohorts: dict[str, Any] = {}
    for number in range(draw.choice((1, 1, 2, 3))):
        spec: dict[str, Any] = {"parentName": draw.choice([*cohorts])} if cohorts else {}
        if draw.random() < 0.3:
            spec["resourceGroups"] = [_draw_group(draw, flavors, resources, bounded=bool(cohorts))]
        cohorts[f"cohort-{number}"] = spec
    queues = {
        f"queue-{number}": _draw_queue(draw, flavors, resources, [*cohorts], fair=fair)
        for number in range(draw.randint(2, 5))
    }
    case = DrawnCase(f"seed-{seed}", fair, draw.choice(STRATEGIES) if fair else (), queues, cohorts)
    times = draw.sample(range(1, 100), MOST_RUNNING + MOST_WAITING)
    count = QuotaCount(case.make_case())
    for number in range(draw.randint(0, MOST_RUNNING)):
        made = _draw_workload(draw, f"running-{number}", [*queues], resources, times[number])
        made = DrawnWorkload(*_parts(made), flavor=draw.choice(flavors), admitted=100 + draw.randint(0, 99))
        keys = [(made.flavor, resource) for resource in made.requests]
        wanted = made.use[made.flavor]
        # Some workloads run without enough quota, as after a change of quotas.
        if draw.random() < 0.05 or all(count.count_left(made.queue, key) >= wanted[key[1]] for key in keys):
            count.book(made.queue, made.use)
            case.workloads.append(made)
    for number in range(draw.randint(1, MOST_WAITING)):
        time = times[MOST_RUNNING + number]
        case.workloads.append(_draw_workload(draw, f"waiting-{number}", [*queues], resources, time))
    return case


def _parts(made: DrawnWorkload) -> tuple[str, str, int, int, int, Amounts]:
    return made.name, made.queue, made.priority, made.created, made.pods, made.requests


def _draw_workload(
    draw: random.Random, name: str, queues: list[str], resources: tuple[str, ...], created: int
) -> DrawnWorkload:
    requests = {resource: draw.randint(1, 4) for resource in resources}
    return DrawnWorkload(
        name, draw.choice(queues), draw.randint(0, 3), created, draw.choice((1, 1, 2, 3)), requests
    )


def _draw_group(
    draw: random.Random, flavors: tuple[str, ...], resources: tuple[str, ...], *, bounded: bool
) -> dict[str, Any]:
    """Return a resource group; ``bounded``: it may state limits of borrowing and lending."""
    stated = []
    for flavor in flavors:
        amounts = []
        for resource in resources:
            nominal = draw.choice((0, 2, 4, 4, 6, 8))
            amount: dict[str, Any] = {"name": resource, "nominalQuota": nominal}
            for limit, most in (("borrowingLimit", 8), ("lendingLimit", nominal)):
                if bounded and draw.random() < 0.2:
                    amount[limit] = draw.randint(0, most)
            amounts.append(amount)
        stated.append({"name": flavor, "resources": amounts})
    return {"coveredResources": [*resources], "flavors": stated}


def _draw_queue(
    draw: random.Random,
    flavors: tuple[str, ...],
    resources: tuple[str, ...],
    cohorts: list[str],
    *,
    fair: bool,
) -> dict[str, Any]:
    within = draw.choice(("Never", "LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority"))
    reclaim = draw.choice(("Never", "LowerPriority", "Any", "Any"))
    preemption: dict[str, Any] = {"withinClusterQueue": within, "reclaimWithinCohort": reclaim}
    if not fair and reclaim != "Never" and draw.random() < 0.4:
        preemption["borrowWithinCohort"] = {"policy": "LowerPriority"}
        if draw.random() < 0.4:
            preemption["borrowWithinCohort"]["maxPriorityThreshold"] = draw.randint(0, 2)
    choices = ("MayStopSearch", "TryNextFlavor")
    fungibility = {"whenCanBorrow": draw.choice(choices), "whenCanPreempt": draw.choice(choices)}
    if {*fungibility.values()} == {"TryNextFlavor"} and draw.random() < 0.4:
        fungibility["preference"] = draw.choice(("BorrowingOverPreemption", "PreemptionOverBorrowing"))
    inside = draw.random() < 0.95
    spec: dict[str, Any] = {
        "resourceGroups": [_draw_group(draw, flavors, resources, bounded=inside)],
        "namespaceSelector": {},
        "queueingStrategy": draw.choice(("BestEffortFIFO", "BestEffortFIFO", "StrictFIFO")),
        "preemption": preemption,
        "flavorFungibility": fungibility,
    }
    if inside:
        spec["cohortName"] = draw.choice(cohorts)
    if fair:
        spec["fairSharing"] = {"weight": draw.choice(("1", "1", "2", "500m"))}
    return spec
