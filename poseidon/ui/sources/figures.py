"""Reads the figures of bridge and solver from their metrics, as ``poseidon top`` does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from poseidon.live.figures import compute_figures, parse_metrics
from poseidon.ui.program_pages import read_page
from poseidon.ui.views.overview import count_nodes_and_pods

if TYPE_CHECKING:
    from poseidon.live.figures import Values
    from poseidon.ui.page_data import Known


class MetricsPoll:
    """Reads the metrics of bridge and solver, and compares each reading with the previous one.

    ``clock`` returns seconds that never decrease.
    """

    def __init__(self, known: Known, bridge_url: str, solver_url: str, clock: Callable[[], float]) -> None:
        self._known = known
        self._urls = bridge_url, solver_url
        self._clock = clock
        self._before: Values | None = None
        self._looked = 0.0

    async def step(self, now: float) -> None:
        """Read the metrics once; ``now`` is in seconds since the epoch."""
        known, looked = self._known, self._clock()
        pages = await asyncio.gather(*map(read_page, self._urls))
        # Reading runs in a thread, because a page may have tens of thousands of lines, and the server must answer
        # meanwhile.
        values = await asyncio.to_thread(_together, *pages)
        if known.bridge.note_answer(now, answers=values is not None):
            known.versions.mark("session")
        known.counts = count_nodes_and_pods(known.store)
        if values is None:
            self._before = None
            known.history.add(now, None, len(known.store.waiting))
        else:
            found = compute_figures(values, self._before, looked - self._looked)
            self._before, self._looked = values, looked
            known.history.add(now, found, len(known.store.waiting))
            known.leader.leads = found.leads
            known.solver.round_failures = found.failures
            state = known.solver.state
            if found.refused:
                known.solver.state = "refused"
            elif state == "refused":
                known.solver.state = "connected"
            if known.solver.state != state:
                known.solver.since = now
                known.versions.mark("session")
        known.versions.mark("overview")


def _together(bridge: str | None, solver: str | None) -> Values | None:
    """Return the values of both programs' pages, or None if the bridge's page is missing.

    The solver's page may be missing.
    """
    if bridge is None:
        return None
    try:
        found = dict(parse_metrics(bridge))
        of_solver = parse_metrics(solver or "").items()
        found.update((key, value) for key, value in of_solver if key[0].startswith("firmament_"))
    except ValueError:
        return None
    return found
