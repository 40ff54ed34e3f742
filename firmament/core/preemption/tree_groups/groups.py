"""Finds victims for groups that are distributed over a tree of machines.

A trial removes all less important gangs and tasks from the machines, and the group's solver says whether the group
can then be distributed. Victims stay after all, the most important first, as long as the group still fits without
their eviction, so that few and unimportant tasks leave. A gang leaves as a whole or not at all. Only whether the
*whole* group fits by its rules counts, so no task is evicted unless the group gets places. (The order is that of
KEP-4986 and of gangs in kube-scheduler 1.36.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.placement.tree_groups.nested_placer import assign
from firmament.core.placement.tree_groups.placer import IN_THE_WAY, UNLIKE_PLACES, assign_places
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.problem import PreemptionDecision
from firmament.core.preemption.reprieve import reprieve_gangs
from firmament.core.preemption.tree_groups.leaving_units import list_units
from firmament.core.preemption.tree_groups.slots import LeafSlots
from firmament.core.tree_solver.groups import AnyGroup, GroupTerms, TreeGroup
from firmament.core.tree_solver.nested.divided.solver import solve_tree
from firmament.core.tree_solver.nested.problem import NestedProblem
from firmament.core.tree_solver.nested.room import NestedRoom
from firmament.core.tree_solver.nested.search import NestedPlaces, SearchSteps
from firmament.core.tree_solver.nested.trees import LinkedGroup, NestedGroup
from firmament.core.tree_solver.tree import Shortage
from firmament.solvers.base import Solver

VICTIM = 2**24
"""Charge, to break ties, for each task that would leave for a place, and once more for each step of its priority."""

PREEMPTION_STEPS = 500
"""Most steps of each search for places of a tree of groups."""


def preempt_for_group(
    now: PreemptionState, terms: GroupTerms, gang: int, solver: Solver
) -> PreemptionState | str:
    """Return a copy of ``now`` in which all tasks of a group have places and victims leave, or why there is none.

    Disruption budgets are exceeded only if there is no other solution. Errors of the solver are raised.
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


def put_tree(
    now: PreemptionState, terms: GroupTerms, gang: int, solver: Solver
) -> list[tuple[int, int]] | None:
    """Place all waiting tasks of a tree of groups without evictions; return the places as (class, machine).

    The result is None if the tree finds no places; ``now`` must not be used after that.
    """
    group = terms.every[gang]
    if group.refused or not isinstance(group, NestedGroup):
        return None
    classes = np.unique(group.order)
    attempt = NestedAttempt(now, terms, group, classes, lenient=True)
    return attempt.put_in_room(solver)


