"""Runs the loop of column generation: price the missing columns, add them, solve again, until none would help.

Two networks grow in this way: the network that places tasks (``column_generation.py``), and the one that moves running
tasks (``rescheduling/move_network/move_search.py``). Each network has its own pricer.
"""

from __future__ import annotations

from typing import Protocol, TypeVar


class PricedFlow(Protocol):
    """A flow that is optimal in a network with only some of the columns (arcs from a class to a machine)."""

    @property
    def prices(self) -> object | None:
        """Node prices that prove the flow optimal in its network; None if no prices prove that."""


Flow = TypeVar("Flow", bound=PricedFlow)
Missing = TypeVar("Missing")


class Pricer(Protocol[Flow, Missing]):
    """Finds the missing columns of one kind of network, and adds them."""

    def price(self, flow: Flow) -> Missing | None:
        """Return the columns that would lower the cost at the flow's prices, or None if the flow is optimal."""

    def widen(self, flow: Flow, missing: Missing) -> Flow | None:
        """Add the missing arcs (columns) and return an optimal flow of the wider network; None if time has run out."""


def generate_columns(pricer: Pricer[Flow, Missing], flow: Flow, iterations: int) -> tuple[Flow, bool]:
    """Return the last flow after at most ``iterations`` pricings, and whether it is proved optimal over all columns.

    Errors of the solver are raised.
    """
    for left in reversed(range(iterations)):
        if flow.prices is None:
            break
        missing = pricer.price(flow)
        if missing is None:
            return flow, True
        wider = pricer.widen(flow, missing) if left else None
        if wider is None:
            break
        flow = wider
    return flow, False
