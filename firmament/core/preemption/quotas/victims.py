"""Decides which tasks may be evicted for a task that lacks quota: by the policies of its queue, or by fair shares.

Without fair shares, a task may evict less important tasks of its own queue, or also newer tasks of equal priority, as
its queue's policy says. A task may also evict tasks of other queues that borrow. Two conditions apply to other
queues: every quota between that queue and the first quota above both queues borrows, too; and the task's own side
does not borrow afterwards. A policy may let a task that borrows evict some less important tasks. Tasks of queues that
are not reclaimable stay.

With fair shares, a task evicts tasks of queues that borrow the resources it lacks. If the quota of the task's queue
covers these resources, the task may evict from all queues that borrow them, otherwise from those whose share is
larger. The two quotas right below the first quota above both queues are compared by their shares, with the task
counted on its side. ``LessThanOrEqualToFinalShare`` requires that the task's share is at most what the other side has
left; ``LessThanInitialShare`` requires that it is less than what the other side has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_order import QuotaShares
from firmament.core.constraints.remaining_quota import RemainingQuota
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.quota_users import Importance


class Preemptor(NamedTuple):
    """A task or a gang that lacks quota, for which others may be evicted."""

    node: int
    """The quota node that the task or gang draws on."""
    columns: tuple[int, ...]
    """The quota columns that the preemptor may draw on."""
    importance: Importance
    own: int
    """The preemptor's own gang, as tasks on machines number gangs; -1 for none."""


def find_candidates(state: PreemptionState, node: Int64, preemptor: Preemptor) -> Bool:
    """Return which tasks may be evicted for a preemptor: bool[V]. ``node``: int64[V], the quota node of each task."""
    preemption, quotas, terms = state.preemption, state.quotas, state.problem.quotas
    assert quotas is not None
    assert terms is not None
    going = ~state.gone & ~preemption.leaving & (node >= 0)
    if preemptor.own >= 0:
        going &= preemption.gang != preemptor.own
    root = state.root[preemptor.node]
    others = [
        each
        for each in np.unique(node[going]).tolist()
        if each != preemptor.node
        and state.root[each] == root
        and terms.is_reclaimable(each)
        and is_borrowing(quotas, preemptor, each)
    ]
    borrowing = np.zeros(len(state.root) + 1, dtype=np.bool_)
    borrowing[others] = True
    within = _find_within(state, preemptor, int(terms.within[preemptor.node]))
    own = (node == preemptor.node) & within
    return np.asarray(going & (own | (borrowing[node] & _find_within_reclaim_policy(state, preemptor))))


def is_borrowing(quotas: RemainingQuota, preemptor: Preemptor, other: int) -> bool:
    """Return whether another queue borrows, and so do all quotas above it that are not above the preemptor's queue."""
    use, ours = quotas.use, quotas.use.list_path(preemptor.node)
    return all(
        any(use.get_own_left(each, column) < 0 for column in preemptor.columns)
        for each in use.list_path(other)
        if each not in ours
    )


def are_borrowing(state: PreemptionState, node: Int64, preemptor: Preemptor, victims: Sequence[int]) -> bool:
    """Return whether the queues of all victims except the preemptor's own borrow what the preemptor draws on."""
    quotas = state.quotas
    assert quotas is not None
    others = {int(node[victim]) for victim in victims} - {preemptor.node}
    return all(is_borrowing(quotas, preemptor, each) for each in others)


def iterate_parts(
    state: PreemptionState, node: Int64, preemptor: Preemptor, victims: list[int], few: int
) -> Iterator[list[int]]:
    """Yield all ``victims`` as one list; if there are more than ``few``, also yield a part of them for each flavor.

    Nothing is yielded if there are no victims.

    The part of a flavor consists of the victims whose queues borrow of this flavor.
    """
    if victims:
        yield victims
    terms = state.problem.quotas
    assert terms is not None
    flavors = {terms.columns[column][0]: None for column in preemptor.columns}
    for flavor in flavors if len(victims) > few and len(flavors) > 1 else ():
        columns = tuple(column for column in preemptor.columns if terms.columns[column][0] == flavor)
        there = preemptor._replace(columns=columns)
        part = [victim for victim in victims if are_borrowing(state, node, there, [victim])]
        if part and len(part) < len(victims):
            yield part


def _find_within(state: PreemptionState, preemptor: Preemptor, policy: int) -> Bool:
    """Return which tasks the ``withinClusterQueue`` policy lets a preemptor of their own queue evict: bool[V]."""
    preemption, (priority, age) = state.preemption, preemptor.importance
    less: Bool = preemption.victim_priority < priority
    if policy > 1:
        less = less | ((preemption.victim_priority == priority) & (-preemption.age < age))
    return less if policy else np.zeros_like(less)


def _find_within_reclaim_policy(state: PreemptionState, preemptor: Preemptor) -> Bool:
    """Return which tasks of other queues the policy of the preemptor's own queue lets it evict: bool[V]."""
    terms = state.problem.quotas
    assert terms is not None
    less: Bool = state.preemption.victim_priority < preemptor.importance[0]
    policy = int(terms.reclaim[preemptor.node])
    found = np.ones_like(less) if policy > 1 else less & (policy > 0)
    return found | find_while_borrowing(state, preemptor)


def find_while_borrowing(state: PreemptionState, preemptor: Preemptor) -> Bool:
    """Return tasks of other queues that the preemptor may evict even if it has to borrow: bool[V]."""
    terms, standing = state.problem.quotas, state.preemption.victim_priority
    assert terms is not None
    if not terms.borrows[preemptor.node] or terms.fair[preemptor.node]:
        return np.zeros(len(standing), dtype=np.bool_)
    return np.asarray((standing < preemptor.importance[0]) & (standing <= terms.threshold[preemptor.node]))


