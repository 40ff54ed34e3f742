"""Finds tasks that may not evict others yet, because an earlier task of their strict queue still waits."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.preemption.node_state import PreemptionState


def find_behind(state: PreemptionState, gang: Int64) -> Bool:
    """Return the classes that must wait because another task or gang comes before them in their strict queue: bool[C].

    ``gang``: int64[C], the gang whose tasks wait for places together, -1 for none. A gang is as important as its most
    important task. A task that its queue can never admit delays no other task.
    """
    behind, terms = np.zeros(len(gang), dtype=np.bool_), state.problem.quotas
    if terms is None or not terms.strict.any():
        return behind
    draw = terms.draw[state.problem.shape]
    node = terms.find_nodes_of(draw)
    waiting = np.flatnonzero((state.remaining > 0) & (node >= 0) & np.append(terms.strict, False)[node])
    oldest = np.argmax(state.waiting[waiting] > 0, axis=1).tolist() if len(waiting) else []
    since = state.preemption.since.tolist() or [0] * len(gang)
    first: dict[int, tuple[tuple[int, ...], int]] = {}
    for cls, bucket in zip(waiting.tolist(), oldest, strict=True):
        if not terms.draws[int(draw[cls])].refused:
            turn = -int(state.preemption.priority[cls]), bucket, since[cls], cls
            first[int(node[cls])] = min(first.get(int(node[cls]), (turn, cls)), (turn, cls))
    for cls in waiting.tolist():
        leader = first.get(int(node[cls]), ((), cls))[1]
        behind[cls] = cls != leader and (gang[cls] < 0 or gang[cls] != gang[leader])
    return behind
