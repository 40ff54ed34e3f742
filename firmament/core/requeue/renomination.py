"""Moves tasks that wait for their victims to leave to another machine, if one has become free meanwhile.

A task that waits for victims keeps its machine until it has another one. In a round, a task that waits for victims
comes after all tasks of equal priority without a machine, so no other task is evicted for the move. If no task
depends on an eviction any more, the eviction is withdrawn (see ``evictions``).

Some of the tasks that wait for victims do not move. Members of gangs, tasks that others want near them or are spread
with, and tasks in pairs stay because other tasks may have been placed because of them. Tasks that got devices with
their machine, or that a ledger counts in order of arrival, stay too. A task that others only want to stay away from
may move, because no task was placed near it on purpose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.commit.placements import keeps_order
from firmament.core.constraints.ruleset import ClassRules
from firmament.core.requeue.queueing_hints import FeasibleMachines
from firmament.core.results import Delta, DeltaKind
from firmament.core.rules.registry import compile_rules
from firmament.core.rules.task_amounts import find_settled
from firmament.core.snapshot.snapshot import Snapshot
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from firmament.core.state.pending_evictions import PendingEvictions
from firmament.core.state.tasks import TaskPhase


class Renominations:
    """The tasks that wait for victims to leave, and may get another machine meanwhile."""

    def __init__(self, evictions: PendingEvictions) -> None:
        self._evictions = evictions
        self._requeued: dict[int, int] = {}
        self._called: dict[int, int] = {}
        self._lifted: list[transitions.Lifted] = []

    # --- before a round ------------------------------------------------------------------------------------------

    def note_changes(self, cluster: Cluster, feasible: FeasibleMachines) -> None:
        """Mark for the next round the tasks that a changed machine could take, or that no longer need to wait."""
        if not cluster.dirty.any_machine:
            return
        waiting = self._evictions.waiting(cluster)
        waiting = waiting[cluster.tasks.machine[waiting] >= 0]
        if not len(waiting):
            return
        rows = np.arange(len(cluster.machines)) if cluster.dirty.everywhere else cluster.dirty.rows()
        free, classes = cluster.free()[rows], cluster.tasks.cls[waiting]
        takes = [
            cls
            for cls in np.unique(classes).tolist()
            if len(feasible.find_feasible(rows, free, cls, waiting[classes == cls]))
        ]
        requeued = np.isin(classes, takes)  # This check ignores cost models and rules.
        requeued |= np.isin(cluster.tasks.machine[waiting], rows) & _at_ease(cluster, waiting)
        tasks, gangs = cluster.tasks, cluster.jobs.gangs
        found = np.array(
            [
                task
                for task in waiting[requeued].tolist()
                if tasks.job[task] not in gangs and self._evictions.awaits_victims(cluster, task)
            ],
            dtype=np.int64,
        )
        if len(found):
            found = found[~_find_tied(cluster, found)]
        if len(found) and (settled := find_settled(cluster)):
            found = found[~np.isin(cluster.tasks.cls[found], sorted(settled))]
        self._requeued.update((task, int(tasks.arrival_number[task])) for task in found.tolist())

    def due(self, cluster: Cluster) -> bool:
        """Return whether a round could give some task that waits for victims another machine."""
        return bool(self._still_waiting(cluster, self._requeued))

    def list_called(self, cluster: Cluster) -> Int64:
        """Return the rows of the tasks waiting for victims that take part in the round that begins.

        After the round is closed, none of these tasks takes part again before a further change.
        """
        self._called = self._still_waiting(cluster, self._called | self._requeued)
        self._requeued = {}
        return np.array(sorted(self._called), dtype=np.int64)

    def postpone(self, rows: Int64) -> None:
        """Postpone those of ``rows`` that take part in this round to a later one."""
        for task in rows.tolist():
            if task in self._called:
                self._requeued[task] = self._called.pop(task)

    def _still_waiting(self, cluster: Cluster, tasks: dict[int, int]) -> dict[int, int]:
        """Return those of ``tasks`` (row -> arrival number) that still wait for the same machine."""
        table = cluster.tasks
        return {
            task: arrival_number
            for task, arrival_number in tasks.items()
            if table.state[task] == TaskPhase.ASSUMED
            and table.arrival_number[task] == arrival_number
            and table.machine[task] >= 0
            and self._evictions.awaits_victims(cluster, task)
        }

    # --- after a round -------------------------------------------------------------------------------------------

    def begin(self, cluster: Cluster) -> None:
        """Let those of this round's tasks that still wait for victims be placed as if they had no machine.

        What these tasks hold on their machines stays booked.
        """
        waiting = self._still_waiting(cluster, self._called)
        if len(waiting) < len(self._called):
            # A task that no longer waits must not be moved; the new version makes the round check its placements.
            cluster.version += 1
        self._lifted += [transitions.lift(cluster, task) for task in waiting]

    def finish(self, cluster: Cluster, snapshot: Snapshot) -> list[Delta]:
        """Give tasks that got no other machine their former machine back, and release the capacity of those that moved.

        Return the deltas for tasks that may take their present machine at once.
        """
        stayed = []
        for lifted in self._lifted:
            if cluster.tasks.state[lifted.task] == TaskPhase.PENDING:
                transitions.put_back(cluster, lifted)
                stayed.append(lifted.task)
            else:
                transitions.leave_former(cluster, lifted)
        self._lifted.clear()
        self._called.clear()
        return _settle(cluster, snapshot, stayed)


def _find_tied(cluster: Cluster, rows: Int64) -> Bool:
    """Return which tasks may be the reason for other tasks' machines, by rules between tasks or by pairs: bool[N].

    A task that only keeps others away, for example by ports or anti-affinity, is not a reason for other tasks'
    machines.
    """
    tasks, table = cluster.tasks, cluster.classes.rows
    classes = tasks.cls[rows]
    tied = {
        cls
        for cls in np.unique(classes).tolist()
        if any(key in cluster.needs.kind_labels for key, _ in table[cls].content.labels)
    }
    pending = tasks.cls[tasks.in_state(TaskPhase.PENDING)]
    together = np.unique(np.append(pending, classes)).tolist()
    rules = compile_rules(cluster, together)
    drawing = {number for each in rules.of.values() for number in _drawing(each)}
    tied.update(
        together[index]
        for index, each in rules.of.items()
        if each.attraction or each.spreadings or each.soft or not drawing.isdisjoint(each.adds)
    )
    tied_rows: Bool = np.isin(classes, sorted(tied))
    return tied_rows


def _drawing(rules: ClassRules) -> Iterator[int]:
    """Yield the counters of the tasks to which tasks of a class are attracted, or with which they are spread."""
    if rules.attraction is not None:
        yield from rules.attraction.counters
    yield from (each.counter for each in rules.spreadings)
    yield from (each.counter for each in rules.soft_spreadings)
    yield from (each.counter for each in rules.inclinations)


def _at_ease(cluster: Cluster, rows: Int64) -> Bool:
    """Return the tasks that fit on their machine although no victim has left it: bool[N]."""
    tasks = cluster.tasks
    free = cluster.free()[tasks.machine[rows]]
    requests, _ = cluster.demand_of(tasks.cls[rows])
    enough: Bool = ((free >= 0) | (requests == 0)).all(axis=1)
    return enough & ~tasks.displacing[rows]


def _settle(cluster: Cluster, snapshot: Snapshot, stayed: Iterable[int]) -> list[Delta]:
    """Return placements on their present machines for tasks (rows) that no longer have to wait for victims."""
    tasks = cluster.tasks
    rows = np.array(list(stayed), dtype=np.int64)
    if not len(rows):
        return []
    deltas = []
    for task in rows[_at_ease(cluster, rows)].tolist():
        name = cluster.where(task)
        if _needs_room_alone(snapshot, task, name):
            cluster.number_arrival(task)
            deltas.append(Delta(DeltaKind.PLACE, tasks.uid[task], name))
    return deltas


def _needs_room_alone(snapshot: Snapshot, task: int, name: str) -> bool:
    """Return whether free resources alone decide if a task (row) may be on a machine.

    If free resources alone decide, neither models nor rules between tasks matter.

    The result is False for a task that did not take part in the round, as the round says nothing about that task.
    """
    cls = next((index for index, members in enumerate(snapshot.members) if task in members), -1)
    if cls < 0:
        return False
    problem, shape = snapshot.problem, int(snapshot.problem.shape[cls])
    machine = snapshot.machine_names.index(name) if name in snapshot.machine_names else -1
    if machine < 0 or not problem.feasible[shape, machine]:
        return False
    if any(rows.row_of[machine] >= 0 and rows.amount[shape] > 0 for rows in problem.joint):
        return False
    if problem.quotas is not None and problem.quotas.draw[shape] >= 0:
        return False
    if problem.rules.rules(cls).binding:
        return False
    return not keeps_order(snapshot, np.array([cls]), np.array([machine]))[0]
