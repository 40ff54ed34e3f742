"""The problem of moving tasks of a cluster that each have a price: which may move at all, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.model import TaskClass
from firmament.core.rescheduling.move_network.compiled import CompiledMoves, compiled
from firmament.core.scheduler import Scheduler
from firmament.core.snapshot.snapshot import Snapshot

_NEVER = 10**9
"""Units for a move that nothing can pay: costs of tasks are cut off there."""


def priced_moves(scheduler: Scheduler, prices: Mapping[str, float]) -> CompiledMoves | None:
    """Return the problem of moving the bound tasks that have ``prices`` (uid -> points); None if none is bound."""
    running = scheduler.snapshot_of_running(sorted(prices))
    return None if running is None else compiled(running, _prices(scheduler, running.snapshot, prices))


def _prices(scheduler: Scheduler, snapshot: Snapshot, prices: Mapping[str, float]) -> Int64:
    """int64[T]: units that moving each task costs. Pinned tasks, and those whose own preferences about other tasks are
    more than a placement's cost shows, stay.
    """
    price = np.array([round(prices[uid] * COST_UNITS_PER_POINT) for uid in snapshot.uids], dtype=np.int64)
    price = np.clip(price, 0, _NEVER)
    first = 0
    for cls, members in enumerate(snapshot.members):
        content = scheduler.bound_task(snapshot.uids[first]).content
        if cls in snapshot.problem.pins or _prefers_company(content):
            price[first : first + len(members)] = _NEVER
        first += len(members)
    return price


def _prefers_company(content: TaskClass) -> bool:
    """Whether a class has preferences about which other tasks are near."""
    soft = any(not rule.required for rule in content.spread)
    return soft or bool(content.preferred_affinity or content.preferred_anti_affinity)
