"""The one definition of what a placement costs; bounds, gaps and comparisons all use it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.pairs import PairRules, pair_figure
from firmament.core.flow.network.network import compute_unscheduled_penalties, dearest_path, staircase
from firmament.core.flow.optimality.node_prices import NotOptimalError, node_prices
from firmament.core.flow.outcome import FlowOutcome
from firmament.core.flow.problem import Assignments, PlacementProblem, Residual, take_oldest
from firmament.core.flow.terms import SpreadTerms
from firmament.core.placement.outcome import Placed


def compute_placed_cost(problem: PlacementProblem, placed: Assignments) -> int:
    """Return cost of the placed tasks in units: what the models charge each, crowding, spread, pairs and
    sizes of tasks.

    Crowding charges the k-th task of the round on a machine for the k before it, as tasks of mean size; where models
    state heights, ``size_cost`` makes that the sum of true sizes.
    """
    beyond = round(pair_cost(problem, placed)) + round(size_cost(problem, placed))
    return compute_charged_cost(problem, placed) + beyond + round(spread_cost(problem.spread, placed))


def compute_charged_cost(problem: PlacementProblem, placed: Assignments) -> int:
    """Return what arcs of the network charge for the placed tasks: models and crowding."""
    shapes = problem.shape[placed.cls]
    models = int((problem.cost[shapes, placed.machine].astype(np.int64) * placed.count).sum())
    on_machine = placed.count_per_machine(problem.machines)
    return models + int((problem.crowd * staircase(on_machine, problem.crowd_step())).sum())


def least_cost(problem: PlacementProblem, placed: Assignments) -> int:
    """Return what the placed tasks would cost if each were alone on the machine that is cheapest for it.

    Nothing that places as many of each class costs less, whatever else holds.
    """
    counts = np.bincount(problem.shape[placed.cls], weights=placed.count, minlength=len(problem.cost))
    shapes = np.flatnonzero(counts)
    everywhere = np.iinfo(np.int32).max
    least = np.where(problem.feasible[shapes], problem.cost[shapes], everywhere).min(
        axis=1, initial=everywhere
    )
    return int((least.astype(np.int64) * counts[shapes].astype(np.int64)).sum())


def size_cost(problem: PlacementProblem, placed: Assignments) -> float:
    """Return units by which tasks cost more, by their sizes, than the network charges for tasks of mean size.

    Of either sign; 0 where no model states heights.
    """
    heights = problem.heights
    if heights is None:
        return 0.0
    shapes = problem.shape.take(placed.cls)
    size = heights.sizes(shapes, placed.machine) * placed.count
    size_on = np.bincount(placed.machine, weights=size, minlength=problem.machines)
    tasks_on = np.bincount(placed.machine, weights=placed.count, minlength=problem.machines)
    grows = heights.growth > 0
    used = np.flatnonzero((tasks_on > 0) & grows)
    total, tasks, growth = size_on.take(used), tasks_on.take(used), heights.growth.take(used)
    exact = total * (heights.start.take(used) + total / 2) / growth + total / 2
    crowding = growth * tasks * (tasks - 1) / 2
    charged = heights.sum_charged(shapes, placed.machine) * placed.count * grows.take(placed.machine)
    return float((exact - crowding).sum() - charged.sum())


def spread_cost(terms: SpreadTerms | None, placed: Assignments) -> float:
    """Return units that a placement adds to what tasks of one group cost by being near each other; 0 without
    groups.
    """
    if terms is None:
        return 0.0
    theirs = terms.group[placed.cls] >= 0
    groups = terms.group[placed.cls[theirs]]
    none = np.empty(0, dtype=np.int64)
    after = _compute_near_cost(terms, groups, placed.machine[theirs], placed.count[theirs])
    return after - _compute_near_cost(terms, none, none, none)


def _compute_near_cost(terms: SpreadTerms, groups: Int64, machines: Int64, counts: Int64) -> float:
    """Return what all tasks of groups cost by being near each other: those there, and ``counts`` on
    ``machines``.
    """
    pairs, on_machine = terms.on_machines(groups, machines, counts)
    steps = terms.machine_step[pairs // np.int64(max(1, len(terms.domain)))]
    in_domain = terms.in_domains(groups, machines, counts)
    by_domain = (in_domain * (in_domain - 1)).sum(axis=1) * terms.domain_step
    return float((steps * (on_machine * (on_machine - 1))).sum() + by_domain.sum()) / 2


def pair_cost(problem: PlacementProblem, placed: Assignments) -> float:
    """Return units that a placement adds to what pairs of tasks cost; 0 if no model knows pairs."""
    if problem.pairs is None:
        return 0.0
    before, after = pair_figures(problem.pairs, placed)
    return (after - before) * problem.pairs.units


def pair_figures(pairs: PairRules, placed: Assignments) -> tuple[float, float]:
    """Return what all pairs of tasks on machines cost before a placement, and after it, in the model's unit."""
    before = pair_figure(pairs.terms, pairs.resident_kind, pairs.resident_machine)
    tasks = placed.tasks()
    then = pairs.add_residents(tasks.cls, tasks.machine)
    return before, pair_figure(pairs.terms, then.resident_kind, then.resident_machine)


