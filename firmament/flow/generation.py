"""Column generation: solve a small network, price what was left out, add what violates, until none does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.flow.columns import starting_columns
from firmament.flow.equilibrium import expected_spread
from firmament.flow.network import Network, build_network, dearest_path, unscheduled_penalties
from firmament.flow.prices import node_prices
from firmament.flow.pricing import price_out
from firmament.flow.problem import Assignments, Residual
from firmament.solvers.base import FlowSolution, Solver, SolverTimeoutError


@dataclass(frozen=True, slots=True)
class GenerationOptions:
    """How many columns there are at first and how many join later.

    A class of n tasks starts with n / 2 + base columns, where ``base_total`` is shared out over the classes within
    ``base_least`` .. ``base_most``; a machine starts with columns of ``per_machine`` classes. At most ``added``
    columns join per iteration; at most ``iterations`` solves are made.
    """

    base_total: int = 20_000
    base_least: int = 8
    base_most: int = 200
    per_machine: int = 16
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
    time_limit: float | None = None,
) -> FlowOutcome | None:
    """Find an optimal flow for what is left; None if no task fits anywhere.

    ``fits`` maps each waiting shape to ``residual.fits(shape)``. Raises what the solver raises; on a time-out after a
    first solve the last flow stands, uncertified.
    """
    classes = residual.active()
    if not any(fits[int(shape)].any() for shape in np.unique(residual.problem.shape[classes])):
        return None
    spread = expected_spread(residual, fits)
    columns = starting_columns(
        residual, fits, spread, base=options.base(len(classes)), per_machine=options.per_machine
    )
    if len(columns) == 0:
        return None
    penalties = unscheduled_penalties(residual, dearest_path(residual))
    steps = spread.load + spread.load // 4 + 2
    seconds = 0.0
    outcome: FlowOutcome | None = None
    for iteration in range(options.iterations):
        network = build_network(residual, columns, penalties, steps)
        solution = _solve(solver, network, time_limit, outcome)
        if solution is None:
            break
        seconds += solution.seconds
        found = node_prices(network, solution.flows)
        violations = price_out(residual, network, solution.flows, found, fits, limit=options.added)
        outcome = FlowOutcome(
            network=network,
            flows=solution.flows,
            bound=int(solution.flows @ network.problem.costs),
            certified=violations.total == 0,
            solves=iteration + 1,
            seconds=seconds,
        )
        if outcome.certified:
            break
        columns = columns.merged(violations.columns, residual.problem.machines)
        steps[violations.machines] *= 2
    return outcome


def _solve(
    solver: Solver, network: Network, time_limit: float | None, former: FlowOutcome | None
) -> FlowSolution | None:
    """Solve; None if the time is up and a former flow can stand in."""
    try:
        return solver.solve(network.problem, time_limit=time_limit)
    except SolverTimeoutError:
        if former is None:
            raise
        return None
