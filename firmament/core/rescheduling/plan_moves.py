"""Plans moves of running tasks that lower the cost, by the network of moves, and checks them against all other rules.

1. The network finds the moves that pay at a price per move, and proves how much any moves could save.
2. A flow counts tasks and ignores their sizes. Moves that do not fit together are therefore given up, and single
   moves are tried instead.
3. Rounds in which each task may only go to its target check all other rules; a task that finds no place stays.
4. The cost of the placement, including sizes, pairs and spread of tasks, must fall by the price of each move; otherwise
   the moves that gain least are given up.

A plan contains only moves that pass all steps. Each state of the cluster on the way therefore costs less than the
state before, by the price of the move. The number of moves between changes from outside is at most what could be
saved, divided by that price.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.problem import COST_UNITS_PER_POINT, Assignments
from firmament.core.flow.residual import Residual
from firmament.core.placement.cost import compute_placed_cost
from firmament.core.ranks import ColumnMarks, places_in
from firmament.core.rescheduling.move_network.move_search import (
    Found,
    MoveSearch,
    SearchOptions,
    best_moves,
    compute_frontier,
)
from firmament.core.rescheduling.move_network.problem import (
    BARRED,
    MoveProblem,
    Moves,
    compute_gains,
    compute_saved,
    find_admitted,
)
from firmament.core.rescheduling.rehearsal import move, rehearse
from firmament.core.rules.registry import prefers_company
from firmament.core.scheduler import Scheduler
from firmament.core.snapshot.running_as_waiting import RunningSnapshot
from firmament.core.snapshot.snapshot import Snapshot
from firmament.solvers.base import Int32, Solver


@dataclass(frozen=True, slots=True)
class PricedMove:
    """A move of a running task from ``source`` to ``target``; ``gain``: points that it saves, minus its price."""

    uid: str
    source: str
    target: str
    gain: float


@dataclass(frozen=True, slots=True)
class MovePlan:
    """Moves that fit together, in order of gain, and what they save.

    ``cost_before``, ``cost_after``: points that models charge all tasks that may move, before and after, including
    crowding as by tasks of mean size. ``bound``: a lower bound on the cost of any plan, including the price of each of
    its moves.
    """

    moves: tuple[PricedMove, ...]
    cost_before: float
    cost_after: float
    bound: float


_TRIES = 8
"""Most tries, each of which gives up moves; with rules between tasks two or three tries suffice."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Options of a plan: each move has to gain ``move_price`` points besides the task's own price.

    ``most_moves``: most moves of the plan; ``local_moves``: how many moves are tried in addition to the flow's;
    ``gap``: how far the proof may be off, as a part of what is saved.
    """

    move_price: float = 5.0
    most_moves: int = 2**31
    local_moves: int = 1_000
    gap: float = 0.001


@dataclass(frozen=True, slots=True)
class _Single:
    """Moves of single tasks, and the tasks: ``task``: int64[A], indices into the snapshot's tasks."""

    moves: Moves
    task: Int64

    def select(self, entries: Int64) -> _Single:
        return _Single(self.moves.select(entries), self.task[entries])


def plan_moves(
    scheduler: Scheduler, prices: Mapping[str, float], options: PlanOptions, solver: Solver
) -> MovePlan:
    """Return the moves that lower costs most, of bound tasks that have ``prices`` (uid -> points for moving it).

    ``scheduler``: a trial scheduler. The tasks of each profile are planned separately, after the moves of earlier
    profiles; ``MovePlan.bound`` is the sum of the profiles' bounds. Raises ``SolverError``.
    """
    plans: list[MovePlan] = []
    divided = scheduler.divide_by_profile(sorted(prices))
    left = options.most_moves
    for uids in divided:
        own = {uid: prices[uid] for uid in uids}
        plans.append(_plan_profile(scheduler, own, replace(options, most_moves=left), solver))
        left -= len(plans[-1].moves)
        if len(divided) > 1:
            for each in plans[-1].moves:
                move(scheduler, each.uid, each.target)
    moves = [each for plan in plans for each in plan.moves]
    if len(divided) > 1:
        for each in moves:
            move(scheduler, each.uid, each.source)
    return MovePlan(
        tuple(sorted(moves, key=lambda each: (-each.gain, each.uid))),
        sum(each.cost_before for each in plans),
        sum(each.cost_after for each in plans),
        sum(each.bound for each in plans),
    )


def _plan_profile(
    scheduler: Scheduler, prices: Mapping[str, float], options: PlanOptions, solver: Solver
) -> MovePlan:
    """Return the result of ``plan_moves`` for tasks of one profile."""
    problem = compile_priced_moves(scheduler, prices)
    if problem is None:
        return MovePlan((), 0.0, 0.0, 0.0)
    extra = round(options.move_price * COST_UNITS_PER_POINT)
    search = MoveSearch(problem.problem, solver, SearchOptions(gap=options.gap))
    moves, found = best_moves(
        problem.problem, search, extra, most=options.most_moves, local_moves=options.local_moves
    )
    task, target = problem.find_tasks(moves)
    single = Moves(problem.row[task], problem.running.home[task], target, np.ones(len(task), dtype=np.int64))
    return _plan(problem, _try(scheduler, problem, _Single(single, task), extra), found)


