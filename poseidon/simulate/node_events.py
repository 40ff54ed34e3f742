"""Events of the nodes of a simulation: failures, drains, and autoscaling of pools."""

from __future__ import annotations

from enum import Enum
from heapq import heappop, heappush
from typing import TypeAlias

import numpy as np

from poseidon.nodes.machines import machine
from poseidon.simulate.classes import TaskKinds
from poseidon.simulate.nodes import SimulatedMachines, nodes_of
from poseidon.simulate.scenario.document import Autoscaling, Drain, Failures, NodePool
from poseidon.simulate.tasks import TaskColumns, TaskProgress
from poseidon.simulate.workloads.columns import Int64


class NodeChange(Enum):
    """What can happen to a node: it is added, fails, is drained, comes back, or is removed."""

    FAIL = "fail"
    RETURN = "return"
    DRAIN = "drain"
    ADD = "add"
    REMOVE = "remove"


NodeChanges: TypeAlias = list[tuple[NodeChange, int]]
"""Changes of nodes, each with the number of its machine."""
_LOOK = "look"


class NodeEvents:
    """The failures, drains and autoscaling that a scenario describes; ``members`` has the machines of each pool."""

    def __init__(
        self,
        pools: dict[str, NodePool],
        members: dict[str, list[int]],
        failures: Failures | None,
        drains: tuple[Drain, ...],
        random: np.random.Generator,
    ) -> None:
        self._pools, self._members = pools, members
        self._failures, self._random = failures, random
        self._due: list[tuple[float, int, str, int]] = []
        self._count = 0
        self._ordered = dict.fromkeys(pools, 0)
        self._made = {name: len(numbers) for name, numbers in members.items()}
        self._idle_since: dict[int, float] = {}
        for name, pool in pools.items():
            for number in members[name]:
                self._expect_failure(number, 0.0)
            if pool.autoscaling is not None:
                self._add(pool.autoscaling.every, f"{_LOOK} {name}", 0)
        for drain in drains:
            for number in members[drain.pool][: drain.nodes]:
                self._add(drain.at, NodeChange.DRAIN.value, number)
                self._add(drain.at + drain.lasts, NodeChange.RETURN.value, number)

    def cancel_all(self) -> None:
        """Cancel all future changes of nodes."""
        self._due = []

    def next_time(self) -> float | None:
        """Return the time of the next change, in seconds since the beginning, or None if no change is left."""
        return self._due[0][0] if self._due else None

    def take(
        self, now: float, machines: SimulatedMachines, tasks: TaskColumns, kinds: TaskKinds
    ) -> NodeChanges:
        """Return the changes of nodes up to ``now``, in order, and remove them from the schedule."""
        found: NodeChanges = []
        while self._due and self._due[0][0] <= now:
            when, _, what, number = heappop(self._due)
            if what.startswith(_LOOK):
                pool = self._pools[what.removeprefix(_LOOK).strip()]
                assert pool.autoscaling is not None
                found += self._scale(pool, pool.autoscaling, when, machines, tasks, kinds)
                self._add(when + pool.autoscaling.every, what, 0)
            elif what in self._pools:
                found += [
                    (NodeChange.ADD, each) for each in self._grow(self._pools[what], number, when, machines)
                ]
            elif what == NodeChange.RETURN.value:
                found.append((NodeChange.RETURN, number))
                self._expect_failure(number, when)
            elif machines.there[number]:
                change = NodeChange(what)
                found.append((change, number))
                if change is NodeChange.FAIL:
                    assert self._failures is not None
                    away = float(self._failures.repair.draw_durations(1, self._random)[0])
                    self._add(when + away, NodeChange.RETURN.value, number)
        return found

    def _scale(
        self,
        pool: NodePool,
        scaling: Autoscaling,
        now: float,
        machines: SimulatedMachines,
        tasks: TaskColumns,
        kinds: TaskKinds,
    ) -> NodeChanges:
        """Order as many nodes as the waiting tasks would fill.

        The function returns the removals of nodes that were empty for long.
        """
        mine = [number for number in self._members[pool.name] if machines.there[number]]
        size = machines.list_offered(machine(next(nodes_of(pool, 0, 1)))[0])
        wanted = min(_count_nodes(tasks, kinds, size), scaling.most - len(mine))
        count = wanted - self._ordered[pool.name]
        if count > 0:
            self._ordered[pool.name] += count
            self._add(now + scaling.delay, pool.name, count)
        busy = set(tasks.machine[tasks.state == TaskProgress.RUNNING].tolist())
        gone: NodeChanges = []
        for number in mine:
            if number in busy:
                self._idle_since.pop(number, None)
            else:
                empty_for = now - self._idle_since.setdefault(number, now)
                if empty_for >= scaling.idle and len(mine) - len(gone) > scaling.least:
                    gone.append((NodeChange.REMOVE, number))
                    del self._idle_since[number]
        return gone

    def _grow(self, pool: NodePool, count: int, now: float, machines: SimulatedMachines) -> list[int]:
        """Add ``count`` machines to a pool, and return their numbers."""
        first = self._made[pool.name]
        self._made[pool.name] += count
        self._ordered[pool.name] -= count
        numbers = machines.add(machine(node)[0] for node in nodes_of(pool, first, count))
        self._members[pool.name] += numbers
        for number in numbers:
            self._expect_failure(number, now)
        return numbers

    def _expect_failure(self, number: int, now: float) -> None:
        if self._failures is not None:
            after = float(self._random.exponential(self._failures.every))
            self._add(now + after, NodeChange.FAIL.value, number)

    def _add(self, when: float, what: str, number: int) -> None:
        self._count += 1
        heappush(self._due, (when, self._count, what, number))


def _count_nodes(tasks: TaskColumns, kinds: TaskKinds, size: Int64) -> int:
    """Return how many nodes of a size the waiting tasks would fill: the maximum over the resources."""
    waiting = tasks.find(TaskProgress.WAITING)
    if not len(waiting):
        return 0
    requests = kinds.requests[tasks.work.template[waiting]]
    fits = (requests <= size).all(axis=1)
    total = requests[fits].sum(axis=0)
    offered = size > 0
    return int(np.ceil(total[offered] / size[offered]).max(initial=0))
