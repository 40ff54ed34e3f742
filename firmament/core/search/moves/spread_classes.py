"""Moves tasks of one group (default spread) apart after the flow, where that lowers the cost.

The network counts the tasks of all classes on a machine together, and contains no groups. Leaving groups out keeps
the network small: with a node for each group and zone, and steps for each group and machine, it would have several
times as many arcs. Spread is therefore improved after the solve, by moving tasks. Few tasks have to move: in a large
cluster many places cost nearly the same, and the flow chose among them at random.

If there are few groups, each class of a group is placed anew as a whole, at its best places while all other tasks
stay (`best_counts`). If there are many groups, single tasks move (`moves.spread`). Everything else stays the same:
classes keep their number of tasks, every limit holds, and ``placement_cost`` falls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import cycle

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.board.room_while_moving import MovingRoom
from firmament.core.constraints.default_spread import SpreadTerms
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.ranks import rank_in_runs
from firmament.core.search.driver import SearchBudget, SearchFigures, SearchLog, count_unsupported, search
from firmament.core.search.movable import find_movable, find_staying
from firmament.core.search.moves.spread import SpreadTasks
from firmament.core.search.tuning import SpreadTuning


def spread_tasks(
    problem: PlacementProblem, placed: Assignments, tuning: SpreadTuning, log: SearchLog
) -> Assignments:
    """Move tasks of groups apart while that lowers ``placement_cost``; all other tasks keep their order.

    Some tasks stay: those with rules about other tasks, those that such rules select, pinned tasks, and those that a
    ledger counts. Equal arguments give equal results; the function returns ``placed`` itself if nothing may move.
    """
    terms = problem.spread
    if not terms.groups or not len(placed.cls):
        return placed
    grouped: Bool = terms.group >= 0
    staying = {reason: each & grouped for reason, each in find_staying(problem, sharing=True).items()}
    unsupported = count_unsupported(staying, placed.cls, placed.count)
    log.append(SearchFigures(SpreadTasks.name, unsupported=unsupported))
    mine = (find_movable(problem, staying) & grouped)[placed.cls]
    if not mine.any():
        return placed
    tasks = placed.select(mine).tasks()
    cls, machine = tasks.cls, tasks.machine
    stay = placed.select(~mine & grouped[placed.cls]).tasks()
    # the group's tasks that stay count as running
    others = terms.add_residents(terms.group[stay.cls], stay.machine)
    room = MovingRoom(problem, placed)
    classes = np.flatnonzero(np.bincount(cls))
    sweeps = min(tuning.sweeps, tuning.most_places // (len(classes) * problem.machines))
    if sweeps and len(classes) <= tuning.most_classes:
        # After each class has stayed in place once in a row, nothing changes any more; a single class needs one turn.
        turns = sweeps * len(classes) if len(classes) > 1 else 1
        anew = SpreadClasses(problem, others, room, cls, machine)
        log.append(search(anew, SearchBudget(turns), patience=len(classes)))
    else:
        log.append(
            search(SpreadTasks(problem, others, room, cls, machine, tuning), SearchBudget(tuning.turns))
        )
    return Assignments.join([placed.select(~mine), Assignments.count_pairs(cls, machine)])


@dataclass(frozen=True, slots=True)
class ClassPlaces:
    """New places of a class: ``own``: int64[A], indices of the class's tasks.

    ``machines``: int64[A], None if the tasks stay.
    """

    own: Int64
    machines: Int64 | None = None


class SpreadClasses:
    """A move that gives all tasks of a class new places at once, one class after another.

    ``cls``, ``machine``: int64[N], of each task; the move writes to ``machine``.
    """

    name = "spread_classes"

    def __init__(
        self, problem: PlacementProblem, terms: SpreadTerms, room: MovingRoom, cls: Int64, machine: Int64
    ) -> None:
        self._problem = problem
        self._terms = terms
        self._room = room
        self._cls = cls
        self._machine = machine
        self._step = problem.crowd_step()
        self._group = terms.group[cls]
        self._turns = cycle(np.flatnonzero(np.bincount(cls)).tolist())

    def evaluate(self, budget: SearchBudget) -> ClassPlaces:
        """Return the best places of the next class while all other tasks stay."""
        budget.spend()
        problem, terms, cls = self._problem, self._terms, next(self._turns)
        group, shape = int(terms.group[cls]), int(problem.shape[cls])
        own = np.flatnonzero(self._cls == cls)
        rest = np.flatnonzero((self._group == group) & (self._cls != cls))
        near = terms.count_near(group, self._machine[rest])
        if len(own) == 1 and not near.any():
            return ClassPlaces(own)
        present = np.bincount(self._machine[own], minlength=problem.machines)
        shapes = np.full(problem.machines, shape)
        units = self._room.count_fitting(shapes, np.arange(problem.machines))
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
            return ClassPlaces(own)
        return ClassPlaces(own, np.repeat(rows, counts))

    def accepts(self, change: ClassPlaces) -> bool:
        """Return whether the change moves any task."""
        return change.machines is not None

    def apply(self, change: ClassPlaces) -> None:
        """Move the tasks of the change to their new machines."""
        if change.machines is not None:
            source, target = _compare(self._machine[change.own], change.machines)
            shape = self._problem.shape[self._cls[change.own[0]]]
            self._room.move(np.full(len(source), shape), source, target)
            self._machine[change.own] = change.machines

    def undo(self, change: ClassPlaces) -> None:
        """Do nothing, as evaluating changes nothing."""


def _compare(before: Int64, after: Int64) -> tuple[Int64, Int64]:
    """Return the machines that tasks leave, and the machines that they go to: as many entries in each."""
    width = int(max(before.max(), after.max())) + 1
    more = np.bincount(after, minlength=width) - np.bincount(before, minlength=width)
    return np.repeat(np.arange(width), np.maximum(-more, 0)), np.repeat(np.arange(width), np.maximum(more, 0))


# --- The best places for all tasks of one class whose group prefers to be apart, while all other tasks stay.


FEW_DOMAINS = 16
"""Largest number of domains for which places that are too expensive are left out, domain by domain."""


@dataclass(frozen=True, slots=True)
class Places:
    """K places for tasks of one class, one row for each machine."""

    charge: Float64
    """float64[K], cost of one task at each place, without crowding and neighbours."""
    growth: Float64
    """float64[K], units of cost by which each task of the round raises the cost of the next one."""
    crowd: Int64
    """int64[K], number of the round's tasks that each place has now."""
    room: Int64
    """int64[K], how many more tasks fit at each place; at least 1."""
    near: Int64
    """int64[K], number of the group's tasks near each place."""
    domain: Int64
    """int64[K], domain of each place."""
    crowd_step: int
    """Number of tasks per step of ``growth``."""

    def select(self, rows: Int64) -> Places:
        """Return the places in the given rows."""
        columns = ("charge", "growth", "crowd", "room", "near", "domain")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})


