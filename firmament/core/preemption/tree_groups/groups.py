"""Preemption by groups that are distributed over a tree of machines.

All less important gangs and tasks are taken off the machines in thought, and the group's solver says whether there is a
way to share the group out then. They are put back as long as there still is one: the most important first, so that
those who go are few and unimportant; a gang goes as a whole or not at all. What counts is whether the *whole* group
fits by its rules, so no task is evicted for room that does not help the group. (The order is that of KEP-4986 and of
gangs in kube-scheduler 1.36.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.placement.tree_groups.nested_placer import assign
from firmament.core.placement.tree_groups.placer import IN_THE_WAY, UNLIKE_PLACES, deal
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.problem import PreemptionDecision
from firmament.core.preemption.tree_groups.slots import LeafSlots
from firmament.core.ranks import counting
from firmament.core.tree_solver.groups import AnyGroup, GroupTerms, TreeGroup
from firmament.core.tree_solver.nested.room import NestedRoom
from firmament.core.tree_solver.nested.search import NestedPlaces, SearchSteps
from firmament.core.tree_solver.nested.solver import NestedProblem, solve_nested
from firmament.core.tree_solver.nested.trees import LinkedGroup, NestedGroup
from firmament.core.tree_solver.tree import Shortage
from firmament.solvers.base import Solver

VICTIM = 2**24
"""Charged, to break ties, for each task that would go for a place, and as much for each step of its priority."""

PREEMPTION_STEPS = 500
"""Steps of each search for places of a tree of groups."""


def preempt_for_group(
    now: PreemptionState, terms: GroupTerms, gang: int, solver: Solver
) -> PreemptionState | str:
    """Return a copy of the now on which a group has places for all its tasks, and others go; or why
    nothing helps.

    Disruption budgets are exceeded only if there is no other way. Raises what the solver raises.
    """
    group = terms.every[gang]
    classes = np.unique(group.order)
    attempt = NestedAttempt if isinstance(group, NestedGroup) else _Attempt
    if group.refused or _loses_members(now, int(classes[0])):
        return ""
    found: PreemptionState | str = ""
    for lenient in (False, True) if len(now.allowed) else (True,):
        found = attempt(now, terms, group, classes, lenient=lenient).carry_out(solver)
        if not isinstance(found, str):
            break
    return found


def waiting_together(
    problem: PlacementProblem, decided: Sequence[PreemptionDecision]
) -> tuple[PreemptionDecision, ...]:
    """Return the evictions, with all tasks of a group waiting for everybody who goes for some of it.

    So none of them takes its place before it is certain that all can.
    """
    if not len(problem.gang):
        return tuple(decided)
    gangs = [int(problem.gang[each.cls]) for each in decided]
    awaited: dict[int, dict[int, None]] = {}
    for gang, each in zip(gangs, decided, strict=True):
        if gang in problem.topology.every:
            awaited.setdefault(gang, {}).update(dict.fromkeys(each.awaits))
    return tuple(
        replace(each, awaits=tuple(dict.fromkeys((*each.awaits, *awaited.get(gang, ())))))
        for gang, each in zip(gangs, decided, strict=True)
    )


def _loses_members(now: PreemptionState, cls: int) -> bool:
    """Return whether tasks of the group itself have been chosen to go for others."""
    own = now.preemption.own
    if not len(own) or own[cls] < 0:
        return False
    return bool(now.gone[now.gangs.members(int(own[cls]))].any())


class _Attempt:
    """A search for the victims of one group."""

    def __init__(
        self, now: PreemptionState, terms: GroupTerms, group: AnyGroup, classes: Int64, *, lenient: bool
    ) -> None:
        self._now = now
        self._terms = terms
        self._group = group
        self._classes = classes
        self._rows = self._list_machines()
        self._slots: LeafSlots | EachClassSlots = self._count_slots()
        self._calls = now.tuning.group_calls
        cls = int(classes[0])
        self._units = units_for(now, cls, self._help(cls), lenient=lenient)
        self._cost = self._costs()

    def _list_machines(self) -> Int64:
        """Return int64[L]: rows of the machines that it may use."""
        return self._terms.tree.rows

    def _count_slots(self) -> LeafSlots | EachClassSlots:
        return LeafSlots(self._now, self._classes, self._rows)

    def carry_out(self, solver: Solver) -> PreemptionState | str:
        """Return the now with the group on it; or why it cannot be placed."""
        places = self._places(np.arange(len(self._units)))
        if isinstance(places, Shortage):
            return places.message
        victims = self._choose()
        places = self._places(victims)
        if isinstance(places, Shortage):
            return places.message
        placed = self._assign(places, victims, solver)
        if placed is None:
            return UNLIKE_PLACES
        twin = self._now.copy()
        twin.evict(self._units.members(victims).tolist())
        for cls, machine, _ in placed.tasks().entries():
            if not (twin.fits(cls, machine) and twin.takes(cls, machine)):
                return IN_THE_WAY
            twin.put(cls, machine)
        self._let_off(twin, victims)
        return twin

    def _assign(self, places: Int64, victims: Int64, solver: Solver) -> Assignments | None:
        """Return what tasks are on which machines, None if that cannot be said."""
        assert isinstance(self._group, TreeGroup)
        slots = self._slots.count_after(self._units.members(victims))
        cost = np.broadcast_to(self._cost, slots.shape)
        return deal(self._group.order, places - self._group.held, self._rows, slots, cost, solver)

    # --- who goes ------------------------------------------------------------------------------------------------

    def _choose(self) -> Int64:
        """Return units that have to go, int64[A]; if all of them did, that would help."""
        back = self._most_back(np.empty(0, dtype=np.int64), 0)
        needed: list[int] = []
        while back < len(self._units):
            needed.append(back)
            if self._calls <= 0:
                rest = np.arange(back + 1, len(self._units))
                return np.concatenate([np.array(needed, dtype=np.int64), rest])
            back = self._most_back(np.array(needed, dtype=np.int64), back + 1)
        return np.array(needed, dtype=np.int64)

    def _most_back(self, needed: Int64, begin: int) -> int:
        """Return how many units, from the first on, can be back while ``needed`` go. ``begin``: that many
        can.

        The more go, the more ways there are; so this can be found by halving.
        """
        low, high = begin, len(self._units)
        probe = high
        while low < high:
            if self._calls <= 0:
                return low
            going = np.concatenate([needed, np.arange(probe, len(self._units))])
            if isinstance(self._places(going), Shortage):
                high = probe - 1
            else:
                low = probe
            probe = (low + high + 1) // 2
        return low

    def _places(self, units: Int64) -> Int64 | Shortage:
        """Return int64[L]: how the group shares out once some units are gone; or why it does not."""
        self._calls -= 1
        slots = self._slots.count_after(self._units.members(units))
        least, most = slots.min(axis=0), slots.max(axis=0)
        group = self._group
        assert isinstance(group, TreeGroup)
        place, tree = self._terms.solver.place, self._terms.tree
        found = place(tree, least, group.size, group.rules, self._cost, group.held)
        if isinstance(found, Shortage) and (least != most).any():
            return place(tree, most, group.size, group.rules, self._cost, group.held)
        return found

    def _let_off(self, twin: PreemptionState, victims: Int64) -> None:
        """Let victims stay that nobody needs on the places that were chosen, the most important first."""
        needed = np.logical_or.reduce([twin.heeds(cls) for cls in self._classes.tolist()])
        for unit in victims.tolist():
            members = self._units.members(np.array([unit]))
            machines, which = np.unique(twin.preemption.machine[members], return_inverse=True)
            sizes = np.zeros((len(machines), twin.room.shape[1]), dtype=np.int64)
            np.add.at(sizes, which, twin.sizes[members])
            guests = np.array([bool(twin.guests.get(machine)) for machine in machines.tolist()])
            enough = (twin.room[machines] >= sizes) | (sizes == 0) | ~needed
            unneeded = bool((enough.all(axis=1) | ~guests).all())
            if unneeded and all(
                twin.kept.stays_open(machine, set(twin.list_gone(machine)) - set(members.tolist()))
                for machine in machines.tolist()
            ):
                for member in members.tolist():
                    twin.spare_victim(member)

    # --- what is worth what --------------------------------------------------------------------------------------

    def _help(self, cls: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return float64[M]: places that a machine gains for each task that goes if all that may go do."""
        going = np.flatnonzero(self._now.may_go(cls))
        nobody = going[:0]
        gained = (self._slots.count_after(going) - self._slots.count_after(nobody)).max(axis=0)
        machines = self._now.problem.machines
        number = np.bincount(self._now.preemption.machine[going], minlength=machines)
        help_ = np.zeros(machines)
        rows = self._rows
        help_[rows] = gained / np.maximum(number[rows], 1)
        return help_

    def _costs(self) -> Int64:
        """Return int64[L]: what a place on each leaf costs: who would go for it, then what the models charge."""
        now, rows = self._now, self._rows
        problem, preemption = now.problem, now.preemption
        going = self._units.tasks
        step = np.unique(preemption.victim_priority[going], return_inverse=True)[1] + 1
        weight = np.bincount(preemption.machine[going], weights=step, minlength=problem.machines)[rows]
        gained = self._slots.count_after(going).max(axis=0) - self._slots.count_after(going[:0]).max(axis=0)
        own = problem.cost[problem.shape[self._classes[0]], rows].astype(np.int64)
        return (VICTIM * weight / np.maximum(gained, 1)).astype(np.int64) + own


