"""Moves single tasks of groups that prefer to be apart, many at once, if there are too many groups to plan each.

In each turn, groups give up tasks in domains that have more than their share of the group, and on machines that have
more tasks of the group than necessary. Each of these tasks considers a few of the cheapest places in a domain that
lacks a task, and the next task considers other places. A task goes where it costs least including spread, if that is
less than at its present place. In large clusters nearly all places cost the same, so a few are enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Float64, Int64
from firmament.core.board.room_while_moving import MovingRoom
from firmament.core.constraints.default_spread import SpreadTerms
from firmament.core.flow.problem import PlacementProblem
from firmament.core.ranks import find_runs, order_by, rank, rank_in_runs
from firmament.core.search.driver import SearchBudget
from firmament.core.search.tuning import SpreadTuning

PREFERENCE = 1e-3
"""Part of a step by which the domain is preferred that has the task at present."""


@dataclass(frozen=True, slots=True)
class Departures:
    """Moves of single tasks that are made together: indices of tasks and their new machines, int64[A] each.

    ``last``: whether too few tasks are misplaced for another turn.
    """

    leaving: Int64
    target: Int64
    last: bool


class SpreadTasks:
    """A move of many single tasks at once, of classes that may move and have groups.

    ``cls``, ``machine``: int64[N], of each task; the move writes to ``machine``.
    """

    name = "spread"

    def __init__(
        self,
        problem: PlacementProblem,
        terms: SpreadTerms,
        room: MovingRoom,
        cls: Int64,
        machine: Int64,
        tuning: SpreadTuning,
    ) -> None:
        self._tuning = tuning
        self._problem = problem
        self._terms = terms
        self._room = room
        self._shape = problem.shape[cls]
        self._group = terms.group[cls]
        self._shapes = np.flatnonzero(np.bincount(self._shape))
        self.machine = machine
        typical = self._shapes[:: -(-len(self._shapes) // tuning.sampled_shapes)]
        self._typical: Int64 = np.zeros(problem.machines, dtype=np.int64)
        for row in typical.tolist():
            self._typical += problem.cost[row]
        self._typical //= len(typical)
        self._step = problem.crowd_step()
        self._turn, self._done = 0, False

    def evaluate(self, budget: SearchBudget) -> Departures | None:
        """Return the tasks that should move now, or None if no tasks or hardly any should."""
        budget.spend()
        if self._done:
            return None
        found = self._find_departures(self._turn)
        self._turn += 1
        self._done = found is None or found.last
        return found

    def accepts(self, change: Departures) -> bool:
        """Return whether the change moves any task."""
        return len(change.leaving) > 0

    def apply(self, change: Departures) -> None:
        """Move the tasks of the change to their new machines."""
        leaving, target = change.leaving, change.target
        if not change.last:
            self._room.move(self._shape[leaving], self.machine[leaving], target)
        self.machine[leaving] = target

    def undo(self, change: Departures) -> None:
        """Do nothing, as evaluating changes nothing."""

    def _find_departures(self, turn: int) -> Departures | None:
        """Return the moves that gain most for each task, or None if no move gains."""
        crowding, tuning = self._crowding(), self._tuning
        open_to = self._room.open_to_some(self._shapes)
        spots = _PlacesByDomain(self._terms, self._typical + crowding, open_to, tuning.least_places)
        near = GroupCounts(self._terms, self._group, self.machine, tuning.most_cells)
        charge = self._problem.cost[self._shape, self.machine] + self._crowding(1).take(self.machine)
        leaving, target = self._leaving(spots, near, charge)
        somewhere = spots.has_places(target)
        leaving, target = leaving[somewhere], target[somewhere]
        wanted = len(leaving)
        if not wanted:
            return None
        places = spots.choices(target, turn, tuning)
        shapes, groups = self._shape[leaving], self._group[leaving]
        cost = self._cost_at(shapes, groups, places, near) + crowding.take(places)
        best = np.argmin(cost, axis=1)
        every = np.arange(len(leaving))
        gain = self._compute_saved(leaving, target, near) + charge[leaving] - cost[every, best]
        better = gain > 0
        leaving, target = leaving[better], places[every, best][better]
        if not len(leaving):
            return None
        fits = ~self._room.find_overfilled(self._shape[leaving], target)
        fits &= near.first_of_each(self._group[leaving], target)
        leaving, target = leaving[fits], target[fits]
        tasks, left = len(self.machine), wanted - len(leaving)
        again = bool(len(leaving)) and (tasks <= tuning.many or left * tuning.few > tasks)
        return Departures(leaving, target, last=not again)

    def _crowding(self, fewer: int = 0) -> Int64:
        """Return the crowding cost of the next task on each machine, or (``fewer``: 1) of the last: int64[M]."""
        placed = self._room.placed - fewer
        if self._step > 1:
            placed = placed // self._step * self._step
        return self._problem.crowd * placed

    def _leaving(self, spots: _PlacesByDomain, near: GroupCounts, charge: Int64) -> tuple[Int64, Int64]:
        """Return the tasks that should move, sorted by group, and the domain that each of them should go to.

        ``charge``: int64[N], what each task costs at its place without its neighbours.
        """
        terms, group = self._terms, self._group
        domain = terms.domain[self.machine]
        key = group * terms.domains + domain
        present: Int64 = np.bincount(key, minlength=near.in_domain.size).reshape(near.in_domain.shape)
        shares, apart = present.copy(), terms.domain_step > 0
        if apart.any() and len(spots.machine):
            height = (near.in_domain - present)[apart] + spots.price / terms.domain_step[apart, None]
            shares[apart] = even_shares(height, present[apart])
        surplus = np.maximum(present - shares, 0)
        even = -(-near.in_domain.sum(axis=1) // len(terms.domain))
        crowded = near.before >= even[group]  # more tasks of the group on the machine than in an even spread
        order = order_by(-charge)
        order = order[order_by((key * 2 + ~crowded)[order])]
        key = key[order]
        away = rank_in_runs(key) < surplus.ravel()[key]
        stay_near = order[~away & crowded[order]]
        leaving = order[away]
        arriving = np.maximum(shares - present, 0)
        target = np.repeat(np.tile(np.arange(terms.domains), terms.groups), arriving.ravel())
        return np.concatenate([leaving, stay_near]), np.concatenate([target, domain[stay_near]])

    def _cost_at(self, shapes: Int64, groups: Int64, places: Int64, near: GroupCounts) -> Float64:
        """Return what tasks cost at places, without crowding: float64[L, choices]; infinite if they cannot go there."""
        shapes, groups = shapes[:, None], groups[:, None]
        cost = self._terms.machine_step[groups] * near.count_at(groups, places)
        cost += self._problem.cost[shapes, places]
        task, choice = np.nonzero(~self._room.open_to_all(self._shapes).take(places))
        lacking = self._room.count_fitting(shapes[task, 0], places[task, choice]) == 0
        cost[task[lacking], choice[lacking]] = np.inf
        return cost

    def _compute_saved(self, leaving: Int64, target: Int64, near: GroupCounts) -> Float64:
        """Return what tasks pay for their neighbours now, minus what they add to their target domains: float64[L]."""
        terms = self._terms
        groups = self._group[leaving]
        charge = terms.machine_step[groups] * (near.there[leaving] - 1)
        source = terms.domain[self.machine[leaving]]
        far = np.flatnonzero(source != target)
        groups, source, target = groups[far], source[far], target[far]
        gone, arriving = rank(groups * terms.domains + source), rank(groups * terms.domains + target)
        difference = near.in_domain[groups, source] - gone - 1 - (near.in_domain[groups, target] + arriving)
        charge[far] += terms.domain_step[groups] * difference
        return charge


class _PlacesByDomain:
    """Machines that can take tasks, by domain, the cheapest first.

    The machines of domain d are ``machine[first[d]:first[d + 1]]``. ``price``: float64[D], mean cost of the places that
    tasks will consider, infinite if there are none.
    """

    def __init__(self, terms: SpreadTerms, cost: Int64, is_open: Bool, least: int) -> None:
        """``cost``: int64[M], cost of a task on each machine; ``is_open``: bool[M], whether it can take one.

        ``least``: number of places whose mean cost is the price.
        """
        machines = np.flatnonzero(is_open)
        machines = machines[order_by(cost[machines])]
        domain = terms.domain[machines]
        order = order_by(domain)
        self.machine = machines[order]
        self.first = first = np.searchsorted(domain[order], np.arange(terms.domains + 1))
        self.price: Float64 = np.full(terms.domains, np.inf)
        for each in range(terms.domains):
            cheapest = self.machine[first[each] : min(first[each + 1], first[each] + least)]
            if len(cheapest):
                self.price[each] = cost[cheapest].mean()

    def has_places(self, domains: Int64) -> Bool:
        """Return which of these domains have a machine that can take a task: bool[A]."""
        return np.diff(self.first)[domains] > 0

    def choices(self, domains: Int64, turn: int, tuning: SpreadTuning) -> Int64:
        """Return machines to consider for each leaving task, in its target domain ``domains[i]``: int64[L, choices].

        Tasks with the same domain get different machines if there are enough.
        """
        places, arriving = np.diff(self.first), np.bincount(domains, minlength=len(self.price))
        roomy = bool((arriving <= places).all())
        if roomy:
            wanted = (arriving * tuning.places_per_task).astype(np.int64)
            places = np.minimum(places, np.maximum(tuning.least_places, wanted))
        choices = tuning.choices[0] if roomy else tuning.choices[1]
        stride = np.maximum(1, -(-places // choices))[domains]
        place = rank(domains)[:, None] + stride[:, None] * np.arange(choices) + turn
        return self.machine[self.first[domains][:, None] + place % places[domains][:, None]]


class GroupCounts:
    """The number of tasks of each group on each machine, and in each domain (``in_domain``: int64[G, D]).

    ``pairs``: group x ``width`` + machine, ascending; ``count``: tasks of each pair; ``table``: the same counts as a [G
    x M] array, None if that is too large. ``there``: int64[N], for each task, the tasks of its group on its machine;
    ``before``: int64[N], how many of these do not move or are in earlier rows.
    """

    def __init__(self, terms: SpreadTerms, group: Int64, machine: Int64, most_cells: int) -> None:
        """Count the tasks of ``group`` (int64[N]) on ``machine``."""
        self.width = len(terms.domain)
        keys = group * np.int64(self.width) + machine
        order = order_by(keys)
        first, moving = find_runs(keys[order])
        self.pairs, self.count, all_there = keys[order[first]], moving, moving
        ones = np.ones(len(group), dtype=np.int64)
        if len(terms.resident_group):
            own = self.pairs
            self.pairs, self.count = terms.count_by_machine(group, machine, ones)
            all_there = self.count[np.searchsorted(self.pairs, own)]
        self.table: NDArray[np.unsignedinteger] | None = None
        if terms.groups * self.width <= most_cells:
            self.table = np.zeros(terms.groups * self.width, np.min_scalar_type(self.count.max(initial=0)))
            self.table[self.pairs] = self.count
        self.there, self.before = np.empty((2, len(keys)), dtype=np.int64)
        self.there[order] = np.repeat(all_there, moving)
        self.before[order] = np.repeat(all_there - moving - first, moving) + np.arange(len(keys))
        self.in_domain = terms.in_domains(group, machine, ones)

    def count_at(self, groups: Int64, machines: Int64) -> Int64:
        """Return the number of tasks of ``groups`` on ``machines``: int64, broadcast to a common shape."""
        keys = groups * np.int64(self.width) + machines
        if self.table is not None:
            return self.table.take(keys).astype(np.int64)
        place = np.minimum(np.searchsorted(self.pairs, keys), len(self.pairs) - 1)
        return np.where(self.pairs[place] == keys, self.count[place], 0)

    def first_of_each(self, groups: Int64, machines: Int64) -> Bool:
        """Return which entries are the first with their group and machine: bool[A]."""
        return rank(groups * np.int64(self.width) + machines) == 0


def even_shares(height: Float64, present: Int64) -> Int64:
    """Return the counts per domain that level each group's tasks; ``present``: int64[G, D], their counts now.

    ``height``: float64[G, D], cost in steps of a group's first task in each domain; each further task costs one step
    more. The sums of rows stay the same. Among equally good distributions, the one nearest to the present is returned.
    """
    if present.shape[1] == 1:
        return present.copy()
    tasks = present.sum(axis=1)
    shares = np.maximum(np.floor(_level(height, tasks)[:, None] - height), 0.0).astype(np.int64)
    left = tasks - shares.sum(axis=1)
    following = height + shares - PREFERENCE * (present > shares)
    rank = np.argsort(np.argsort(following, axis=1, kind="stable"), axis=1)
    return shares + (rank < left[:, None])


def _level(height: Float64, tasks: Int64) -> Float64:
    """Return the level to which ``tasks`` (int64[G]) units of water rise on columns of ``height``: float64[G].

    If the k lowest columns lie below the level, the level is the mean of their heights plus the tasks over k. The right
    k has the lowest level, as a column above the level raises that mean.
    """
    lowest = np.sort(height, axis=1)
    levels = (np.cumsum(lowest, axis=1) + tasks[:, None]) / np.arange(1, height.shape[1] + 1)
    return np.asarray(levels.min(axis=1), dtype=np.float64)
