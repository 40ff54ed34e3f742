"""Records the placements of a round in the state of the cluster, after it has checked them against later events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress, repeat
from operator import eq
from typing import overload

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Int64
from firmament.core.commit.current_limits import LimitsNow
from firmament.core.commit.device_allocation import settle_assumed
from firmament.core.commit.revalidation import DecidedPlacements, Recheck
from firmament.core.constraints.ruleset import RuleSet
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.model import ClaimAllocation
from firmament.core.ranks import rank
from firmament.core.results import Delta, DeltaKind
from firmament.core.snapshot.grouping import RoundContext
from firmament.core.snapshot.snapshot import Snapshot
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase


class PlacementDeltas(Sequence[Delta]):
    """PLACE deltas kept as columns: a delta becomes an object only when code reads it.

    ``uids`` and ``machines`` have an entry per delta; ``depends_on``: by index, the uids that a delta depends on;
    ``allocations``: by index, the devices that a task got. Immutable.
    """

    __slots__ = ("allocations", "depends_on", "machines", "uids")
    __hash__ = None  # type: ignore[assignment]  # equal to any sequence of the same deltas

    def __init__(
        self,
        uids: Sequence[str],
        machines: Sequence[str],
        depends_on: Mapping[int, tuple[str, ...]] | None = None,
        allocations: Mapping[int, tuple[ClaimAllocation, ...]] | None = None,
    ) -> None:
        self.uids = uids
        self.machines = machines
        self.depends_on = depends_on or {}
        self.allocations = allocations or {}

    def __len__(self) -> int:
        return len(self.uids)

    def __iter__(self) -> Iterator[Delta]:
        """Yield all deltas in order, without a call for each of them, which would take several times longer."""
        depends: Iterable[tuple[str, ...]] = repeat(())
        if self.depends_on:
            depends = [self.depends_on.get(index, ()) for index in range(len(self.uids))]
        given: Iterable[tuple[ClaimAllocation, ...]] = repeat(())
        if self.allocations:
            given = [self.allocations.get(index, ()) for index in range(len(self.uids))]
        no = repeat(False)
        place = repeat(DeltaKind.PLACE)
        rows = zip(place, self.uids, self.machines, repeat(""), depends, no, no, given, strict=False)
        return map(partial(tuple.__new__, Delta), rows)

    @overload
    def __getitem__(self, index: int) -> Delta: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Delta, ...]: ...

    def __getitem__(self, index: int | slice) -> Delta | tuple[Delta, ...]:
        if isinstance(index, slice):
            return tuple(map(self.__getitem__, range(*index.indices(len(self)))))
        place = index % len(self)
        return Delta(
            DeltaKind.PLACE,
            self.uids[index],
            self.machines[index],
            depends_on=self.depends_on.get(place, ()),
            allocations=self.allocations.get(place, ()),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    def __repr__(self) -> str:
        return f"PlacementDeltas({list(self)!r})"


def assume_placements(
    context: RoundContext, snapshot: Snapshot, placed: Assignments, limits: LimitsNow | None = None
) -> PlacementDeltas:
    """Record tasks as assumed on the machines assigned to them, and return the deltas.

    In each class, the tasks that have waited longest come first. With rules between tasks, or ledgers that depend on
    the order, the deltas are in the order of the assignments, in which each delta is valid when it is made.

    If events arrived since the snapshot was taken, each placement is checked again (`revalidation`), against ``limits``
    if models were asked again. A task whose check fails stays pending, and its machine is marked as changed.
    """
    cluster, decided = context.cluster, _decide(snapshot, placed)
    ordered = keeps_order(snapshot, decided.cls, decided.row)
    if cluster.version == snapshot.version:
        transitions.assume(cluster, decided.task, decided.row)
        kept = np.ones(len(decided.task), dtype=np.bool_)
    else:
        kept = Recheck(context, snapshot, decided, ordered, limits).assume()
        for index in np.flatnonzero(~kept).tolist():
            cluster.mark(decided.machine[index])  # other tasks may use what is free there
    allocations: Mapping[int, tuple[ClaimAllocation, ...]] = {}
    if snapshot.problem.irrevocable:
        kept, allocations = settle_assumed(context, decided.task, kept, snapshot.assessed.machines.now)
    where = np.flatnonzero(kept)
    if ordered.any():
        cluster.number_arrivals(decided.task[where])
        for index in np.flatnonzero(ordered & kept).tolist():
            # A task that arrives first may change where later ones go, so a task that did not fit before may fit now.
            cluster.mark(decided.machine[index])
    uids, machines = decided.uid, decided.machine
    if not kept.all():
        uids = list(compress(uids, kept.tolist()))
        machines = list(compress(machines, kept.tolist()))
    depends_on = binding_dependencies(snapshot.problem.rules, decided.cls[where], decided.row[where], uids)
    if ordered.any():
        for place, leader in find_predecessors(
            cluster, decided.task[where], ordered[where], snapshot.arrival_number
        ).items():
            depends_on[place] = tuple(dict.fromkeys((*depends_on.get(place, ()), leader)))
    at = {int(index): place for place, index in enumerate(where)} if allocations else {}
    given = {at[index]: each for index, each in allocations.items()}
    return PlacementDeltas(uids, machines, depends_on, given)


def _decide(snapshot: Snapshot, placed: Assignments) -> DecidedPlacements:
    """Give each class's tasks, in order, to the machines assigned to the class.

    With a tree of machines, the order of machines is that of the tree.
    """
    placed = in_delta_order(snapshot.problem, placed)
    tasks = placed.tasks()
    cls, machine = tasks.cls, tasks.machine
    place = snapshot.first[cls] + rank(cls)
    return DecidedPlacements(
        cls,
        machine,
        snapshot.tasks[place],
        _choose(snapshot.uids, place),
        _choose(snapshot.machine_names, machine),
    )


def _choose(texts: Sequence[str], which: Int64) -> list[str]:
    """Return the texts whose indices are given.

    The function copies the texts into an array first, since reading scattered texts one by one waits for memory.
    """
    every: NDArray[np.object_] = np.fromiter(texts, dtype=np.object_, count=len(texts))
    return every[which].tolist()


def in_delta_order(problem: PlacementProblem, placed: Assignments) -> Assignments:
    """Return the assignments in the order in which the tasks of each class are given to them.

    The order of deltas is by class, then by machine (in the order of the tree if there is one). With rules between
    tasks, or with ledgers, the order is that in which the assignments were decided.
    """
    if problem.rules.of or problem.irrevocable:
        return placed
    rank = np.arange(problem.machines)
    if len(problem.gang):
        rank = problem.topology.rank_machines(problem.machines)
    by = placed.cls * np.int64(problem.machines) + rank[placed.machine]
    return placed.select(np.argsort(by, kind="stable"))


def list_decided_rows(members: Sequence[Int64], placed: Assignments) -> Int64:
    """Return the rows of the tasks that get the assignments: the first ``members`` (rows) of each class."""
    if len(placed.cls) == 0:
        return np.zeros(0, dtype=np.int64)
    taken = np.zeros(len(members), dtype=np.int64)
    np.add.at(taken, placed.cls, placed.count)
    return np.concatenate([rows[:count] for rows, count in zip(members, taken.tolist(), strict=True)])


# --- Dependencies between placements that are not bound yet: the ``depends_on`` of deltas.
#
# *Affinity*: a task that must be near another task is bound only after that task: if the binding of the other task
# failed, the task would be in the wrong place. One bound task in the domain is enough. If no task in the domain is
# bound, the task waits for the first task that was placed there. (Topology spread and anti-affinity make no binding
# wait: a binding that fails leaves an uneven domain or a free place, and the task's next placement corrects that.)
#
# *Chains*: a ledger may depend on the order of arrival (a kubelet gives each pod the lowest NUMA zone that fits). A
# placement on such a machine then depends on the placement before it: one in the same round or, for the first
# placement, the last one that an earlier round placed there and that is not bound yet.


def binding_dependencies(
    rules: RuleSet, cls: Int64, machine: Int64, uids: list[str]
) -> dict[int, tuple[str, ...]]:
    """Return, for each placement that must wait, by index, the uids that it waits for.

    ``cls``, ``machine``: int64[N], class and machine of the problem per placement, in order; ``uids``: their uids.
    """
    attracted = {each for each, own in rules.of.items() if own.attraction is not None}
    drawing = {
        number
        for own in rules.of.values()
        if own.attraction is not None
        for number in own.attraction.counters
    }
    if not drawing:
        return {}
    concerned = np.flatnonzero(
        np.isin(cls, [each for each, own in rules.of.items() if each in attracted or drawing & set(own.adds)])
    )
    first: dict[tuple[int, int], str] = dict(rules.unsettled)
    found: dict[int, tuple[str, ...]] = {}
    for index in concerned.tolist():
        each, at = int(cls[index]), int(machine[index])
        depends_on = _waits_for(rules, first, each, at)
        if depends_on:
            found[index] = depends_on
        for number in rules.rules(each).adds:
            domain = int(rules.counters[number].domain[at])
            if number in drawing and domain >= 0:
                first.setdefault((number, domain), uids[index])
    return found


def _waits_for(rules: RuleSet, first: dict[tuple[int, int], str], cls: int, machine: int) -> tuple[str, ...]:
    attraction = rules.rules(cls).attraction
    if attraction is None:
        return ()
    depends_on = []
    for number in attraction.counters:
        domain = int(rules.counters[number].domain[machine])
        if domain >= 0 and not rules.counters[number].settled[domain]:
            leader = first.get((number, domain))
            if leader is not None:
                depends_on.append(leader)
    return tuple(dict.fromkeys(depends_on))


def keeps_order(snapshot: Snapshot, cls: Int64, row: Int64) -> Bool:
    """Return which placements must reach their machines in order because a ledger depends on it: bool[N].

    ``cls``, ``row``: int64[N], classes and machine rows of the problem of the snapshot.
    """
    kept: Bool = np.zeros(len(cls), dtype=np.bool_)
    shapes = snapshot.problem.map_to_ledgers(snapshot.problem.shape[cls])
    for ledger in snapshot.problem.ledgers:
        kept |= ledger.find_ordered(shapes, row)
    return kept


def find_predecessors(cluster: Cluster, tasks: Int64, ordered: Bool, arrival_number: int) -> dict[int, str]:
    """Return, by index of a placement, the uid of the task on its machine that must be bound before it.

    ``tasks``: int64[N], rows of tasks that have just been assumed, in the order in which they were admitted;
    ``ordered``: bool[N]. Tasks whose arrival number exceeds ``arrival_number`` are those of this round. Placements
    that wait for no task are left out.
    """
    table = cluster.tasks
    indices = np.flatnonzero(ordered)
    last: dict[int, str] = {}
    if len(indices):
        earlier = table.in_state(TaskPhase.ASSUMED)
        earlier = earlier[table.arrival_number[earlier] <= arrival_number]
        earlier = earlier[np.argsort(table.arrival_number[earlier], kind="stable")]
        last = {int(table.machine[task]): table.uid[task] for task in earlier.tolist()}
    waits = {}
    for index in indices.tolist():
        task = int(tasks[index])
        at = int(table.machine[task])
        if at in last:
            waits[index] = last[at]
        last[at] = table.uid[task]
    return waits
