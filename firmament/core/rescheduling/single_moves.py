"""Plans moves one by one, for cost models that judge what a machine has left over, such as unused parts of GPUs.

The network of moves (`plan_moves`) charges tasks as if no task were on the machines, which says nothing about what
other tasks leave over. In this module, a task costs on its own machine what models would charge if only this task
came back, and on another machine what they charge now. A move gains the difference, minus its price. For a model that
prices what machines have left, such as ``gpu_prices``, the gain is the growth of both machines' worth together.

Moves are made in passes. In a pass, no machine takes part in two moves, so each move gains nearly as much as was
computed, whatever other moves are made. A task on a machine that no move of the last pass has touched costs as much
on that machine as before. Rounds check each pass by all other rules (`rehearse`); the next pass begins from the
result.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.problem import COST_UNITS_PER_POINT, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.ranks import rank
from firmament.core.rescheduling.plan_moves import MovePlan, PlanOptions, PricedMove
from firmament.core.rescheduling.rehearsal import move, rehearse
from firmament.core.rules.registry import prefers_company
from firmament.core.scheduler import Scheduler
from firmament.core.snapshot.running_as_waiting import RunningSnapshot

_MOST_PASSES = 8
_TARGETS = 32
"""Most machines that are considered for the tasks of a class in a pass: the cheapest."""
_CELLS = 2**22
"""Most figures of a block of shapes on all machines; a block takes some 100 MB while it is sorted."""
_CLOSED = 2**40
"""Cost, in hundredths of a point, that stands for a machine which does not take a task."""


@dataclass(frozen=True, slots=True)
class _Standing:
    """The cost of each of T tasks on its machine, and the places where further tasks of its class would cost least."""

    uids: Sequence[str]
    """Uids of the tasks."""
    machines: Sequence[str]
    """Names of the machines."""
    kind: Int64
    """int64[T], the class of each task."""
    home: Int64
    """int64[T], machine of each task."""
    cost: Int64
    """int64[T], cost units of each task on its machine; 0 for a task that stays."""
    targets: Int64
    """int64[C, N], machines by class, the cheapest first."""
    target_cost: Int64
    """int64[C, N], cost units on these machines."""

    def keep_costs(self, touched: Collection[str]) -> dict[str, int]:
        """Return what tasks cost on their machines; tasks on ``touched`` machines are left out."""
        stays = [name not in touched for name in self.machines]
        costs = zip(self.uids, self.home.tolist(), self.cost.tolist(), strict=True)
        return {uid: cost for uid, home, cost in costs if stays[home]}


def plan_single_moves(scheduler: Scheduler, prices: Mapping[str, float], options: PlanOptions) -> MovePlan:
    """Return moves of bound tasks with ``prices`` (uid -> points for moving it) that each lower the cost at the margin.

    ``scheduler``: a trial scheduler; afterwards its tasks are back where they were. Of ``options``, only
    ``move_price`` and ``most_moves`` count. The moves come in the order in which they were found: a move may need a
    place that an earlier move has left. ``MovePlan.bound`` is 0, as no better bound is known. Tasks of gangs do not
    move, nor do tasks that prefer company.
    """
    scheduler.let_devices_move()
    moves: list[PricedMove] = []
    before, saved = 0.0, 0.0
    for uids in scheduler.divide_by_profile(sorted(prices)):
        own = {uid: prices[uid] for uid in uids if not prefers_company(scheduler.get_bound_task(uid).content)}
        done, left = set[str](), options.most_moves - len(moves)
        costs: dict[str, int] = {}
        for number in range(_MOST_PASSES):
            standing = _judge(scheduler, sorted(own), costs)
            if standing is None:
                break
            before += float(standing.cost.sum()) / COST_UNITS_PER_POINT if not number else 0.0
            wanted = _choose(standing, own, options.move_price, done)
            chosen = {each.uid: each for each in islice(wanted, left)}
            placed = rehearse(scheduler, {uid: each.target for uid, each in chosen.items()}) if chosen else ()
            made = [each for uid, each in chosen.items() if uid in placed]
            for each in made:
                move(scheduler, each.uid, each.target)
                saved += each.gain + own[each.uid] + options.move_price
            moves += made
            costs = standing.keep_costs({name for each in made for name in (each.source, each.target)})
            done |= chosen.keys()
            left -= len(made)
            if not chosen or left <= 0:
                break
    for each in reversed(moves):
        move(scheduler, each.uid, each.source)
    return MovePlan(tuple(moves), before, before - saved, 0.0)


def _choose(
    standing: _Standing, prices: Mapping[str, float], move_price: float, done: set[str]
) -> list[PricedMove]:
    """Return moves that gain, the best first, of which no two share a machine; tasks that are ``done`` stay."""
    price = np.array([prices[uid] for uid in standing.uids]) + move_price
    units = np.rint(price * COST_UNITS_PER_POINT).astype(np.int64)
    best = standing.cost - standing.target_cost[standing.kind, 0] - units
    touched: set[int] = set()
    found: list[PricedMove] = []
    for task in np.lexsort((np.arange(len(best)), -best)).tolist():
        if best[task] <= 0:
            break
        home, kind = int(standing.home[task]), int(standing.kind[task])
        uid = standing.uids[task]
        if uid in done or home in touched:
            continue
        for target, cost in zip(
            standing.targets[kind].tolist(), standing.target_cost[kind].tolist(), strict=True
        ):
            gain = int(standing.cost[task]) - cost - int(units[task])
            if gain <= 0:
                break
            if target != home and target not in touched:
                names = standing.machines
                found.append(PricedMove(uid, names[home], names[target], gain / COST_UNITS_PER_POINT))
                touched |= {home, target}
                break
    return sorted(found, key=lambda each: -each.gain)


def _judge(scheduler: Scheduler, uids: Sequence[str], known: Mapping[str, int]) -> _Standing | None:
    """Return what tasks cost on their machines, and what they cost elsewhere; None if none of the tasks is bound.

    ``known``: uid -> cost units of tasks that need not be judged anew where they are.
    """
    staying = scheduler.snapshot_of_running(uids, stay=True)
    if staying is None:
        return None
    snapshot = staying.snapshot
    kind = _list_kinds(staying)
    cost = np.array([known.get(uid, 0) for uid in snapshot.uids], dtype=np.int64)
    unknown = np.array([row for row, uid in enumerate(snapshot.uids) if uid not in known], dtype=np.int64)
    turn = rank(staying.home[unknown])
    for number in range(int(turn.max(initial=-1)) + 1):
        # Only one task of each machine is taken off at a time, so that its cost is the cost of coming back alone.
        rows = unknown[turn == number]
        lifted = scheduler.snapshot_of_running([snapshot.uids[row] for row in rows.tolist()])
        if lifted is not None:
            problem = lifted.snapshot.problem
            row_of = {snapshot.uids[row]: row for row in rows.tolist()}
            cost[[row_of[uid] for uid in lifted.snapshot.uids]] = problem.cost[
                problem.shape[_list_kinds(lifted)], lifted.home
            ]
    targets, target_cost = _find_cheapest(snapshot.problem)
    pinned = np.isin(kind, sorted(snapshot.problem.pins))
    return _Standing(
        snapshot.uids,
        snapshot.machine_names,
        kind,
        staying.home,
        np.where(pinned, 0, cost),
        targets,
        target_cost,
    )


def _find_cheapest(problem: PlacementProblem) -> tuple[Int64, Int64]:
    """Return the cheapest machines for one more task of each class, and cost units there: int64[C, N] each.

    Shapes are handled in blocks of at most `_CELLS` figures, so that little more than the answer is held in memory.
    """
    shapes, place = np.unique(problem.shape, return_inverse=True)
    residual = Residual(problem)
    targets: list[Int64] = []
    costs: list[Int64] = []
    step = max(1, _CELLS // max(1, problem.machines))
    for first in range(0, len(shapes), step):
        block = shapes[first : first + step]
        fits = residual.find_fitting_by_shape(block.tolist())
        open_to = [fits[shape] for shape in block.tolist()]
        charged = np.where(open_to, problem.cost[block].astype(np.int64), _CLOSED)
        # Copy the columns, so that the order of all machines is not kept in memory.
        targets.append(np.argsort(charged, axis=1, kind="stable")[:, :_TARGETS].copy())
        costs.append(np.take_along_axis(charged, targets[-1], axis=1))
    return np.concatenate(targets)[place], np.concatenate(costs)[place]


def _list_kinds(running: RunningSnapshot) -> Int64:
    """Return the class of each of the snapshot's tasks: int64[T]."""
    sizes = [len(members) for members in running.snapshot.members]
    return np.repeat(np.arange(len(sizes)), sizes)