def _try(scheduler: Scheduler, problem: CompiledMoves, single: _Single, extra: int) -> _Single:
    """Return the moves that keep all rules and pay by all costs of placements; none if a few tries find none."""
    snapshot = problem.running.snapshot
    for _ in range(_TRIES):
        if not len(single.task):
            return single
        targets = {
            snapshot.uids[task]: snapshot.machine_names[target]
            for task, target in zip(single.task.tolist(), single.moves.target.tolist(), strict=True)
        }
        placed = rehearse(scheduler, targets)
        refused = [entry for entry, uid in enumerate(targets) if uid not in placed]
        if not refused:
            if _compute_saved(problem, single) >= int(
                (problem.problem.price[single.moves.row] + extra).sum()
            ):
                return single
            refused = _least(problem.problem, single.moves)
        single = single.select(np.flatnonzero(find_admitted(problem.problem, single.moves, refused)))
    return single.select(np.empty(0, dtype=np.int64))


def _compute_saved(problem: CompiledMoves, single: _Single) -> int:
    """Return the cost units that the moves save, by the full cost of the placement."""
    home = problem.running.home
    machine = home.copy()
    machine[single.task] = single.moves.target
    whole = problem.running.snapshot.problem
    return compute_placed_cost(whole, problem.assignments(home)) - compute_placed_cost(
        whole, problem.assignments(machine)
    )