def pending_cost(problem: PlacementProblem, placed: Assignments) -> int:
    """Return penalties, in units, of the tasks that stay pending; of each class the longest waiting are the
    ones placed.
    """
    left = problem.counts.copy()
    take_oldest(left, placed)
    if not left.any():
        return 0
    start = Residual(problem)
    return int((left * compute_unscheduled_penalties(start, dearest_path(start))).sum())


def placement_cost(problem: PlacementProblem, placed: Assignments) -> int:
    """Return total cost of a placement in units: of the tasks placed and of those that stay pending.

    Joint limits are not checked here.
    """
    return compute_placed_cost(problem, placed) + pending_cost(problem, placed)


def network_cost(problem: PlacementProblem, placed: Assignments) -> int:
    """Return the part of ``placement_cost`` that is on arcs, which is what a flow's cost bounds: without
    pairs and sizes.
    """
    return compute_charged_cost(problem, placed) + pending_cost(problem, placed)


# --- what it costs at least
#
# The first flow bounds what all tasks that it knows cost, by linear-programming duality. Its prices do so for any other
# number of tasks of each class as well: a task less lowers the bound by the price of its class at most. So a round is
# compared with the flow for the tasks that it has placed, although rules, gangs or admission left others pending.


def gap_of(problem: PlacementProblem, placed: Placed, classes: Sequence[Sequence[int]] | None) -> float:
    """Return which part of what the placed tasks cost on arcs could be saved at most, rules left out: from 0 to 1.

    ``classes``: the problem's classes for which each class of the first flow stands, None: for itself. A ratio to the
    bound would have no end where that is small.
    """
    whole, assignments = problem, placed.assignments
    if placed.about is not None:
        among: Bool = placed.about.whole.counts.sum(axis=1) > 0  # groups with rules are not part of the flow
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
    """Return what so many tasks of each class (int64[C]) cost on arcs at least, by a certified flow; 0: nothing known.

    ``classes`` as of ``gap_of``.
    """
    network = outcome.solved
    if classes is None:
        placed = counts[network.classes]
    else:
        placed = np.array([counts[classes[each]].sum() for each in network.classes.tolist()], dtype=np.int64)
    fewer = network.problem.supplies[: len(network.classes)] - placed
    if not fewer.any():
        return outcome.bound
    try:
        prices = node_prices(network, outcome.carried).cls
    except NotOptimalError:
        return 0
    # Without arcs to stay pending by, what their room was worth to the flow is no part of the bound.
    _, _, unscheduled, _ = network.blocks
    penalties = 2 * network.problem.costs[unscheduled].reshape(len(prices), -1)
    room = network.problem.capacities[unscheduled].reshape(len(prices), -1)
    worth = (room * np.maximum(prices[:, None] - penalties, 0)).sum()
    return max(outcome.bound + int((worth - (fewer * prices).sum()) // 2), 0)  # prices are in half units
