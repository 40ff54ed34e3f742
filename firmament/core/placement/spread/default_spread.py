"""Default spread: tasks of one group move apart after the flow, where that costs less.

The network counts tasks of all classes on a machine, and knows of no group. That keeps it small: with a node for each
group and zone, and steps for each group and machine, it would have several times as many arcs. So it is solved without,
and then tasks move. Few have to: in a large cluster many places cost nearly the same, and which of them a group got was
left open.

With few groups each of their classes is placed anew as a whole, at the best places that there are for it while all
other tasks stay (`spread_exact`); with many, single tasks move (`spread_moves`). Nothing else changes: classes keep
their number of tasks, every limit holds, and ``placement_cost`` falls.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.spread_terms import SpreadTerms
from firmament.core.placement.local_search.exchange_room import movable
from firmament.core.placement.spread.exact import Places, best_counts
from firmament.core.placement.spread.moves import SpreadMoves
from firmament.core.placement.spread.ranks import distinct
from firmament.core.placement.spread.room import MovingRoom, stays
from firmament.core.placement.tuning import SpreadTuning


def spread_out(problem: PlacementProblem, placed: Assignments, tuning: SpreadTuning) -> Assignments:
    """Move tasks of groups apart while that lowers ``placement_cost``; the order of those that stay is kept.

    Tasks with rules about others or of which others have rules stay, and so do pinned ones and those for which a ledger
    keeps books. Deterministic; returns ``placed`` itself if nothing may move.
    """
    terms = problem.spread
    if terms is None or not len(placed.cls):
        return placed
    free: Bool = movable(problem) & (terms.group >= 0) & ~stays(problem)
    mine = free[placed.cls]
    if not mine.any():
        return placed
    theirs = placed.taken(mine)
    cls, machine = np.repeat(theirs.cls, theirs.count), np.repeat(theirs.machine, theirs.count)
    others = _groups_of_others(terms, placed.taken(~mine))
    room = MovingRoom(problem, placed)
    classes = np.flatnonzero(np.bincount(cls))
    sweeps = min(tuning.sweeps, tuning.most_places // (len(classes) * problem.machines))
    if sweeps and len(classes) <= tuning.most_classes:
        machine = _Anew(problem, others, room, cls, machine).run(classes, sweeps)
    else:
        moves = SpreadMoves(problem, others, room, cls, machine, tuning)
        moves.run()
        machine = moves.machine
    return Assignments.joined([placed.taken(~mine), _aggregated(cls, machine, problem.machines)])


def _groups_of_others(terms: SpreadTerms, stay: Assignments) -> SpreadTerms:
    """The terms with tasks that do not move counted as ones that ran before."""
    group = np.repeat(terms.group[stay.cls], stay.count)
    machine = np.repeat(stay.machine, stay.count)
    return terms.with_residents(group[group >= 0], machine[group >= 0])


class _Anew:
    """Places class after class anew. ``cls``, ``machine``: int64[N], where tasks are; ``machine`` is written to."""

    def __init__(
        self, problem: PlacementProblem, terms: SpreadTerms, room: MovingRoom, cls: Int64, machine: Int64
    ) -> None:
        self._problem = problem
        self._terms = terms
        self._room = room
        self._cls = cls
        self.machine = machine
        self._step = problem.crowd_step()
        self._group = terms.group[cls]

    def run(self, classes: Int64, sweeps: int) -> Int64:
        """Place each class anew until that changes nothing; returns where all tasks are then."""
        for _ in range(sweeps):
            changed = [cls for cls in classes.tolist() if self._place(cls)]
            if len(changed) * len(classes) <= 1:
                break
        return self.machine

    def _place(self, cls: int) -> bool:
        """Returns whether tasks of the class have moved."""
        problem, terms = self._problem, self._terms
        group, shape = int(terms.group[cls]), int(problem.shape[cls])
        own = np.flatnonzero(self._cls == cls)
        rest = np.flatnonzero((self._group == group) & (self._cls != cls))
        near = terms.near(group, self.machine[rest])
        if len(own) == 1 and not near.any():
            return False
        before = self.machine[own]
        present = np.bincount(before, minlength=problem.machines)
        shapes = np.full(problem.machines, shape)
        units = self._room.units(shapes, np.arange(problem.machines))
        rows = np.flatnonzero(units + present > 0)
        in_domain = np.bincount(terms.domain, weights=near, minlength=terms.domains).astype(np.int64)
        places = Places(
            charge=problem.cost[shape, rows].astype(np.float64),
            growth=problem.crowd[rows].astype(np.float64),
            crowd=(self._room.placed - present)[rows],
            crowd_step=self._step,
            room=(units + present)[rows],
            near=near[rows],
            domain=terms.domain[rows],
        )
        steps = float(terms.machine_step[group]), float(terms.domain_step[group])
        counts = best_counts(places, len(own), in_domain, *steps)
        if counts is None or (counts == present[rows]).all():
            return False
        after = np.repeat(rows, counts)
        source, target = _moved(before, after)
        self._room.move(np.full(len(source), shape), source, target)
        self.machine[own] = after
        return True


def _moved(before: Int64, after: Int64) -> tuple[Int64, Int64]:
    """Machines that tasks leave, and those that they come to; both are multisets of equal size."""
    width = int(max(before.max(), after.max())) + 1
    more = np.bincount(after, minlength=width) - np.bincount(before, minlength=width)
    return np.repeat(np.arange(width), np.maximum(-more, 0)), np.repeat(np.arange(width), np.maximum(more, 0))


def _aggregated(cls: Int64, machine: Int64, machines: int) -> Assignments:
    """One entry per class and machine, ascending."""
    pairs, count = distinct(cls * np.int64(machines) + machine)
    return Assignments(*np.divmod(pairs, np.int64(machines)), count)
