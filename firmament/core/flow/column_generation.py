"""Finds optimal flows. The network of a small problem is solved whole. For larger ones, column generation solves a
small network, prices the arcs that were left out, and adds those that would lower the cost, until there are none.

After the first solve, the flow is repaired in place if few arcs contradict the prices (see ``primal_dual_repair``);
otherwise the wider network is solved anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.generation_loop import generate_columns
from firmament.core.flow.heights_and_prices import DualPrices
from firmament.core.flow.network.arc_columns import OfferedArcs, choose_first_columns
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

    A class of n tasks starts with n / 2 + base columns. Its base is its share of ``base_total``, or one column per
    ``machines_each`` likely machines if that is more, within ``base_least`` .. ``base_most``.
    """

    whole: int = 12_000
    """Networks of at most this many columns and steps are solved with all of them."""
    base_total: int = 4_000
    """Sum of the base columns of all classes."""
    base_least: int = 8
    """Smallest base of a class."""
    base_most: int = 200
    """Largest base of a class."""
    machines_each: int = 90
    """A class gets at least one base column per this many likely machines: the more alike machines there are, the less
    certain it is which of them the class will use.
    """
    samples: float = 1.0
    """About twice this many columns per task are sampled."""
    samples_each: float = 5.0
    """Columns per class that are sampled in addition to those per task."""
    samples_most: float = 8.0
    """Most samples per task, which is reached if fewer than ``sampled`` would be sampled otherwise."""
    sampled: int = 12_000
    """Target for the number of sampled columns of all tasks."""
    added: int = 50_000
    """Most columns that are added per iteration."""
    iterations: int = 16
    """Most iterations."""
    repaired_most: int = 400
    """Most arcs contradicting the prices for which the flow is repaired without a solve."""

    def compute_base(self, classes: int, likely: int) -> int:
        """Return how many columns each class gets besides half the number of its tasks.

        ``likely``: number of machines that are likely to be used.
        """
        shared = max(self.base_total // max(1, classes), likely // self.machines_each)
        return min(self.base_most, max(self.base_least, shared))

    def compute_rate(self, tasks: int) -> float:
        """Return how many columns to sample per task in each direction, for ``tasks`` waiting tasks in all."""
        return max(self.samples, min(self.samples_most, self.sampled / (2 * max(1, tasks))))


@dataclass(frozen=True)
class FlowOutcome:
    """An optimal flow over the last network.

    The first steps of a machine may be merged into one arc there. In ``network`` and ``flows`` each step has its own
    arc, so that the arcs' costs are those of the placement.
    """

    solved: Network
    """The network that was solved; the first steps of a machine may be one arc."""
    carried: Int64
    """int64, the flow on the arcs of ``solved``."""
    arcs: int
    """Number of arcs if each step has its own."""
    bound: int
    """Cost of the flow in units; if ``certified``, no placement costs less."""
    certified: bool
    """Whether the flow is proved optimal over all columns."""
    solves: int
    """How often the solver found a flow."""
    seconds: float
    """Seconds that these solves took."""
    time_limited: bool = False
    """Whether a time limit ended a solve after the first."""
    dual_prices: DualPrices | None = None
    """Dual prices of shapes that were estimated, None if none were."""
    mends: int = 0
    """How often the flow was repaired without a solve."""

    @classmethod
    def of_whole(cls, network: Network, solution: FlowSolution) -> FlowOutcome:
        """Return the outcome of solving a network that left nothing out."""
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
        """The network with an arc of its own for each step; built on first access."""
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
        """Return the tasks per (class, machine) that the flow carries, in order of class, then machine."""
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

    ``fits`` maps each waiting shape to ``residual.fits(shape)``; ``penalties`` default to those of the residual.
    Raises what the solver raises; on a time-out after the first solve, the last flow is returned, uncertified.
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
    """A network with its flow and prices, if any; ``settled``: prices at which no arc left out before violates."""

    network: Network
    flows: Int64
    prices: Prices | None
    settled: FullPrices | None = None


@dataclass(frozen=True, slots=True)
class _Missing:
    """Violations of the ``full`` prices; ``unfilled``: machines (rows) whose merged steps the flow does not fill."""

    full: FullPrices
    violations: Violations
    unfilled: Int64


@dataclass
class _Generation:
    """One run of column generation: the columns and steps so far, and the number and duration of its solves."""

    residual: Residual
    """The waiting tasks and what is left of the machines."""
    fits: dict[int, Bool]
    """bool[M] by shape, machines on which one task fits."""
    solver: Solver
    """The solver for the networks."""
    options: GenerationOptions
    """How many columns there are at first, and are added."""
    tuning: FlowTuning
    """Constants that guide the search."""
    penalties: Int64
    """int64[C, WAIT_BUCKETS], cost of leaving a task of each class without a machine."""
    time_limit: float | None
    """Time limit of one solve in seconds, None for no limit."""

    def __post_init__(self) -> None:
        residual, options, tuning = self.residual, self.options, self.tuning
        self._estimate = estimate_prices(residual, self.fits, tuning.prices)
        self._offers = OfferedArcs(residual, self.fits, self._estimate.candidates)
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
        """Solve, price and widen until nothing violates the prices, or iterations or time run out."""
        found, certified = generate_columns(self, self._first(), self.options.iterations)
        return self._outcome(found.network, found.flows, certified=certified)

    def price(self, flow: _SolvedNetwork) -> _Missing | None:
        """Return columns and steps that violate the flow's prices, and merged steps that it does not fill, or None."""
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
        """Return an optimal flow of the wider network, by repair or by a solve, or None if time has run out."""
        unfilled, violations = missing.unfilled, missing.violations
        self._merged[unfilled] = 0  # each of their first steps gets its own arc
        if len(unfilled) and self._solves > 1:
            self._merged[:] = 0  # misjudged everywhere; unmerging a few at a time would take a solve each
        wider, carried = self._wider(flow.network, flow.flows, violations, rebuilt=len(unfilled) > 0)
        try:
            found = self._patch(wider, carried, missing.full) or self._solve(wider)
        except SolverTimeoutError:
            self._time_limited = True
            return None
        return _SolvedNetwork(wider, *found, violations.settled)

    def _first(self) -> _SolvedNetwork:
        """Return the first network with an optimal flow, and prices, if there are any.

        Where the flow could not follow the expected prices, the arcs are missing on which tasks would get there. At the
        true costs, all prices are then far off, and nearly every arc seems to violate. At cut-off costs, only the
        missing arcs violate: they are added, and the flow is repaired.
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

        ``rebuilt``: other parts have changed as well since ``network`` was built.
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
        """Return the solution's flow, and add its solve and seconds to the totals."""
        self._solves += 1
        self._seconds += solution.seconds
        return solution.flows

    def _solve(self, network: Network) -> tuple[Int64, Prices | None]:
        """Return an optimal flow, and prices, if there are any. Raises what the solver raises."""
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