class NestedAttempt(_Attempt):
    """A search for the victims of a tree of groups."""

    _found: NestedPlaces | None = None

    def _list_machines(self) -> Int64:
        return np.arange(self._now.problem.machines)

    def _count_slots(self) -> EachClassSlots:
        return EachClassSlots(self._now, self._classes, self._rows)

    def _places(self, units: Int64) -> Int64 | Shortage:
        """Return int64[M]: tasks that machines get once some units are gone; or why there are no places."""
        self._calls -= 1
        now, group = self._now, self._group
        assert isinstance(group, NestedGroup)
        victims = self._units.members(units)
        free = now.room.copy()
        np.add.at(free, now.preemption.machine[victims], now.sizes[victims])
        slots = self._slots.count_after(victims)
        requests = np.stack([now.request(cls) for cls in self._classes.tolist()])
        costs = np.broadcast_to(self._cost, slots.shape)
        shape_of = np.searchsorted(self._classes, group.part_class).tolist()
        room = NestedRoom(free.T, requests, slots, costs)
        posed = NestedProblem(LinkedGroup.link(group), self._terms.domains, room, shape_of)
        found = solve_nested(posed, SearchSteps(PREEMPTION_STEPS))
        if isinstance(found, Shortage):
            return found
        self._found = found
        return np.bincount(found.machine, found.count, now.problem.machines).astype(np.int64)

    def _assign(self, places: Int64, victims: Int64, solver: Solver) -> Assignments | None:  # noqa: ARG002 - as others
        """Return where the tasks are that were placed last."""
        assert self._found is not None
        assert isinstance(self._group, NestedGroup)
        return assign(self._group, self._found)


