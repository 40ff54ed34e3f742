"""Better bundles by exact search, where it is cheap enough or matters: bounded for a whole round."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.preemption.bundles import Bundles
from firmament.core.preemption.node_state import Prospect
from firmament.core.preemption.victims.choosing import describe
from firmament.core.preemption.victims.covering import Covering, covering
from firmament.core.preemption.victims.exact import BundleSearch, Candidate

MOST_ROWS = 128
"""With at most so many machines to choose from, the bundle of each is searched for exactly."""

MOST_SINGLE = 256
"""Elsewhere so many of the chosen bundles are searched for once more."""

MOST_GANGS = 4
"""Of more gangs on a machine, only each by itself and all together are tried as victims."""

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
        if len(problem.rows) > MOST_ROWS or self._nodes <= 0:
            return found
        at = np.searchsorted(problem.rows, found.rows)
        missing = np.setdiff1d(np.arange(len(problem.rows)), at)
        worth = at[(found.count > 1) | (found.over > 0)]
        if not len(worth) and not len(missing):
            return found
        victims = np.zeros_like(problem.open)
        victims[at] = found.victims
        known = np.zeros(len(problem.rows), dtype=np.bool_)
        known[at] = True
        for place in (*worth.tolist(), *missing.tolist()):
            best = self._search(problem, place)
            there = problem.slots[place][victims[place]].tolist()
            if best is not None and (not known[place] or self._value(best) < self._value(there)):
                victims[place] = np.isin(problem.slots[place], best)
                known[place] = True
        return describe(self._prospect, problem, victims).taken(known)

    def refined(self, cls: int, machine: int, victims: list[int], blocked: Bool) -> list[int]:
        """A bundle at least as good as ``victims``, which a pass has chosen on a machine."""
        prospect = self._prospect
        if len(prospect.with_gangs(victims)) < 2 or self._single <= 0 or self._nodes <= 0:
            return victims
        there = prospect.sizes[prospect.first[machine] : prospect.first[machine + 1]]
        if (there == there[0]).all():
            return victims
        self._single -= 1
        rows: Int64 = np.array([machine])
        problem = covering(prospect, cls, rows, blocked)
        best = self._search(problem, 0) if len(problem.rows) else None
        return best if best is not None and self._value(best) < self._value(victims) else victims

    def _search(self, problem: Covering, place: int) -> list[int] | None:
        """The best bundle of a machine, those of its tasks that are there; None if the search found none."""
        prospect = self._prospect
        slots, open_to = problem.slots[place], problem.open[place]
        candidates = {
            task: self._candidate(task, tuple(problem.size[place, slot].tolist()))
            for slot, task in enumerate(slots.tolist())
            if open_to[slot]
        }
        own = slots[problem.forced[place]].tolist()
        gangs = _that_could_go(prospect, problem, place)
        found: tuple[tuple[float, ...], list[int]] | None = None
        nothing = (0,) * problem.deficit.shape[1]
        for going in gangs:
            members = [task for gang in going for task in prospect.gangs.members(gang).tolist()]
            members += [task for task in own if task not in members]
            search = BundleSearch(
                problem.deficit[place].tolist(),
                [each for each in candidates.values() if each.gang not in going],
                prospect.allowed.tolist(),
                max(0, min(NODES, self._nodes)),
                spare=prospect.spare.tolist(),
                forced=[
                    candidates.get(task) or self._candidate(task, nothing)
                    for task in members
                    if not prospect.gone[task]
                ],
            )
            best = search.best()
            self._nodes -= search.spent
            if best is not None:
                here = [task for task in best if task in candidates or task in own]
                worth = self._value(here)
                found = min(found, (worth, here)) if found is not None else (worth, here)
        return found[1] if found is not None else None

    def _candidate(self, task: int, size: tuple[int, ...]) -> Candidate:
        preemption = self._prospect.preemption
        return Candidate(
            task=task,
            size=size,
            priority=int(preemption.victim_priority[task]),
            started=float(preemption.started[task]),
            budgets=preemption.budgets[preemption.kind[task]],
            gang=int(preemption.gang[task]) if len(self._prospect.spare) else -1,
        )

    def _value(self, victims: list[int]) -> tuple[float, ...]:
        """What bundles compare by; ``victims``: those on the machine itself."""
        preemption = self._prospect.preemption
        victims = self._prospect.with_gangs(victims)
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


def _that_could_go(prospect: Prospect, problem: Covering, place: int) -> list[tuple[int, ...]]:
    """Sets of gangs that could go as a whole from a machine, the empty one first; of many gangs not all sets."""
    there = [task for task in problem.slots[place].tolist() if task < prospect.preemption.victims]
    if not len(prospect.spare):
        return [()]
    open_to = set(problem.slots[place][problem.open[place]].tolist())
    stay = {
        int(prospect.preemption.gang[task])
        for task in there
        if task not in open_to and not prospect.gone[task]
    }
    gangs = sorted({int(prospect.preemption.gang[task]) for task in open_to} - stay - {-1})
    gangs = [gang for gang in gangs if problem.whole[gang]]
    sizes = range(len(gangs) + 1) if len(gangs) <= MOST_GANGS else (0, 1, len(gangs))
    return [going for size in sizes for going in combinations(gangs, size)]
