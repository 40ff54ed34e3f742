"""Keeps the order of StrictFIFO queues: nobody gets a place before the first of its queue that waits, the *head*.

A round places many tasks of a queue at once, in about the order of their age. If a task has passed another one that
got no place, the passing task's place is withdrawn (``firmament.core.commit.strict_order``), and the next round tries
the head of the queue alone. While a head waits for a change in the cluster, so do all tasks behind it: tasks that
come later, and tasks that the change could help, have no rounds. Once the head has its place, or is gone, the tasks
behind it are tried again.

As in Kueue, a workload that backs off holds up no other workload, nor does one that its queue never admits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.queue.order import Importance
from firmament.core.results import Unscheduled
from firmament.core.rules.gangs.strict_order import find_exempt_tasks
from firmament.core.rules.quotas.strict_queues import find_strict_queues, has_strict_queues
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase
from firmament.core.state.waiting import activate, count_anew, hold_back, set_message


class _Waiting(NamedTuple):
    """Tasks of strict queues that wait and may be tried, queue by queue, in their order."""

    rows: Int64
    """The rows of these tasks, int64[N]."""
    queue_of: Int64
    """The number of each task's queue, int64[N]."""
    names: list[str]
    """The queues by number."""
    first: Int64
    """The index in ``rows`` of the first task of each queue, int64[len(names)]."""

    @property
    def heads(self) -> Int64:
        """The row of the first task of each queue: int64[len(names)]."""
        return self.rows[self.first]


_NONE = np.empty(0, dtype=np.int64)
_NOBODY = _Waiting(_NONE, _NONE, [], _NONE)


class StrictHeads:
    """Remembers behind which heads the tasks of strict queues wait."""

    def __init__(self) -> None:
        self._tried_in_vain: dict[str, int] = {}
        """By queue, the head (number of its submission) that a round has tried before all others, in vain."""
        self.passed: frozenset[str] = frozenset()
        """The queues in which the last round had placed a task before the head."""
        self._alone: frozenset[str] = frozenset()
        """The queues of which only the head takes part in the present round."""
        self._called = np.empty(0, dtype=np.int64)
        """The tasks that are called for the present round, by the number of their submission."""
        self._heads = self._called
        """The heads of all queues as the present round begins, by the number of their submission."""
        self._waiting, self._turn = _NOBODY, np.empty(0, dtype=np.int64)
        """The tasks of strict queues that wait as the present round begins, and the turn of each."""
        self.unreported: dict[str, list[str]] = {}
        """By message: the uids of the tasks behind heads that have not been told yet why they wait."""

    def requeue_freed(self, cluster: Cluster, now: float) -> None:
        """Requeue the tasks of strict queues whose head has its place, or is gone. ``now``: seconds since the epoch."""
        if not has_strict_queues(cluster) or not cluster.tasks.any_unschedulable:
            return
        waiting, tasks = _find_waiting(cluster, now), cluster.tasks
        known = set(waiting.names)
        self._tried_in_vain = {name: head for name, head in self._tried_in_vain.items() if name in known}
        freed = [
            tasks.unschedulable[head] and self._tried_in_vain.get(name) != tasks.sequence[head]
            for name, head in zip(waiting.names, waiting.heads.tolist(), strict=True)
        ]
        if any(freed):
            activate(cluster, waiting.rows[np.array(freed, dtype=np.bool_)[waiting.queue_of]])

    def call(self, cluster: Cluster, called: Int64, now: float) -> Int64:
        """Return the ``called`` tasks (rows) without those that wait behind another one, and with the heads they need.

        A head that is in a gang comes with the gang's other tasks of its queue. Heads are requeued; tasks that have
        to wait behind another one become unschedulable.
        """
        self._alone, self._called, self._waiting = frozenset(), called[:0], _NOBODY
        passed, self.passed = self.passed, frozenset()
        if not has_strict_queues(cluster) or not len(called):
            return called
        waiting = self._waiting = _find_waiting(cluster, now)
        turn = self._turn = _find_turns(cluster, waiting)
        takes_part, last = self._find_last(waiting.rows, called)
        head = waiting.first
        concerned = np.isin(np.arange(len(waiting.names)), waiting.queue_of[takes_part])
        # If the last round withdrew places, all queues take part with their heads alone. No task can then pass
        # another one, and queues that take each other's capacity in turn come to rest.
        alone = concerned & ((last == head) | bool(passed))
        last[alone] = head[alone]
        behind = np.intersect1d(waiting.rows[turn > last[waiting.queue_of]], called)
        heads = waiting.rows[alone[waiting.queue_of] & (turn == head[waiting.queue_of])]
        self._explain(cluster, waiting, last, behind)
        hold_back(cluster, behind)
        activate(cluster, heads)
        called = np.union1d(np.setdiff1d(called, behind), heads)
        self._alone = frozenset(waiting.names[number] for number in np.flatnonzero(alone).tolist())
        self._called = cluster.tasks.sequence[called]
        self._heads = cluster.tasks.sequence[waiting.heads]
        return called

    def _find_last(self, rows: Int64, called: Int64) -> tuple[Bool, Int64]:
        """Return which of the waiting tasks are ``called``, or in a gang of which some are: bool[N].

        The function also returns, for each queue, the turn of the first of ``rows`` that does not take part: no task
        behind it takes part.
        """
        waiting, turn = self._waiting, self._turn
        takes_part: Bool = np.isin(waiting.rows, called)
        takes_part |= np.isin(turn, turn[takes_part])
        last = np.full(len(waiting.names), len(turn), dtype=np.int64)
        absent = ~takes_part & np.isin(waiting.rows, rows)
        np.minimum.at(last, waiting.queue_of[absent], turn[absent])
        return takes_part, last

    def keep_order(self, called: Int64, chosen: Int64) -> Int64:
        """Return the ``chosen`` tasks (rows) without those that come after another ``called`` task of their queue.

        ``called``: what ``call`` returned; those that are not chosen wait for a later round.
        """
        if len(self._waiting.rows) and len(chosen) < len(called):
            _, last = self._find_last(called, chosen)
            chosen = np.setdiff1d(chosen, self._waiting.rows[self._turn > last[self._waiting.queue_of]])
        return chosen

    def _explain(self, cluster: Cluster, waiting: _Waiting, last: Int64, behind: Int64) -> None:
        """Set the messages of tasks (rows) that wait ``behind`` an earlier task.

        ``last``: the index of that task, by queue.
        """
        tasks = cluster.tasks
        for place in np.flatnonzero(np.isin(waiting.rows, behind)).tolist():
            row, number = int(waiting.rows[place]), int(waiting.queue_of[place])
            before = int(last[number])
            first = tasks.name[int(waiting.rows[before])]
            text = f"quota: {waiting.names[number]} admits in strict order, and {first} waits before it"
            if tasks.message[row] != text:
                set_message(cluster, (row,), text)
                self.unreported.setdefault(text, []).append(tasks.uid[row])

    def take_notices(self) -> list[Unscheduled]:
        """Return the messages for tasks behind heads that are new since the last call."""
        unreported, self.unreported = self.unreported, {}
        return [Unscheduled(tuple(uids), text) for text, uids in unreported.items()]

    def record_heads(self, cluster: Cluster, now: float) -> None:
        """Record which heads a round has tried in vain, once it has taken effect."""
        if not len(self._called) or not has_strict_queues(cluster):
            return
        waiting, tasks = _find_waiting(cluster, now), cluster.tasks
        sequence = tasks.sequence[waiting.heads]
        tried = np.isin(sequence, self._called) & np.isin(sequence, self._heads)
        tried &= tasks.unschedulable[waiting.heads]
        # No machine is reserved for a task behind a head: the task may not be placed before the head.
        behind = _find_turns(cluster, waiting) != waiting.first[waiting.queue_of]
        count_anew(cluster, waiting.rows[behind])
        for name, head, was_tried in zip(waiting.names, sequence.tolist(), tried.tolist(), strict=True):
            if was_tried and (name in self._alone or name not in self.passed):
                self._tried_in_vain[name] = head


