"""Lets one gang or pod of each queue take part in a round, as Kueue's scheduler does with the heads of its queues.

Of a queue, the most important comes first, then the one that came first. What a round refuses is set aside until
something ends in its tree of queues, or is evicted there, and the next of its queue takes part. Where the round has
placed others of the tree, it stays the first of its queue, as it may have fitted before these.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from poseidon.simulate.classes import TaskKinds
from poseidon.simulate.workloads.columns import ALONE, Int64, Work


class Head(NamedTuple):
    """A gang, or a pod in no gang, that waits in a queue."""

    turn: tuple[int, float, int]
    """By what it is compared with others of its queue: the smallest comes first."""
    queue: str
    """Name of its quota."""
    tasks: tuple[int, ...]
    """Numbers of its tasks."""


class QueueHeads:
    """The gangs and pods that wait in queues; ``root_of``: by quota, the name of the top of its tree."""

    def __init__(self, kinds: TaskKinds, root_of: Mapping[str, str]) -> None:
        self._kinds, self._root_of = kinds, root_of
        self._waiting: dict[str, list[Head]] = {}
        self._aside: dict[str, list[Head]] = {}
        self.busy_until = 0.0
        """When the next round may begin, in seconds since the beginning."""

    def add(self, tasks: Int64, work: Work) -> list[int]:
        """Let tasks wait, those of a gang together; return the others, which are in no queue."""
        gangs: dict[tuple[int, int], list[int]] = {}
        outside = []
        for task, gang in zip(tasks.tolist(), work.gang[tasks].tolist(), strict=True):
            if self._kinds.classes[int(work.template[task])].queue:
                gangs.setdefault((gang, task if gang == ALONE else ALONE), []).append(task)
            else:
                outside.append(task)
        for members in gangs.values():
            first, kind = members[0], int(work.template[members[0]])
            turn = -self._kinds.priorities[kind], float(work.arrival[first]), first
            self._push(Head(turn, self._kinds.classes[kind].queue, tuple(members)))
        return outside

    def take_heads(self) -> list[Head]:
        """Remove the first of each queue, and return them."""
        heads = [heappop(queue) for queue in self._waiting.values()]
        self._waiting = {name: queue for name, queue in self._waiting.items() if queue}
        return heads

    def put_back(self, refused: Sequence[Head], moved: Collection[str]) -> None:
        """Let those wait again that a round has refused; ``moved``: roots of the trees in which it placed others."""
        for head in refused:
            root = self._root_of.get(head.queue, head.queue)
            if root in moved:
                self._push(head)
            else:
                self._aside.setdefault(root, []).append(head)

    def wake(self, queues: Iterable[str]) -> None:
        """Let those take part again that were set aside in the trees of some queues."""
        for root in self.find_roots(queues):
            for head in self._aside.pop(root, ()):
                self._push(head)

    def find_roots(self, queues: Iterable[str]) -> set[str]:
        """Return the roots of the trees of some queues."""
        return {self._root_of.get(name, name) for name in queues}

    def _push(self, head: Head) -> None:
        heappush(self._waiting.setdefault(head.queue, []), head)
