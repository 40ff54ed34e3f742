"""Bundles on machines whose room a model's ledger keeps: who has to go for the ledger to have room as well.

Ledgers say whether a set of tasks is enough, not what each of them gives. So machines are looked at one by one, those
first on which a single task gives most of what is asked for: single tasks are tried, then all that may go are reprieved
one by one as long as the others suffice. Members of gangs are left alone.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.preemption.bundles import Bundles
from firmament.core.preemption.node_state import Prospect
from firmament.core.preemption.problem import PreemptionTuning
from firmament.core.preemption.victims.choosing import describe
from firmament.core.preemption.victims.covering import Covering, covering


class Openings:
    """Looks for bundles; what it may still ask shrinks as it goes."""

    def __init__(self, tuning: PreemptionTuning) -> None:
        self._most_found = tuning.most_found
        self._questions = tuning.most_questions

    def bundles(self, prospect: Prospect, cls: int, rows: Int64, blocked: Bool) -> Bundles:
        """Bundles of a class on some of the machines ``rows``, all of which are kept."""
        problem = covering(prospect, cls, rows, blocked)
        lonely = np.append(prospect.preemption.gang < 0, True) if len(prospect.spare) else None
        if lonely is not None:
            alone = problem.open & lonely[problem.slots]
            problem = problem.narrowed(np.arange(len(problem.rows)), alone, np.zeros_like(alone))
        wanted = int(prospect.remaining[cls]) + self._most_found
        victims = np.zeros_like(problem.open)
        places: list[int] = []
        for place in _most_helpful_first(prospect, cls, problem).tolist():
            if len(places) >= wanted or self._questions <= 0:
                break
            found = self._bundle(prospect, cls, problem, place)
            if found is not None:
                victims[place] = found
                places.append(place)
        known: Bool = np.zeros(len(problem.rows), dtype=np.bool_)
        known[places] = True
        return describe(prospect, problem, victims).taken(known)

    def _bundle(self, prospect: Prospect, cls: int, problem: Covering, place: int) -> Bool | None:
        """bool[J]: who has to go from a machine; None if it does not open."""
        open_to, slots = problem.open[place], problem.slots[place]
        machine = int(problem.rows[place])
        leaving = prospect.gone_from(machine)

        def suffices(victims: Bool) -> bool:
            covered = (problem.deficit[place] <= problem.size[place][victims].sum(axis=0)).all()
            if not covered:
                return False
            self._questions -= 1
            return prospect.kept.opens(cls, machine, [*leaving, *slots[victims].tolist()])

        nobody = np.zeros_like(open_to)
        if suffices(nobody):
            return nobody
        if not suffices(open_to):
            return None
        candidates = np.flatnonzero(open_to).tolist()
        for slot in candidates:
            single = nobody.copy()
            single[slot] = True
            if suffices(single):
                return single
        victims = open_to.copy()
        for slot in reversed(candidates):  # the most important first
            victims[slot] = False
            victims[slot] = not suffices(victims)
        return victims


def _most_helpful_first(prospect: Prospect, cls: int, problem: Covering) -> Int64:
    """Places of a problem: those first where one task that may go has the largest part of a request."""
    request = prospect.request(cls)
    wanted = np.flatnonzero(request)
    sizes = prospect.sizes[:, wanted][problem.slots] * problem.open[:, :, None]
    share = np.minimum(sizes / request[wanted], 1.0).min(axis=2, initial=1.0)
    return np.argsort(-share.max(axis=1, initial=0.0), kind="stable")
