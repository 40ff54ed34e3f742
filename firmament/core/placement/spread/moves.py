"""Moves single tasks of groups that would rather be apart, many at once: for rounds with too many groups to plan each.

In a turn each group gives tasks away from domains that have more of it than their share, and from machines that have
more than they need to; each task that is to go looks at a few of the places that cost least in the domain that lacks
one, others than those that the next task looks at, and goes where it costs least with the spread, if that is less than
where it is. Costs of nearly all places are alike in large clusters, so a few are enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Float64, Int64
from firmament.core.flow.problem import PlacementProblem
from firmament.core.flow.spread_terms import SpreadTerms
from firmament.core.placement.spread.room import MovingRoom
from firmament.core.placement.spread.shares import even_shares

TURNS = 6
MANY = 2_000
"""With more tasks than this a turn takes a millisecond ..."""
FEW = 50
"""... and is the last if all but one in so many are where they want to be."""
CHOICES = 4
"""Places that a task looks at in a turn."""
MOST_CELLS = 8_000_000
"""Groups times machines up to which the tasks of each group are counted in a table, for which a look-up is quickest."""

LEAST_PLACES = 64
"""Places of a domain that tasks choose among, if there are so many; else eight times as many as tasks that come."""

SAMPLED_SHAPES = 16
"""Shapes whose mean cost says which places cost little."""


class SpreadMoves:
    """Tasks of movable classes with groups, a row each: ``cls``, ``machine``: int64[N]; ``machine`` is written to."""

    def __init__(
        self, problem: PlacementProblem, terms: SpreadTerms, room: MovingRoom, cls: Int64, machine: Int64
    ) -> None:
        self._problem = problem
        self._terms = terms
        self._room = room
        self._shape = problem.shape[cls]
        self._group = terms.group[cls]
        self.machine = machine
        shapes = np.unique(self._shape)
        shapes = shapes[:: -(-len(shapes) // SAMPLED_SHAPES)]
        self._typical: Float64 = problem.cost[shapes].mean(axis=0)
        self._step = problem.crowd_step()

    def run(self) -> None:
        """Move tasks, as long as that lowers what they cost."""
        for turn in range(TURNS):
            if not self._turn(turn):
                break

    def _turn(self, turn: int) -> bool:
        """Returns whether another turn may pay."""
        spots = _Spots.of(self._terms, self._typical + self._crowding(None), self._open())
        leaving, target = self._leaving(spots)
        wanted = len(leaving)
        if not wanted:
            return False
        near = _Near.of(self._terms, self._group, self.machine)
        places = spots.choices(target, turn)
        shapes, groups = self._shape[leaving], self._group[leaving]
        cost = self._cost_at(shapes, groups, places, near)
        best = np.argmin(cost, axis=1)
        every = np.arange(len(leaving))
        gain = self._saved(leaving, target, near) - cost[every, best]
        better = gain > 0
        leaving, target = leaving[better], places[every, best][better]
        if not len(leaving):
            return False
        fits = ~self._room.overfilled(self._shape[leaving], target) & _first_of_each(
            self._group[leaving], target, len(self._typical)
        )
        leaving, target = leaving[fits], target[fits]
        self._room.move(self._shape[leaving], self.machine[leaving], target)
        self.machine[leaving] = target
        tasks, left = len(self.machine), wanted - len(leaving)
        return bool(len(leaving)) and (tasks <= MANY or left * FEW > tasks)

    def _open(self) -> Bool:
        """bool[M]: machines with room for one more task of the smallest kind."""
        smallest = self._problem.requests[np.unique(self._shape)].min(axis=0)
        return (self._room.free >= smallest[:, None]).all(axis=0)

    def _crowding(self, machines: Int64 | None, fewer: int = 0) -> Float64:
        """What tasks of the round on machines add for the next one, or for one of themselves (``fewer``: 1)."""
        placed, crowd = self._room.placed, self._problem.crowd
        if machines is not None:
            placed, crowd = placed.take(machines), crowd.take(machines)
        steps = (placed - fewer) // self._step * self._step
        return np.asarray(crowd * steps, dtype=np.float64)

    def _leaving(self, spots: _Spots) -> tuple[Int64, Int64]:
        """Tasks that are to go, ordered by group, and the domain that each is to go to."""
        terms, group = self._terms, self._group
        domain = terms.domain[self.machine]
        ones = np.ones(len(group), dtype=np.int64)
        in_domain = terms.in_domains(group, self.machine, ones)
        present = np.bincount(group * terms.domains + domain, minlength=in_domain.size)
        present = present.reshape(in_domain.shape).astype(np.int64)
        step = np.where(terms.domain_step > 0, terms.domain_step, np.inf)[:, None]
        height = (in_domain - present) + spots.price / step
        shares = np.where(terms.domain_step[:, None] > 0, even_shares(height, present), present)
        surplus = np.maximum(present - shares, 0)
        crowded = self._crowded(in_domain)
        charge = self._problem.cost[self._shape, self.machine] + self._crowding(self.machine, 1)
        key = group * terms.domains + domain
        order = _sorted(
            key * 2 + ~crowded, terms.groups * terms.domains * 2, np.argsort(-charge, kind="stable")
        )
        key = key[order]
        first = np.flatnonzero(np.r_[True, key[1:] != key[:-1]][: len(key)])
        rank = np.arange(len(key)) - np.repeat(first, np.diff(np.r_[first, len(key)]))
        away = rank < surplus.ravel()[key]
        stay_near = order[~away & crowded[order]]
        leaving = order[away]
        arriving = np.maximum(shares - present, 0)
        target = np.repeat(np.tile(np.arange(terms.domains), terms.groups), arriving.ravel())
        return np.concatenate([leaving, stay_near]), np.concatenate([target, domain[stay_near]])

    def _crowded(self, in_domain: Int64) -> Bool:
        """bool[N]: tasks beyond what each machine would have of their group if all had the same."""
        total = in_domain.sum(axis=1)
        even = -(-total // max(1, len(self._typical)))
        width = np.int64(len(self._typical))
        keys = self._group * width + self.machine
        pairs, present = np.unique(keys, return_counts=True)
        every, count = self._terms.on_machines(self._group, self.machine, np.ones(len(keys), dtype=np.int64))
        others = count[np.searchsorted(every, pairs)] - present
        order = np.argsort(keys, kind="stable")
        rank = np.arange(len(keys)) - np.repeat(np.cumsum(present) - present, present)
        crowded = np.zeros(len(keys), dtype=np.bool_)
        crowded[order] = np.repeat(others, present) + rank >= even[self._group[order]]
        return crowded

    def _cost_at(self, shapes: Int64, groups: Int64, places: Int64, near: _Near) -> Float64:
        """float64[L, CHOICES]: what tasks cost at places, infinite where they may not go or have no room."""
        flat = places.ravel()
        wide = np.repeat(shapes, places.shape[1])
        of = np.repeat(groups, places.shape[1])
        cost = self._problem.cost[wide, flat] + self._crowding(flat)
        cost += self._terms.machine_step[of] * near.at(of, flat)
        cost[self._room.units(wide, flat) <= 0] = np.inf
        return cost.reshape(places.shape)

    def _saved(self, leaving: Int64, target: Int64, near: _Near) -> Float64:
        """float64[L]: what tasks cost where they are, less what the domain that they go to adds."""
        terms = self._terms
        machine, groups = self.machine[leaving], self._group[leaving]
        charge = self._problem.cost[self._shape[leaving], machine] + self._crowding(machine, 1)
        charge += terms.machine_step[groups] * (near.at(groups, machine) - 1)
        in_domain = near.in_domain
        source = terms.domain[machine]
        gone = _rank(groups * terms.domains + source, source != target)
        come = _rank(groups * terms.domains + target, source != target)
        difference = in_domain[groups, source] - gone - 1 - (in_domain[groups, target] + come)
        charge += np.where(source == target, 0.0, terms.domain_step[groups] * difference)
        return charge


@dataclass(frozen=True, slots=True)
class _Spots:
    """Machines with room by domain, the cheapest first: those of domain d are ``machine[first[d]:first[d + 1]]``.

    ``price``: float64[D], what places cost where tasks will look, infinite where there is none.
    """

    machine: Int64
    first: Int64
    price: Float64

    @classmethod
    def of(cls, terms: SpreadTerms, cost: Float64, is_open: Bool) -> _Spots:
        """``cost``: float64[M], of a task there; ``is_open``: bool[M], whether there is room."""
        machines = np.flatnonzero(is_open)
        domain = terms.domain[machines]
        order = _sorted(domain, terms.domains, np.argsort(cost[machines], kind="stable"))
        first = np.searchsorted(domain[order], np.arange(terms.domains + 1))
        ranked = machines[order]
        price = np.full(terms.domains, np.inf)
        for each in range(terms.domains):
            cheapest = ranked[first[each] : min(first[each + 1], first[each] + LEAST_PLACES)]
            if len(cheapest):
                price[each] = cost[cheapest].mean()
        return cls(ranked, first, price)

    def choices(self, domains: Int64, turn: int) -> Int64:
        """Machines of the given domains to look at, int64[L, CHOICES]: as far as possible others for each entry."""
        come = np.bincount(domains, minlength=len(self.price))
        size = np.minimum(np.diff(self.first), np.maximum(LEAST_PLACES, CHOICES * come))
        rank = _rank(domains, np.ones(len(domains), dtype=np.bool_))
        stride = np.maximum(1, -(-size // CHOICES))[domains]
        place = rank[:, None] + stride[:, None] * np.arange(CHOICES) + turn
        return self.machine[self.first[domains][:, None] + place % size[domains][:, None]]


@dataclass(frozen=True, slots=True)
class _Near:
    """How many tasks of each group are on each machine, and ``in_domain``: int64[G, D]."""

    pairs: Int64
    count: Int64
    table: NDArray[np.int32] | None
    width: int
    in_domain: Int64

    @classmethod
    def of(cls, terms: SpreadTerms, group: Int64, machine: Int64) -> _Near:
        """With the tasks of ``group`` (int64[N]) on ``machine``."""
        ones = np.ones(len(group), dtype=np.int64)
        pairs, count = terms.on_machines(group, machine, ones)
        width, table = len(terms.domain), None
        if terms.groups * width <= MOST_CELLS:
            table = np.zeros(terms.groups * width, dtype=np.int32)
            table[pairs] = count
        return cls(pairs, count, table, width, terms.in_domains(group, machine, ones))

    def at(self, groups: Int64, machines: Int64) -> Int64:
        """int64[A]: tasks of ``groups[i]`` on ``machines[i]``."""
        keys = groups * np.int64(self.width) + machines
        if self.table is not None:
            return self.table.take(keys).astype(np.int64)
        place = np.minimum(np.searchsorted(self.pairs, keys), len(self.pairs) - 1)
        return np.where(self.pairs[place] == keys, self.count[place], 0)


def _sorted(keys: Int64, width: int, order: Int64) -> Int64:
    """``order`` (rows) sorted by ``keys`` (0 to ``width``), stable."""
    kind = np.uint16 if width <= 2**16 else np.int64  # few digits are sorted in linear time
    by_key = np.argsort(keys[order].astype(kind), kind="stable")
    return order[by_key]


def _rank(keys: Int64, counts: Bool) -> Int64:
    """int64[N]: how many equal keys come before each, of those that count."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: len(keys)])
    counted: Int64 = counts[order].astype(np.int64)
    before: Int64 = np.cumsum(counted) - counted
    before -= np.repeat(before[first], np.diff(np.r_[first, len(keys)]))
    rank = np.empty(len(keys), dtype=np.int64)
    rank[order] = before
    return rank


def _first_of_each(groups: Int64, machines: Int64, width: int) -> Bool:
    """bool[N]: no entry before has the same group and machine."""
    first = np.zeros(len(groups), dtype=np.bool_)
    first[np.unique(groups * np.int64(width) + machines, return_index=True)[1]] = True
    return first
