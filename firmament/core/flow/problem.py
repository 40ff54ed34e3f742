"""Defines a round's placement problem as columns of arrays, and placements of its tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from cost_models.interface import Bool, Int64, JointRows, Ledger, RoomAfterEviction
from firmament.core.constraints.default_spread import NO_SPREAD, SpreadTerms
from firmament.core.constraints.pairs import NO_PAIRS, PairRules
from firmament.core.constraints.quota_terms import QuotaTerms
from firmament.core.constraints.ruleset import NO_RULES, RuleSet
from firmament.core.flow.heights_and_prices import NO_HEIGHTS, DualPrices, RoundHeights
from firmament.core.ranks import count_distinct
from firmament.core.tree_solver.groups import NO_GROUPS, GroupTerms
from firmament.solvers.base import Int32

WAIT_BUCKETS = 4
"""Number of parallel unscheduled arcs of a class.
The longer a task has waited, the more it costs to leave it waiting.
"""

COST_UNITS_PER_POINT = 100
"""Network costs are whole numbers of *units*; one point of a cost model is this many units."""


class Costing(Protocol):
    """A family of costs in which the cost of a task depends on other tasks."""

    def compute_cost(self, classes: Int64, shapes: Int64, machines: Int64, counts: Int64) -> float:
        """Return the cost units of ``counts[i]`` tasks of ``classes[i]``, of ``shapes[i]``, on ``machines[i]``."""


@dataclass(frozen=True, slots=True)
class PlacementProblem:
    """The tasks to be placed, where each may go, and at what cost; immutable.

    C classes, S shapes, M machines, K resources, G gangs.
    """

    counts: Int64
    """int64[C, WAIT_BUCKETS], number of waiting tasks; those in bucket 0 have waited longest."""
    priority: Int64
    """int64[C], priority as a rank, 0 the lowest."""
    shape: Int64
    """int64[C], row of each class in the shape arrays."""
    requests: Int64
    """int64[S, K], what one task of each shape requests."""
    feasible: Bool
    """bool[S, M], machines where a shape may go by all rules except capacity."""
    cost: Int32
    """int32[S, M], units that the models charge for a task."""
    crowd: Int64
    """int64[M], units of cost by which each task placed there in the round raises the cost of the next task."""
    free: Int64
    """int64[M, K], free amounts at the start, negative if overcommitted; of one machine if a row stands for several."""
    rotation: int = 0
    """Row of the machine at which the first class begins among machines of equal cost."""
    pins: Mapping[int, Int64] = field(default_factory=dict)
    """The machine rows, sorted, to which a class with pins is confined."""
    joint: tuple[JointRows, ...] = ()
    """Limits shared by several arcs, besides the machines' resource vectors."""
    quotas: QuotaTerms | None = None
    """Quotas that tasks draw on, whatever machine they are on; None if there are no quotas."""
    ledgers: tuple[Ledger, ...] = ()
    """Shared capacity that no joint row can express, by rows of ``model_shape``.

    Placing works on copies of the ledgers.
    """
    rooms_after_eviction: tuple[RoomAfterEviction | None, ...] = ()
    """For each ledger, whether evictions free capacity in it, by shapes of this problem; None if they cannot."""
    held: Bool | None = None
    """bool[S, M], machines that refuse a shape only because of tasks that run there; None if there are none."""
    model_shape: Int64 | None = None
    """int64[S], the number of each shape in the ledgers; None if it is the shape itself."""
    most: Mapping[int, int] = field(default_factory=dict)
    """Most tasks of a class on one machine in this problem, for classes with such a limit."""
    rules: RuleSet = NO_RULES
    """Rules between tasks."""
    pairs: PairRules = NO_PAIRS
    """Costs and limits of pairs of tasks."""
    gang: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[C], gang of each class, numbered by age, -1 for none; empty without gangs."""
    gang_need: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[G], how many tasks of each gang must be placed if any of its tasks is placed."""
    topology: GroupTerms = NO_GROUPS
    """Which gangs are distributed over a tree of machines, and how."""
    multiplicity: Int64 | None = None
    """int64[M], number of alike machines that each row stands for; None: each row is one machine."""
    heights: RoundHeights = NO_HEIGHTS
    """Models' costs for the sizes of tasks; the network counts all tasks as equally large."""
    spread: SpreadTerms = NO_SPREAD
    """Groups of tasks that prefer to be on different machines, which the network ignores."""
    dual_prices: DualPrices | None = None
    """Dual prices of shapes (numbered as in ledgers), from an earlier round; None if unknown.
    These prices guide the choice of columns.
    """

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.shape)

    @property
    def machines(self) -> int:
        """The number of machine rows."""
        return int(self.free.shape[0])

    def split_by_gang(self) -> list[Int64]:
        """Return the classes of each gang, ascending: int64 per gang, in the order of ``gang_need``."""
        classes = np.flatnonzero(self.gang >= 0)
        classes = classes[np.argsort(self.gang[classes], kind="stable")]
        gangs = len(self.gang_need)
        return np.split(classes, np.searchsorted(self.gang[classes], np.arange(1, gangs)))[:gangs]

    def list_costing(self) -> list[Costing]:
        """Return the families of costs that depend on several tasks together and so are on no arc of the network."""
        families: tuple[Costing, ...] = (self.pairs, self.heights, self.spread)
        nothing = (NO_PAIRS, NO_HEIGHTS, NO_SPREAD)
        return [each for each, none in zip(families, nothing, strict=True) if each is not none]

    def derive(self, **changes: Any) -> PlacementProblem:
        """Return a problem with ``changes``, without what networks ignore: task rules, pairs, sizes and spread."""
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
        """Whether the cost or feasibility of a task depends on where other tasks of the round go: by rules or pairs."""
        return bool(self.rules.of) or self.pairs.terms.steers

    @property
    def irrevocable(self) -> bool:
        """Whether placements cannot be undone, because ledgers book tasks in the order in which they come."""
        return bool(self.ledgers)

    @property
    def shares_room(self) -> bool:
        """Whether tasks on different machines may use up a common limit: a quota, a joint row or a ledger."""
        return self.quotas is not None or self.irrevocable or any(rows.shared for rows in self.joint)

    @property
    def takes_requests_alone(self) -> bool:
        """Whether tasks use nothing of machines but their requests: there are no joint rows and no ledgers."""
        return not (self.joint or self.ledgers)

    def find_grouped(self) -> Bool:
        """Return which classes belong to a group that is distributed over a tree of machines: bool[C]."""
        if not len(self.gang):
            return np.zeros(self.classes, dtype=np.bool_)
        return self.topology.find_grouped(self.gang)

    def crowd_step(self) -> int:
        """Return how many tasks share one step of crowding: 1, or more if machines get dozens of tasks in one round."""
        machines = self.machines if self.multiplicity is None else int(self.multiplicity.sum())
        return max(1, int(self.counts.sum()) // (16 * max(1, machines)))

    def map_to_ledgers(self, shapes: Int64) -> Int64:
        """Return the numbers of ``shapes`` in the ledgers: int64[A]."""
        return shapes if self.model_shape is None else self.model_shape[shapes]

    def times(self) -> Int64:
        """Return how many machines each row stands for: ``multiplicity``, or 1 each if it is None: int64[M]."""
        return np.ones(self.machines, dtype=np.int64) if self.multiplicity is None else self.multiplicity

    def make_key(self, classes: list[int], counts: list[int]) -> list[tuple[int, int, bytes]]:
        """Return a key of ``counts[i]`` tasks of ``classes[i]``, equal for sets of tasks with equal shapes and pins."""
        pins = [self.pins[cls].tobytes() if cls in self.pins else b"" for cls in classes]
        return sorted(zip(self.shape[classes].tolist(), counts, pins, strict=True))

    def pins_allow(self, cls: int, machine: int) -> bool:
        """Return whether a class may use a machine by its pins: it has none, or the machine is among them."""
        pins = self.pins.get(cls)
        return pins is None or bool((pins == machine).any())

    def limit_to_pins(self, cls: int, machines: Bool) -> Bool:
        """Return ``machines`` (bool[M]) without those outside a class's pins; the same array if it has no pins."""
        if cls not in self.pins:
            return machines
        inside = np.zeros_like(machines)
        inside[self.pins[cls]] = machines[self.pins[cls]]
        return inside


@dataclass(frozen=True, slots=True)
class Assignments:
    """Placed tasks, aggregated: ``count[i]`` tasks of class ``cls[i]`` on ``machine[i]``; int64[A] each.

    Pairs of class and machine may repeat; counts are positive.
    """

    cls: Int64
    machine: Int64
    count: Int64

    @classmethod
    def empty(cls) -> Assignments:
        """Return assignments without any task."""
        return cls.from_single_tasks(())

    @classmethod
    def single(cls, task_class: int, machine: int) -> Assignments:
        """Return assignments with one task in them."""
        return cls.from_single_tasks([(task_class, machine)])

    @classmethod
    def from_single_tasks(cls, tasks: Sequence[tuple[int, int]]) -> Assignments:
        """Return one entry per task, in this order; ``tasks``: class and machine of each."""
        pairs = np.array(tasks, dtype=np.int64).reshape(-1, 2)
        return cls(pairs[:, 0], pairs[:, 1], np.ones(len(pairs), dtype=np.int64))

    @classmethod
    def count_pairs(cls, classes: Int64, machines: Int64) -> Assignments:
        """Return one entry per pair of class and machine, sorted, with its number of tasks.

        ``classes``, ``machines``: int64[N], class and machine of each task.
        """
        width = 1 + machines.max(initial=0)
        pairs, count = count_distinct(classes * width + machines)
        return cls(*np.divmod(pairs, width), count)

    @classmethod
    def join(cls, parts: list[Assignments]) -> Assignments:
        """Return the assignments of all ``parts``, in order."""
        if not parts:
            return cls.empty()
        return cls(
            np.concatenate([part.cls for part in parts]),
            np.concatenate([part.machine for part in parts]),
            np.concatenate([part.count for part in parts]),
        )

    def select(self, where: Bool | Int64) -> Assignments:
        """Return the entries that ``where`` (bool[A], or indices) selects, in their order."""
        return Assignments(self.cls[where], self.machine[where], self.count[where])

    def tasks(self) -> Assignments:
        """Return the same assignments with one entry per task."""
        cls, machine = np.repeat(self.cls, self.count), np.repeat(self.machine, self.count)
        return Assignments(cls, machine, np.ones(len(cls), dtype=np.int64))

    def entries(self) -> Iterator[tuple[int, int, int]]:
        """Return class, machine and count of each entry."""
        return zip(self.cls.tolist(), self.machine.tolist(), self.count.tolist(), strict=True)

    def count_per_class(self, classes: int) -> Int64:
        """Return the number of tasks of each class: int64[C]."""
        return np.bincount(self.cls, weights=self.count, minlength=classes).astype(np.int64)

    def count_per_machine(self, machines: int) -> Int64:
        """Return the number of tasks on each machine: int64[M]."""
        return np.bincount(self.machine, weights=self.count, minlength=machines).astype(np.int64)


def take_oldest(waiting: Int64, assigned: Assignments) -> None:
    """Remove assigned tasks from ``waiting`` (int64[C, WAIT_BUCKETS]), the longest waiting of each class first."""
    per_class = assigned.count_per_class(len(waiting))
    for bucket in range(WAIT_BUCKETS):
        used = np.minimum(waiting[:, bucket], per_class)
        waiting[:, bucket] -= used
        per_class -= used
