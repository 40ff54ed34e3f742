"""Finds a cheapest flow for the waiting tasks of a pass.

A small network is solved with all its arcs. A larger network starts with a few promising arcs (columns). Column
generation then computes the reduced costs of the arcs that were left out, and adds those that would lower the cost,
until none would. After the first solve, ``primal_dual_repair`` repairs the flow in place if few arcs contradict the
node prices. If many arcs contradict the flow's prices, the solver solves the wider network anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.generation_loop import generate_columns
from firmament.core.flow.heights_and_prices import DualPrices
from firmament.core.flow.network.arc_columns import UnpinnedArcs, choose_first_columns
from firmament.core.flow.network.network import (
    Network,
    build_network,
    compute_unscheduled_penalties,
    dearest_path,
    flow_cost,
    whole_network,
)
from firmament.core.flow.network.widening import map_flow_to_wider_network, unmerge, widen_network
from firmament.core.flow.optimality.node_prices import NotOptimalError, Prices, node_prices
from firmament.core.flow.optimality.pricing import FullPrices, Violations, price_out
from firmament.core.flow.optimality.primal_dual_repair import repair_flow
from firmament.core.flow.price_estimate.equilibrium import estimate_prices
from firmament.core.flow.problem import Assignments
from firmament.core.flow.residual import Residual
from firmament.core.flow.truncation import find_unfilled_machines, plan_steps, solve_at_truncated_costs
from firmament.core.flow.tuning import FlowTuning
from firmament.solvers.base import FlowSolution, Solver, SolverTimeoutError


@dataclass(frozen=True, slots=True)
class GenerationOptions:
    """How many columns a network has at first, and how many are added later.

    A class of n tasks starts with n / 2 + base columns. The base is the class's share of ``base_total``, or one
    column per ``machines_each`` likely machines if that is more; it is limited to ``base_least`` .. ``base_most``.
    ``base_most``.
    """

    whole: int = 12_000
    """A network with at most this many columns and steps is solved whole, without column generation."""
    base_total: int = 4_000
    """Number of base columns of all classes together."""
    base_least: int = 8
    """Fewest base columns that a class gets."""
    base_most: int = 200
    """Most base columns that a class gets."""
    machines_each: int = 90
    """A class gets at least one base column per this many likely machines.
    The more alike machines there are, the less certain it is which of them the class will use.
    """
    samples: float = 1.0
    """Number of columns sampled per task in each direction, so about twice this number per task."""
    samples_each: float = 5.0
    """Columns per class that are sampled in addition to those per task."""
    samples_most: float = 8.0
    """Most samples per task and direction.

    This limit applies if a lower rate would sample fewer than ``sampled`` columns.
    """
    sampled: int = 12_000
    """Target for the number of columns that are sampled for all tasks together."""
    added: int = 50_000
    """Most columns that are added per iteration."""
    iterations: int = 16
    """Most times that the arcs left out are priced."""
    repaired_most: int = 400
    """The flow is repaired without a solve if at most this many arcs contradict the prices."""

    def compute_base(self, classes: int, likely: int) -> int:
        """Return how many columns each class gets in addition to one for every two of its tasks.

        ``classes``: number of waiting classes; ``likely``: number of machines that the flow is likely to use.
        """
        shared = max(self.base_total // max(1, classes), likely // self.machines_each)
        return min(self.base_most, max(self.base_least, shared))

    def compute_rate(self, tasks: int) -> float:
        """Return how many columns to sample per task in each direction, for ``tasks`` waiting tasks in all."""
        return max(self.samples, min(self.samples_most, self.sampled / (2 * max(1, tasks))))


@dataclass(frozen=True)
class FlowOutcome:
    """An optimal flow over the last network of column generation.

    The solved network may merge the first crowding steps of a machine into one arc. In ``network`` and ``flows`` each
    step has its own arc, so that the arcs' costs are those of the placement.
    """

    solved: Network
    """The network that was solved; in it, the first crowding steps of a machine may be one arc."""
    carried: Int64
    """int64, the flow on each arc of ``solved``."""
    arcs: int
    """Number of arcs if each crowding step has its own arc."""
    bound: int
    """Cost of the flow in hundredths of a point; if ``certified``, no placement costs less."""
    certified: bool
    """Whether node prices prove that no flow over all columns costs less."""
    solves: int
    """How often the solver found a flow."""
    seconds: float
    """Seconds that the solver needed for all its solves."""
    time_limited: bool = False
    """Whether a solve after the first reached its time limit."""
    dual_prices: DualPrices | None = None
    """Dual prices of shapes that were estimated before the first solve, None if none were estimated."""
    mends: int = 0
    """How often the flow was repaired without a solve."""

    @classmethod
    def of_whole(cls, network: Network, solution: FlowSolution) -> FlowOutcome:
        """Return the outcome of solving a network that contains all columns and steps."""
        return cls(
            solved=network,
            carried=solution.flows,
            arcs=len(solution.flows),
            bound=flow_cost(network, solution.flows),
            certified=True,
            solves=1,
            seconds=solution.seconds,
        )

    @cached_property
    def network(self) -> Network:
        """The network with an arc of its own for each crowding step; built on first access."""
        return self.solved if self.arcs == len(self.carried) else unmerge(self.solved)

    @cached_property
    def flows(self) -> Int64:
        """int64[arcs]: the flow on the arcs of ``network``."""
        if self.network is self.solved:
            return self.carried
        return map_flow_to_wider_network(
            self.solved, self.carried, self.network, int(self.network.machines[-1]) + 1
        )

    def assignments(self) -> Assignments:
        """Return how many tasks of each class the flow sends to each machine, ordered by class, then by machine."""
        columns, _, _, _ = self.solved.blocks
        carried = self.carried[columns]
        where = carried > 0
        return Assignments(self.solved.columns.cls[where], self.solved.columns.machine[where], carried[where])


def optimal_flow(
    residual: Residual,
    fits: dict[int, Bool],
    solver: Solver,
    options: GenerationOptions,
    tuning: FlowTuning,
    *,
    penalties: Int64 | None = None,
    time_limit: float | None = None,
) -> FlowOutcome | None:
    """Return an optimal flow for the waiting tasks of ``residual``, or None if no task fits on any machine.

    ``fits`` maps each waiting shape to ``residual.find_fitting(shape)``; ``penalties`` default to those of the
    residual. Errors of the solver's first solve are raised. If a later solve reaches the time limit, the result is the
    last flow, without a certificate.
    """
    classes = residual.active()
    if not any(fits[int(shape)].any() for shape in np.unique(residual.problem.shape[classes])):
        return None
    if penalties is None:
        penalties = compute_unscheduled_penalties(residual, dearest_path(residual))
    whole = whole_network(residual, fits, penalties, options.whole)
    if whole is not None:
        return FlowOutcome.of_whole(whole, solver.solve(whole.problem, time_limit=time_limit))
    search = _Generation(residual, fits, solver, options, tuning, penalties, time_limit)
    return search.run() if len(search.columns) else None


@dataclass(frozen=True, slots=True)
class _SolvedNetwork:
    """A network with its flow and node prices, if any; ``settled``: prices that no left-out arc violates."""

    network: Network
    flows: Int64
    prices: Prices | None
    settled: FullPrices | None = None


@dataclass(frozen=True, slots=True)
class _Missing:
    """Left-out arcs that violate the ``full`` prices; ``unfilled``: machines with merged steps that are not full."""

    full: FullPrices
    violations: Violations
    unfilled: Int64


@dataclass
class _Generation:
    """One run of column generation: the columns and steps so far, and the number and duration of its solves."""

    residual: Residual
    """The waiting tasks, and the capacity that the machines have left."""
    fits: dict[int, Bool]
    """bool[M] by shape: machines on which one task of the shape fits."""
    solver: Solver
    """The solver that solves the networks."""
    options: GenerationOptions
    """How many columns a network has at first, and how many are added."""
    tuning: FlowTuning
    """Constants that guide the choice of columns and prices."""
    penalties: Int64
    """int64[C, WAIT_BUCKETS], cost of leaving a task of each class without a machine, in hundredths of a point."""
    time_limit: float | None
    """Time limit of one solve in seconds; None means no limit."""

    def __post_init__(self) -> None:
        residual, options, tuning = self.residual, self.options, self.tuning
        self._estimate = estimate_prices(residual, self.fits, tuning.prices)
        self._offers = UnpinnedArcs(residual, self.fits, self._estimate.candidates)
        self.columns = choose_first_columns(
            residual,
            self._offers,
            self._estimate,
            base=options.compute_base(len(residual.active()), len(self._estimate.candidates)),
            samples=options.compute_rate(int(residual.remaining.sum())),
            samples_each=options.samples_each,
            tuning=tuning.columns,
        )
        self._steps, self._merged = plan_steps(residual, self._estimate, tuning.truncation)
        self._solves = 0
        self._mends = 0
        self._seconds = 0.0
        self._time_limited = False

    def run(self) -> FlowOutcome:
        """Solve, price and widen the network until no left-out arc violates the prices or a limit is reached."""
        found, certified = generate_columns(self, self._first(), self.options.iterations)
        return self._outcome(found.network, found.flows, certified=certified)

    def price(self, flow: _SolvedNetwork) -> _Missing | None:
        """Return the arcs that violate the flow's prices, and the merged steps that the flow does not fill.

        The result is None if no arc violates the prices and the flow fills all merged steps.
        """
        assert flow.prices is not None
        network, flows = flow.network, flow.flows
        full = FullPrices.from_network(self.residual, network, flow.prices)
        violations = price_out(
            self.residual,
            network,
            flows,
            full,
            self._offers,
            limit=self.options.added,
            settled=flow.settled,
        )
        unfilled = find_unfilled_machines(network, flows, self._merged)
        return _Missing(full, violations, unfilled) if violations.total + len(unfilled) else None

    def widen(self, flow: _SolvedNetwork, missing: _Missing) -> _SolvedNetwork | None:
        """Return an optimal flow of the network with the missing arcs; None if time has run out."""
        unfilled, violations = missing.unfilled, missing.violations
        self._merged[unfilled] = 0  # each of the first steps of these machines gets its own arc
        if len(unfilled) and self._solves > 1:
            # the estimate was wrong everywhere; splitting merged steps a few at a time would take many solves
            self._merged[:] = 0
        wider, carried = self._wider(flow.network, flow.flows, violations, rebuilt=len(unfilled) > 0)
        try:
            found = self._patch(wider, carried, missing.full) or self._solve(wider)
        except SolverTimeoutError:
            self._time_limited = True
            return None
        return _SolvedNetwork(wider, *found, violations.settled)

    def _first(self) -> _SolvedNetwork:
        """Return the first network with an optimal flow, and the flow's prices if it has any.

        Tasks cannot follow the expected prices if the network lacks arcs to the machines meant for them. At the true
        costs, all prices are then far off, and nearly every left-out arc seems to violate. At costs that are cut off,
        only the missing arcs violate the prices. The missing arcs are therefore added at the costs that are cut off,
        and the flow is repaired.
        """
        network = self._network()
        near = solve_at_truncated_costs(
            network, self._estimate, self.solver, self.time_limit, self.tuning.truncation
        )
        flows = self._count(near.solution)
        if near.cut is None:
            return _SolvedNetwork(network, *self._price(network, flows))
        full = FullPrices.from_network(self.residual, near.cut, node_prices(near.cut, flows))
        missing = price_out(self.residual, near.cut, flows, full, self._offers, limit=self.options.added)
        network, carried = self._wider(network, flows, missing)
        patched = self._patch(network, carried, full) if missing.total <= self.options.repaired_most else None
        return _SolvedNetwork(network, *(patched or self._solve(network)))

    def _network(self) -> Network:
        return build_network(self.residual, self.columns, self.penalties, self._steps, self._merged)

    def _wider(
        self, network: Network, flows: Int64, added: Violations, *, rebuilt: bool = False
    ) -> tuple[Network, Int64]:
        """Return the network with the ``added`` columns and steps, and ``flows`` on its arcs.

        ``rebuilt``: whether anything else has changed since ``network`` was built.
        """
        machines = self.residual.problem.machines
        self.columns = self.columns.merge(added.columns, machines)
        self._steps[added.machines] *= 2
        if not rebuilt and not len(added.machines):
            found = widen_network(self.residual, network, flows, added.columns)
            if found is not None:
                return found
        wider = self._network()
        return wider, map_flow_to_wider_network(network, flows, wider, machines)

    def _count(self, solution: FlowSolution) -> Int64:
        """Return the solution's flow; add its solve and its seconds to the totals of this search."""
        self._solves += 1
        self._seconds += solution.seconds
        return solution.flows

    def _solve(self, network: Network) -> tuple[Int64, Prices | None]:
        """Return an optimal flow, and its node prices if there are any. The solver's errors are raised."""
        return self._price(
            network, self._count(self.solver.solve(network.problem, time_limit=self.time_limit))
        )

    def _patch(self, network: Network, flows: Int64, prices: FullPrices) -> tuple[Int64, Prices] | None:
        """Return the flow repaired in place, and its prices, or None if a solve is the better choice."""
        patched = repair_flow(network, flows, prices, self.options.repaired_most, self.tuning.repair)
        self._mends += patched is not None
        return patched

    def _price(self, network: Network, flows: Int64) -> tuple[Int64, Prices | None]:
        """Return the flow and its prices, which are None if the solver's flow is not optimal."""
        try:
            return flows, node_prices(network, flows)
        except NotOptimalError:
            return flows, None

    def _outcome(self, network: Network, flows: Int64, *, certified: bool) -> FlowOutcome:
        """Return the outcome of the search with this network and flow."""
        return FlowOutcome(
            solved=network,
            carried=flows,
            arcs=network.blocks[2].stop + network.steps.count_arcs(),
            bound=flow_cost(network, flows),
            certified=certified,
            solves=self._solves,
            seconds=self._seconds,
            time_limited=self._time_limited,
            dual_prices=self._estimate.dual_prices,
            mends=self._mends,
        )
