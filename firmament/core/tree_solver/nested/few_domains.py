"""Chooses as few domains as possible for equal tasks that do not all fit into one domain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Int64


def choose_few_domains(
    codes: Sequence[Int64], slots: Int64, count: int, where: Int64
) -> tuple[Int64, Int64 | None]:
    """Return machines of ``where`` for ``count`` equal tasks, and the rank in which to fill them.

    The rank is None if the order does not matter. ``codes``: int64[M] per label, the coarsest first, the domain of each
    machine, -1 for none; ``slots``: int64[M], the tasks that each machine takes. Label by label, only the machines of
    the fewest domains that take all tasks remain. The fewest domains are those that take most tasks, and last the
    smallest domain that takes the remaining tasks. A label is left out if its domains do not take all tasks.
    """
    rank: Int64 | None = None
    for code in codes:
        at = code[where]
        inside = at >= 0
        room = np.bincount(at[inside], np.minimum(slots[where[inside]], count)).astype(np.int64)
        if int(room.sum()) < count:
            continue
        chosen = _choose(room, count)
        place = np.full(len(room), -1, dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        taken = np.where(inside, place[at], -1)
        kept = taken >= 0
        where, rank = where[kept], taken[kept]
    return where, rank


def _choose(room: Int64, count: int) -> list[int]:
    """Return the fewest domains that take ``count`` tasks, in order of filling; ``room``: int64[D], tasks they take."""
    order = np.argsort(-room, kind="stable")
    before = np.cumsum(room[order]) - room[order]
    full = int(np.searchsorted(before + room[order], count))
    rest = count - int(before[full])
    enough = order[full:][room[order[full:]] >= rest]
    tightest = room[enough].min()
    return [*order[:full].tolist(), int(enough[room[enough] == tightest].min())]
