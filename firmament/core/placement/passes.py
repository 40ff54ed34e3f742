"""Solves and admits in passes, until no waiting task fits anywhere.

A pass solves the network of the remaining tasks and capacity, and admits what fits jointly. Later passes start from the
capacity and the crowding that earlier passes left, so their costs continue where the earlier ones ended. Every pass
admits at least one task. After ``max_passes`` the remaining tasks are placed greedily, so no waiting task that fits is
left out of a round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from cost_models.interface import Int64
from firmament.core.board.board import Board
from firmament.core.constraints.preferences import soft_cost
from firmament.core.flow.column_generation import optimal_flow
from firmament.core.flow.joint_admission import admit
from firmament.core.flow.network.network import compute_unscheduled_penalties, crowding_cost, dearest_path
from firmament.core.flow.problem import COST_UNITS_PER_POINT, Assignments
from firmament.core.flow.reduction import merge_alike, narrow
from firmament.core.flow.residual import Residual
from firmament.core.placement.outcome import FirstFlow, Means, Placed, StageFigures
from firmament.core.placement.quota_parts import deal_quotas
from firmament.core.placement.subclasses import derive
from firmament.solvers.base import SolverTimeoutError


def place_all(residual: Residual, means: Means) -> Placed:
    """Place as many of the tasks in ``residual`` as possible, book them there, and return them.

    Afterwards no remaining task fits any machine that it may use. Raises ``SolverError`` if the solver fails, unless it
    fails because of its time limit.
    """
    penalties = compute_unscheduled_penalties(residual, dearest_path(residual))

    def admit_most(proposed: Assignments) -> Assignments:
        waiting = int(residual.remaining.sum())
        parts = [admit(residual, proposed)]
        if _nearly_done(residual, proposed, waiting, means.tuning.small_rest):
            parts.append(_complete(residual))
        return Assignments.join(parts)

    any_at_all = max(1, int(residual.remaining.sum()))
    parts = solve_in_turn(
        residual,
        lambda _: (
            propose_within_quotas(residual, means)
            if residual.quotas is not None
            else propose(residual, means, penalties=penalties)
        ),
        admit_most,
        means,
        most=means.options.max_passes,
        worth=any_at_all,
    )
    placed = Placed.join(parts)
    nothing_fits = bool(parts) and parts[-1].last is None and not parts[-1].figures.time_limited
    if nothing_fits or not residual.remaining.any():
        return placed
    watch = means.stopwatch()
    return placed.add_assignments(place_greedily(residual), watch.seconds())


def solve_in_turn(
    residual: Residual,
    propose_next: Callable[[bool], Placed],
    admit_some: Callable[[Assignments], Assignments],
    means: Means,
    *,
    most: int,
    worth: int,
) -> list[Placed]:
    """Return the placements of at most ``most`` passes or waves; each solves a flow over what earlier ones have left.

    ``propose_next`` gets whether this is the first pass, and returns what a flow would place. ``admit_some`` admits
    a part of these placements, books the part in ``residual``, and returns the part.

    A pass is the last one in three cases: it proposes nothing because nothing fits (no ``last`` flow), it runs out of
    time, or it places less than one in ``worth`` of the tasks that are left.
    """
    parts: list[Placed] = []
    for turn in range(most):
        waiting = int(residual.remaining.sum())
        try:
            proposed = propose_next(turn == 0)
        except SolverTimeoutError:
            return [*parts, Placed(figures=StageFigures(time_limited=True))]
        if proposed.last is None:
            return [*parts, proposed]
        watch = means.stopwatch()
        admitted = admit_some(proposed.assignments)
        parts.append(proposed.replace_assignments(admitted, watch.seconds()))
        if not residual.remaining.any() or int(admitted.count.sum()) * worth < waiting:
            break
    return parts


def _complete(residual: Residual) -> Assignments:
    """Place and book all remaining tasks without a network, or none of them if some would find no place.

    Admission refuses a few tasks of a large batch, because a flow counts tasks and ignores their sizes. Another network
    for a few per cent of the tasks would cost nearly as much as the first one.
    """
    trial = residual.copy()
    rest = place_greedily(trial)
    if trial.remaining.any():
        return Assignments.empty()
    residual.book_assignments(rest)
    return rest


def _nearly_done(residual: Residual, proposed: Assignments, waiting: int, share: float) -> bool:
    """Return whether a flow placed all ``waiting`` tasks, and admission left at most ``share`` of them.

    Always False with ledgers, as only flow and admission together know how much of a ledger is left.
    """
    left = int(residual.remaining.sum())
    small = 0 < left <= share * waiting and int(proposed.count.sum()) == waiting
    return small and not residual.problem.irrevocable


def propose(
    residual: Residual,
    means: Means,
    *,
    penalties: Int64 | None = None,
    classes: list[list[int]] | None = None,
) -> Placed:
    """Return the unbooked proposal of ``residual``'s network; if it has no flow (``last``), nothing fits anywhere.

    ``classes``: the round's classes that each class of ``residual`` stands for. Errors of the solver are raised,
    including ``SolverTimeoutError``.
    """
    watch, options, tuning = means.stopwatch(), means.options, means.tuning.flow
    shapes = np.unique(residual.problem.shape[residual.active()]).tolist()
    fits = residual.find_fitting_by_shape(shapes)
    alike = narrow(residual, fits, tuning.reduction) or merge_alike(residual, fits, tuning.reduction)
    outcome = optimal_flow(
        alike.residual if alike else residual,
        alike.fits if alike else fits,
        means.solver,
        options.generation,
        tuning,
        penalties=penalties,
        time_limit=options.solve_time_limit,
    )
    if outcome is None:
        return Placed(figures=StageFigures(network_seconds=watch.seconds()))
    proposed = outcome.assignments()
    if alike:
        proposed = alike.distribute(proposed)
    figures = StageFigures(
        passes=1,
        solves=outcome.solves,
        arcs=outcome.arcs,
        solve_seconds=outcome.seconds,
        network_seconds=max(0.0, watch.seconds() - outcome.seconds),
        time_limited=outcome.time_limited,
    )
    return Placed(proposed, figures, FirstFlow(outcome, alike, classes), outcome)


def propose_within_quotas(residual: Residual, means: Means) -> Placed:
    """Return the proposal of ``propose`` if tasks draw on quotas: for as many tasks as there is quota for.

    The function first decides which tasks take part, and from which flavors they draw; the flow decides where they go.
    Tasks that find no machine leave their quota to others in the next pass.
    """
    watch = means.stopwatch()
    parts = deal_quotas(residual)
    if not parts:
        return Placed(figures=StageFigures(network_seconds=watch.seconds()))
    wave = derive(residual, parts, means.tuning.pinned_up_to, dealt=True)
    dealing = watch.seconds()
    proposed = propose(wave.residual, means, classes=wave.stands_for())
    figures = proposed.figures + StageFigures(network_seconds=dealing)
    return replace(proposed, assignments=wave.in_round(proposed.assignments), figures=figures)


# --- Greedy placement, without a network: feasible and maximal, but not optimal.
#
# Greedy placement places a small number of last tasks, and all others when the solver has run out of time, passes or
# waves.


def place_greedily(residual: Residual) -> Assignments:
    """Place every remaining task that fits somewhere, class by class, cheapest machine first; book and return them."""
    problem = residual.problem
    order = residual.active()
    order = order[np.lexsort((order, -problem.priority[order]))]
    parts: list[Assignments] = []
    for cls in order.tolist():
        while (admitted := _place_class(residual, cls)) is not None:
            parts.append(admitted)
    return Assignments.join(parts)


def _place_class(residual: Residual, cls: int) -> Assignments | None:
    """Place and book one task of a class on each of its cheapest machines; return None if nothing can be placed.

    One task per machine and call keeps the crowding cost up to date. If each machine takes
    at most n tasks, at most n calls are needed.
    """
    problem = residual.problem
    waiting = int(residual.remaining[cls].sum())
    if waiting == 0:
        return None
    shape = int(problem.shape[cls])
    fits = residual.find_fitting(shape)
    machines: Int64 = np.flatnonzero(fits)
    if cls in problem.pins:
        machines = problem.pins[cls][fits[problem.pins[cls]]]
    if len(machines) == 0:
        return None
    cost = problem.cost[shape, machines] + crowding_cost(residual, machines)
    chosen = machines[_least(cost, waiting)]
    ones = np.ones(len(chosen), dtype=np.int64)
    proposed = Assignments(ones * cls, chosen, ones)
    if not problem.shares_room:
        residual.book_assignments(proposed)  # one task per machine, and it fits on each
        return proposed
    admitted = admit(residual, proposed)
    return admitted if len(admitted.cls) else None


def _least(cost: Int64, most: int) -> Int64:
    """Return the indices of the ``most`` smallest entries, in order; among equal entries the first."""
    if most >= len(cost):
        return np.argsort(cost, kind="stable")
    some = np.flatnonzero(cost <= np.partition(cost, most - 1)[most - 1])
    return some[np.argsort(cost[some], kind="stable")[:most]]


# --- Placement task by task, with rules between tasks.


def place_leftovers(board: Board) -> Assignments:
    """Place each remaining task that fits and is allowed somewhere, the most important and longest waiting first."""
    return place_one_by_one(board, board.residual.by_importance())


def place_one_by_one(board: Board, classes: list[int], *, paired: bool = False) -> Assignments:
    """Place and book tasks of ``classes`` one at a time, each where it costs least, as long as a task finds a place.

    ``paired``: whether all classes belong to pairs, whose costs then count. A placement may enable another one: a
    task may have come that others want to be near, or a placement may have changed which domain is the emptiest. The
    function therefore tries the classes again as long as any task is placed.
    """
    placed: list[tuple[int, int]] = []
    before = -1
    while before < len(placed):
        before = len(placed)
        for cls in classes:
            while board.residual.remaining[cls].any():
                machine = cheapest_machine(board, cls, paired=paired)
                if machine is None:
                    break
                board.place(cls, machine, paired=paired)
                board.residual.take_one(cls)
                placed.append((cls, machine))
    return Assignments.from_single_tasks(placed)


def cheapest_machine(board: Board, cls: int, *, paired: bool = False) -> int | None:
    """Return the row of the machine where one more task of a class costs least; None if it fits nowhere."""
    problem = board.problem
    machines = np.flatnonzero(board.find_fitting(cls, paired=paired))
    if len(machines) == 0:
        return None
    cost = problem.cost[problem.shape[cls], machines]
    if paired:
        cost = cost + board.pairs.cost_at(cls, machines)
    cost = cost + crowding_cost(board.residual, machines)
    soft = soft_cost(board.rules, cls, np.ones(len(machines), dtype=np.bool_), machines)
    if soft is not None:
        cost = cost + soft.points * COST_UNITS_PER_POINT
    return int(machines[np.argmin(cost)])
