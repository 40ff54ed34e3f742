"""The nodes of a simulation: makes them from pools, and records what they offer and whether they exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from poseidon.kube.api.nodes import Node
from poseidon.nodes.machines import machine
from poseidon.simulate.scenario.document import NodePool
from poseidon.simulate.workloads.columns import Int64
from protos.firmament.v1 import scheduler_pb2 as pb

ZONE = "topology.kubernetes.io/zone"


class PoolError(ValueError):
    """Raised if the nodes of a pool are invalid; the text names the field and the fault."""


def nodes_of(pool: NodePool, first: int, count: int) -> Iterator[Node]:
    """Yield ``count`` nodes of a pool, numbered from ``first`` on.

    Raises ``PoolError`` if the nodes would be invalid.
    """
    offered = {"pods": "110"} | {name: str(amount) for name, amount in pool.allocatable.items()}
    for number in range(first, first + count):
        name = f"{pool.name}-{number}"
        labels = {"kubernetes.io/hostname": name} | pool.labels
        if pool.zones:
            labels[ZONE] = pool.zones[number % len(pool.zones)]
        value = {
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": list(pool.taints)},
            "status": {"allocatable": offered},
        }
        try:
            yield msgspec.convert(value, Node)
        except msgspec.ValidationError as error:
            raise PoolError(f"cluster.pools ({pool.name}): {error}") from None


def check_pool(pool: NodePool) -> None:
    """Raise ``PoolError`` if the nodes of a pool would be invalid."""
    for node in nodes_of(pool, 0, 1):
        for defect in machine(node)[1]:
            raise PoolError(f"cluster.pools ({pool.name}): {defect}")


class SimulatedMachines:
    """The machines of a simulation by number; the number of a removed machine is not used again.

    ``offered`` (int64[M, K]) is how much of each of ``resources`` a machine offers. ``there`` (bool[M]) says whether
    the solver knows the machine, ``open`` (bool[M]) whether it knows the machine and the machine is not cordoned.
    """

    def __init__(self, messages: Sequence[pb.Machine], later: Iterable[str] = ()) -> None:
        """Add the machines that exist at the beginning.

        ``later`` has the resources that only machines added later offer.
        """
        names = {each.resource for message in messages for each in message.allocatable}
        self.resources = tuple(sorted(names.union(later, ("cpu", "memory", "pods"))))
        self.names: list[str] = []
        self.messages: list[pb.Machine] = []
        self.number: dict[str, int] = {}
        self.offered: Int64 = np.zeros((0, len(self.resources)), dtype=np.int64)
        self.there = np.zeros(0, dtype=np.bool_)
        self.open = np.zeros(0, dtype=np.bool_)
        self.add(messages)

    def __len__(self) -> int:
        return len(self.names)

    def add(self, messages: Iterable[pb.Machine]) -> list[int]:
        """Add machines, and return the numbers that they get."""
        new = list(messages)
        numbers = list(range(len(self.names), len(self.names) + len(new)))
        rows = np.array([self.list_offered(message) for message in new], dtype=np.int64)
        for number, message in zip(numbers, new, strict=True):
            self.names.append(message.name)
            self.messages.append(message)
            self.number[message.name] = number
        self.offered = np.concatenate([self.offered, rows.reshape(len(new), len(self.resources))])
        here = np.ones(len(new), dtype=np.bool_)
        self.there, self.open = np.concatenate([self.there, here]), np.concatenate([self.open, here])
        return numbers

    def update(self, message: pb.Machine) -> int:
        """Add or replace a machine, and return its number."""
        number = self.number.get(message.name)
        if number is None:
            (number,) = self.add([message])
        else:
            self.messages[number] = message
            self.offered[number] = self.list_offered(message)
        self.there[number] = self.open[number] = True
        return number

    def list_offered(self, message: pb.Machine) -> Int64:
        """Return how much of each resource a machine offers: int64[K]."""
        amounts = {each.resource: each.amount for each in message.allocatable}
        return np.array([amounts.get(name, 0) for name in self.resources], dtype=np.int64)

    def describe(self, number: int) -> pb.Event:
        """Return the event that describes the present state of a machine to the solver."""
        message = pb.Machine()
        message.CopyFrom(self.messages[number])
        message.unschedulable = message.unschedulable or not bool(self.open[number])
        return pb.Event(machine=message)

    def remove(self, number: int) -> pb.Event:
        """Remove a machine, and return the event that tells the solver so."""
        self.there[number] = False
        return pb.Event(machine_removed=self.names[number])

    def bring_back(self, number: int) -> pb.Event:
        """Bring a removed or cordoned machine back, and return the event that tells the solver so."""
        self.there[number] = self.open[number] = True
        return self.describe(number)

    def cordon(self, number: int) -> pb.Event:
        """Cordon a machine, so that no further task is placed on it, and return the event that tells the solver so."""
        self.open[number] = False
        return self.describe(number)
