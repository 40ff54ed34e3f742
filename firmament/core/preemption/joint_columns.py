"""Joint rows that get something back when tasks go, as further columns beside the machines' resources.

Where a model says what evicting gives back, its rows are like any resource: tasks that come take of them, tasks that
go give back, and machines may lack some. All other joint rows stay limits that evicting does not change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64, JointRows
from firmament.core.flow.problem import PlacementProblem, Residual
from firmament.core.preemption.problem import PreemptionProblem

ENDLESS = 2**60
"""Room of machines that a row does not hold; sums with it stay within 64 bits."""


@dataclass(frozen=True, slots=True)
class RoomColumns:
    """K resources, then J columns of joint rows.

    ``requests``: int64[S, K + J], what a task of each shape takes; ``heeded``: bool[S, K + J], columns that matter to
    it: those of which it takes something, and those that it must not come to while more has been taken than there is;
    ``sizes``: int64[V + 1, K + J], what each task on a machine gives back, the last row standing for no task;
    ``room``: int64[M, K + J], what is left, negative where more has been taken than there is.
    """

    requests: Int64
    heeded: Bool
    sizes: Int64
    room: Int64


def columns(problem: PlacementProblem, preemption: PreemptionProblem, residual: Residual) -> RoomColumns:
    """The columns of a round after the placements in ``residual``."""
    requests, room = [problem.requests], [residual.free.T]
    heeded = [problem.requests > 0]
    for number in preemption.returning:
        rows = problem.joint[number]
        requests.append(rows.amount[:, None])
        heeded.append(rows.holds()[:, None])
        room.append(_room(rows, residual.joint_left[number])[:, None])
    sizes = preemption.requests[preemption.kind]
    if preemption.returning:
        sizes = np.concatenate([sizes, preemption.returns], axis=1)
    nobody = np.zeros_like(sizes[:1], shape=(1, sizes.shape[1]))
    return RoomColumns(
        np.concatenate(requests, axis=1),
        np.concatenate(heeded, axis=1),
        np.vstack([sizes, nobody]),
        np.concatenate(room, axis=1),
    )


def others(problem: PlacementProblem, preemption: PreemptionProblem, left: list[Int64]) -> list[Limit]:
    """The joint rows that are no columns, with ``left``, what is left of all."""
    pairs = enumerate(zip(problem.joint, left, strict=True))
    return [Limit(rows, room.copy()) for number, (rows, room) in pairs if number not in preemption.returning]


@dataclass(frozen=True, slots=True)
class Limit:
    """Joint rows that evicting does not change, and what is ``left`` of them: int64[R]."""

    rows: JointRows
    left: Int64

    def copy(self) -> Limit:
        """An independent copy."""
        return Limit(self.rows, self.left.copy())


def _room(rows: JointRows, left: Int64) -> Int64:
    """int64[M]: what the machines' rows have left, less what has to come back first."""
    owed = 0 if rows.returned is None else rows.returned.owed
    return np.where(rows.row_of >= 0, np.append(left - owed, 0)[rows.row_of], ENDLESS)
