"""Checks by counting whether tasks can all have a place; a negative answer is certain, and takes no round.

The machines that are open to a kind of task can take some number of tasks of that size. All tasks that request no
less than this kind, and may use no other machines, compete for these places. If there are more of these tasks than
places, some find none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Bool, Int64

_MOST_COMPARED = 256
"""Up to this number of sets of machines, all sets are compared; above it, each set is compared only with itself."""


def may_fit(free: Int64, requests: Int64, counts: Int64, sets: Int64, open_to: Sequence[Bool]) -> bool:
    """Return whether tasks of C classes may all fit on M machines; False is certain.

    ``free``: int64[M, K], at least 0; ``requests``: int64[C, K]; ``counts``: int64[C], tasks of each class; ``sets``:
    int64[C], the set of machines that each class may use, as index into ``open_to``: bool[M] each.
    """
    if (counts @ requests > free.sum(axis=0)).any():
        return False
    used, place = np.unique(sets, return_inverse=True)
    masks = np.array([open_to[number] for number in used.tolist()], dtype=np.bool_).reshape(-1, len(free))
    within = _find_subsets(masks)
    kinds = np.unique(np.column_stack([place, requests]), axis=0)
    for kind in kinds.tolist():
        mask, request = kind[0], np.array(kind[1:], dtype=np.int64)
        asked = request > 0
        if not asked.any():
            continue
        room = (free[masks[mask]][:, asked] // request[asked]).min(axis=1)
        needing = within[place, mask] & (requests >= request).all(axis=1)
        if counts[needing].sum() > room.sum():
            return False
    return True


def _find_subsets(masks: Bool) -> Bool:
    """Return whether every machine of one set (row) is in the other set (column): bool[U, U]."""
    if len(masks) > _MOST_COMPARED:
        return np.eye(len(masks), dtype=np.bool_)
    inside = masks.astype(np.float32)
    outside: Bool = inside @ (1 - inside).T > 0
    return ~outside
