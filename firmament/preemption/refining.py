"""Better bundles by exact search, where it is cheap enough or matters: bounded for a whole round."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.preemption.bundles import Bundles
from firmament.preemption.choosing import describe
from firmament.preemption.covering import Covering, covering
from firmament.preemption.exact import BundleSearch, Candidate
from firmament.preemption.prospect import Prospect

MOST_ROWS = 128
"""With at most so many machines to choose from, the bundle of each is searched for exactly."""

MOST_SINGLE = 256
"""Elsewhere so many of the chosen bundles are searched for once more."""

NODES = 1_000
"""Nodes of one search."""

NODES_IN_ALL = 60_000
"""Nodes of all searches of a round: some tenths of a second."""


class Refiner:
    """Searches on behalf of a prospect; what it may still spend shrinks as it goes."""

    def __init__(self, prospect: Prospect) -> None:
        self._prospect = prospect
        self._nodes = NODES_IN_ALL
        self._single = MOST_SINGLE

    def turn_to(self, prospect: Prospect) -> None:
        """Search on behalf of another prospect from now on."""
        self._prospect = prospect

    def refine_all(self, found: Bundles, problem: Covering) -> Bundles:
        """The best bundles, if few machines are in question; else ``found`` itself."""
        worth = np.flatnonzero((found.count > 1) | (found.over > 0))
        if not len(worth) or len(found.rows) > MOST_ROWS or self._nodes <= 0:
            return found
        victims = found.victims.copy()
        for place in worth.tolist():
            best = self._search(problem, place)
            if best is not None and self._value(best) < self._value(found.of(place)):
                victims[place] = np.isin(problem.slots[place], best)
        nobody: Bool = np.zeros_like(victims)
        better = describe(self._prospect, problem, victims, nobody)
        better.over[:] = [self._prospect.overdrawn(better.of(place)) for place in range(len(better.rows))]
        return better

    def refined(self, cls: int, machine: int, victims: list[int], blocked: Bool) -> list[int]:
        """A bundle at least as good as ``victims``, which a pass has chosen on a machine."""
        prospect = self._prospect
        if len(victims) < 2 or self._single <= 0 or self._nodes <= 0:
            return victims
        there = prospect.sizes[prospect.first[machine] : prospect.first[machine + 1]]
        if (there == there[0]).all():
            return victims
        self._single -= 1
        rows: Int64 = np.array([machine])
        problem = covering(prospect, cls, rows, blocked)
        best = self._search(problem, 0) if len(problem.rows) else None
        return list(best) if best is not None and self._value(best) < self._value(victims) else victims

    def _search(self, problem: Covering, place: int) -> tuple[int, ...] | None:
        preemption = self._prospect.preemption
        candidates = [
            Candidate(
                task=task,
                size=tuple(problem.size[place, slot].tolist()),
                priority=int(preemption.victim_priority[task]),
                started=float(preemption.started[task]),
                budgets=preemption.budgets[preemption.kind[task]],
            )
            for slot, task in enumerate(problem.slots[place].tolist())
            if problem.open[place, slot]
        ]
        search = BundleSearch(
            problem.deficit[place].tolist(),
            candidates,
            self._prospect.allowed.tolist(),
            min(NODES, self._nodes),
        )
        best = search.best()
        self._nodes -= search.spent
        return best

    def _value(self, victims: list[int] | tuple[int, ...]) -> tuple[float, ...]:
        preemption = self._prospect.preemption
        if not victims:
            return (0, 0)
        priorities = [int(preemption.victim_priority[victim]) for victim in victims]
        top = max(priorities)
        first = min(
            float(preemption.started[victim])
            for victim, priority in zip(victims, priorities, strict=True)
            if priority == top
        )
        return self._prospect.overdrawn(victims), len(victims), top, sum(priorities), -first
