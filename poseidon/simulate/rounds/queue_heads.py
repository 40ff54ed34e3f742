"""Lets one gang or pod of each queue take part in a round, as Kueue's scheduler does with the heads of its queues.

Of a queue, the most important comes first, then the one that came first. What a round refuses is set aside, with all
of its queue that are like it; the next of the queue takes part. A while after something has ended in the tree of
queues, or was evicted there, all that was set aside in it takes part again. Where the round has placed others of the
tree, the refused one stays the first of its queue, as it may have fitted before these.

Kueue does so since version 0.18 (``pkg/cache/queue``: ``handleInadmissibleHash``, ``requeueBatchPeriod``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from heapq import heappop, heappush
from typing import NamedTuple

from poseidon.simulate.classes import TaskKinds
from poseidon.simulate.workloads.columns import ALONE, Int64, Work


class Head(NamedTuple):
    """A gang, or a pod in no gang, that waits in a queue."""

    turn: tuple[int, float, int]
    """Negative priority, arrival and number: of a queue's gangs and pods, the smallest turn comes first."""
    queue: str
    """Name of its quota."""
    kind: int
    """Number of its kind: those of one kind are alike."""
    tasks: tuple[int, ...]
    """Numbers of its tasks."""


class QueueHeads:
    """The gangs and pods that wait in queues.

    ``root_of``: by quota, the name of the top of its tree; ``requeue_after``: seconds until what was set aside takes
    part again.
    """

    def __init__(self, kinds: TaskKinds, root_of: Mapping[str, str], requeue_after: float = 0.0) -> None:
        self._kinds, self._root_of, self._requeue_after = kinds, root_of, requeue_after
        self._waiting: dict[str, dict[int, list[Head]]] = {}
        """By queue and kind, a heap."""
        self._aside: dict[str, set[tuple[str, int]]] = {}
        """The queues and kinds that are set aside, by root."""
        self._requeued: dict[str, float] = {}
        """When what was set aside takes part again, by root."""
        self._held: dict[str, Head] = {}
        """Those that wait for their victims, by queue."""
        self._passed_over: set[int] = set()
        """First task of those about whom it was written last that others of the tree were placed."""
        self.busy_until = 0.0
        """When the next round may begin, in seconds since the beginning."""

    def add(self, tasks: Int64, work: Work) -> list[int]:
        """Add waiting tasks to their queues, those of a gang together; return the others, which are in no queue."""
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
            self._push(Head(turn, self._kinds.classes[kind].queue, kind, tuple(members)))
        return outside

    def take_heads(self) -> list[Head]:
        """Remove and return the first entry of each queue, apart from those set aside."""
        aside = set().union(*self._aside.values())
        heads = []
        for name, kinds in self._waiting.items():
            ready = [heap for kind, heap in kinds.items() if heap and (name, kind) not in aside]
            if ready and name not in self._held:
                heads.append(heappop(min(ready, key=lambda heap: heap[0])))
        return heads

    def hold(self, heads: Iterable[Head]) -> None:
        """Exclude the queues of ``heads``, which wait for victims to leave, from sending another head into a round."""
        self._held.update((head.queue, head) for head in heads)

    def release(self, waits: Callable[[int], bool]) -> list[Head]:
        """Return the heads passed to ``hold`` whose victims have left, and admit their queues to rounds again.

        ``waits``: whether a task waits for victims.
        """
        found = [head for head in self._held.values() if not waits(head.tasks[0])]
        for head in found:
            del self._held[head.queue]
        return found

    def put_back(self, refused: Iterable[Head], moved: Collection[str]) -> int:
        """Return gangs and pods that a round has refused to their queues; return how many refusals are new and must be
        written.

        ``moved``: roots of the trees in which the round placed others; kinds refused in another tree are set aside.
        """
        news = 0
        for head in refused:
            self._push(head)
            root, first = self._root_of.get(head.queue, head.queue), head.tasks[0]
            if root not in moved:
                self._aside.setdefault(root, set()).add((head.queue, head.kind))
                self._passed_over.discard(first)
                news += 1
            elif first not in self._passed_over:
                self._passed_over.add(first)
                news += 1
        return news

    def requeue_later(self, queues: Iterable[str], now: float) -> None:
        """Record that some queues have changed: kinds of tasks set aside in their trees take part again soon."""
        for root in self.find_roots(queues):
            self._requeued.setdefault(root, now + self._requeue_after)

    def requeue_due(self, now: float) -> None:
        """Admit to rounds again the kinds that were set aside, in the trees whose time for that has come."""
        for root in [root for root, when in self._requeued.items() if when <= now + 1e-9]:
            del self._requeued[root]
            self._aside.pop(root, None)

    def find_next_requeue(self) -> float | None:
        """Return when the next kinds that were set aside take part in rounds again, None if nothing has
        changed for any.
        """
        return min((when for root, when in self._requeued.items() if root in self._aside), default=None)

    def find_roots(self, queues: Iterable[str]) -> set[str]:
        """Return the roots of the trees of some queues."""
        return {self._root_of.get(name, name) for name in queues}

    def _push(self, head: Head) -> None:
        heappush(self._waiting.setdefault(head.queue, {}).setdefault(head.kind, []), head)
