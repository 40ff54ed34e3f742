"""A round's placement problem as columns of arrays, and the placements so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from cost_models.interface import Bool, Int64, JointRows, Ledger, Opening
from firmament.core.constraints.default_spread import NO_SPREAD, SpreadTerms
from firmament.core.constraints.model_limits import JointRoom
from firmament.core.constraints.pairs import NO_PAIRS, PairRules
from firmament.core.constraints.ruleset import NO_RULES, RuleSet
from firmament.core.flow.terms import NO_HEIGHTS, DualPrices, RoundHeights
from firmament.core.ranks import distinct
from firmament.core.tree_solver.groups import NO_GROUPS, GroupTerms
from firmament.solvers.base import Int32

WAIT_BUCKETS = 4
"""Parallel unscheduled arcs of a class: the longer tasks have waited, the dearer it is to leave them."""

COST_UNITS_PER_POINT = 100
"""Network costs are integers: one point of a cost model is this many units."""

UNLIMITED = int(np.iinfo(np.int64).max) // 4
"""Room where no row limits anything; no sum of amounts reaches it."""


class Costing(Protocol):
    """What charges for tasks together."""

    def compute_cost(self, classes: Int64, shapes: Int64, machines: Int64, counts: Int64) -> float:
        """Return units that ``counts[i]`` tasks of ``classes[i]``, of ``shapes[i]``, add on ``machines[i]``."""


@dataclass(frozen=True, slots=True)
class PlacementProblem:
    """What is to be placed, where it may go, and at what cost; never written to after it is built.

    C classes, S shapes, M machines, K resources, G gangs.
    """

    counts: Int64
    """int64[C, WAIT_BUCKETS], waiting tasks; bucket 0 has waited longest."""
    priority: Int64
    """int64[C], rank-compressed, 0 the lowest."""
    shape: Int64
    """int64[C], row of the shape arrays."""
    requests: Int64
    """int64[S, K], per task."""
    feasible: Bool
    """bool[S, M], by every rule but capacity."""
    cost: Int32
    """int32[S, M], units that the models charge for a task."""
    crowd: Int64
    """int64[M], units that each task placed there in the round adds for the next one."""
    free: Int64
    """int64[M, K] at the start, negative if others have overcommitted; of one machine if a row stands for
    several.
    """
    rotation: int = 0
    """Row of the machine at which the first class begins among machines that cost the same."""
    pins: Mapping[int, Int64] = field(default_factory=dict)
    """The only allowed machine rows, sorted, for classes with a pinned set."""
    joint: tuple[JointRows, ...] = ()
    """Joint rows beside the machines' resource vectors, amounts per shape."""
    ledgers: tuple[Ledger, ...] = ()
    """Room that no joint row can express, by rows of ``model_shape``; never booked on themselves."""
    openings: tuple[Opening | None, ...] = ()
    """What evicting changes for each ledger, by shapes of this problem."""
    held: Bool | None = None
    """bool[S, M], machines that refuse a shape only for what their tasks hold; None for none."""
    model_shape: Int64 | None = None
    """int64[S], the shape by which ledgers know each shape; None: the shape itself."""
    most: Mapping[int, int] = field(default_factory=dict)
    """Most tasks of a class that one machine may take in this problem, for classes with such a limit."""
    rules: RuleSet = NO_RULES
    """Rules between tasks."""
    pairs: PairRules = NO_PAIRS
    """Costs and limits of pairs of tasks."""
    gang: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[C], gang of each class, numbered by age, -1 for none; empty without gangs."""
    gang_need: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[G], how many tasks of each gang must be placed, or none."""
    topology: GroupTerms = NO_GROUPS
    """Which gangs are distributed over a tree of machines, and how."""
    multiplicity: Int64 | None = None
    """int64[M], how many alike machines each row stands for; None: one."""
    heights: RoundHeights = NO_HEIGHTS
    """What models say about sizes of tasks, which the network takes as equal."""
    spread: SpreadTerms = NO_SPREAD
    """Groups of tasks that prefer to be apart, which the network does not know."""
    dual_prices: DualPrices | None = None
    """Worth of shapes (as ledgers know them) in an earlier round, None if unknown. It guides the choice of
    columns, and is no cost.
    """

    @property
    def classes(self) -> int:
        """C, the number of classes."""
        return len(self.shape)

    @property
    def machines(self) -> int:
        """M, the number of machines."""
        return int(self.free.shape[0])

    def list_costing(self) -> list[Costing]:
        """Return the families that charge for tasks together what no arc does."""
        families: tuple[Costing, ...] = (self.pairs, self.heights, self.spread)
        nothing = (NO_PAIRS, NO_HEIGHTS, NO_SPREAD)
        return [each for each, none in zip(families, nothing, strict=True) if each is not none]

    def derive(self, **changes: Any) -> PlacementProblem:
        """Return the problem with ``changes``, as a network knows it: without what ties tasks to each other or makes
        them unlike in size.
        """
        return replace(
            self,
            rules=NO_RULES,
            pairs=NO_PAIRS,
            topology=NO_GROUPS,
            heights=NO_HEIGHTS,
            spread=NO_SPREAD,
            **changes,
        )

    @property
    def interdependent(self) -> bool:
        """Whether it matters to tasks where others of the round go: by rules between them, or by pairs."""
        return bool(self.rules.of) or self.pairs.terms.steers

    def find_grouped(self) -> Bool:
        """Return bool[C]: classes whose tasks belong to a group that is distributed over a tree."""
        if not len(self.gang):
            return np.zeros(self.classes, dtype=np.bool_)
        return self.topology.find_grouped(self.gang)

    def crowd_step(self) -> int:
        """Return tasks per step of the crowding cost: 1, or more where a machine gets dozens of tasks in one
        round.
        """
        machines = self.machines if self.multiplicity is None else int(self.multiplicity.sum())
        return max(1, int(self.counts.sum()) // (16 * max(1, machines)))

    def map_to_ledgers(self, shapes: Int64) -> Int64:
        """Return int64[A]: the shapes that ledgers know ``shapes`` by."""
        return shapes if self.model_shape is None else self.model_shape[shapes]

    def times(self) -> Int64:
        """Return int64[M]: ``multiplicity``, 1 for every row if none is given."""
        return np.ones(self.machines, dtype=np.int64) if self.multiplicity is None else self.multiplicity

    def looks(self, classes: list[int], counts: list[int]) -> list[tuple[int, int, bytes]]:
        """Return equal for sets of ``counts[i]`` tasks of ``classes[i]`` that are alike to the machines:
        shapes and pins.
        """
        pins = [self.pins[cls].tobytes() if cls in self.pins else b"" for cls in classes]
        return sorted(zip(self.shape[classes].tolist(), counts, pins, strict=True))

    def pins_allow(self, cls: int, machine: int) -> bool:
        """Return whether a class has no pins, or a machine is among them."""
        pins = self.pins.get(cls)
        return pins is None or bool((pins == machine).any())

    def limit_to_pins(self, cls: int, machines: Bool) -> Bool:
        """Return ``machines`` (bool[M]) without those that a class's pins leave out; itself if it has none."""
        if cls not in self.pins:
            return machines
        inside = np.zeros_like(machines)
        inside[self.pins[cls]] = machines[self.pins[cls]]
        return inside


@dataclass(frozen=True, slots=True)
class Assignments:
    """Tasks given to machines, aggregated: ``count[i]`` tasks of class ``cls[i]`` on ``machine[i]``; int64[A] each.

    Pairs may repeat; counts are positive.
    """

    cls: Int64
    machine: Int64
    count: Int64

    @classmethod
    def empty(cls) -> Assignments:
        """Return assignments without any task."""
        return cls.of_tasks(())

    @classmethod
    def single(cls, task_class: int, machine: int) -> Assignments:
        """Return one task."""
        return cls.of_tasks([(task_class, machine)])

    @classmethod
    def of_tasks(cls, tasks: Sequence[tuple[int, int]]) -> Assignments:
        """Return single tasks, (class, machine) each, in this order."""
        pairs = np.array(tasks, dtype=np.int64).reshape(-1, 2)
        return cls(pairs[:, 0], pairs[:, 1], np.ones(len(pairs), dtype=np.int64))

    @classmethod
    def from_tasks(cls, classes: Int64, machines: Int64) -> Assignments:
        """Return single tasks of ``classes`` on ``machines`` (int64[N]) together: by class, then machine, no
        pair twice.
        """
        width = 1 + machines.max(initial=0)
        pairs, count = distinct(classes * width + machines)
        return cls(*np.divmod(pairs, width), count)

    @classmethod
    def join(cls, parts: list[Assignments]) -> Assignments:
        """Return all of ``parts``, in order."""
        if not parts:
            return cls.empty()
        return cls(
            np.concatenate([part.cls for part in parts]),
            np.concatenate([part.machine for part in parts]),
            np.concatenate([part.count for part in parts]),
        )

    def select(self, where: Bool | Int64) -> Assignments:
        """Return the entries for which ``where`` (bool[A]) holds, or those that it names, in its order."""
        return Assignments(self.cls[where], self.machine[where], self.count[where])

    def tasks(self) -> Assignments:
        """Return the same, a task an entry."""
        cls, machine = np.repeat(self.cls, self.count), np.repeat(self.machine, self.count)
        return Assignments(cls, machine, np.ones(len(cls), dtype=np.int64))

    def entries(self) -> Iterator[tuple[int, int, int]]:
        """Return class, machine and count of each entry."""
        return zip(self.cls.tolist(), self.machine.tolist(), self.count.tolist(), strict=True)

    def count_per_class(self, classes: int) -> Int64:
        """Return int64[C]: tasks of each class."""
        return np.bincount(self.cls, weights=self.count, minlength=classes).astype(np.int64)

    def count_per_machine(self, machines: int) -> Int64:
        """Return int64[M]: tasks on each machine."""
        return np.bincount(self.machine, weights=self.count, minlength=machines).astype(np.int64)


class Residual:
    """What is left of a problem after some admissions: tasks, room on machines and on joint rows.

    ``remaining``: int64[C, WAIT_BUCKETS]; ``free``: int64[K, M] (resource-major: rows are scanned whole);
    ``placed``: int64[M], tasks admitted per machine in this round; ``joint``: what is left of each block of joint rows;
    ``ledgers``: copies of the problem's, booked with what was admitted.
    """

    def __init__(self, problem: PlacementProblem) -> None:
        self.problem = problem
        self.remaining = problem.counts.copy()
        self.free = problem.free.T.copy()  # a contiguous array of its own, also if there is one machine
        self.placed = np.zeros(problem.machines, dtype=np.int64)
        self.joint = [JointRoom.from_rows(rows) for rows in problem.joint]
        self.ledgers = [ledger.copy() for ledger in problem.ledgers]
        #: what single tasks of a shape ask for: columns and amounts, looked up once
        self.amounts: dict[int, list[tuple[int, int]]] = {}

    def copy(self) -> Residual:
        """Return an independent copy."""
        return self.from_problem(self.problem)

    def from_problem(self, problem: PlacementProblem) -> Residual:
        """Return what is left of the same machines and tasks as another problem states them: a copy."""
        twin = copy(self)
        if problem is not self.problem:
            twin.problem, twin.amounts = problem, {}
        twin.remaining, twin.free, twin.placed = self.remaining.copy(), self.free.copy(), self.placed.copy()
        twin.joint = [
            JointRoom(rows, room.left.copy()) for rows, room in zip(problem.joint, self.joint, strict=True)
        ]
        twin.ledgers = [ledger.copy() for ledger in self.ledgers]
        return twin

    def active(self) -> Int64:
        """Return classes that still have tasks, ascending."""
        return np.flatnonzero(self.remaining.any(axis=1))

    def by_importance(self) -> list[int]:
        """Return classes that still have tasks, by priority, then by longest wait (the oldest bucket in use)."""
        active, oldest = self.active(), np.argmax(self.remaining > 0, axis=1)
        return active[np.lexsort((active, oldest[active], -self.problem.priority[active]))].tolist()

    def fits(self, shape: int) -> Bool:
        """Return bool[M]: machines that may take, and have room for, one more task of the shape."""
        fits = self.problem.feasible[shape].copy()
        self._close_full(fits, shape)
        return fits

    def fits_of(self, shapes: Iterable[int]) -> dict[int, Bool]:
        """Return ``fits`` of several shapes. Amounts that several of them ask for are compared once."""
        if self.ledgers:
            return {shape: self.fits(shape) for shape in shapes}
        limits = list(self.limits())
        enough: dict[tuple[int, int], Bool] = {}
        fits = {}
        for shape in shapes:
            room = self.problem.feasible[shape].copy()
            for limit, (amounts, left) in enumerate(limits):
                amount = int(amounts[shape])
                if amount > 0:
                    if (limit, amount) not in enough:
                        enough[limit, amount] = left >= amount
                    room &= enough[limit, amount]
            fits[shape] = room
        return fits

    def limits(self, machines: Int64 | None = None) -> Iterator[tuple[Int64, Int64]]:
        """Yield what a task of each shape takes, int64[S], and what machines have left of it, ledgers aside.

        Of every resource, then of every block of joint rows; of all machines, or of some: int64[A].
        """
        for amounts, left in zip(self.problem.requests.T, self.free, strict=True):
            yield amounts, left if machines is None else left.take(machines)
        for joint in self.joint:
            left = joint.get_per_machine(UNLIMITED)
            yield joint.rows.amount, left if machines is None else left.take(machines)

    def has_room(self, shape: int) -> Bool:
        """Return bool[M]: machines with room for one more task of the shape, whether or not it may go there."""
        room = np.ones(self.problem.machines, dtype=np.bool_)
        self._close_full(room, shape)
        return room

    def _close_full(self, machines: Bool, shape: int) -> None:
        """Take those out of ``machines`` (bool[M]) that have no room for one more task of a shape."""
        for column, amount in self._list_asked(shape):
            machines &= self.free[column] >= amount
        for joint in self.joint:
            joint.close_full(machines, shape)
        if self.ledgers:
            known_as = int(self.problem.map_to_ledgers(np.array([shape]))[0])
            for ledger in self.ledgers:
                machines &= ledger.count_room(known_as) > 0

    def units(self, shapes: Int64, machines: Int64) -> Int64:
        """Return how many tasks of ``shapes[i]`` fit ``machines[i]`` by themselves: int64[A], exact, at least
        0.

        On a row that stands for several machines, as many as fit one of them times their number.
        """
        units = np.full(len(shapes), np.iinfo(np.int64).max)
        for requests, free in zip(self.problem.requests.T, self.free, strict=True):
            amount = requests.take(shapes)
            limited = amount > 0
            if limited.all():
                np.minimum(units, free.take(machines) // amount, out=units)
            elif limited.any():
                units[limited] = np.minimum(units[limited], free[machines[limited]] // amount[limited])
        for joint in self.joint:
            joint.limit_units(units, shapes, machines)
        for ledger in self.ledgers:
            np.minimum(units, ledger.room_at(self.problem.map_to_ledgers(shapes), machines), out=units)
        units = np.maximum(units, 0)
        if self.problem.multiplicity is not None:
            units = np.minimum(units, int(self.remaining.sum())) * self.problem.multiplicity[machines]
        return units

    def has_room_on(self, shape: int, machine: int) -> bool:
        """Return whether one machine has room for one more task of the shape: ``has_room`` of it alone."""
        for column, amount in self._list_asked(shape):
            if self.free.item(column, machine) < amount:
                return False
        for joint in self.joint:
            if not joint.takes(shape, machine):
                return False
        if not self.ledgers:
            return True
        known_as, at = self.problem.map_to_ledgers(np.array([shape])), np.array([machine])
        return all(ledger.room_at(known_as, at)[0] > 0 for ledger in self.ledgers)

    def book_assignments(self, assigned: Assignments) -> None:
        """Book assignments that have been admitted: room, crowding, and tasks (longest waiting first)."""
        self.book(self.problem.shape[assigned.cls], assigned.machine, assigned.count)
        take_oldest(self.remaining, assigned)

    def _list_asked(self, shape: int) -> list[tuple[int, int]]:
        """Return columns of the resources that a shape asks for, with amounts: one task is looked at without
        numpy's costs.
        """
        found = self.amounts.get(shape)
        if found is None:
            amounts = self.problem.requests[shape].tolist()
            found = self.amounts[shape] = [
                (column, amount) for column, amount in enumerate(amounts) if amount
            ]
        return found

    def take_one(self, cls: int) -> None:
        """Take one task of a class, the longest waiting, off those that wait."""
        self.remaining[cls, np.argmax(self.remaining[cls] > 0)] -= 1

    def add(self, shape: int, machine: int, count: int = 1) -> None:
        """Book room and crowding of ``count`` tasks of a shape on one machine; negative: give it back.

        Raises ``ValueError`` for giving back to a ledger.
        """
        if self.ledgers:
            if count < 0:
                raise ValueError("a ledger gives nothing back")
            self.book(np.array([shape]), np.array([machine]), np.array([count]))
            return
        for column, amount in self._list_asked(shape):
            self.free[column, machine] -= amount * count
        self.placed[machine] += count
        for joint in self.joint:
            joint.add(shape, machine, count)

    def book(self, shapes: Int64, machines: Int64, counts: Int64) -> None:
        """Book room and crowding of ``counts[i]`` tasks of ``shapes[i]``; negative, if no ledgers are: give it back."""
        for column in range(self.problem.requests.shape[1]):
            np.subtract.at(self.free[column], machines, self.problem.requests[shapes, column] * counts)
        np.add.at(self.placed, machines, counts)
        for joint in self.joint:
            joint.book(shapes, machines, counts)
        for ledger in self.ledgers:
            ledger.book(self.problem.map_to_ledgers(shapes), machines, counts)


def take_oldest(waiting: Int64, assigned: Assignments) -> None:
    """Take what is assigned off ``waiting`` (int64[C, WAIT_BUCKETS]), of each class the longest waiting first."""
    per_class = assigned.count_per_class(len(waiting))
    for bucket in range(WAIT_BUCKETS):
        used = np.minimum(waiting[:, bucket], per_class)
        waiting[:, bucket] -= used
        per_class -= used


def machine_units(residual: Residual, classes: Int64) -> Int64:
    """Return upper bound on the tasks of ``classes`` that a machine can take together: int64[M].

    The room divided by the smallest request of any of them, resource by resource; a valid bound for every mix.
    """
    smallest = residual.problem.requests[residual.problem.shape[classes]].min(axis=0)
    units = np.full(residual.problem.machines, int(residual.remaining.sum()))
    for column, amount in enumerate(smallest.tolist()):
        if amount > 0:
            np.minimum(units, residual.free[column] // amount, out=units)
    return np.maximum(units, 0) * residual.problem.times()
