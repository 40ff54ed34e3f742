"""What a search for an optimal flow found: the flow, what it carries where, and what finding it took."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from cost_models.interface import Int64
from firmament.core.flow.network.network import Network, carried_over, flow_cost, unmerged
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
    carried: Int64
    arcs: int
    bound: int
    certified: bool
    solves: int
    seconds: float
    time_limited: bool = False
    dual_prices: DualPrices | None = None
    mends: int = 0

    @classmethod
    def of_whole(cls, network: Network, solution: FlowSolution) -> FlowOutcome:
        """The optimal flow of a network that left nothing out."""
        return cls(
            solved=network,
            carried=solution.flows,
            arcs=len(solution.flows),
            bound=flow_cost(network, solution.flows),
            certified=True,
            solves=1,
            seconds=solution.seconds,
        )

    @property
    def network(self) -> Network:
        """The network with every step on its own; built when it is first asked for."""
        return self._unmerged[0]

    @property
    def flows(self) -> Int64:
        """int64[arcs]: the flow on the arcs of ``network``."""
        return self._unmerged[1]

    @cached_property
    def _unmerged(self) -> tuple[Network, Int64]:
        if self.arcs == len(self.carried):
            return self.solved, self.carried
        network = unmerged(self.solved)
        return network, carried_over(self.solved, self.carried, network, int(network.machines[-1]) + 1)

    def assignments(self) -> Assignments:
        """Tasks per (class, machine) that the flow carries, in order of class, then machine."""
        columns, _, _, _ = self.solved.blocks
        carried = self.carried[columns]
        where = carried > 0
        return Assignments(self.solved.columns.cls[where], self.solved.columns.machine[where], carried[where])
