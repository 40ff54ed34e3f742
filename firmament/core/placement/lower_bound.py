"""What a round's placed tasks cost at least, whatever rules between them say: from the first flow and its prices.

The flow's cost bounds that of all tasks it knows, by linear-programming duality. Its prices do so for any other number
of tasks of each class as well: a task less lowers the bound by the price of its class, at most. So a round is compared
with the flow for the tasks that it has placed, although rules, gangs or joint admission left others pending.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.optimality.node_prices import NotOptimalError, node_prices
from firmament.core.flow.outcome import FlowOutcome
from firmament.core.flow.problem import PlacementProblem
from firmament.core.placement.cost import charged_cost, least_cost
from firmament.core.placement.outcome import Placed


def gap_of(problem: PlacementProblem, placed: Placed, classes: Sequence[Sequence[int]] | None) -> float:
    """Return which part of what the placed tasks cost on arcs could be saved at most, rules left out: from 0 to 1.

    ``classes``: the problem's classes for which each class of the first flow stands, None: for itself. A ratio to the
    bound would have no end where that is small.
    """
    whole, assignments = problem, placed.assignments
    if placed.about is not None:
        among: Bool = placed.about.whole.counts.sum(axis=1) > 0  # groups with rules are not part of the flow
        assignments = assignments.taken(among[assignments.cls])
        whole = placed.about.problem
    gathered = assignments if placed.about is None else placed.about.gathered(assignments)
    cost = charged_cost(whole, gathered)
    if cost <= 0:
        return 0.0
    bound = 0
    if placed.first is not None and placed.first.outcome.certified:
        counts = assignments.per_class(problem.classes)
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