def waiting_together(
    problem: PlacementProblem, decided: Sequence[PreemptionDecision]
) -> tuple[PreemptionDecision, ...]:
    """Return the decisions, changed so that all tasks of a group wait for all victims of the group.

    No task of the group therefore takes its place before it is certain that all tasks of the group can.
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
    """Return whether preemption has already chosen tasks of the group itself as victims."""
    own = now.preemption.own
    if not len(own) or own[cls] < 0:
        return False
    return bool(now.gone[now.gangs.members(int(own[cls]))].any())


def _put_all(state: PreemptionState, placed: Assignments) -> list[tuple[int, int]] | None:
    """Put tasks on machines one after another.

    The function returns the class and machine of each task, or None as soon as one task may not go to its machine.
    """
    places = []
    for cls, machine, _ in placed.tasks().entries():
        if not (state.fits(cls, machine) and state.allows(cls, machine)):
            return None
        state.put(cls, machine)
        places.append((cls, machine))
    return places


class _Attempt:
    """A search for the victims of one group that has rules over a tree."""

    def __init__(
        self, now: PreemptionState, terms: GroupTerms, group: AnyGroup, classes: Int64, *, lenient: bool
    ) -> None:
        self._now = now
        self._terms = terms
        self._group = group
        self._classes = classes
        self._rows = self._list_machines()
        self._slots: LeafSlots | SlotsPerClass = self._count_slots()
        self._calls = now.tuning.group_calls
        cls = int(classes[0])
        self._units = list_units(now, cls, self._find_gain(cls), lenient=lenient)
        self._cost = self._compute_costs()

    def _list_machines(self) -> Int64:
        """Return the rows of the machines that the group may use: int64[L]."""
        return self._terms.tree.rows

    def _count_slots(self) -> LeafSlots | SlotsPerClass:
        return LeafSlots(self._now, self._classes, self._rows)

    def carry_out(self, solver: Solver) -> PreemptionState | str:
        """Return the state with the group placed and its victims gone, or why the group cannot be placed."""
        places = self._find_places(np.arange(len(self._units)))
        if isinstance(places, Shortage):
            return places.message
        victims = self._choose()
        places = self._find_places(victims)
        if isinstance(places, Shortage):
            return places.message
        placed = self._assign(places, victims, solver)
        if placed is None:
            return UNLIKE_PLACES
        twin = self._now.copy()
        twin.evict(self._units.members(victims).tolist())
        if _put_all(twin, placed) is None:
            return IN_THE_WAY
        self._spare_unneeded(twin, victims)
        reprieve_gangs(twin)
        return twin

    def put_in_room(self, solver: Solver) -> list[tuple[int, int]] | None:
        """Place the group in the present state without evictions; return class and machine of each task, or None."""
        nobody = np.empty(0, dtype=np.int64)
        places = self._find_places(nobody, explain=False)
        placed = None if isinstance(places, Shortage) else self._assign(places, nobody, solver)
        return None if placed is None else _put_all(self._now, placed)

    def _assign(self, places: Int64, victims: Int64, solver: Solver) -> Assignments | None:
        """Return which tasks go to which machine, or None if the classes cannot meet the counts per machine."""
        assert isinstance(self._group, TreeGroup)
        slots = self._slots.count_after(self._units.members(victims))
        cost = np.broadcast_to(self._cost, slots.shape)
        return assign_places(self._group.order, places - self._group.held, self._rows, slots, cost, solver)

    # --- choosing victims ----------------------------------------------------------------------------------------

    def _choose(self) -> Int64:
        """Return the units (gangs or single tasks) that have to leave so that the group can be distributed.

        The result is int64[A].
        """
        back = self._count_spared(np.empty(0, dtype=np.int64), 0)
        needed: list[int] = []
        while back < len(self._units):
            needed.append(back)
            if self._calls <= 0:
                rest = np.arange(back + 1, len(self._units))
                return np.concatenate([np.array(needed, dtype=np.int64), rest])
            back = self._count_spared(np.array(needed, dtype=np.int64), back + 1)
        return np.array(needed, dtype=np.int64)

    def _count_spared(self, needed: Int64, begin: int) -> int:
        """Return how many units, from the first on, can stay while ``needed`` leave; at least ``begin``.

        The more units leave, the more solutions there are, so bisection finds the number.
        """
        low, high = begin, len(self._units)
        probe = high
        while low < high:
            if self._calls <= 0:
                return low
            going = np.concatenate([needed, np.arange(probe, len(self._units))])
            if isinstance(self._find_places(going, explain=False), Shortage):
                high = probe - 1
            else:
                low = probe
            probe = (low + high + 1) // 2
        return low

    def _find_places(self, units: Int64, *, explain: bool = True) -> Int64 | Shortage:  # noqa: ARG002 - as others
        """Return how the group is distributed once some units are gone, or why it cannot be: int64[L].

        ``explain``: whether the reason is needed.
        """
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

    def _spare_unneeded(self, twin: PreemptionState, victims: Int64) -> None:
        """Let victims stay that no task of the group needs to leave, given its places; the most important first."""
        needed = np.logical_or.reduce([twin.heeds(cls) for cls in self._classes.tolist()])
        for unit in victims.tolist():
            members = self._units.members(np.array([unit]))
            machines, which = np.unique(twin.preemption.machine[members], return_inverse=True)
            sizes = np.zeros((len(machines), twin.room.shape[1]), dtype=np.int64)
            np.add.at(sizes, which, twin.sizes[members])
            preemptors = np.array([bool(twin.preemptors.get(machine)) for machine in machines.tolist()])
            enough = (twin.room[machines] >= sizes) | (sizes == 0) | ~needed
            unneeded = bool((enough.all(axis=1) | ~preemptors).all())
            if unneeded and all(
                twin.ledger_closed.stays_open(machine, set(twin.list_gone(machine)) - set(members.tolist()))
                for machine in machines.tolist()
            ):
                for member in members.tolist():
                    twin.spare_victim(member)

    # --- worth of victims and places -----------------------------------------------------------------------------

    def _find_gain(self, cls: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return how many places each machine gains per victim if all tasks that may leave do leave: float64[M]."""
        going = np.flatnonzero(self._now.may_go(cls))
        nobody = going[:0]
        gained = (self._slots.count_after(going) - self._slots.count_after(nobody)).max(axis=0)
        machines = self._now.problem.machines
        number = np.bincount(self._now.preemption.machine[going], minlength=machines)
        gain = np.zeros(machines)
        rows = self._rows
        gain[rows] = gained / np.maximum(number[rows], 1)
        return gain

    def _compute_costs(self) -> Int64:
        """Return the cost of a place on each leaf, for the tasks that would leave and by the models: int64[L]."""
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

    def _count_slots(self) -> SlotsPerClass:
        return SlotsPerClass(self._now, self._classes, self._rows)

    def _find_places(self, units: Int64, *, explain: bool = True) -> Int64 | Shortage:
        """Return how many tasks machines get once some units are gone, or why there are no places: int64[M]."""
        self._calls -= 1
        now, group = self._now, self._group
        assert isinstance(group, NestedGroup)
        victims = self._units.members(units)
        free = now.room.copy()
        np.add.at(free, now.preemption.machine[victims], now.sizes[victims])
        slots = self._slots.count_after(victims)
        requests = np.stack([now.request(cls) for cls in self._classes.tolist()])
        costs = [self._cost.take] * len(slots)
        shape_of = np.searchsorted(self._classes, group.part_class).tolist()
        room = NestedRoom(free.T, requests, slots, costs)
        posed = NestedProblem(LinkedGroup.link(group), self._terms.domains, room, shape_of)
        found = solve_tree(posed, SearchSteps(PREEMPTION_STEPS), explain=explain)
        if isinstance(found, Shortage):
            return found
        self._found = found
        return np.bincount(found.machine, found.count, now.problem.machines).astype(np.int64)

    def _assign(self, places: Int64, victims: Int64, solver: Solver) -> Assignments | None:  # noqa: ARG002 - as others
        """Return the assignments that follow from the places found last."""
        assert self._found is not None
        assert isinstance(self._group, NestedGroup)
        return assign(self._group, self._found)


class SlotsPerClass:
    """How many tasks leaves take of classes with different requests: one `LeafSlots` for each class."""

    def __init__(self, now: PreemptionState, classes: Int64, leaves: Int64) -> None:
        self._each = [LeafSlots(now, classes[[place]], leaves) for place in range(len(classes))]

    def count_after(self, victims: Int64) -> Int64:
        """Return how many tasks of each class each leaf takes once ``victims`` (tasks) are gone: int64[B, L]."""
        return np.concatenate([each.count_after(victims) for each in self._each])