def part_ways(quotas: RemainingQuota, node: int, other: int) -> tuple[int, int]:
    """Return the two quotas right below the lowest quota that is above ``one`` and ``other`` in their tree."""
    ours, theirs = quotas.use.list_path(node), quotas.use.list_path(other)
    below, beside = node, other
    for mine, its in zip(reversed(ours), reversed(theirs), strict=False):
        below, beside = mine, its
        if mine != its:
            break
    return below, beside


def stays_within(quotas: RemainingQuota, preemptor: Preemptor, others: Sequence[int]) -> bool:
    """Return whether the preemptor's side of the tree, once it is placed, borrows nothing from those of ``others``."""
    ours = {part_ways(quotas, preemptor.node, other)[0] for other in others}
    return all(quotas.use.get_own_left(each, column) >= 0 for each in ours for column in preemptor.columns)


# --- shares -------------------------------------------------------------------------------------------------------


class ShareRule:
    """Decides in which order fair shares let tasks leave; ``node``: int64[V], the quota node of each task."""

    def __init__(self, shares: QuotaShares, node: Int64, strategies: Sequence[str]) -> None:
        self._shares, self._node = shares, node
        self.strategies = strategies

    def order(
        self,
        quotas: RemainingQuota,
        preemptor: Preemptor,
        victims: Sequence[Sequence[int]],
        book: Callable[[RemainingQuota, int, int], None],
        *,
        lenient: bool,
    ) -> list[Sequence[int]]:
        """Return the ``victims`` that fair shares allow to evict, in the order of leaving.

        ``victims`` are tasks or whole gangs, ordered within each queue. ``quotas``: with the preemptor placed; ``book``
        books in ``quotas`` that a task leaves (-1) or stays after all (1). ``lenient``: whether victims that the first
        strategy does not allow are tried again by the second.
        """
        found: list[Sequence[int]] = []
        left = list(victims)
        lacking = [each for each in preemptor.columns if quotas.use.get_left(preemptor.node, each) < 0]
        if lacking:
            preemptor = preemptor._replace(columns=tuple(lacking))
            left = [group for group in left if self._may_give(quotas, preemptor, int(self._node[group[0]]))]
        for strategy in self.strategies if lenient else self.strategies[:1]:
            left = self._pass_through(quotas, preemptor, left, book, strategy, found)
        return found

    def _may_give(self, quotas: RemainingQuota, preemptor: Preemptor, queue: int) -> bool:
        """Return whether a queue is the preemptor's own, or borrows a resource that the preemptor lacks."""
        own_left = (quotas.use.get_own_left(queue, column) for column in preemptor.columns)
        return queue == preemptor.node or any(left < 0 for left in own_left)

    def _pass_through(
        self,
        quotas: RemainingQuota,
        preemptor: Preemptor,
        victims: Sequence[Sequence[int]],
        book: Callable[[RemainingQuota, int, int], None],
        strategy: str,
        found: list[Sequence[int]],
    ) -> list[Sequence[int]]:
        """Append the victims that one strategy allows to ``found``; return the other victims."""
        waiting: dict[int, list[Sequence[int]]] = {}
        for each in victims:
            waiting.setdefault(int(self._node[each[0]]), []).append(each)
        within = all(quotas.use.get_own_left(preemptor.node, column) >= 0 for column in preemptor.columns)
        refused: list[Sequence[int]] = []
        while waiting and (queue := self._find_next(quotas, preemptor, list(waiting))) is not None:
            group = waiting[queue].pop(0)
            if not waiting[queue]:
                del waiting[queue]
            ours, theirs = part_ways(quotas, preemptor.node, queue)
            before = self._compute(quotas, theirs)
            for victim in group:
                book(quotas, victim, -1)
            if queue == preemptor.node or within or self._lets_go(quotas, ours, theirs, before, strategy):
                found.append(group)
                continue
            refused.append(group)
            for victim in group:
                book(quotas, victim, 1)
        return refused

    def _lets_go(self, quotas: RemainingQuota, ours: int, theirs: int, before: float, strategy: str) -> bool:
        mine = self._compute(quotas, ours)
        if strategy == "LessThanOrEqualToFinalShare":
            return mine <= self._compute(quotas, theirs)
        return mine < before

    def _compute(self, quotas: RemainingQuota, node: int) -> float:
        return self._shares.compute(node, quotas.use.used[node])

    def _find_next(self, quotas: RemainingQuota, preemptor: Preemptor, queues: list[int]) -> int | None:
        """Return the queue whose task leaves next, by the largest share from the root down, or None.

        Queues are passed over if they or a quota above them do not borrow; quotas above the preemptor do not count.
        """
        ours = quotas.use.list_path(preemptor.node)
        paths = {queue: quotas.use.list_path(queue)[::-1] for queue in queues}
        open_to = [
            queue
            for queue in queues
            if all(self._compute(quotas, each) > 0 for each in paths[queue][1:] if each not in ours)
        ]
        depth = 1
        while len(open_to) > 1:
            steps = {queue: paths[queue][min(depth, len(paths[queue]) - 1)] for queue in open_to}
            # Among equal shares, a cohort is chosen before a queue, and the preemptor's own queue last.
            best = max(
                set(steps.values()),
                key=lambda step: (
                    self._compute(quotas, step),
                    step not in queues,
                    step != preemptor.node,
                    -step,
                ),
            )
            open_to = [queue for queue in open_to if steps[queue] == best]
            depth += 1
        return open_to[0] if open_to else None