def _least(problem: MoveProblem, moves: Moves) -> list[int]:
    """Return the indices of the half of the moves that gain least."""
    order = np.lexsort((moves.target, moves.source, moves.row, compute_gains(problem, moves)))
    least: list[int] = order[: (len(order) + 1) // 2].tolist()
    return least


def _plan(problem: CompiledMoves, single: _Single, found: Found) -> MovePlan:
    snapshot, home = problem.running.snapshot, problem.running.home
    gain = compute_gains(problem.problem, single.moves) / COST_UNITS_PER_POINT
    moves = [
        PricedMove(
            snapshot.uids[task],
            snapshot.machine_names[home[task]],
            snapshot.machine_names[target],
            float(gain[entry]),
        )
        for entry, (task, target) in enumerate(
            zip(single.task.tolist(), single.moves.target.tolist(), strict=True)
        )
    ]
    before = problem.problem.cost_now()
    charged = int(problem.problem.price[single.moves.row].sum())
    return MovePlan(
        tuple(sorted(moves, key=lambda each: (-each.gain, each.uid))),
        before / COST_UNITS_PER_POINT,
        (before - compute_saved(problem.problem, single.moves) - charged) / COST_UNITS_PER_POINT,
        (before - found.most_saved) / COST_UNITS_PER_POINT,
    )


# --- How much any number of moves could save: how far the present placement is from the optimum.


_GAP = 0.005
"""How far the proof of each point may be off, as a part of what is saved."""


@dataclass(frozen=True, slots=True)
class CostPoint:
    """What ``moves`` moves save, if tasks count as equally large; no equal number saves more than ``most_saved``."""

    moves: int
    saved: float
    most_saved: float


def cost_frontier(
    scheduler: Scheduler, prices: Mapping[str, float], points: int, solver: Solver
) -> tuple[CostPoint, ...]:
    """Return what moves of bound tasks with ``prices`` (uid -> points for moving it) could save, few moves first.

    The last point is for any number of moves. Tasks of several profiles move profile by profile, those that save most
    first, while all other tasks stay. Raises ``SolverError``.
    """
    curves = []
    for uids in scheduler.divide_by_profile(sorted(prices)):
        problem = compile_priced_moves(scheduler, {uid: prices[uid] for uid in uids})
        if problem is not None:
            curves.append(
                compute_frontier(MoveSearch(problem.problem, solver, SearchOptions(gap=_GAP)), points)
            )
    found: list[CostPoint] = []
    for curve in sorted(curves, key=lambda curve: -curve[-1].saved):
        before = found[-1] if found else CostPoint(0, 0.0, 0.0)
        found += [
            CostPoint(
                before.moves + each.moves,
                before.saved + each.saved / COST_UNITS_PER_POINT,
                before.most_saved + each.most_saved / COST_UNITS_PER_POINT,
            )
            for each in curve
        ]
    return tuple(found)


# --- The problem of moving tasks that each have a price: which tasks may move at all, and what a move costs.


_NEVER = 10**9
"""Price of a move that no gain can pay, in hundredths of a point: costs of tasks are limited to this amount."""


def compile_priced_moves(scheduler: Scheduler, prices: Mapping[str, float]) -> CompiledMoves | None:
    """Return the problem of moving the bound tasks, of one profile, that have ``prices`` (uid -> points).

    The result is None if no task with a price is bound.
    """
    running = scheduler.snapshot_of_running(sorted(prices))
    return None if running is None else compile_moves(running, _prices(scheduler, running.snapshot, prices))


def _prices(scheduler: Scheduler, snapshot: Snapshot, prices: Mapping[str, float]) -> Int64:
    """Return what moving each task costs: int64[T], in hundredths of a point.

    Pinned tasks stay, and so do tasks whose preferences about other tasks count more than a placement's cost shows.
    """
    price = np.array([round(prices[uid] * COST_UNITS_PER_POINT) for uid in snapshot.uids], dtype=np.int64)
    price = np.clip(price, 0, _NEVER)
    first = 0
    for cls, members in enumerate(snapshot.members):
        content = scheduler.get_bound_task(snapshot.uids[first]).content
        if cls in snapshot.problem.pins or prefers_company(content):
            price[first : first + len(members)] = _NEVER
        first += len(members)
    return price


# --- The problem of moving the running tasks of a snapshot.


@dataclass(frozen=True, slots=True)
class CompiledMoves:
    """A problem of moves, and the tasks of its rows: ``row``: int64[T], the row of each of the snapshot's tasks."""

    problem: MoveProblem
    running: RunningSnapshot
    row: Int64

    def find_tasks(self, moves: Moves) -> tuple[Int64, Int64]:
        """Return which tasks (indices into the snapshot's) ``moves`` move, and their new machines: int64[A] each.

        Of several equal tasks on a machine, the youngest move.
        """
        home = self.running.home
        order = np.lexsort((-np.arange(len(home)), home, self.row))
        keys = (self.row * self.problem.machine_count + home)[order]
        single = moves.one_by_one()
        wanted = single.row * self.problem.machine_count + single.source
        by_key = np.argsort(wanted, kind="stable")
        first = np.searchsorted(wanted[by_key], wanted[by_key])
        nth = np.arange(len(wanted)) - first
        chosen = order[np.searchsorted(keys, wanted[by_key]) + nth]
        return chosen, single.target[by_key]

    def assignments(self, machine: Int64) -> Assignments:
        """Return the placement of the snapshot's problem in which task i is on ``machine[i]``, int64[T]."""
        snapshot = self.running.snapshot
        sizes = np.array([len(each) for each in snapshot.members], dtype=np.int64)
        cls = np.repeat(np.arange(len(sizes)), sizes)
        return Assignments.count_pairs(cls, machine)


def compile_moves(running: RunningSnapshot, price: Int64) -> CompiledMoves:
    """Return the problem of moving the snapshot's tasks; ``price``: int64[T], units of cost for moving each.

    A task may not go to a machine where it would have no place even if all other tasks were gone. The problem ignores
    pairs, sizes of tasks, and rules between tasks.
    """
    snapshot = running.snapshot
    problem, residual = snapshot.problem, Residual(snapshot.problem)
    sizes = np.array([len(each) for each in snapshot.members], dtype=np.int64)
    shape = np.repeat(problem.shape, sizes)
    kinds, row = np.unique(np.stack([shape, price]), axis=1, return_inverse=True)
    row = row.reshape(-1)
    fits = residual.find_fitting_by_shape(np.unique(problem.shape).tolist())
    cost = problem.cost[kinds[0]]
    for index, each in enumerate(kinds[0].tolist()):
        cost[index][~fits[each]] = BARRED
    group, first = group_alike(cost)
    requests = problem.requests[kinds[0]]
    homes = Assignments.count_pairs(row, running.home)
    taken = np.zeros_like(problem.free)
    np.add.at(taken, homes.machine, requests[homes.cls] * homes.count[:, None])
    made = MoveProblem(
        cost=np.ascontiguousarray(cost[:, first]),
        group=group,
        price=kinds[1],
        requests=requests,
        free=problem.free - taken,
        crowd=problem.crowd,
        home_row=homes.cls,
        home_machine=homes.machine,
        home_count=homes.count,
        home_cost=problem.cost[kinds[0][homes.cls], homes.machine].astype(np.int64),
        step=problem.crowd_step(),
    )
    return CompiledMoves(made, running, row)


# --- Groups of machines that cost every row the same, so that the machines of a group differ only in crowding.


def group_alike(cost: Int32) -> tuple[Int64, Int64]:
    """Group the machines (columns) of a matrix of costs, int32[R, M], by equal columns.

    Returns the group of each machine, int64[M], numbered in order of first members, and these first members, int64[G].
    """
    marks = ColumnMarks(cost.shape[1])
    marks.add(cost)
    groups = marks.groups()
    if groups is None:
        return np.arange(cost.shape[1]), np.arange(cost.shape[1])
    group, first, _ = groups
    order = np.argsort(first)
    return places_in(order, len(order))[group], first[order]
