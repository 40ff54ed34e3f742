"""Whether tasks could all have a place: a count that needs no round, and says no only where a round would.

The machines that are open to a kind of task have room for so many of that size. For a task, all tasks compete that ask
for no less and may use no other machines: if these are more than there is room for, some find no place.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Bool, Int64

_MOST_COMPARED = 256
"""Different sets of machines that are compared with one another; beyond, each is compared with itself alone."""


def may_fit(free: Int64, requests: Int64, counts: Int64, sets: Int64, open_to: Sequence[Bool]) -> bool:
    """Return whether nothing shows that tasks of C classes cannot all be placed on M machines.

    ``free``: int64[M, K], not negative; ``requests``: int64[C, K]; ``counts``: int64[C]; ``sets``: int64[C], the set of
    machines that each class is open to, as index into ``open_to``: bool[M] each.
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
    """Return bool[U, U]: whether every machine of the one set (row) is in the other (column)."""
    if len(masks) > _MOST_COMPARED:
        return np.eye(len(masks), dtype=np.bool_)
    inside = masks.astype(np.float32)
    outside: Bool = inside @ (1 - inside).T > 0
    return ~outside
