"""Finds evictions that would be undone at once, because another queue would take its quota or capacity back.

Within a queue, a more important task replaces a less important one even if it has to borrow and the other does not.
Suppose that a borrowing task of another queue then evicts the more important one. The less important task may then
take its queue's quota back from the borrowing task, and the first eviction repeats: evictions form a circle.
Evictions to free capacity can form a circle, too, if each undoes the one before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.constraints.quota_terms import Draw, list_columns
from firmament.core.constraints.remaining_quota import RemainingQuota
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.quotas.bounds import QuotaBound
from firmament.core.preemption.quotas.units import find_machine
from firmament.core.preemption.quotas.victims import Preemptor, is_borrowing, part_ways


def is_taken_back(
    state: PreemptionState,
    node: Int64,
    preemptor: Preemptor,
    victims: Sequence[int],
    *,
    for_room: bool = False,
) -> bool:
    """Return whether a waiting task would evict the incoming task for its quota, and a victim would then evict it.

    The waiting task is in a victim's queue and less important than the victim, stays within the queue's own quota, and
    finds no place without an eviction. ``state``: the state after the victims left and the preemptor was placed;
    ``node``: int64[V], the quota node that each task on a machine draws on; ``for_room``: whether the victim would
    evict to free capacity, which no policy of the queue restricts.
    """
    quotas, terms = state.quotas, state.problem.quotas
    assert quotas is not None
    assert terms is not None
    if not terms.is_reclaimable(preemptor.node):
        return False
    highest: dict[int, int] = {}
    for victim in victims:
        queue, standing = int(node[victim]), int(state.preemption.victim_priority[victim])
        if queue != preemptor.node and terms.reclaim[queue] and (for_room or terms.within[queue]):
            highest[queue] = max(standing, highest.get(queue, standing))
    if not highest:
        return False
    for cls in _list_less_important(state, highest):
        draw = terms.draws[int(terms.draw[state.problem.shape[cls]])]
        standing = int(state.preemption.priority[cls])
        if terms.reclaim[draw.node] < 2 and standing <= preemptor.importance[0]:
            continue
        waiting = Preemptor(draw.node, tuple(list_columns(draw)), (standing, 0), -1)
        # With fair sharing, a task within its own queue's quota evicts tasks of any queue that borrows, whatever the
        # cohorts above say.
        sides = {
            part_ways(quotas, draw.node, preemptor.node)[0],
            *([draw.node] if terms.fair[draw.node] else []),
        }
        together = _count_together(state, cls)
        if (
            is_borrowing(quotas, waiting, preemptor.node)
            and any(_has_enough(quotas, side, draw, together) for side in sides)
            and find_machine(state, cls) is None
        ):
            return True
    return False


def _list_less_important(state: PreemptionState, highest: Mapping[int, int]) -> list[int]:
    """Return classes that wait for quota and are less important than a victim in their queue.

    ``highest``: by quota node, the highest priority among its victims.
    """
    terms, preemption = state.problem.quotas, state.preemption
    assert terms is not None
    waiting = np.flatnonzero((state.remaining > 0) & preemption.reclaims)
    node, standing = terms.find_nodes(state.problem.shape[waiting]), preemption.priority[waiting]
    found = np.zeros(len(waiting), dtype=np.bool_)
    for queue, most in highest.items():
        found |= (node == queue) & (standing < most + (terms.within[queue] > 1))
    return waiting[found].tolist()


def is_room_taken_back(state: PreemptionState, cls: int, machine: int, victims: Sequence[int]) -> bool:
    """Return whether other queues would at once take back the capacity that their victims left to a task on a machine.

    The task, of class ``cls``, has quota. In ``state`` the victims are gone, and the task is not placed yet.
    """
    preemption, quotas, terms = state.preemption, state.quotas, state.problem.quotas
    number = int(terms.draw[state.problem.shape[cls]]) if terms is not None else -1
    node = state.drawn
    if quotas is None or terms is None or number < 0 or not len(node):
        return False
    own = terms.draws[number].node
    root = quotas.use.list_path(own)[-1] if own >= 0 else -1
    others = [
        victim
        for victim in victims
        if node[victim] >= 0 and node[victim] != own and quotas.use.list_path(int(node[victim]))[-1] == root
    ]
    if not others or not ((state.remaining > 0) & preemption.reclaims).any():
        return False
    after = state.copy()
    after.quotas = QuotaBound(state, np.flatnonzero(state.gone & (node >= 0)).tolist()).quotas
    after.put(cls, machine)
    importance = int(preemption.priority[cls]), -int(preemption.since[cls])
    preemptor = Preemptor(own, tuple(list_columns(terms.draws[number])), importance, -1)
    return is_taken_back(after, node, preemptor, others, for_room=True)


def _count_together(state: PreemptionState, cls: int) -> int:
    """Return how many tasks of a class come together: as many as its gang needs, or one if it is in no gang."""
    problem = state.problem
    gang = int(problem.gang[cls]) if len(problem.gang_need) else -1
    return max(1, min(int(problem.gang_need[gang]), int(state.remaining[cls]))) if gang >= 0 else 1


def _has_enough(quotas: RemainingQuota, side: int, draw: Draw, count: int) -> bool:
    """Return whether a quota has enough left for ``count`` tasks, in one flavor of each resource group.

    ``side``: the quota that the tasks draw on, or one above it. If ``side`` is above the tasks' own quota, only use
    beyond what lower quotas never lend counts.
    """
    return all(
        any(
            all(
                quotas.use.find_passed(draw.node, side, column, amount * count)
                <= quotas.use.get_own_left(side, column)
                for column, amount in zip(columns, group.amounts, strict=True)
            )
            for columns in group.columns
        )
        for group in draw.groups
    )
