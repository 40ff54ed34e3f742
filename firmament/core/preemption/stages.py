"""Places tasks of one priority by evicting less important tasks, in passes, until nothing changes.

1. *Filling*: some tasks fit once tasks have left that leave anyway or were chosen as victims before. No more victims
   are chosen for tasks placed in this way.
2. *A network*: each arc from a class to a machine stands for a bundle (set of victims there), and each pass evicts at
   most one bundle per machine. The network first contains bundles that every disruption budget allows; when these
   place no more tasks, all other bundles as well.

At the end, tasks move to places that have become free meanwhile, and victims that are no longer needed stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.preemption.bundle_network import choose_bundles
from firmament.core.preemption.bundles import Bundles
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.problem import PreemptionTuning
from firmament.core.preemption.quotas.undone_evictions import is_room_taken_back
from firmament.core.preemption.reprieve import consolidate
from firmament.core.preemption.victims.choosing import bundles, describe, reprieve_order
from firmament.core.preemption.victims.covering import CoverProblem, build_cover_problem
from firmament.solvers.base import Solver, SolverTimeoutError


@dataclass(slots=True)
class _BundleCandidates:
    """The bundles of victims for a class; ``stale``: machines whose bundles must be recomputed, None for all."""

    bundles: Bundles | None = None
    stale: set[int] | None = None
    refused: set[int] = field(default_factory=set)


class Stages:
    """Runs the stages of preemption for some classes at a time; the limit on passes counts over all calls."""

    def __init__(self, now: PreemptionState, solver: Solver, time_limit: float | None) -> None:
        self._now = now
        self._solver = solver
        self._time_limit = time_limit
        self._closed_machines = ClosedMachineBundles(now.tuning)
        self._passes = 0
        self._gradually = False
        self._blocked = self._nobody = np.zeros(now.preemption.victims, dtype=np.bool_)

    def run(
        self, now: PreemptionState, classes: Int64, blocked: Bool | None = None, *, gradually: bool = False
    ) -> None:
        """Find places in the state ``now`` for some classes of one priority, by evictions.

        ``blocked``: bool[V], tasks that must not leave; None if all may. ``gradually``: whether to evict few bundles
        at a time if tasks and machines are few.
        """
        self._now = now
        self._gradually = gradually and now.few(int(now.remaining[classes].sum()))
        oldest = np.argmax(self._now.waiting[classes] > 0, axis=1)
        order = classes[np.lexsort((classes, oldest))].tolist()
        begin = len(self._now.taken)
        self._blocked = self._nobody if blocked is None else blocked
        candidates = {cls: _BundleCandidates() for cls in order}
        for lenient in (False, True):
            for candidate in candidates.values():
                candidate.refused.clear()
            while self._passes < self._now.tuning.most_passes and self._waiting(order):
                self._passes += 1
                moved = self._fill(candidates)
                try:
                    moved = self._match(candidates, lenient=lenient) or moved
                except SolverTimeoutError:
                    return
                if not moved:
                    break
        consolidate(self._now, begin)

    def _waiting(self, classes: list[int]) -> list[int]:
        return [cls for cls in classes if self._now.remaining[cls] > 0]

    # --- placing tasks that need no victims ----------------------------------------------------------------------

    def _fill(self, candidates: dict[int, _BundleCandidates]) -> bool:
        """Place tasks that need no victims; return whether there were any."""
        moved = False
        for cls in self._waiting(list(candidates)):
            found = self._bundles(cls, candidates[cls])
            for machine in found.rows[found.count == 0].tolist():
                while self._now.remaining[cls] > 0 and self._fits(cls, machine):
                    self._give(candidates, cls, machine, [])
                    moved = True
                if self._now.remaining[cls] == 0:
                    break
        return moved

    def _fits(self, cls: int, machine: int) -> bool:
        return self._now.fits(cls, machine) and self._now.allows(cls, machine)

    # --- choosing bundles by a flow ------------------------------------------------------------------------------

    def _match(self, candidates: dict[int, _BundleCandidates], *, lenient: bool) -> bool:
        """Solve the network once, and evict the bundles that it chooses; return whether any task got a place."""
        usable = {}
        for cls in self._waiting(list(candidates)):
            found = self._bundles(cls, candidates[cls])
            good = (found.count > 0) & ~np.isin(found.rows, sorted(candidates[cls].refused))
            if not lenient:
                good &= found.over == 0
            if good.any():
                usable[cls] = found.select(good)
        if not usable:
            return False
        tasks = {cls: int(self._now.remaining[cls]) for cls in usable}
        machines = self._now.problem.machines
        chosen = choose_bundles(
            usable, tasks, machines, self._solver, self._time_limit, self._now.tuning.spare_arcs
        )
        return self._carry_out(candidates, usable, chosen)

    def _carry_out(
        self,
        candidates: dict[int, _BundleCandidates],
        usable: dict[int, Bundles],
        chosen: list[tuple[int, int]],
    ) -> bool:
        """Evict the chosen bundles, the cheapest first; return whether any task got a place.

        Only bundles as good as the first useful one are evicted. Machines whose bundles are not evicted may have
        better bundles after these evictions. Bundles are as good if as many victims exceed budgets, and the most
        important victim is as important. If ``_gradually`` is set, at most a quarter of the bundles are evicted.
        """
        most = (len(chosen) + 3) // 4 if self._gradually else len(chosen)
        carried_out: tuple[int, int] | None = None
        for number, (cls, place) in enumerate(chosen):
            bundles = usable[cls]
            worth = int(bundles.over[place]), int(bundles.top[place])
            if carried_out is not None and (number >= most or worth > carried_out):
                break
            victims = bundles.list_tasks(place)
            going = self._now.add_gangs(victims)
            more = self._now.count_beyond(going) > worth[0] or len(going) > int(bundles.count[place])
            if more or self._now.splits(cls, going):
                candidates[
                    cls
                ].stale = None  # an earlier bundle has used up a budget, or what a gang can spare
            elif self._try(candidates, cls, int(bundles.rows[place]), going):
                carried_out = worth
        return carried_out is not None

    def _try(
        self, candidates: dict[int, _BundleCandidates], cls: int, machine: int, victims: list[int]
    ) -> bool:
        """Evict a bundle for a task if that still helps after earlier bundles; return whether the task was placed."""
        now = self._now
        now.evict(victims)
        if not self._fits(cls, machine) or is_room_taken_back(now, cls, machine, victims):
            for victim in victims:
                now.spare_victim(victim)
            candidates[cls].refused.add(machine)
            return False
        self._give(candidates, cls, machine, victims)
        return True

    def _give(
        self, candidates: dict[int, _BundleCandidates], cls: int, machine: int, victims: list[int]
    ) -> None:
        """Place a task, and mark as stale the bundles that this may change."""
        self._now.put(cls, machine)
        preemption = self._now.preemption
        far = self._now.coupled or any(preemption.budgets[preemption.kind[victim]] for victim in victims)
        far |= len(self._now.spare) > 0 and bool((preemption.gang[victims] >= 0).any())
        for candidate in candidates.values():
            if far:
                candidate.stale = None
                candidate.refused.clear()
            elif candidate.stale is not None:
                candidate.stale.add(machine)

    # --- finding bundles -----------------------------------------------------------------------------------------

    def _bundles(self, cls: int, candidate: _BundleCandidates) -> Bundles:
        """Return the bundles of a class on all machines that may take it, in the current state."""
        known = candidate.bundles
        if known is None or candidate.stale is None:
            usable = np.flatnonzero(self._now.usable(cls))
            known = self._add_openings(cls, self._compute(cls, usable))
        elif candidate.stale:
            rows = np.array(sorted(candidate.stale), dtype=np.int64)
            usable = rows[self._now.usable(cls)[rows]]
            kept = known.select(~np.isin(known.rows, rows))
            known = Bundles.join([kept, self._compute(cls, usable)], self._now.preemption.victims)
            if not len(known.rows):
                known = self._add_openings(cls, known)
        candidate.bundles, candidate.stale = known, set()
        return known

    def _add_openings(self, cls: int, known: Bundles) -> Bundles:
        """Return ``known`` and the bundles on machines that a ledger closes, after asking the ledger about them."""
        rows = np.flatnonzero(self._now.openable(cls))
        if not len(rows):
            return known
        found = self._closed_machines.bundles(self._now, cls, rows, self._blocked)
        return Bundles.join([known, found], self._now.preemption.victims)

    def _compute(self, cls: int, rows: Int64) -> Bundles:
        parts, chunk = [], self._now.tuning.chunk
        for begin in range(0, max(1, len(rows)), chunk):
            problem = build_cover_problem(self._now, cls, rows[begin : begin + chunk], self._blocked)
            parts.append(bundles(self._now, problem))
        return Bundles.join(parts, self._now.preemption.victims)


# --- Bundles on machines that a model's ledger closes: finds which tasks must leave so that the ledger opens them.
#
# Ledgers say whether a set of victims is enough, but not how much each victim gives back. Machines are therefore
# handled one by one. Machines come first where the least important tasks free the resources, and among them those
# where a single task frees most of the request. As in other bundles, tasks stay in the usual order as long as the
# other victims suffice. Members of gangs never leave.


class ClosedMachineBundles:
    """Finds bundles on machines about which a ledger must be asked, with at most ``most_questions`` questions."""

    def __init__(self, tuning: PreemptionTuning) -> None:
        self._most_found = tuning.most_found
        self._questions = tuning.most_questions

    def bundles(self, now: PreemptionState, cls: int, rows: Int64, blocked: Bool) -> Bundles:
        """Return bundles of a class on some of ``rows``, which are machines about which a ledger must be asked."""
        problem = build_cover_problem(now, cls, rows, blocked)
        lonely = np.append(now.preemption.gang < 0, True) if len(now.spare) else None
        if lonely is not None:
            alone = problem.open & lonely[problem.slots]
            problem = problem.narrow(np.arange(len(problem.rows)), alone, np.zeros_like(alone))
        wanted = int(now.remaining[cls]) + self._most_found
        victims = np.zeros_like(problem.open)
        places: list[int] = []
        order = reprieve_order(now, problem, np.arange(problem.slots.shape[1]))
        for place in _most_promising_first(now, cls, problem).tolist():
            if len(places) >= wanted or self._questions <= 0:
                break
            turn = order if order.ndim == 1 else order[place]
            found = self._bundle(now, cls, problem, place, turn)
            if found is not None:
                victims[place] = found
                places.append(place)
        known: Bool = np.zeros(len(problem.rows), dtype=np.bool_)
        known[places] = True
        return describe(now, problem, victims).select(known)

    def _bundle(
        self, now: PreemptionState, cls: int, problem: CoverProblem, place: int, turn: Int64
    ) -> Bool | None:
        """Return victims on a machine, or None if no victims open it: bool[J].

        ``turn``: int64[J], the order in which tasks are tried as ones that stay.
        """
        open_to, slots = problem.open[place], problem.slots[place]
        machine = int(problem.rows[place])
        leaving = now.list_gone(machine)

        def suffices(victims: Bool) -> bool:
            covered = (problem.deficit[place] <= problem.size[place][victims].sum(axis=0)).all()
            if not covered:
                return False
            self._questions -= 1
            return now.ledger_closed.admits(cls, machine, [*leaving, *slots[victims].tolist()])

        nobody = np.zeros_like(open_to)
        if suffices(nobody):
            return nobody
        if not suffices(open_to):
            return None
        victims = open_to.copy()
        candidates = turn[open_to[turn]]
        while len(candidates):
            stay = _most_staying(victims, candidates, suffices)
            victims[candidates[:stay]] = False
            candidates = candidates[stay + 1 :]
        return victims


def _most_staying(victims: Bool, candidates: Int64, suffices: Callable[[Bool], bool]) -> int:
    """Return how many of ``candidates``, from the first on, can stay while the other ``victims`` leave.

    The more tasks stay, the less is free, so bisection finds the number.
    """
    low, high = 0, len(candidates)
    while low < high:
        probe = (low + high + 1) // 2
        going = victims.copy()
        going[candidates[:probe]] = False
        low, high = (probe, high) if suffices(going) else (low, probe - 1)
    return low


def _most_promising_first(now: PreemptionState, cls: int, problem: CoverProblem) -> Int64:
    """Return indices of machines: first those where evicting the least important tasks frees enough resources.

    Of equal machines, those come first where a single task frees the largest part of the request.
    """
    request = now.request(cls)
    wanted = np.flatnonzero(request)
    sizes = now.sizes[:, wanted][problem.slots] * problem.open[:, :, None]
    share = np.minimum(sizes / request[wanted], 1.0).min(axis=2, initial=1.0)
    return np.lexsort((-share.max(axis=1, initial=0.0), bundles(now, problem).top))