class EachClassSlots:
    """Slots for classes that do not ask for the same, as of `LeafSlots`, of each by itself."""

    def __init__(self, now: PreemptionState, classes: Int64, leaves: Int64) -> None:
        self._each = [LeafSlots(now, classes[[place]], leaves) for place in range(len(classes))]

    def count_after(self, victims: Int64) -> Int64:
        """Return int64[B, L]: slots once ``victims`` (tasks) are gone."""
        return np.concatenate([each.count_after(victims) for each in self._each])


# --- Who could go for a group: gangs as wholes and single tasks, in the order in which they are let off.


@dataclass(frozen=True, slots=True)
class Units:
    """``tasks``: int64[N], those that could go, unit by unit; ``first``: int64[U + 1], where each unit begins."""

    tasks: Int64
    first: Int64

    def __len__(self) -> int:
        return len(self.first) - 1

    def members(self, units: Int64) -> Int64:
        """Return all tasks of some units (int64[A])."""
        sizes = self.first[units + 1] - self.first[units]
        return self.tasks[np.repeat(self.first[units], sizes) + counting(sizes)]

    def select(self, units: Int64) -> Units:
        """Return some of the units, in that order."""
        sizes = self.first[units + 1] - self.first[units]
        return Units(self.members(units), np.cumsum([0, *sizes.tolist()], dtype=np.int64))


def units_for(now: PreemptionState, cls: int, help_: Float64, *, lenient: bool) -> Units:
    """Return the units that could go for a class, in the order in which they are let off.

    First what budgets protect, then the most important; of equals those that help least for each task that goes, then
    the oldest. ``help_``: float64[M], places that each machine gains for each of its tasks that goes. Without
    ``lenient`` only so many tasks take part that no disruption budget would be exceeded if all of them went: the least
    important.
    """
    preemption = now.preemption
    units = _units(now, cls)
    start, sizes = units.first[:-1], np.diff(units.first)
    if not len(start):
        return units
    top = np.maximum.reduceat(preemption.victim_priority[units.tasks], start)
    helps = np.add.reduceat(help_[preemption.machine[units.tasks]], start) / sizes
    started = np.minimum.reduceat(preemption.started[units.tasks], start)
    order = np.lexsort((np.arange(len(start)), started, helps, -top))
    within = _find_within_budgets(now, units, order)
    order = np.concatenate([order[~within], order[within]]) if lenient else order[within]
    return units.select(order)


def _units(now: PreemptionState, cls: int) -> Units:
    """Return gangs that may go as wholes, then single tasks that may go."""
    may_go = now.may_go(cls)
    alone = np.ones(len(may_go), dtype=np.bool_)
    found: list[Int64] = []
    if len(now.spare):
        alone = now.preemption.gang < 0
        for gang in np.flatnonzero(now.find_whole_gangs(cls)).tolist():
            members = now.gangs.members(gang)
            members = members[~now.gone[members]]
            if len(members) and may_go[members].all():
                found.append(members)
    singles = np.flatnonzero(may_go & alone)
    sizes = [len(members) for members in found] + [1] * len(singles)
    return Units(np.concatenate([*found, singles]), np.cumsum([0, *sizes], dtype=np.int64))


def _find_within_budgets(now: PreemptionState, units: Units, order: Int64) -> Bool:
    """Return bool[U], in ``order``: units that could go together without exceeding a budget; the last in
    order come first.
    """
    within: Bool = np.ones(len(order), dtype=np.bool_)
    if not len(now.allowed):
        return within
    left = np.maximum(now.allowed, 0)
    preemption = now.preemption
    for place in range(len(order) - 1, -1, -1):
        wanted = np.zeros_like(left)
        for kind in preemption.kind[units.members(order[[place]])].tolist():
            wanted[list(preemption.budgets[kind])] += 1
        within[place] = bool((wanted <= left)[wanted > 0].all())
        if within[place]:
            left -= wanted
    return within
