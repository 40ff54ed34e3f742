"""Reads machines and pods of openb, and draws the order in which pods come.

As in the experiments of FGD (USENIX ATC 2023): pods of the variant are drawn once more at random until all together ask
for a multiple of the cluster's GPUs, then they come in random order, and none ends.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random

FOLDER = Path(__file__).parent.parent / "openb"
ASKED = 1.3
"""Requests of all pods together, as a multiple of the cluster's GPUs."""
MILLI = 1000


@dataclass(frozen=True, slots=True)
class NodeType:
    """A type of equal machines."""

    cpu: int
    memory: int
    gpus: int
    model: str
    count: int


@dataclass(frozen=True, slots=True)
class PodType:
    """A type of equal pods: ``gpus`` GPUs, ``milli`` thousandths of each, of one of ``models``; (): any model."""

    cpu: int
    memory: int
    gpus: int
    milli: int
    models: tuple[str, ...]

    @property
    def asks(self) -> int:
        """Thousandths of GPUs that a pod requests in all."""
        return self.gpus * self.milli


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Pods in the order in which they come, by type."""

    nodes: tuple[NodeType, ...]
    types: tuple[PodType, ...]
    counts: tuple[int, ...]
    """Number of pods of each type in the variant itself, which define usual pods."""
    order: tuple[int, ...]
    """Types of the pods, in the order of arrival."""

    @property
    def total(self) -> int:
        """Thousandths of GPUs that the cluster has."""
        return MILLI * sum(node.gpus * node.count for node in self.nodes)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Which arriving pods got a place."""

    share: float
    """The share of all GPUs that is allocated after all pods have come."""
    placed: frozenset[int]
    """The pods that have places in the end, by their number in the order of arrival."""
    moved: int = 0
    """How many of them have been moved."""

    def list_before_refusals(self, order: Sequence[int]) -> frozenset[int]:
        """Return the pods that came before the first one of their type without a place; ``order``: types of pods."""
        refused: set[int] = set()
        found = []
        for number, kind in enumerate(order):
            if number not in self.placed:
                refused.add(kind)
            if kind not in refused:
                found.append(number)
        return frozenset(found)

    def count_first(self) -> int:
        """Return how many pods came before the first one without a place."""
        return next(number for number in count() if number not in self.placed)


def list_variants() -> list[str]:
    """Return the names of the variants."""
    with (FOLDER / "pods.csv").open(encoding="utf-8", newline="") as file:
        return list(dict.fromkeys(row["variant"] for row in csv.DictReader(file)))


def draw_arrivals(variant: str, seed: int, part: int = 1) -> Arrivals:
    """Return the machines and the pods of a variant, in the order of a seed; ``part``: divisor of the machines."""
    with (FOLDER / "nodes.csv").open(encoding="utf-8", newline="") as file:
        nodes = tuple(
            NodeType(
                int(row["cpu_milli"]),
                int(row["memory_mib"]),
                int(row["gpu"]),
                row["model"],
                -(-int(row["nodes"]) // part),
            )
            for row in csv.DictReader(file)
        )
    with (FOLDER / "pods.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["variant"] == variant]
    types = tuple(
        PodType(
            int(row["cpu_milli"]),
            int(row["memory_mib"]),
            int(row["num_gpu"]),
            int(row["gpu_milli"]) if int(row["num_gpu"]) else 0,
            tuple(filter(None, row["gpu_spec"].split("|"))),
        )
        for row in rows
    )
    counts = tuple(int(row["pods"]) for row in rows)
    found = Arrivals(nodes, types, counts, ())
    return Arrivals(nodes, types, counts, _draw(found, Random(seed)))  # noqa: S311 - a simulation


def _draw(cluster: Arrivals, random: Random) -> tuple[int, ...]:
    most = ASKED * cluster.total
    listed = [number for number, count in enumerate(cluster.counts) for _ in range(count)]
    random.shuffle(listed)
    asked, order = 0, []
    for number in listed:
        asked += cluster.types[number].asks
        if asked > most:
            break
        order.append(number)
    while asked <= most:
        number = random.choice(listed)
        asked += cluster.types[number].asks
        if asked <= most:
            order.append(number)
    random.shuffle(order)
    return tuple(order)
