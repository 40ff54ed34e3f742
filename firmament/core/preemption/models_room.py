"""Applies limits of cost models to preemption: joint rows to which evictions give capacity back, and ledgers.

If a model says what an eviction gives back, its joint rows count as further columns beside the machines' resources.
Incoming tasks take from these columns, victims give back to them, and a machine may be overdrawn. Joint rows of other
models are limits that evictions do not change.

On a machine whose ledger depends on the order of arrival, a task may have to wait for others that go there, for an
unknown time. By preemption, such a machine therefore takes only one task. The machine takes no task by preemption
while a task that this or an earlier round has sent there may still be on the way.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from cost_models.interface import Bool, Int64, Ledger, ReasonedLedger, SharedRoomAfterEviction
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.preemption.problem import PreemptionProblem

ENDLESS = 2**60
"""Free amount on machines where a row sets no limit; sums with this number stay within 64 bits."""


def list_amount_columns(
    problem: PlacementProblem, preemption: PreemptionProblem, residual: Residual
) -> tuple[Int64, Bool, Int64, Int64]:
    """Return what tasks request, what limits them, what victims give back, and what is free.

    Columns are K resources and J joint rows. int64[S, K + J]: request of a task of each shape. bool[S, K + J]: columns
    that limit the shape: those that it requests, and those that must not be overdrawn where it goes. int64[V + 1, K +
    J]: what each task on a machine gives back; the last row stands for no task. int64[M, K + J]: what ``residual``
    leaves free, negative where a machine is overdrawn.
    """
    requests, room = [problem.requests], [residual.free.T]
    heeded = [problem.requests > 0]
    for number in preemption.returning:
        joint, rows = residual.joint[number], problem.joint[number]
        # The amount by which a limit is overdrawn (`owed`) must be paid back first.
        owed = 0 if rows.returned is None else rows.returned.owed
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


def find_needing_check(ledger: Ledger, shapes: Int64, machines: Int64) -> Bool:
    """Return whether a ledger closes ``machines[i]`` to usual preemption for tasks of ``shapes[i]``: bool[A].

    A ledger must be asked if tasks must arrive on the machine in a certain order, or if nothing fits unless a task
    leaves.
    """
    found = ledger.find_ordered(shapes, machines)
    return found | ledger.find_full(shapes, machines) if isinstance(ledger, ReasonedLedger) else found


class MachinesNeedingLedgerCheck:
    """Says on which machines some ledger must be asked before preemption places a task there: the *closed* machines.

    A ledger closes a machine that is full by its account, or that tasks must reach in a certain order; see
    ``find_needing_check``. ``preemptors``: by machine, the classes of the tasks that preemption places there.
    """

    def __init__(self, problem: PlacementProblem, preemption: PreemptionProblem, placed: Assignments) -> None:
        self._problem = problem
        self._preemption = preemption
        self._quiet = np.ones(problem.machines, dtype=np.bool_)
        self._quiet[placed.machine] = False
        self._open: dict[tuple[int, int], Bool] = {}
        self.preemptors: dict[int, list[int]] = {}

    def copy(self) -> MachinesNeedingLedgerCheck:
        """Return an independent copy; what never changes within a round is shared."""
        twin = copy.copy(self)
        twin.preemptors = {machine: list(classes) for machine, classes in self.preemptors.items()}
        return twin

    def list_closing(self, cls: int, machine: int) -> list[bool]:
        """Return for each ledger whether it closes the machine to tasks of a class, see ``find_needing_check``."""
        at, of = np.array([machine]), self._map_to_ledgers(cls)
        return [bool(find_needing_check(ledger, of, at)[0]) for ledger in self._problem.ledgers]

    def closes(self, cls: int, machine: int) -> bool:
        """Return whether any ledger closes a machine to tasks of a class."""
        return any(self.list_closing(cls, machine))

    def openable(self, cls: int) -> Bool:
        """Return the closed machines that might take a task of a class if all less important tasks left: bool[M].

        Before a machine is used, a ledger must be asked about it; the models have only said that it is possible.
        """
        problem, preemption = self._problem, self._preemption
        nowhere: Bool = np.zeros(problem.machines, dtype=np.bool_)
        if all(opening is None for opening in problem.rooms_after_eviction):
            return nowhere
        priority = int(preemption.priority[cls])
        key = int(problem.shape[cls]), priority
        if key not in self._open:
            may_go = preemption.leaving | (preemption.victim_priority < priority)
            self._open[key] = self._promising(cls, preemption.row[may_go])
        found: Bool = self._open[key] & self._quiet
        if self.preemptors and not self._takes_several(cls):
            found[list(self.preemptors)] = False
        return found

    def _takes_several(self, cls: int) -> bool:
        """Return whether one machine may take several tasks of a class by preemption."""
        everywhere = np.arange(self._problem.machines)
        of = np.repeat(self._map_to_ledgers(cls), len(everywhere))
        return all(
            isinstance(opening, SharedRoomAfterEviction) or not ledger.find_ordered(of, everywhere).any()
            for ledger, opening in zip(self._problem.ledgers, self._problem.rooms_after_eviction, strict=True)
        )

    def shares(self, cls: int) -> bool:
        """Return whether a class uses shared capacity of a ledger, perhaps shared between machines."""
        shape = int(self._map_to_ledgers(cls)[0])
        return any(
            isinstance(opening, SharedRoomAfterEviction) and opening.concerns(shape)
            for opening in self._problem.rooms_after_eviction
        )

    def meets_preemptors(self, cls: int, machine: int) -> bool:
        """Return whether tasks of a class would share capacity with tasks placed on a machine by preemption."""
        return machine in self.preemptors and self.shares(cls)

    def add_preemptor(self, cls: int, machine: int) -> None:
        """Note that a task of a class is placed on a machine by preemption."""
        self.preemptors.setdefault(machine, []).append(cls)

    def admits(self, cls: int, machine: int, gone: Iterable[int]) -> bool:
        """Return whether a closed machine can take a task of a class after the tasks ``gone`` have left.

        Call this for closed machines only.
        """
        coming = self.preemptors.get(machine, ())
        if not self._quiet[machine] or (coming and not self._takes_several(cls)):
            return False
        return self._has_room([*coming, cls], machine, gone)

    def stays_open(self, machine: int, gone: Iterable[int]) -> bool:
        """Return whether the tasks that preemption placed on a machine still fit if only the tasks ``gone`` leave."""
        return machine not in self.preemptors or self._has_room(self.preemptors[machine], machine, gone)

    def _has_room(self, classes: Sequence[int], machine: int, gone: Iterable[int]) -> bool:
        """Return whether ``classes`` fit by all ledgers that close the machine, once ``gone`` have left."""
        shapes = [int(self._map_to_ledgers(cls)[0]) for cls in classes]
        rows = self._preemption.row[list(gone)].tolist()
        closing = [
            any(closed) for closed in zip(*(self.list_closing(cls, machine) for cls in classes), strict=True)
        ]
        for closes, opening in zip(closing, self._problem.rooms_after_eviction, strict=True):
            if isinstance(opening, SharedRoomAfterEviction):
                if not opening.admits_all(shapes, machine, rows):
                    return False
            elif closes and (opening is None or not opening.admits(shapes[-1], machine, rows)):
                return False
        return True

    def _promising(self, cls: int, rows: Int64) -> Bool:
        problem = self._problem
        shape = int(self._map_to_ledgers(cls)[0])
        everywhere = np.arange(problem.machines)
        found = problem.feasible[problem.shape[cls]].copy()
        if problem.held is not None:
            found |= problem.held[problem.shape[cls]]
        closed: Bool = np.zeros(problem.machines, dtype=np.bool_)
        for ledger, opening in zip(problem.ledgers, problem.rooms_after_eviction, strict=True):
            ordered = find_needing_check(ledger, np.full(problem.machines, shape), everywhere)
            closed |= ordered
            if ordered.any():
                opens = opening.find_possible(shape, rows) if opening is not None else ~ordered
                found &= ~ordered | opens
            if not ordered.all():
                found &= ordered | (ledger.count_room(shape) > 0)
        return found & closed

    def _map_to_ledgers(self, cls: int) -> Int64:
        """Return the shape of a class as ledgers number it, as an array of one entry: int64[1]."""
        return self._problem.map_to_ledgers(self._problem.shape[cls : cls + 1])
