"""Defines the cost of a placement in one place, for all bounds, gaps and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.column_generation import FlowOutcome
from firmament.core.flow.network.network import compute_unscheduled_penalties, dearest_path, sum_steps
from firmament.core.flow.optimality.node_prices import NotOptimalError, node_prices
from firmament.core.flow.problem import Assignments, PlacementProblem, take_oldest
from firmament.core.flow.residual import Residual
from firmament.core.placement.outcome import Placed


def compute_placed_cost(problem: PlacementProblem, placed: Assignments) -> int:
    """Return the cost of the placed tasks in hundredths of a point: models, crowding, spread, pairs and sizes of tasks.

    Crowding charges the k-th task of the round on a machine for the k tasks before it, as if these had the mean size.
    If models state heights, the heights correct the sum to the true sizes.
    """
    shapes = problem.shape.take(placed.cls)
    return compute_charged_cost(problem, placed) + sum(
        round(each.compute_cost(placed.cls, shapes, placed.machine, placed.count))
        for each in problem.list_costing()
    )


def compute_charged_cost(problem: PlacementProblem, placed: Assignments) -> int:
    """Return what the network's arcs charge for the placed tasks: costs of models, and crowding."""
    shapes = problem.shape[placed.cls]
    models = int((problem.cost[shapes, placed.machine].astype(np.int64) * placed.count).sum())
    on_machine = placed.count_per_machine(problem.machines)
    return models + int((problem.crowd * sum_steps(on_machine, problem.crowd_step())).sum())


def least_cost(problem: PlacementProblem, placed: Assignments) -> int:
    """Return what the placed tasks would cost if each task were alone on its cheapest machine.

    No placement of as many tasks of each class costs less.
    """
    counts = np.bincount(problem.shape[placed.cls], weights=placed.count, minlength=len(problem.cost))
    shapes = np.flatnonzero(counts)
    everywhere = np.iinfo(np.int32).max
    least = np.where(problem.feasible[shapes], problem.cost[shapes], everywhere).min(
        axis=1, initial=everywhere
    )
    return int((least.astype(np.int64) * counts[shapes].astype(np.int64)).sum())


def pending_cost(problem: PlacementProblem, placed: Assignments) -> int:
    """Return the penalties of pending tasks, in units; each class's longest waiting tasks count as placed."""
    left = problem.counts.copy()
    take_oldest(left, placed)
    if not left.any():
        return 0
    start = Residual(problem)
    return int((left * compute_unscheduled_penalties(start, dearest_path(start))).sum())


def placement_cost(problem: PlacementProblem, placed: Assignments) -> int:
    """Return the total cost of a placement in hundredths of a point: of placed tasks and of tasks that stay pending.

    The function does not check whether the placement keeps joint limits.
    """
    return compute_placed_cost(problem, placed) + pending_cost(problem, placed)


def network_cost(problem: PlacementProblem, placed: Assignments) -> int:
    """Return ``placement_cost`` without pairs and sizes, in units: the part that a flow's cost bounds."""
    return compute_charged_cost(problem, placed) + pending_cost(problem, placed)


# --- Lower bounds of a placement's cost.
#
# By linear-programming duality, the first flow bounds the cost of all tasks in its network. The flow's prices also
# bound the cost of any other number of tasks per class: one task less lowers the bound by at most the price of its
# class. A round is therefore compared with the flow for the tasks that it has placed, even if rules, gangs or
# admission left other tasks pending.


def compute_gap(problem: PlacementProblem, placed: Placed, classes: Sequence[Sequence[int]] | None) -> float:
    """Return which share of the placed tasks' cost on arcs could be saved at most, ignoring rules: from 0 to 1.

    ``classes``: for each class of the first flow, the problem's classes that it stands for; None if each class stands
    for itself. The gap is relative to the cost, as a ratio to the bound would grow without limit where the bound is
    small.
    """
    whole, assignments = problem, placed.assignments
    if placed.about is not None:
        among: Bool = placed.about.whole.counts.sum(axis=1) > 0  # the flow does not contain groups with rules
        assignments = assignments.select(among[assignments.cls])
        whole = placed.about.problem
    gathered = assignments if placed.about is None else placed.about.gather(assignments)
    cost = compute_charged_cost(whole, gathered)
    if cost <= 0:
        return 0.0
    bound = 0
    if placed.first is not None and placed.first.outcome.certified:
        counts = assignments.count_per_class(problem.classes)
        bound = flow_bound(placed.first.outcome, counts, classes)
    if bound < cost:
        bound = max(bound, least_cost(whole, gathered))
    return max(cost - bound, 0) / cost


def flow_bound(outcome: FlowOutcome, counts: Int64, classes: Sequence[Sequence[int]] | None) -> int:
    """Return a certified flow's lower bound of what ``counts`` tasks per class (int64[C]) cost on arcs, or 0.

    ``classes``: for each class of the flow, the problem's classes that it stands for; None if each class stands for
    itself.
    """
    network = outcome.solved
    if classes is None:
        placed = counts[network.classes]
    else:
        behind = [classes[each] for each in network.classes.tolist()]
        entry = np.repeat(np.arange(len(behind)), [len(each) for each in behind])
        tasks = counts[np.fromiter(chain.from_iterable(behind), dtype=np.int64)]
        placed = np.bincount(entry, weights=tasks, minlength=len(behind)).astype(np.int64)
    fewer = network.problem.supplies[: len(network.classes)] - placed
    if not fewer.any():
        return outcome.bound
    try:
        prices = node_prices(network, outcome.carried).cls
    except NotOptimalError:
        return 0
    # The bound is for placed tasks, so what the flow gains from limits on the arcs of pending tasks is subtracted.
    _, _, unscheduled, _ = network.blocks
    penalties = 2 * network.problem.costs[unscheduled].reshape(len(prices), -1)
    room = network.problem.capacities[unscheduled].reshape(len(prices), -1)
    worth = (room * np.maximum(prices[:, None] - penalties, 0)).sum()
    return max(outcome.bound + int((worth - (fewer * prices).sum()) // 2), 0)  # prices are in half units
