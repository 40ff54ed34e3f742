"""The measure of fragmentation as its definition says it, machine by machine and task by task, in whole thousandths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Pod:
    """What a task asks for; ``milli``: thousandths of each of ``gpus`` devices."""

    cpu: int
    gpus: int = 0
    milli: int = 1000


@dataclass(frozen=True)
class Node:
    """What a machine has left, devices in thousandths."""

    cpu: int
    gpus: tuple[int, ...] = ()


def fits(node: Node, pod: Pod) -> bool:
    """Whether a machine takes a task."""
    return pod.cpu <= node.cpu and sum(left >= pod.milli for left in node.gpus) >= pod.gpus


def place(node: Node, pod: Pod) -> Node:
    """The machine with the task on the devices that have least left."""
    gpus = list(node.gpus)
    enough = sorted((left, index) for index, left in enumerate(gpus) if left >= pod.milli)
    for _, index in enough[: pod.gpus]:
        gpus[index] -= pod.milli
    return replace(node, cpu=node.cpu - pod.cpu, gpus=tuple(gpus))


def fragmentation(node: Node, usual: Sequence[tuple[Pod, int]]) -> float:
    """What is expected to be unusable for a task drawn from ``usual``, each so many times; in thousandths."""
    found = 0.0
    for pod, times in usual:
        unusable = sum(node.gpus)
        if pod.gpus and fits(node, pod):
            unusable = sum(left for left in node.gpus if left < pod.milli)
        found += unusable * times / sum(times for _, times in usual)
    return found


def loss(node: Node, pod: Pod, usual: Sequence[tuple[Pod, int]]) -> float:
    """How much less is usable with the task; in thousandths."""
    taken = pod.gpus * pod.milli
    return fragmentation(place(node, pod), usual) - fragmentation(node, usual) + taken
