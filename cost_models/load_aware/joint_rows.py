"""Makes joint rows, so that the tasks of a round together keep the use of each machine below its thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cost_models.api.arrays import Int8
from cost_models.interface import Bool, Int64, JointRows, Returned
from cost_models.load_aware.arguments import Settings
from cost_models.load_aware.task_use import RunningTasks
from cost_models.load_aware.thresholds import NO_LIMIT

EXPIRED = "node(s) nodeMetric expired"
MISSING = "node(s) nodeMetric missing"

EXCEEDED = 2
"""Index of the first resource's reasons; those for a missing or old report come before."""


@dataclass(frozen=True, slots=True)
class UsageRoom:
    """How much more of each resource may be used on each machine under one set of thresholds.

    ``left``: int64[R, M], that amount, ``NO_LIMIT`` without a threshold; ``refused``: int8[M], why the machine's
    report refuses it: 0 if the last report is too old, 1 if the machine has none, -1 if the report does not refuse
    it; ``percent``, ``used``: int64[R, M], the thresholds and the use that is compared with them; ``aggregated``:
    bool[M], whether that is use over a period; ``estimated``: bool[M], whether it consists of estimates alone, as the
    machine has no report.
    """

    left: Int64
    refused: Int8
    percent: Int64
    used: Int64
    aggregated: Bool
    estimated: Bool


@dataclass(frozen=True, slots=True)
class Rooms:
    """The use that thresholds still allow on each machine, for prod tasks and for all others.

    ``prod``: for tasks of class koord-prod; ``whole``: for all others. The two differ on machines that are ``separate``
    (bool[M]), which have thresholds for prod tasks. ``allocatable``: int64[R, M].
    """

    whole: UsageRoom
    prod: UsageRoom
    separate: Bool
    allocatable: Int64


def refusal_reasons(settings: Settings) -> tuple[str, ...]:
    """Return the reasons for refusals: two about reports, then two per resource, for the last use and for use over a
    period.
    """
    reasons = [EXPIRED, MISSING]
    for name in settings.known:
        reasons += [
            f"node(s) {name} usage exceed threshold",
            f"node(s) {name} aggregated usage exceed threshold",
        ]
    return tuple(reasons)


def joint_rows(
    space: Rooms, amounts: Int64, kinds: tuple[Bool, Bool], running: RunningTasks | None, settings: Settings
) -> tuple[JointRows, ...]:
    """Return joint rows by resource and set of thresholds, for the machines where tasks could exceed a limit.

    ``amounts``: int64[S, R], what tasks take; ``kinds``: bool[S] each, shapes of class koord-prod, and shapes for
    which thresholds count. While a threshold is exceeded, no task for which thresholds count may come, however little
    it takes. A machine above a threshold also has rows if evictions can end the excess.
    """
    prod, held = kinds
    reasons = refusal_reasons(settings)
    every = np.arange(len(space.separate), dtype=np.int64)
    rows = []
    for room, machines, shapes, period, of_prod in _parts(space, prod):
        if not machines.any():
            continue
        for position, left in enumerate(room.left):
            amount = np.where(shapes, amounts[:, position], 0)
            limited = machines & (left < NO_LIMIT // 2)
            exceeded = machines & (left < 0)
            barred = shapes & held & (running is not None) & bool(exceeded.any())
            if not (limited.any() and (amount.any() or barred.any())):
                continue
            back = None
            if running is not None:
                owed = np.where(exceeded, -left, 0)
                leaving = _Leaving(running, position, room.estimated, of_prod)
                back = Returned(owed, by_task=leaving, barred=barred)
            limit = np.where(limited, np.maximum(left, 0), 0)
            reason = reasons[EXCEEDED + 2 * position + period]
            rows.append(JointRows(np.where(limited, every, -1), amount, limit, reason, back))
    return tuple(rows)


def _parts(space: Rooms, prod: Bool) -> Iterator[tuple[UsageRoom, Bool, Bool, int, bool]]:
    """Yield (room, machines, shapes, period, prod): the allowed further use that limits ``shapes`` on ``machines``.

    machines: bool[M]; shapes: bool[S]; period: 1 for use over a period, else 0; prod: whether the room is about the
    use of prod tasks alone. At most one room of each machine limits a shape.
    """
    all_shapes = np.ones_like(prod)
    for period in (0, 1):
        alike = space.whole.aggregated == bool(period)
        yield space.whole, ~space.separate & alike, all_shapes, period, False
        yield space.whole, space.separate & alike, ~prod, period, False
    yield space.prod, space.separate, prod, 0, True


@dataclass(frozen=True, slots=True)
class _Leaving:
    """Computes by how much a machine's use of one resource certainly falls when a task leaves.

    For the use of all tasks, a leaving task frees the part of its estimate that exceeds its reported use. The
    reported use of the machine does not fall, as nobody knows how much of it the leaving task caused. For the use of
    ``prod`` tasks, which is a sum over tasks, a leaving task frees its use. On machines where estimates stand for a
    report (``alone``: bool[M]), a leaving task frees its whole estimate.
    """

    running: RunningTasks
    position: int
    alone: Bool
    prod: bool

    def amounts(self, places: Int64) -> Int64:
        """Return the amounts of the tasks in ``places``: int64[V]."""
        running, position = self.running, self.position
        known, guessed = (
            (running.prod_use(position, places), running.prod_alone(position, places))
            if self.prod
            else (running.get_excess(position, places), running.alone(position, places))
        )
        return np.where(self.alone[running.assigned.machine[places]], guessed, known).astype(np.int64)