def best_counts(
    places: Places, tasks: int, in_domain: Int64, machine_step: float, domain_step: float
) -> Int64 | None:
    """Return how many of ``tasks`` each place gets at the least total cost: int64[K]; None if they do not all fit.

    ``in_domain``: int64[D], other tasks of the group in each domain. The result is exact: a place's cost is convex, and
    so is a domain's cost in its tasks, so the cheapest steps are the best ones.
    """
    if int(np.minimum(places.room, tasks).sum()) < tasks:
        return None
    near = worth_a_look(places, tasks, len(in_domain), machine_step)
    few = places.select(near)
    depth = 2 + 2 * tasks // max(1, len(near))
    while True:
        depth = min(depth, tasks)
        counts = _cheapest(few, tasks, in_domain, machine_step, domain_step, depth)
        if counts is not None and (depth == tasks or not (counts == depth).any()):
            break
        depth *= 4
    found = np.zeros(len(places.room), dtype=np.int64)
    found[near] = counts
    return found


def worth_a_look(places: Places, tasks: int, domains: int, machine_step: float) -> Int64:
    """Return rows, ascending, where a first task costs no more than on its domain's ``tasks``-th cheapest row.

    No row outside the result can be best for one of these tasks. If there are many domains, or hardly more places
    than tasks, all rows are returned.
    """
    if domains > FEW_DOMAINS or len(places.room) < 2 * tasks:
        return np.arange(len(places.room))
    first = places.charge + places.growth * (places.crowd // places.crowd_step * places.crowd_step)
    first += machine_step * places.near
    near = np.ones(len(first), dtype=np.bool_)
    for domain in range(domains):
        rows = np.flatnonzero(places.domain == domain)
        if len(rows) > tasks:
            costs = first[rows]
            near[rows] = costs <= np.partition(costs, tasks - 1)[tasks - 1]
    return np.flatnonzero(near)


def _cheapest(
    places: Places, tasks: int, in_domain: Int64, machine_step: float, domain_step: float, depth: int
) -> Int64 | None:
    """Return ``best_counts`` with at most ``depth`` tasks per place, or None if not all tasks fit then."""
    step = np.arange(depth)
    open_to = step < places.room[:, None]
    if np.count_nonzero(open_to) < tasks:
        return None
    crowd = (places.crowd[:, None] + step) // places.crowd_step * places.crowd_step
    cost = places.charge[:, None] + places.growth[:, None] * crowd
    cost += machine_step * (places.near[:, None] + step)
    place = np.broadcast_to(np.arange(len(places.room))[:, None], cost.shape)[open_to]
    charged, domain = cost[open_to], places.domain[place]
    order = np.lexsort((charged, domain))
    ordered = domain[order]
    total = charged[order] + domain_step * (in_domain[ordered] + rank_in_runs(ordered))
    taken = place[order[np.argsort(total, kind="stable")[:tasks]]]
    return np.bincount(taken, minlength=len(places.room)).astype(np.int64)
