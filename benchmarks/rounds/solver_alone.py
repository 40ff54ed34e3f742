"""Measures the solver alone: records the networks of a round, and solves them from nothing.

A round hands its solver less than its networks: costs relative to expected prices, and after the first solve only the
part that has to change. ``FlowProblem.stated`` is the full network behind it. Solving these networks from nothing,
at their true costs, is what any user of the solver would have to do with the same columns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from firmament.solvers.base import FlowProblem, FlowSolution, Solver


class RecordingSolver:
    """Calls another solver, and records the networks that it solves and its processor time.

    A network that is solved twice, in two forms, counts once.
    """

    def __init__(self, solver: Solver, timer: Callable[[], float] = time.process_time) -> None:
        """Wrap a solver. ``timer``: seconds; by default processor time, so that other work of the machine spoils no
        ratio.
        """
        self._solver = solver
        self._timer = timer
        self._networks: list[FlowProblem] = []
        self._seconds = 0.0

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        """Return an optimal flow; raises what the other solver raises."""
        stated = problem.stated or problem
        if not any(each is stated for each in self._networks):
            self._networks.append(stated)
        begin = self._timer()
        try:
            return self._solver.solve(problem, time_limit=time_limit)
        finally:
            self._seconds += self._timer() - begin

    def take_networks(self) -> tuple[list[FlowProblem], float]:
        """Return the networks and seconds since the last call, in order of their first solve."""
        taken = self._networks, self._seconds
        self._networks, self._seconds = [], 0.0
        return taken


def bare_seconds(
    networks: Iterable[FlowProblem], solver: Solver, timer: Callable[[], float] = time.process_time
) -> float:
    """Return the seconds of ``solver`` for all ``networks``, each solved from nothing; raises what the solver
    raises.
    """
    begin = timer()
    for network in networks:
        solver.solve(network)
    return timer() - begin
