"""What the solver alone would take: the networks of a round, recorded on their way to it and solved as they are.

A round hands its solver less than its networks: costs relative to expected prices, and after the first solve only the
part that has to change. ``FlowProblem.stated`` says which network that stands for. Solving those, from nothing and at
their true costs, is what a user of the solver would do who had been handed the same columns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from firmament.solvers.base import FlowProblem, FlowSolution, Solver


class RecordingSolver:
    """Solves by another solver; remembers which networks it was about, and the processor time that it took.

    A network that is solved twice, in one form and then in another, counts once.
    """

    def __init__(self, solver: Solver, timer: Callable[[], float] = time.process_time) -> None:
        """``timer``: seconds; those of the processor by default, so that other work on the machine spoils no ratio."""
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
        """Return networks and seconds since the last call, in order of their first solve."""
        taken = self._networks, self._seconds
        self._networks, self._seconds = [], 0.0
        return taken


def bare_seconds(
    networks: Iterable[FlowProblem], solver: Solver, timer: Callable[[], float] = time.process_time
) -> float:
    """Return seconds of ``solver`` for all of ``networks``, each solved from nothing; raises what it raises."""
    begin = timer()
    for network in networks:
        solver.solve(network)
    return timer() - begin
