"""The skeleton of column generation: price what a network lacks, add it, solve again, until nothing is lacking.

Two networks grow like this: the one that places tasks (``column_generation.py``), and the one that moves them
(``rescheduling/move_network/move_search.py``). Each prices in its own way.
"""

from __future__ import annotations

from typing import Protocol, TypeVar


class PricedFlow(Protocol):
    """A flow of the columns that are known."""

    @property
    def prices(self) -> object | None:
        """Prices of nodes that prove it optimal there; None if there are none."""


Flow = TypeVar("Flow", bound=PricedFlow)
Missing = TypeVar("Missing")


class Pricer(Protocol[Flow, Missing]):
    """What a network knows of its columns."""

    def price(self, flow: Flow) -> Missing | None:
        """Return what would lower costs at the flow's prices; None: nothing would, the flow is optimal."""

    def widen(self, flow: Flow, missing: Missing) -> Flow | None:
        """Return an optimal flow with what was missing; None if time has run out."""


def generate_columns(pricer: Pricer[Flow, Missing], flow: Flow, iterations: int) -> tuple[Flow, bool]:
    """Return the last flow after at most ``iterations`` pricings, and whether it is proved optimal for all columns.

    Raises what the solver raises.
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
