"""From a snapshot of tasks that run to the problem of moving them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.problem import Assignments, Residual
from firmament.core.rescheduling.move_network.problem import BARRED, MoveProblem, Moves
from firmament.core.snapshot.of_running import RunningSnapshot
from firmament.solvers.base import Int32


@dataclass(frozen=True, slots=True)
class CompiledMoves:
    """``problem`` and what its indices mean: ``row``: int64[T], the row of each of the snapshot's tasks."""

    problem: MoveProblem
    running: RunningSnapshot
    row: Int64

    def who(self, moves: Moves) -> tuple[Int64, Int64]:
        """int64[A] each: the tasks (indices into the snapshot's) that moves are about, and the machines they come to.

        Of several that are alike on a machine the youngest move.
        """
        home = self.running.home
        order = np.lexsort((-np.arange(len(home)), home, self.row))
        keys = (self.row * self.problem.machines + home)[order]
        single = moves.one_by_one()
        wanted = single.row * self.problem.machines + single.source
        by_key = np.argsort(wanted, kind="stable")
        first = np.searchsorted(wanted[by_key], wanted[by_key])
        nth = np.arange(len(wanted)) - first
        chosen = order[np.searchsorted(keys, wanted[by_key]) + nth]
        return chosen, single.target[by_key]

    def assignments(self, machine: Int64) -> Assignments:
        """Return a placement of the snapshot's problem: task i is on ``machine[i]``, int64[T]."""
        snapshot = self.running.snapshot
        sizes = np.array([len(each) for each in snapshot.members], dtype=np.int64)
        cls = np.repeat(np.arange(len(sizes)), sizes)
        keys, count = np.unique(cls * self.problem.machines + machine, return_counts=True)
        return Assignments(
            keys // self.problem.machines, keys % self.problem.machines, count.astype(np.int64)
        )


def compiled(running: RunningSnapshot, price: Int64) -> CompiledMoves:
    """Return the problem of moving the snapshot's tasks; ``price``: int64[T], units that moving each costs.

    Where a task could not go even if all others were gone is barred to it. What models say of pairs of tasks, of their
    sizes, and rules between tasks are no part of it.
    """
    snapshot = running.snapshot
    problem, residual = snapshot.problem, Residual(snapshot.problem)
    sizes = np.array([len(each) for each in snapshot.members], dtype=np.int64)
    shape = np.repeat(problem.shape, sizes)
    kinds, row = np.unique(np.stack([shape, price]), axis=1, return_inverse=True)
    row = row.reshape(-1)
    fits = residual.fits_of(np.unique(problem.shape).tolist())
    cost = problem.cost[kinds[0]]
    for index, each in enumerate(kinds[0].tolist()):
        cost[index][~fits[each]] = BARRED
    group, first = alike(cost)
    requests = problem.requests[kinds[0]]
    keys, count = np.unique(row * problem.machines + running.home, return_counts=True)
    home_row, home_machine = keys // problem.machines, keys % problem.machines
    taken = np.zeros_like(problem.free)
    np.add.at(taken, home_machine, requests[home_row] * count[:, None])
    made = MoveProblem(
        cost=np.ascontiguousarray(cost[:, first]),
        group=group,
        price=kinds[1],
        requests=requests,
        free=problem.free - taken,
        crowd=problem.crowd,
        home_row=home_row,
        home_machine=home_machine,
        home_count=count.astype(np.int64),
        home_cost=problem.cost[kinds[0][home_row], home_machine].astype(np.int64),
        step=problem.crowd_step(),
    )
    return CompiledMoves(made, running, row)


# --- Machines that cost every row of tasks the same: to tasks they differ in nothing but how crowded they are.


_ROWS_AT_ONCE = 64


def alike(cost: Int32) -> tuple[Int64, Int64]:
    """Group the machines (columns) of a matrix of costs, int32[R, M], by equal columns.

    Returns int64[M], the group of each machine, numbered in order of first members; and int64[G], those members.
    """
    rows, machines = cost.shape
    weights = np.random.default_rng(0).integers(1, 2**62, size=(rows,), dtype=np.int64)
    digest = np.zeros(machines, dtype=np.int64)
    for begin in range(0, rows, _ROWS_AT_ONCE):  # sums wrap around, which a digest may
        block = slice(begin, begin + _ROWS_AT_ONCE)
        digest += weights[block] @ cost[block].astype(np.int64)
    _, first, group = np.unique(digest, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    group, first = place[group], first[order]
    if not all((cost[row] == cost[row, first][group]).all() for row in range(rows)):
        return np.arange(machines), np.arange(machines)  # two digests met
    return group, first
