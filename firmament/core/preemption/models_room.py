"""Limits of models after evictions: joint rows that get something back, and ledgers that depend on the order.

Where a model says what evicting gives back, its joint rows are like any resource, further columns beside the machines'
resources: tasks that come take of them, tasks that go give back, and machines may lack some. All other joint rows stay
limits that evicting does not change.

Who comes for others that go to a machine whose room a ledger keeps in order of arrival waits for them, and nobody knows
when that will be. So a machine takes one such task only, and none if the round, or one before it, has brought somebody
else there who may still be on the way.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.preemption.problem import PreemptionProblem

ENDLESS = 2**60
"""Room of machines that a row does not hold; sums with it stay within 64 bits."""


def columns(
    problem: PlacementProblem, preemption: PreemptionProblem, residual: Residual
) -> tuple[Int64, Bool, Int64, Int64]:
    """Return k resources, then J columns of joint rows, after the placements in ``residual``.

    Returns int64[S, K + J], what a task of each shape takes; bool[S, K + J], columns that matter to it: those of which
    it takes something, and those that it must not come to while more has been taken than there is; int64[V + 1, K + J],
    what each task on a machine gives back, the last row standing for no task; and int64[M, K + J], what is left,
    negative where more has been taken than there is.
    """
    requests, room = [problem.requests], [residual.free.T]
    heeded = [problem.requests > 0]
    for number in preemption.returning:
        joint, rows = residual.joint[number], problem.joint[number]
        owed = 0 if rows.returned is None else rows.returned.owed  # what has to come back first
        requests.append(rows.amount[:, None])
        heeded.append(rows.holds()[:, None])
        room.append(replace(joint, left=joint.left - owed).get_per_machine(ENDLESS)[:, None])
    sizes = preemption.requests[preemption.kind]
    if preemption.returning:
        sizes = np.concatenate([sizes, preemption.returns], axis=1)
    nobody = np.zeros_like(sizes[:1], shape=(1, sizes.shape[1]))
    return (
        np.concatenate(requests, axis=1),
        np.concatenate(heeded, axis=1),
        np.vstack([sizes, nobody]),
        np.concatenate(room, axis=1),
    )


class KeptRooms:
    """The machines of a round on which ledgers count on the order.

    ``guests``: by machine, the class of the task that comes there for others.
    """

    def __init__(self, problem: PlacementProblem, preemption: PreemptionProblem, placed: Assignments) -> None:
        self._problem = problem
        self._preemption = preemption
        self._quiet = np.ones(problem.machines, dtype=np.bool_)
        self._quiet[placed.machine] = False
        self._open: dict[tuple[int, int], Bool] = {}
        self.guests: dict[int, int] = {}

    def copy(self) -> KeptRooms:
        """Return an independent copy; what holds for a whole round is shared."""
        twin = copy.copy(self)
        twin.guests = dict(self.guests)
        return twin

    def keepers(self, cls: int, machine: int) -> list[bool]:
        """Return per ledger, whether it counts on the order in which tasks of a class reach a machine."""
        at, of = np.array([machine]), self._map_to_ledgers(cls)
        return [bool(ledger.find_ordered(of, at)[0]) for ledger in self._problem.ledgers]

    def keeps(self, cls: int, machine: int) -> bool:
        """Return whether some ledger does."""
        return any(self.keepers(cls, machine))

    def openable(self, cls: int) -> Bool:
        """Return bool[M]: kept machines that might open for a class if all less important tasks went, as
        models see it.
        """
        problem, preemption = self._problem, self._preemption
        nowhere: Bool = np.zeros(problem.machines, dtype=np.bool_)
        if problem.held is None:
            return nowhere
        priority = int(preemption.priority[cls])
        key = int(problem.shape[cls]), priority
        if key not in self._open:
            may_go = preemption.leaving | (preemption.victim_priority < priority)
            self._open[key] = self._promising(cls, preemption.row[may_go])
        found: Bool = self._open[key] & self._quiet
        found[list(self.guests)] = False
        return found

    def opens(self, cls: int, machine: int, gone: Iterable[int]) -> bool:
        """Return whether a kept machine takes a task of a class once ``gone`` are gone, and has no guest yet."""
        return (
            machine not in self.guests and bool(self._quiet[machine]) and self._has_room(cls, machine, gone)
        )

    def stays_open(self, machine: int, gone: Iterable[int]) -> bool:
        """Return whether the guest of a machine, if it has one, still has room if only ``gone`` go."""
        return machine not in self.guests or self._has_room(self.guests[machine], machine, gone)

    def _has_room(self, cls: int, machine: int, gone: Iterable[int]) -> bool:
        """Return whether every ledger that counts on the order has room once ``gone`` are gone."""
        shape = int(self._map_to_ledgers(cls)[0])
        rows = self._preemption.row[list(gone)].tolist()
        return all(
            not keeps or (opening is not None and opening.opens(shape, machine, rows))
            for keeps, opening in zip(self.keepers(cls, machine), self._problem.openings, strict=True)
        )

    def _promising(self, cls: int, rows: Int64) -> Bool:
        problem = self._problem
        shape = int(self._map_to_ledgers(cls)[0])
        everywhere = np.arange(problem.machines)
        found = problem.feasible[problem.shape[cls]].copy()
        if problem.held is not None:
            found |= problem.held[problem.shape[cls]]
        kept: Bool = np.zeros(problem.machines, dtype=np.bool_)
        for ledger, opening in zip(problem.ledgers, problem.openings, strict=True):
            ordered = ledger.find_ordered(np.full(problem.machines, shape), everywhere)
            kept |= ordered
            if ordered.any():
                opens = opening.promising(shape, rows) if opening is not None else ~ordered
                found &= ~ordered | opens
            if not ordered.all():
                found &= ordered | (ledger.count_room(shape) > 0)
        return found & kept

    def _map_to_ledgers(self, cls: int) -> Int64:
        """Return int64[1]: the shape that ledgers know a class by."""
        return self._problem.map_to_ledgers(self._problem.shape[cls : cls + 1])
