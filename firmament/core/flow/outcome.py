"""The result of a search for an optimal flow, and networks as DIMACS text, the format of min-cost-flow tools."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.network.network import Network, carry_over, flow_cost, unmerge
from firmament.core.flow.problem import Assignments
from firmament.core.flow.terms import DualPrices
from firmament.solvers.base import FlowSolution


@dataclass(frozen=True)
class FlowOutcome:
    """An optimal flow over the last network.

    ``solved``, ``carried``: that network and the flow on its arcs, where the first steps of a machine may be one arc;
    ``network``, ``flows`` have every step on its own, so that the arcs' costs are what the placement costs. ``arcs``:
    how many those are. ``bound``: cost of the flow in units; if ``certified``, no placement of the residual costs less.
    ``solves``: how often the solver found a flow, in ``seconds``; ``mends``: how often it was mended without.
    ``time_limited``: a later solve was cut off. ``dual_prices``: what shapes were expected to be worth, None if
    that was not found out.
    """

    solved: Network
    """The network that was solved; the first steps of a machine may be one arc."""
    carried: Int64
    """The flow on its arcs."""
    arcs: int
    """Number of arcs with every step on its own."""
    bound: int
    """Cost of the flow in units; if ``certified``, no placement costs less."""
    certified: bool
    """Whether the flow was proved optimal over all columns."""
    solves: int
    """How often the solver found a flow."""
    seconds: float
    """Seconds of these solves."""
    time_limited: bool = False
    """Whether a later solve was cut off."""
    dual_prices: DualPrices | None = None
    """Expected worth of shapes, None if it was not computed."""
    mends: int = 0
    """How often the flow was repaired without a solve."""

    @classmethod
    def of_whole(cls, network: Network, solution: FlowSolution) -> FlowOutcome:
        """Return the optimal flow of a network that left nothing out."""
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
        """The network with every step on its own; built when it is first asked for."""
        return self.solved if self.arcs == len(self.carried) else unmerge(self.solved)

    @cached_property
    def flows(self) -> Int64:
        """int64[arcs]: the flow on the arcs of ``network``."""
        if self.network is self.solved:
            return self.carried
        return carry_over(self.solved, self.carried, self.network, int(self.network.machines[-1]) + 1)

    def assignments(self) -> Assignments:
        """Return tasks per (class, machine) that the flow carries, in order of class, then machine."""
        columns, _, _, _ = self.solved.blocks
        carried = self.carried[columns]
        where = carried > 0
        return Assignments(self.solved.columns.cls[where], self.solved.columns.machine[where], carried[where])


ARC_BLOCKS = ("class to machine", "class to unscheduled aggregator", "aggregator to sink", "machine to sink")


def to_dimacs(network: Network) -> str:
    """Return ``p min NODES ARCS``, then ``n ID EXCESS`` for nodes that supply or demand, then ``a TAIL HEAD
    LOW CAP COST``.

    Nodes count from 1. Comments name the kind of every node and the block that arcs belong to.
    """
    problem = network.problem
    lines = [
        "c classes, their unscheduled aggregators, machines, and the sink",
        f"p min {len(problem.supplies)} {len(problem.tails)}",
    ]
    node = 1
    for kind, rows in (
        ("class", network.classes),
        ("unscheduled aggregator of class", network.classes),
        ("machine", network.machines),
    ):
        lines.extend(f"c node {node + index} {kind} {row}" for index, row in enumerate(rows.tolist()))
        node += len(rows)
    lines.append(f"c node {node} sink")
    sources = np.flatnonzero(problem.supplies)
    lines.extend(f"n {index + 1} {problem.supplies[index]}" for index in sources.tolist())
    for name, block in zip(ARC_BLOCKS, network.blocks, strict=True):
        lines.append(f"c arcs {name}")
        columns = (
            problem.tails[block] + 1,
            problem.heads[block] + 1,
            problem.capacities[block],
            problem.costs[block],
        )
        arcs = zip(*(column.tolist() for column in columns), strict=True)
        lines.extend(f"a {tail} {head} 0 {capacity} {cost}" for tail, head, capacity, cost in arcs)
    return "\n".join(lines) + "\n"
