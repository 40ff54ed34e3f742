"""Tries with rounds of a separate scheduler where the tasks of cordoned machines would go.

In a trial, every rule and every cost model therefore counts as in ordinary rounds. Emptied machines still exist, as
they do while their tasks leave: they remain domains of topology spread, and tasks that end with their machine stay on
them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from firmament.core.changes import NO_CHANGE, TrialChange
from firmament.core.events import (
    ClassDefined,
    ClassRemoved,
    Event,
    JobDefined,
    MachineRemoved,
    MachineUpserted,
    RecordRemoved,
    RecordUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job, Machine, TaskClass
from firmament.core.reasons import Cause
from firmament.core.record_kinds import DEVICE_SLICE_RECORD
from firmament.core.rescheduling.rehearsal import rehearse_waves, run_rounds
from firmament.core.rescheduling.trial_cluster import MachineSets, TrialCluster
from firmament.core.results import DeltaKind
from firmament.core.rules.devices.cures import read_local_slices
from firmament.core.rules.node_unschedulable import cordon
from firmament.core.rules.registry import NodeRules
from firmament.core.scheduler import Scheduler

_CHANGED_CLASS = 2**62 - 1
"""Number of a changed class that is tried; the numbers of drivers begin at 0."""


class TogetherChange(NamedTuple):
    """A change that is tried for tasks that wait together; None leaves a field unchanged.

    ``content``: another content of the class; ``machines``: more machines; ``first``: only this many tasks; ``job``:
    another job in place of the ``former`` one.
    """

    content: TaskClass | None = None
    machines: tuple[Machine, ...] = ()
    first: int | None = None
    job: Job | None = None
    former: Job | None = None


class TrialState(NamedTuple):
    """A state of trials: the emptied machines, in order, and the machines of tasks that have moved (uid -> machine)."""

    emptied: tuple[str, ...]
    moved: dict[str, str]


class Trials(TrialCluster):
    """A trial scheduler that knows the running tasks from ``events``, but not the waiting tasks.

    Machines are emptied one after another; ``emptied``: these machines in order; ``moved``: uid -> machine, for tasks
    that moved because of that. All other tasks stay on their machines. ``TrialCluster`` answers which task is where,
    and what is free.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        events: Sequence[Event],
        removed: Collection[str] = (),
        *,
        is_told: bool = False,
    ) -> None:
        """``removed``: as in ``TrialCluster``.

        ``is_told``: whether the scheduler has received the events of the cluster already, and no task waits.
        """
        kept = [each for each in events if not isinstance(each, TasksSubmitted)]
        super().__init__(kept, removed)
        self._scheduler = scheduler
        self.stuck: frozenset[str] = frozenset()
        """Machines because of which the last try failed; empty if no round was tried.

        Some tasks of these machines found no place, while the tasks of all other machines did.
        """
        scheduler.let_devices_move()
        if not is_told:
            scheduler.apply(kept)
        self._slices = [
            each.payload
            for each in kept
            if isinstance(each, RecordUpserted) and each.kind == DEVICE_SLICE_RECORD
        ]
        self._slices_of: dict[str, tuple[Mapping[str, Any], ...]] | None = None
        self._open_to: MachineSets | None = None

    def empty(self, machines: Sequence[str]) -> bool:
        """Empty more machines if all of their tasks have places elsewhere; return whether this succeeded.

        If not, nothing changes. A task that would return to a cordoned machine, because it tolerates the cordon, counts
        as having no place.
        """
        uids = [uid for name in machines for uid in self.tasks_on(name)]
        self.stuck = frozenset()
        if self._open_to is None:
            self._open_to = self._find_open()
        if not self._may_fit(machines, uids, self._open_to):
            return False
        former = {uid: self.place_of(uid) for uid in uids}
        self._scheduler.apply(
            [
                *(TaskRemoved(uid) for uid in uids),
                *map(self._cordon, machines),
                *(self._submit(self._tasks[uid]) for uid in uids),
            ]
        )
        found = self._place_some(len(uids))
        closed = {*self.emptied, *machines}
        if len(found) < len(uids) or not closed.isdisjoint(found.values()):
            self.stuck = frozenset(former[uid] for uid in uids if uid not in found or found[uid] in closed)
            self._put_back(machines, former)
            return False
        self._scheduler.apply(self._list_bound(found))
        self.emptied.update(dict.fromkeys(machines))
        for uid, name in found.items():
            self._settle(uid, name)
        return True

    def rehearse(self, waves: Iterable[Mapping[str, str]], cordoned: Iterable[str]) -> set[str]:
        """Return the tasks that do not get their targets when moves are made in waves, as ``rehearse_waves`` does.

        Before the waves, the machines ``cordoned`` are cordoned. After the rehearsal, nothing else can be tried.
        """
        self._scheduler.apply([self._cordon(name) for name in cordoned])
        return rehearse_waves(self._scheduler, waves)

    def keep_for(self, waiting: Sequence[TasksSubmitted]) -> dict[str, str]:
        """Assign emptied machines, as few as possible, to waiting tasks; return the machine of each such task (by uid).

        An assigned machine no longer counts as emptied, though its own tasks stay on other machines: waiting tasks
        come first. The function offers emptied machines: first one, then twice as many each time, until as many tasks
        get a place as with all of them.
        """
        if not waiting or not self.emptied:
            return {}
        ranked = _by_rank(waiting, self._priority)
        wanted = self._places_on_emptied(ranked, tuple(self.emptied))
        found: dict[str, str] = {}
        candidates = sorted({*wanted.values()}, key=list(self.emptied).index)
        some = 1
        while candidates and len(found) < len(wanted):
            found = self._places_on_emptied(ranked, candidates[:some])
            if some >= len(candidates):
                break
            some *= 2
        for name in {*found.values()}:
            del self.emptied[name]
        return found

    def _places_on_emptied(
        self, waiting: Sequence[TasksSubmitted], machines: Sequence[str]
    ) -> dict[str, str]:
        """Return, by uid of a waiting task, the emptied machine that it would get if ``machines`` took tasks."""
        coming = [uid for each in waiting for uid in each.uids]
        self._scheduler.apply([*(MachineUpserted(self._machines[name]) for name in machines), *waiting])
        found: dict[str, str] = {}
        for deltas in run_rounds(self._scheduler):
            found.update((each.uid, each.machine) for each in deltas if each.kind is DeltaKind.PLACE)
        self._scheduler.apply([*(TaskRemoved(uid) for uid in coming), *map(self._cordon, machines)])
        return {uid: name for uid, name in found.items() if name in self.emptied}

    def try_moves(self, uids: Sequence[str], waiting: Sequence[TasksSubmitted]) -> Mapping[str, str] | None:
        """Return where ``uids`` and waiting tasks would be if all were placed anew; None unless all have places.

        Afterwards all tasks are where they were.
        """
        coming = [uid for each in waiting for uid in each.uids]
        former = {uid: self.place_of(uid) for uid in uids}
        self._scheduler.apply(
            [
                *(TaskRemoved(uid) for uid in uids),
                *(self._submit(self._tasks[uid]) for uid in uids),
                *(replace(each, priority=self._priority, group_priority=None) for each in waiting),
            ]
        )
        found = self._place_all(len(uids) + len(coming))
        self._scheduler.apply(
            [
                *(TaskRemoved(uid) for uid in (*uids, *coming)),
                *self._list_bound(former),
            ]
        )
        return found

    @property
    def rules(self) -> NodeRules:
        """The scheduler's rules about machines."""
        return self._scheduler.rules

    def list_slices(self, machine: str) -> tuple[Mapping[str, Any], ...]:
        """Return the specs of the ResourceSlices of this machine alone."""
        if self._slices_of is None:
            self._slices_of = read_local_slices(self._slices)
        return self._slices_of.get(machine, ())

    def refusals(self, task: TasksSubmitted, change: TrialChange = NO_CHANGE) -> dict[str, tuple[Cause, ...]]:
        """Return the machines that refuse a task (one uid) after a change, and the causes."""
        with self._change(task, change):
            verdicts = self._scheduler.explain(task.uids[0]).machines
        return {each.machine: each.causes for each in verdicts if each.causes}

    def place_with(self, task: TasksSubmitted, change: TrialChange) -> str | None:
        """Return the machine that a waiting task (one uid) would get after a change, or None."""
        with self._change(task, change):
            found = self._place_all(1)
        return None if found is None else found[task.uids[0]]

    def find_places_of_all(
        self, waiting: Sequence[TasksSubmitted], change: TogetherChange, others: Sequence[TasksSubmitted]
    ) -> Mapping[str, str] | None:
        """Return the machine of each ``waiting`` task after a change, by uid; None if one of them gets no machine.

        ``others`` are further waiting tasks, and may be more important. If the change has a ``content``, all
        ``waiting`` tasks are of one class, which gets the content.
        """
        number = _CHANGED_CLASS
        coming = [
            each if change.content is None else replace(each, task_class=number)
            for each in _list_first(waiting, change.first)
        ]
        wanted = {uid for each in coming for uid in each.uids}
        events: list[Event] = [MachineUpserted(each) for each in change.machines]
        undo: list[Event] = [TaskRemoved(uid) for each in (*coming, *others) for uid in each.uids]
        undo += [MachineRemoved(each.name) for each in change.machines]
        if change.content is not None:
            events.append(ClassDefined(number, change.content))
            undo.append(ClassRemoved(number))
        if change.job is not None and change.former is not None:
            events.append(JobDefined(change.job))
            undo.append(JobDefined(change.former))
        self._scheduler.apply([*events, *_by_rank((*coming, *others), self._priority)])
        found: dict[str, str] = {}
        try:
            for deltas in run_rounds(self._scheduler):
                found.update((each.uid, each.machine) for each in deltas if each.kind is DeltaKind.PLACE)
                if wanted <= found.keys():
                    break
        finally:
            self._scheduler.apply(undo)
        return {uid: found[uid] for uid in found if uid in wanted} if wanted <= found.keys() else None

    def find_places_until_placed(
        self, task: TasksSubmitted, change: TrialChange, others: Sequence[TasksSubmitted]
    ) -> Mapping[str, str]:
        """Return which machines ``task`` (one uid) and the waiting ``others`` would get after a change, by uid.

        Rounds end once ``task`` has a machine. Tasks come in the order of their priorities, and no running task is
        evicted.
        """
        own, *coming = _by_rank((task, *others), self._priority)
        found: dict[str, str] = {}
        with self._change(task, change, own.priority):
            self._scheduler.apply(coming)
            try:
                for deltas in run_rounds(self._scheduler):
                    found.update((each.uid, each.machine) for each in deltas if each.kind is DeltaKind.PLACE)
                    if task.uids[0] in found:
                        break
            finally:
                self._scheduler.apply([TaskRemoved(uid) for each in others for uid in each.uids])
        return found

    @contextmanager
    def _change(
        self, task: TasksSubmitted, change: TrialChange, priority: int | None = None
    ) -> Iterator[None]:
        """Submit a task under a change for the duration of the context; ``priority`` None: the task evicts no other."""
        number = task.task_class if change.content is None else _CHANGED_CLASS
        events: list[Event] = []
        undo: list[Event] = [TaskRemoved(task.uids[0])]
        if change.content is not None:
            events.append(ClassDefined(number, change.content))
            undo.append(ClassRemoved(number))
        if change.machine is not None:
            events.append(MachineUpserted(change.machine))
            former = self._machines.get(change.machine.name)
            undo.append(MachineRemoved(change.machine.name) if former is None else MachineUpserted(former))
        for name, spec in change.slices:
            events.append(RecordUpserted(DEVICE_SLICE_RECORD, name, json.dumps(spec).encode()))
            undo.append(RecordRemoved(DEVICE_SLICE_RECORD, name))
        priority = self._priority if priority is None else priority
        waiting = replace(task, task_class=number, priority=priority, group_priority=None)
        self._scheduler.apply([*events, waiting])
        try:
            yield
        finally:
            self._scheduler.apply(undo)

    def give_back(self, machine: str) -> None:
        """Uncordon an emptied machine, and return its own tasks to it."""
        del self.emptied[machine]
        self._return([machine], dict.fromkeys(self._home.get(machine, ()), machine))

    def save(self) -> TrialState:
        """Return the present state, for ``restore``."""
        return TrialState(tuple(self.emptied), dict(self.moved))

    def restore(self, saved: TrialState) -> None:
        """Return all machines and tasks to a saved state."""
        emptied = dict.fromkeys(saved.emptied)
        returning = [name for name in self.emptied if name not in emptied]
        leaving = [name for name in emptied if name not in self.emptied]
        places = {uid: saved.moved.get(uid, self._tasks[uid].machine) for uid in self.moved | saved.moved}
        changed = {uid: name for uid, name in places.items() if name != self.place_of(uid)}
        self.emptied = emptied
        self._return(returning, changed)
        self._scheduler.apply(list(map(self._cordon, leaving)))

    def _return(self, machines: Sequence[str], places: Mapping[str, str]) -> None:
        """Let machines take tasks again, and record that tasks are at these places."""
        self._put_back(machines, places)
        for uid, name in places.items():
            self._settle(uid, name)

    def _put_back(self, machines: Sequence[str], places: Mapping[str, str]) -> None:
        """Send the scheduler the events that uncordon machines and put tasks at these places."""
        self._scheduler.apply(
            [
                *(TaskRemoved(uid) for uid in places),
                *(MachineUpserted(self._machines[name]) for name in machines),
                *self._list_bound(places),
            ]
        )

    def _find_open(self) -> MachineSets:
        """Return the machines that node rules open to each class; to be called before any machine is emptied."""
        one_of = self._one_of_each_class()
        found = self._scheduler.find_open_machines([*one_of.values()], [*self._machines])
        numbers: dict[int, int] = {}
        of_class = {
            cls: numbers.setdefault(id(row), len(numbers)) for cls, row in zip(one_of, found, strict=True)
        }
        return MachineSets([*{id(row): row for row in found}.values()], of_class)

    def _cordon(self, machine: str) -> MachineUpserted:
        return MachineUpserted(cordon(self._machines[machine]))

    def _list_bound(self, places: Mapping[str, str]) -> list[TasksBound]:
        return [replace(self._tasks[uid], machine=name) for uid, name in places.items()]

    def _place_all(self, wanted: int) -> Mapping[str, str] | None:
        """Return a place for each of the ``wanted`` submitted tasks, by uid; None if one task finds no place."""
        found = self._place_some(wanted)
        return found if len(found) == wanted else None

    def _place_some(self, wanted: int) -> Mapping[str, str]:
        """Return places, by uid, for those submitted tasks that find a place."""
        found: dict[str, str] = {}
        for deltas in run_rounds(self._scheduler) if wanted else ():
            if any(delta.kind is not DeltaKind.PLACE for delta in deltas):
                break
            found.update((delta.uid, delta.machine) for delta in deltas)
            if len(found) == wanted:
                break
        return found

    def _submit(self, task: TasksBound) -> TasksSubmitted:
        # A task of the lowest priority evicts no other task.
        return replace(task, priority=self._priority, group_priority=None).as_submitted()


def _by_rank(waiting: Sequence[TasksSubmitted], below: int) -> list[TasksSubmitted]:
    """Return waiting tasks with priorities so low that no task is evicted for them; the tasks keep their order."""
    levels = sorted({each.priority for each in waiting})
    rank = {priority: below - len(levels) + place for place, priority in enumerate(levels)}
    return [replace(each, priority=rank[each.priority], group_priority=None) for each in waiting]


def _list_first(waiting: Sequence[TasksSubmitted], count: int | None) -> list[TasksSubmitted]:
    """Return the first ``count`` of the ``waiting`` tasks; None: all of them."""
    found, left = [], sum(len(each.uids) for each in waiting) if count is None else count
    for each in waiting:
        uids = each.uids[:left]
        left -= len(uids)
        if uids:
            names, created = each.names[: len(uids)], each.created[: len(uids)]
            found.append(replace(each, uids=uids, names=names, created=created))
    return found
