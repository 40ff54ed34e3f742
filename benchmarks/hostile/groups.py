"""Makes excessive applications and groups over a tree, as one tenant may create them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from benchmarks.hostile.pods import MALLORY, ZONE
from benchmarks.quality.network_applications import GROUP, WORKLOAD
from cost_models.group_terms import GROUP_RECORD, TREE_RECORD
from firmament.core.events import ClassDefined, Event, JobDefined, RecordUpserted, TasksSubmitted
from firmament.core.model import Job, JobGroup, Machine, TaskClass

GIB = 2**30
FIRST_CLASS = 2_000_000
_LINK = 10**12
"""Bits per second of the link between two zones."""


@dataclass(frozen=True, slots=True)
class HostileGroups:
    """Tasks of applications or groups as events, with names that begin with ``prefix``."""

    defined: Sequence[Event]
    """Events that define what the tasks refer to: classes and applications."""
    classes: Sequence[int]
    """The class of each task."""
    sizes: Sequence[int] = ()
    """Number of tasks of each group over a tree, in order; none for applications."""
    rules: Sequence[Mapping[str, Mapping[str, Any]]] = field(default=({},))
    """Rules of the groups, in turn."""
    inside: tuple[JobGroup, ...] = ()
    """The groups in each group, if its tasks are in further groups."""

    def job(self, prefix: str, at: int) -> str:
        """Return the group of a task, "" for none."""
        for number, size in enumerate(self.sizes):
            if at < size:
                return f"{prefix}-group-{number}"
            at -= size
        return ""

    def tasks(self, prefix: str) -> list[Event]:
        """Return the events that submit all tasks."""
        events: list[Event] = []
        for number, size in enumerate(self.sizes):
            name = f"{prefix}-group-{number}"
            record = {"group": name, "constraints": self.rules[number % len(self.rules)]}
            job = Job(name, name=name, size=size, min_members=size, namespace=MALLORY, groups=self.inside)
            events.append(JobDefined(job))
            if not self.inside:
                events.append(RecordUpserted(GROUP_RECORD, name, json.dumps(record).encode()))
        return events + [
            TasksSubmitted(number, (uid,), self.job(prefix, at), names=(f"{MALLORY}/{uid}",))
            for at, (number, uid) in enumerate(zip(self.classes, self.uids(prefix), strict=True))
        ]

    def uids(self, prefix: str) -> list[str]:
        """Return the names of the tasks."""
        return [f"{prefix}-{at}" for at in range(len(self.classes))]


class GroupShape(NamedTuple):
    """How the tasks of a shape are made and placed."""

    overlay: str
    """The cost model that places the tasks, "" for none."""
    make: Callable[[int], HostileGroups]
    """Gets the number of tasks."""
    runs: bool = True
    """Whether they may fit."""


def _applications(many: int, dependencies: int, *, copies: int = 1, bandwidth: int = 0) -> GroupShape:
    """Return ``many`` applications whose workloads depend on ``dependencies`` others each."""

    def make(total: int) -> HostileGroups:
        size = max(total // many // copies, 1)
        defined: list[Event] = []
        classes: list[int] = []
        for number in range(many):
            name = f"application-{number}"
            workloads = [_workload(at, size, dependencies, bandwidth) for at in range(size)]
            content = json.dumps({"workloads": workloads}).encode()
            defined.append(RecordUpserted("AppGroup", f"{MALLORY}/{name}", content))
            for at in range(size):
                cls = FIRST_CLASS + number * size + at
                labels = ((GROUP, name), (WORKLOAD, f"p{at}"))
                requests = (("cpu", 100 + at % 7 * 50), ("memory", GIB // 4))
                defined.append(ClassDefined(cls, TaskClass(requests, labels=labels, namespace=MALLORY)))
                classes += [cls] * copies
        return HostileGroups(defined, classes)

    return GroupShape("network_overhead", make)


def _workload(at: int, size: int, dependencies: int, bandwidth: int) -> dict[str, Any]:
    others = range(at + 1, min(at + 1 + dependencies, size))
    return {
        "name": f"p{at}",
        "selector": f"p{at}",
        "order": at + 1,
        "dependencies": [
            {"workload": f"p{other}", "minBandwidth": bandwidth, "maxNetworkCost": 10 + other % 30}
            for other in others
        ],
    }


def _trees(
    many: int, *rules: Mapping[str, Mapping[str, Any]], cpu: int = 500, runs: bool = True
) -> GroupShape:
    """Return groups of one size, whose rules are taken from a list in turn."""

    def make(total: int) -> HostileGroups:
        content = TaskClass((("cpu", cpu), ("memory", GIB // 4)), namespace=MALLORY)
        size = max(total // many, 1)
        return HostileGroups(
            [ClassDefined(FIRST_CLASS, content)], [FIRST_CLASS] * size * many, [size] * many, rules
        )

    return GroupShape("topology", make, runs)


def _groups_of_groups(many: int, *, runs: bool = True) -> GroupShape:
    """Return one gang in one zone, of ``many`` groups that are in racks of their own."""

    def make(total: int) -> HostileGroups:
        size = max(total // many, 1)
        groups = [JobGroup("all", least=many, within=(ZONE,), apart=True)]
        groups += [JobGroup(f"group-{at}", "all", size, ("rack",)) for at in range(many)]
        defined: list[Event] = []
        for at in range(many):
            requests = (("cpu", 500 + at), ("memory", GIB // 4))
            content = TaskClass(requests, namespace=MALLORY, group=f"group-{at}")
            defined.append(ClassDefined(FIRST_CLASS + at, content))
        classes = [FIRST_CLASS + at // size for at in range(many * size)]
        return HostileGroups(defined, classes, [many * size], inside=tuple(groups))

    return GroupShape("", make, runs)


_SPREAD = {"rack": {"type": "spread", "partitions": 5}, "node": {"type": "spread", "min": 1, "max": 3}}
_ONE_RACK = {"rack": {"hard": True}}

GROUP_SHAPES: Mapping[str, GroupShape] = MappingProxyType(
    {
        "an application": _applications(1, 30),
        "an application with bandwidth": _applications(1, 30, bandwidth=10**6),
        "an application, copies": _applications(1, 30, copies=25),
        "applications": _applications(100, 4),
        "a group over a tree": _trees(1, _SPREAD),
        "a group over a tree that fits nowhere": _trees(1, _ONE_RACK, cpu=32_000, runs=False),
        "groups over a tree": _trees(100, {}, _SPREAD, _ONE_RACK),
        "groups over a tree that fit nowhere": _trees(25, _ONE_RACK, cpu=60_000, runs=False),
        "a gang of many groups": _groups_of_groups(100),
        "a gang of many groups that fits nowhere": _groups_of_groups(250, runs=False),
    }
)
"""Excessive groups by name, with the function that makes their tasks."""


def surroundings(overlay: str, machines: Sequence[Machine]) -> Iterator[Event]:
    """Yield the facts about machines that a model needs: costs between zones, or the tree whose leaves they are."""
    if overlay == "topology":
        tree: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
        for each in machines:
            tree.setdefault(each.labels[ZONE], {}).setdefault(each.labels["rack"], {})[each.name] = {}
        record = {"name": "tree", "levels": ["zone", "rack", "node"], "tree": tree}
        yield RecordUpserted(TREE_RECORD, "tree", json.dumps(record).encode())
    else:
        zones = sorted({each.labels[ZONE] for each in machines})
        costs = {one: {other: 5 for other in zones if other != one} for one in zones}
        links = {one: dict.fromkeys(row, _LINK) for one, row in costs.items()}
        payload = {"weights": {"UserDefined": {"zone": costs}}, "capacity": {"zone": links}}
        yield RecordUpserted("NetworkTopology", "default/nt-default", json.dumps(payload).encode())
