"""Column generation: solve a small network, price what was left out, add what violates, until none does.

Only the first network is solved whole; after that the flow is repaired (see ``repair``), which is several times faster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.flow.columns import starting_columns
from firmament.flow.equilibrium import expected_spread, typical_step
from firmament.flow.network import Network, Penalties, build_network, dearest_path, unscheduled_penalties
from firmament.flow.prices import NotOptimalError, Prices, node_prices
from firmament.flow.pricing import full_machine_prices, price_out
from firmament.flow.problem import Assignments, Residual
from firmament.flow.repair import carried_over, repair
from firmament.solvers.base import FlowSolution, Solver, SolverTimeoutError

SLACK_STEPS = 0.1
"""With violators, arcs join that miss being one by less than this part of a typical crowding step."""

MISJUDGED = 1.0
"""Violators per column in the first network from which on a second selection of columns is made."""


@dataclass(frozen=True, slots=True)
class GenerationOptions:
    """How many columns there are at first and how many join later.

    A class of n tasks starts with n / 2 + base columns, where ``base_total`` is shared out over the classes within
    ``base_least`` .. ``base_most``; and about twice ``samples`` x n sampled ones. At most ``added``
    columns join per iteration; at most ``iterations`` solves are made.
    """

    base_total: int = 2_000
    base_least: int = 8
    base_most: int = 200
    samples: float = 1.0
    added: int = 50_000
    iterations: int = 16

    def base(self, classes: int) -> int:
        """Columns that a class gets beside those for its tasks."""
        return min(self.base_most, max(self.base_least, self.base_total // max(1, classes)))


@dataclass(frozen=True, slots=True)
class FlowOutcome:
    """An optimal flow over the last network.

    ``bound``: cost of that flow in units; if ``certified``, no placement of the residual costs less. ``seconds`` is
    the time in the solver alone.
    """

    network: Network
    flows: Int64
    bound: int
    certified: bool
    solves: int
    seconds: float

    def assignments(self) -> Assignments:
        """Tasks per (class, machine) that the flow carries, in order of class, then machine."""
        columns, _, _, _ = self.network.blocks
        carried = self.flows[columns]
        where = carried > 0
        return Assignments(
            self.network.columns.cls[where], self.network.columns.machine[where], carried[where]
        )


def optimal_flow(
    residual: Residual,
    fits: dict[int, Bool],
    solver: Solver,
    options: GenerationOptions,
    *,
    penalties: Penalties | None = None,
    time_limit: float | None = None,
) -> FlowOutcome | None:
    """Find an optimal flow for what is left; None if no task fits anywhere.

    ``fits`` maps each waiting shape to ``residual.fits(shape)``; ``penalties`` default to those of the residual.
    Raises what the solver raises; on a time-out after a first solve the last flow stands, uncertified.
    """
    classes = residual.active()
    if not any(fits[int(shape)].any() for shape in np.unique(residual.problem.shape[classes])):
        return None
    spread = expected_spread(residual, fits)
    columns = starting_columns(
        residual, fits, spread, base=options.base(len(classes)), samples=options.samples
    )
    if len(columns) == 0:
        return None
    penalties = penalties or unscheduled_penalties(residual, dearest_path(residual))
    load = -(-spread.load // (residual.problem.times() * residual.problem.crowd_step()))
    steps = load + load // 4 + 2
    slack = int(SLACK_STEPS * typical_step(residual.problem))
    network = build_network(residual, columns, penalties, steps)
    solution = solver.solve(network.problem, time_limit=time_limit)
    seconds, solves = solution.seconds, 1
    while True:
        prices, priced = _priced(network, solution, solver, time_limit)
        if priced is not solution:
            solution, seconds, solves = priced, seconds + priced.seconds, solves + 1
        certified = False
        if prices is not None:
            violations = price_out(
                residual, network, solution.flows, prices, fits, limit=options.added, slack=slack
            )
            certified = violations.total == 0
        outcome = FlowOutcome(
            network=network,
            flows=solution.flows,
            bound=int(solution.flows @ network.problem.costs),
            certified=certified,
            solves=solves,
            seconds=seconds,
        )
        if prices is None or certified or solves >= options.iterations:
            return outcome
        machine_price = full_machine_prices(residual, network, prices)
        columns = columns.merged(violations.columns, residual.problem.machines)
        if solves == 1 and violations.total > len(columns) * MISJUDGED:
            # The estimate was poor; the prices found are much better ones to choose by.
            better = replace(spread, price=machine_price // 2)
            again = starting_columns(
                residual, fits, better, base=options.base(len(classes)), samples=options.samples
            )
            columns = columns.merged(again, residual.problem.machines)
        steps[violations.machines] *= 2
        wider = build_network(residual, columns, penalties, steps)
        flows = carried_over(network, solution.flows, wider, residual.problem.machines)
        try:
            solution = repair(wider, flows, prices.cls, machine_price[wider.machines], solver, time_limit)
        except SolverTimeoutError:
            return outcome
        network = wider
        seconds, solves = seconds + solution.seconds, solves + 1


def _priced(
    network: Network, solution: FlowSolution, solver: Solver, time_limit: float | None
) -> tuple[Prices | None, FlowSolution]:
    """Prices of the flow, and the flow they belong to: a fresh one, if the given one turns out not to be optimal.

    None with the given flow if there was no time to find another, or no prices for that one either.
    """
    try:
        return node_prices(network, solution.flows), solution
    except NotOptimalError:
        pass
    try:
        fresh = solver.solve(network.problem, time_limit=time_limit)
        return node_prices(network, fresh.flows), fresh
    except (NotOptimalError, SolverTimeoutError):
        return None, solution