def _find_turns(cluster: Cluster, waiting: _Waiting) -> Int64:
    """Return the index of each waiting task in its queue.

    Members of a gang get the index of its first task: int64[N].
    """
    turn = np.arange(len(waiting.rows))
    if not cluster.jobs.gangs:
        return turn
    first = dict[tuple[int, str], int]()
    for place, (row, queue) in enumerate(zip(waiting.rows.tolist(), waiting.queue_of.tolist(), strict=True)):
        job = cluster.tasks.job[row]
        if job in cluster.jobs.gangs:
            turn[place] = first.setdefault((queue, job), place)
    return turn


def _find_waiting(cluster: Cluster, now: float) -> _Waiting:
    """Return the tasks of strict queues that wait, but not those that back off or are refused, or lack gang members.

    In each queue, the more important task comes first; of equally important ones, the older task.
    """
    tasks = cluster.tasks
    rows = tasks.in_state(TaskPhase.PENDING)
    rows = rows[~tasks.refused[rows] & (tasks.not_before[rows] <= now)]
    queue_of = find_strict_queues(cluster, np.unique(tasks.cls[rows]).tolist())
    names = sorted({*queue_of.values()})
    number_of = {name: number for number, name in enumerate(names)}
    number = np.full(len(cluster.classes.rows), -1, dtype=np.int64)
    for cls, name in queue_of.items():
        number[cls] = number_of[name]
    if names:
        rows = rows[~find_exempt_tasks(cluster, rows, number[tasks.cls[rows]], now)]
    rows = rows[number[tasks.cls[rows]] >= 0]
    importance = Importance.from_tasks(tasks).rank_waiting(tasks.priority[rows], tasks.group_priority[rows])
    queue = number[tasks.cls[rows]]
    order = tasks.sort_by_age(rows, -importance, queue)
    present, first, queue = np.unique(queue[order], return_index=True, return_inverse=True)
    return _Waiting(rows[order], queue, [names[each] for each in present.tolist()], first)
