"""Who may go for a task that lacks quota: by the policies of its queue, and where queues go by shares, by these.

Without shares: less important tasks of the same queue, or newer ones as well; of other queues those of queues that
borrow, as long as every quota in which the two part ways borrows, too, and the task's own side does not borrow then.
Some less important tasks may be evicted even so.

With shares a task that has to borrow takes from queues whose share is larger. Shares are compared where the ways up
from the two queues meet, with the task counted on its side: by ``LessThanOrEqualToFinalShare`` its own is at most what
is left to the other side, by ``LessThanInitialShare`` it is less than what the other side has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_order import QuotaShares
from firmament.core.constraints.quota_room import QuotaRoom
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.quota_users import Importance


class Newcomer(NamedTuple):
    """A task, or a gang, that lacks quota."""

    node: int
    """The quota that it draws on."""
    columns: tuple[int, ...]
    """Of what it may take."""
    importance: Importance
    own: int
    """Its gang among those that may go, -1 for none."""


def find_candidates(state: PreemptionState, node: Int64, newcomer: Newcomer) -> Bool:
    """Return bool[V]: tasks that may go for a newcomer. ``node``: int64[V], the quota that each draws on."""
    preemption, quotas, terms = state.preemption, state.quotas, state.problem.quotas
    assert quotas is not None
    assert terms is not None
    root = quotas.use.list_path(newcomer.node)[-1]
    going = ~state.gone & ~preemption.leaving & (node >= 0)
    if newcomer.own >= 0:
        going &= preemption.gang != newcomer.own
    found: Bool = np.zeros(len(going), dtype=np.bool_)
    for each in np.unique(node[going]).tolist():
        if each == newcomer.node:
            found |= going & (node == each) & _find_within(state, newcomer, int(terms.within[each]))
        elif quotas.use.list_path(each)[-1] == root and is_borrowing(quotas, newcomer, each):
            found |= going & (node == each) & _find_reclaimable(state, newcomer)
    return found


def is_borrowing(quotas: QuotaRoom, newcomer: Newcomer, other: int) -> bool:
    """Return whether another queue borrows, and all above it that are not above the newcomer's as well."""
    use, ours = quotas.use, quotas.use.list_path(newcomer.node)
    return all(
        any(use.get_own_left(each, column) < 0 for column in newcomer.columns)
        for each in use.list_path(other)
        if each not in ours
    )


def _find_within(state: PreemptionState, newcomer: Newcomer, policy: int) -> Bool:
    """Return bool[V]: tasks that may go for one of the same queue."""
    preemption, (priority, age) = state.preemption, newcomer.importance
    less: Bool = preemption.victim_priority < priority
    if policy > 1:
        less = less | ((preemption.victim_priority == priority) & (-preemption.sequence < age))
    return less if policy else np.zeros_like(less)


def _find_reclaimable(state: PreemptionState, newcomer: Newcomer) -> Bool:
    """Return bool[V]: tasks that may go, if they are of another queue."""
    terms = state.problem.quotas
    assert terms is not None
    less: Bool = state.preemption.victim_priority < newcomer.importance[0]
    policy = int(terms.reclaim[newcomer.node])
    found = np.ones_like(less) if policy > 1 else less & (policy > 0)
    return found | find_while_borrowing(state, newcomer)


def find_while_borrowing(state: PreemptionState, newcomer: Newcomer) -> Bool:
    """Return bool[V]: tasks of other queues that may go even if the newcomer has to borrow."""
    terms, standing = state.problem.quotas, state.preemption.victim_priority
    assert terms is not None
    if not terms.borrows[newcomer.node] or terms.fair[newcomer.node]:
        return np.zeros(len(standing), dtype=np.bool_)
    return np.asarray((standing < newcomer.importance[0]) & (standing <= terms.threshold[newcomer.node]))


def part_ways(quotas: QuotaRoom, node: int, other: int) -> tuple[int, int]:
    """Return the quotas, above two of one tree or they themselves, right below the first that is above both."""
    ours, theirs = quotas.use.list_path(node), quotas.use.list_path(other)
    below, beside = node, other
    for mine, its in zip(reversed(ours), reversed(theirs), strict=False):
        below, beside = mine, its
        if mine != its:
            break
    return below, beside


