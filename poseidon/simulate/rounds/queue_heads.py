"""Lets one gang or pod of each queue, its head, take part in a round, as Kueue's scheduler does.

The head of a queue is its most important gang or pod; of equally important ones, it is the oldest. If a round refuses
a head, the head and all gangs and pods of its kind in its queue are set aside, and the next gang or pod of the queue
becomes the head. Gangs and pods set aside in a tree of queues take part again some time after a task of the tree has
ended or was evicted. A refused head is not set aside if the round has placed other tasks of the same tree of queues,
because the head may have fitted before them.

Kueue's scheduler has chosen heads in this way since version 0.18 (``pkg/cache/queue``: ``handleInadmissibleHash``,
``requeueBatchPeriod``).
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
    """Negative priority, arrival and number.

    The gang or pod with the least of these tuples is the head of its queue.
    """
    queue: str
    """Name of the quota of its queue."""
    kind: int
    """Number of the entry's kind; gangs and pods of one kind are alike."""
    tasks: tuple[int, ...]
    """Numbers of the gang's tasks, or of the single pod's task."""


class QueueHeads:
    """The gangs and pods that wait in queues.

    ``root_of`` has the root of each quota's tree, by name. ``requeue_after`` is how many seconds pass until what was
    set aside takes part again.
    """

    def __init__(self, kinds: TaskKinds, root_of: Mapping[str, str], requeue_after: float = 0.0) -> None:
        self._kinds, self._root_of, self._requeue_after = kinds, root_of, requeue_after
        self._waiting: dict[str, dict[int, list[Head]]] = {}
        """Waiting gangs and pods by queue and kind, each as a heap."""
        self._aside: dict[str, set[tuple[str, int]]] = {}
        """The queues and kinds that are set aside, by root of their tree."""
        self._requeued: dict[str, float] = {}
        """When the kinds that were set aside take part again, by root of their tree, in seconds since the beginning."""
        self._held: dict[str, Head] = {}
        """The heads that wait for their victims to leave, by queue."""
        self._passed_over: set[int] = set()
        """First tasks of refused heads that stayed heads, because other tasks of their tree of queues were placed."""
        self.busy_until = 0.0
        """When the next round may begin, in seconds since the beginning."""

    def add(self, tasks: Int64, work: Work) -> list[int]:
        """Add waiting tasks to their queues, a gang as one entry; return the tasks that are in no queue."""
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
        """Remove and return the first gang or pod of each queue that is not set aside."""
        aside = set().union(*self._aside.values())
        heads = []
        for name, kinds in self._waiting.items():
            ready = [heap for kind, heap in kinds.items() if heap and (name, kind) not in aside]
            if ready and name not in self._held:
                heads.append(heappop(min(ready, key=lambda heap: heap[0])))
        return heads

    def hold(self, heads: Iterable[Head]) -> None:
        """Keep the queues of ``heads``, which wait for victims to leave, from sending other heads into a round."""
        self._held.update((head.queue, head) for head in heads)

    def release(self, waits: Callable[[int], bool]) -> list[Head]:
        """Return the heads passed to ``hold`` whose victims have left, and admit their queues to rounds again.

        ``waits`` returns whether a task waits for victims.
        """
        found = [head for head in self._held.values() if not waits(head.tasks[0])]
        for head in found:
            del self._held[head.queue]
        return found

    def put_back(self, refused: Iterable[Head], moved: Collection[str]) -> int:
        """Put refused gangs and pods back into their queues; return how many refusals are new and must be written.

        ``moved`` has the roots of the trees of queues in which the round placed other tasks; in all other trees,
        refused kinds are set aside.
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
        """Record that some queues have changed, so that the kinds set aside in their trees take part again soon."""
        for root in self.find_roots(queues):
            self._requeued.setdefault(root, now + self._requeue_after)

    def requeue_due(self, now: float) -> None:
        """Let the kinds that were set aside take part again, in the trees for which the time has come."""
        for root in [root for root, when in self._requeued.items() if when <= now + 1e-9]:
            del self._requeued[root]
            self._aside.pop(root, None)

    def find_next_requeue(self) -> float | None:
        """Return when kinds that were set aside next take part in rounds again, or None if no queue has changed."""
        return min((when for root, when in self._requeued.items() if root in self._aside), default=None)

    def find_roots(self, queues: Iterable[str]) -> set[str]:
        """Return the roots of the trees to which some queues belong."""
        return {self._root_of.get(name, name) for name in queues}

    def _push(self, head: Head) -> None:
        heappush(self._waiting.setdefault(head.queue, {}).setdefault(head.kind, []), head)
