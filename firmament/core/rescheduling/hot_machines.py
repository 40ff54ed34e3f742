"""Relieves hot machines: moves a few of their tasks to machines that rules and measured use allow.

A machine is hot if the use of some resource is above a part of what the machine offers. The smallest task of a hot
machine whose reported use suffices moves, or else the largest one. The task goes to the cheapest machine whose load,
with the task, stays below the hot machine's level. Koordinator's LowNodeLoad and the descheduler's LowNodeUtilization
evict from such machines without knowing where their victims will go; this module has placed each task with a round
before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Float64
from firmament.core.rescheduling.rehearsal import move, rehearse
from firmament.core.scheduler import Scheduler

_TASKS, _TARGETS = 10, 5
"""Most tasks of a hot machine that are tried, and most machines that are tried for each task."""


@dataclass(frozen=True, slots=True)
class ReliefMove:
    """A move of one task from a hot machine to another machine."""

    uid: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Relief:
    """Hot machines (``hot``), the hottest first, those still hot after the moves (``left``), and ``moves``."""

    hot: tuple[str, ...]
    moves: tuple[ReliefMove, ...]
    left: tuple[str, ...]


def relieve(
    scheduler: Scheduler, movable: Collection[str], thresholds: Mapping[str, float], most: int
) -> Relief:
    """Return moves of bound tasks (uids ``movable``) that bring machines below ``thresholds``: percent by resource.

    ``scheduler``: a trial scheduler whose models consider load; its tasks end up where the plan puts them.
    """
    measured_use = _MeasuredUse(scheduler, movable, thresholds)
    moves: list[ReliefMove] = []
    hot = measured_use.hot()
    for row in hot:
        while measured_use.is_hot(row) and len(moves) < most:
            made = _make_move(scheduler, measured_use, row)
            if made is None:
                break
            moves.append(made)
    left = tuple(measured_use.names[row] for row in hot if measured_use.is_hot(row))
    return Relief(tuple(measured_use.names[row] for row in hot), tuple(moves), left)


class _MeasuredUse:
    """Use of machines while moves are made; ``use``, ``limit``: float64[M, R], for the resources with thresholds."""

    def __init__(
        self, scheduler: Scheduler, movable: Collection[str], thresholds: Mapping[str, float]
    ) -> None:
        known = scheduler.get_measured()
        chosen = [name for name in thresholds if name in known.resources]
        columns = [known.resources.index(name) for name in chosen]
        self.names = known.machines
        self.row = {name: row for row, name in enumerate(self.names)}
        self.use: Float64 = known.use[:, columns]
        self.limit: Float64 = known.offered[:, columns] * [thresholds[name] / 100.0 for name in chosen]
        self.task_use = {uid: use[columns] for uid, use in known.tasks.items() if uid in movable}
        self._on: dict[str, list[str]] = {}
        for uid in sorted(self.task_use):
            self._on.setdefault(scheduler.get_bound_task(uid).event.machine, []).append(uid)

    def hot(self) -> list[int]:
        """Return the rows of hot machines, the hottest first."""
        with np.errstate(invalid="ignore", divide="ignore"):
            worst = np.nan_to_num(self.use / self.limit, nan=0.0, posinf=0.0).max(axis=1, initial=0.0)
        order = np.lexsort((self.names, -worst))
        return [row for row in order.tolist() if self.is_hot(row)]

    def is_hot(self, row: int) -> bool:
        """Return whether a machine is above a threshold; False if its use is not reported."""
        return bool((self.use[row] > self.limit[row]).any())

    def tasks(self, row: int) -> list[str]:
        """Return the tasks of a hot machine in the order in which they are tried."""
        excess = np.maximum(self.use[row] - self.limit[row], 0.0)
        over = excess > 0
        shares = {uid: self.task_use[uid][over] / excess[over] for uid in self._on.get(self.names[row], ())}
        enough = sorted((float(share.sum()), uid) for uid, share in shares.items() if (share >= 1).all())
        less = sorted((-float(share.min()), uid) for uid, share in shares.items() if 0 < share.min() < 1)
        return [uid for _, uid in (*enough, *less)]

    def has_room(self, name: str, uid: str) -> bool:
        """Return whether a machine with reported use stays below all thresholds with one more task."""
        row = self.row[name]
        return bool((self.use[row] + self.task_use[uid] <= self.limit[row]).all())

    def note(self, made: ReliefMove) -> None:
        """Record that a task has moved, and move its reported use with it."""
        use = self.task_use.pop(made.uid)
        self.use[self.row[made.source]] -= use
        self.use[self.row[made.target]] += use
        self._on[made.source].remove(made.uid)


def _make_move(scheduler: Scheduler, measured_use: _MeasuredUse, row: int) -> ReliefMove | None:
    """Return one move off a machine, made in the scheduler and in the measured use; None if no move is possible."""
    for uid in measured_use.tasks(row)[:_TASKS]:
        verdicts = sorted(
            (each.cost, each.machine)
            for each in scheduler.explain(uid).machines
            if not each.reasons
            and each.machine != measured_use.names[row]
            and measured_use.has_room(each.machine, uid)
        )
        for _, target in verdicts[:_TARGETS]:
            if uid in rehearse(scheduler, {uid: target}):
                made = ReliefMove(uid, measured_use.names[row], target)
                move(scheduler, uid, target)
                measured_use.note(made)
                return made
    return None