def stays_within(quotas: QuotaRoom, newcomer: Newcomer, others: Sequence[int]) -> bool:
    """Return whether the newcomer's side borrows nothing where it parts ways with other queues; it has its place."""
    ours = {part_ways(quotas, newcomer.node, other)[0] for other in others}
    return all(quotas.use.get_own_left(each, column) >= 0 for each in ours for column in newcomer.columns)


# --- shares -------------------------------------------------------------------------------------------------------


class ShareRule:
    """Goes through tasks in the order in which shares let them go; ``node``: int64[V], the quota of each."""

    def __init__(self, shares: QuotaShares, node: Int64, strategies: Sequence[str]) -> None:
        self._shares, self._node = shares, node
        self.strategies = strategies

    def order(
        self,
        quotas: QuotaRoom,
        newcomer: Newcomer,
        victims: Sequence[Sequence[int]],
        book: Callable[[QuotaRoom, int, int], None],
        *,
        lenient: bool,
    ) -> list[Sequence[int]]:
        """Return the ``victims`` that may go by fair shares, in the order in which they go. ``victims`` are tasks or
        whole gangs, in the order within their queue.

        ``quotas``: with the newcomer in its place; ``book`` books who goes in it (-1), or stays after all. ``lenient``:
        who does not go by the first of two strategies is looked at again by the second.
        """
        found: list[Sequence[int]] = []
        left = list(victims)
        for strategy in self.strategies if lenient else self.strategies[:1]:
            left = self._pass_through(quotas, newcomer, left, book, strategy, found)
        return found

    def _pass_through(
        self,
        quotas: QuotaRoom,
        newcomer: Newcomer,
        victims: Sequence[Sequence[int]],
        book: Callable[[QuotaRoom, int, int], None],
        strategy: str,
        found: list[Sequence[int]],
    ) -> list[Sequence[int]]:
        """Add those to ``found`` that go by one strategy; returns the others."""
        waiting: dict[int, list[Sequence[int]]] = {}
        for each in victims:
            waiting.setdefault(int(self._node[each[0]]), []).append(each)
        within = all(quotas.use.get_own_left(newcomer.node, column) >= 0 for column in newcomer.columns)
        refused: list[Sequence[int]] = []
        while waiting and (queue := self._find_next(quotas, newcomer, list(waiting))) is not None:
            group = waiting[queue].pop(0)
            if not waiting[queue]:
                del waiting[queue]
            ours, theirs = part_ways(quotas, newcomer.node, queue)
            before = self._compute(quotas, theirs)
            for victim in group:
                book(quotas, victim, -1)
            if queue == newcomer.node or within or self._lets_go(quotas, ours, theirs, before, strategy):
                found.append(group)
                continue
            refused.append(group)
            for victim in group:
                book(quotas, victim, 1)
        return refused

    def _lets_go(self, quotas: QuotaRoom, ours: int, theirs: int, before: float, strategy: str) -> bool:
        mine = self._compute(quotas, ours)
        if strategy == "LessThanOrEqualToFinalShare":
            return mine <= self._compute(quotas, theirs)
        return mine < before

    def _compute(self, quotas: QuotaRoom, node: int) -> float:
        return self._shares.compute(node, quotas.use.used[node])

    def _find_next(self, quotas: QuotaRoom, newcomer: Newcomer, queues: list[int]) -> int | None:
        """Return the queue that gives next: from the top down the largest share, the newcomer's own way aside only
        those that borrow; None for none.
        """
        ours = quotas.use.list_path(newcomer.node)
        paths = {queue: quotas.use.list_path(queue)[::-1] for queue in queues}
        open_to = [
            queue
            for queue in queues
            if all(self._compute(quotas, each) > 0 for each in paths[queue][1:] if each not in ours)
        ]
        depth = 1
        while len(open_to) > 1:
            steps = {queue: paths[queue][min(depth, len(paths[queue]) - 1)] for queue in open_to}
            # of equal shares a cohort before a queue, and the newcomer's own queue last
            best = max(
                set(steps.values()),
                key=lambda step: (
                    self._compute(quotas, step),
                    step not in queues,
                    step != newcomer.node,
                    -step,
                ),
            )
            open_to = [queue for queue in open_to if steps[queue] == best]
            depth += 1
        return open_to[0] if open_to else None
