"""What is true of a cluster, from events, reports and deltas alone, and what a scheduler's decisions may not do to it.

It shares no code with the scheduler: plain dicts, sums over all tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    JobDefined,
    JobRemoved,
    MachineRemoved,
    MachineUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job, Machine, TaskClass
from firmament.core.results import Delta, DeltaKind
from tests.support.histories.holding import CLOSED, HOLDS, RACK, SEATED, SEATS, WEIGHT

PENDING, ASSUMED, BOUND = "PENDING", "ASSUMED", "BOUND"


@dataclass
class Entry:
    """One task. ``awaits``: who is to go before it may come; ``held``: refused for good; ``failed``: refused, and to be
    bound again in its place.
    """

    cls: int
    job: str
    priority: int
    state: str = PENDING
    machine: str = ""
    leaving: bool = False
    awaits: frozenset[str] = frozenset()
    held: bool = False
    failed: bool = False


@dataclass
class Ledger:
    """``per_rack``: weight that racks hold, for those that are told of; ``bounded``: whether the model of these limits
    is in force.
    """

    per_rack: Mapping[str, int] = field(default_factory=dict)
    classes: dict[int, TaskClass] = field(default_factory=dict)
    machines: dict[str, Machine] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    tasks: dict[str, Entry] = field(default_factory=dict)
    bounded: bool = False

    # --- what happens --------------------------------------------------------------------------------------------

    def apply(self, events: Iterable[Event]) -> None:
        for event in events:
            match event:
                case MachineUpserted(machine):
                    self.machines[machine.name] = machine
                case MachineRemoved(name):
                    self.machines.pop(name, None)
                case JobDefined(job):
                    self.jobs[job.id] = job
                case JobRemoved(job_id):
                    self.jobs.pop(job_id, None)
                case ClassDefined(number, content):
                    self.classes[number] = content
                case TaskRemoved(uid):
                    self.tasks.pop(uid, None)
                case TasksSubmitted(cls, uids):
                    self._submit(event, cls, uids)
                case TasksBound(machine, cls, uids):
                    for uid in uids:
                        self._bind(event, machine, cls, uid)
                case _:
                    pass

    def _submit(self, event: TasksSubmitted, cls: int, uids: Iterable[str]) -> None:
        for uid in uids:
            task = self.tasks.setdefault(uid, Entry(cls, event.job, event.priority))
            if task.state == PENDING:
                task.cls, task.job, task.priority, task.held = cls, event.job, event.priority, False

    def _bind(self, event: TasksBound, machine: str, cls: int, uid: str) -> None:
        task = self.tasks.setdefault(uid, Entry(cls, event.job, event.priority))
        task.leaving = task.leaving and task.machine == machine
        task.cls, task.job, task.priority = cls, event.job, event.priority
        task.state, task.machine, task.awaits, task.held, task.failed = (
            BOUND,
            machine,
            frozenset(),
            False,
            False,
        )

    def report(self, report: BindingReport) -> None:
        """Take note of a report about a task that is assumed, or that was told to go."""
        task = self.tasks[report.uid]
        if task.state == BOUND:
            task.leaving = False
        elif report.bound:
            task.state, task.awaits, task.failed = BOUND, frozenset(), False
        else:
            task.failed, task.held = True, not report.retry

    def released(self, uid: str) -> None:
        """Take note that an assumed task has no place any more; says whether there was a reason for that."""
        task = self.tasks[uid]
        assert task.state == ASSUMED, f"{uid} lost a place that it had taken"
        alone = not (self.is_gang(task.job) or task.awaits)
        assert task.failed or not alone, f"{uid} lost its place for nothing"
        task.state, task.machine, task.awaits, task.failed = PENDING, "", frozenset(), False

    # --- rounds --------------------------------------------------------------------------------------------------

    def close(self, deltas: Iterable[Delta]) -> None:
        """Follow a round's deltas, and check that each was possible and that they are so together."""
        deltas = list(deltas)
        evicted = [each for each in deltas if each.kind is DeltaKind.PREEMPT]
        fresh = [delta.uid for delta in deltas if delta.kind is DeltaKind.PLACE and self._take(delta)]
        for delta in evicted:
            task = self.tasks[delta.uid]
            assert (task.state, task.machine) == (BOUND, delta.machine), f"{delta.uid} is not there to go"
            task.leaving = True
        assert len(set(fresh)) == len(fresh), "placed twice"
        self._check_room(fresh)
        self._check_gangs(fresh)

    def _take(self, delta: Delta) -> bool:
        """Follow one placement; whether its task has this place only from now on."""
        task = self.tasks[delta.uid]
        assert delta.machine in self.machines, (
            f"{delta.uid} was placed on {delta.machine}, which is not there"
        )
        if task.state == ASSUMED and task.machine == delta.machine:
            assert task.failed or task.awaits, f"{delta.uid} was told twice"
            task.failed, task.awaits = False, frozenset()
            return False
        assert task.state == PENDING or task.awaits, f"{delta.uid} has a place already"
        assert not task.held, f"{delta.uid} was refused for good"
        task.state, task.machine, task.failed = ASSUMED, delta.machine, False
        task.awaits = frozenset(delta.depends_on)
        return True

    def _check_room(self, fresh: Iterable[str]) -> None:
        for name in {self.tasks[uid].machine for uid in fresh}:
            come = [uid for uid in fresh if self.tasks[uid].machine == name]
            going = frozenset().union(*(self.tasks[uid].awaits for uid in come))
            asked = {resource for uid in come for resource, n in self.requests(uid).items() if n}
            for resource in asked:
                assert self.free(name, resource, going) >= 0, f"{name} is overcommitted in {resource}"
            sharing = [uid for uid, t in self.tasks.items() if t.machine == name and self._has_port(uid)]
            if any(map(self._has_port, come)):
                assert len(set(sharing) - going) <= 1, f"{name} gives a port twice"
            if self.bounded:
                self._check_limits(name, come)

    def _has_port(self, uid: str) -> bool:
        return bool(self.classes[self.tasks[uid].cls].ports)

    def _check_limits(self, name: str, come: list[str]) -> None:
        """Limits of the model: nobody who goes makes room in them."""
        labels = self.machines[name].labels
        assert CLOSED not in labels, f"{name} is closed"
        heavy = any(self.label(uid, WEIGHT) for uid in come)
        if heavy and HOLDS in labels:
            assert self.weight([name]) <= int(labels[HOLDS]), f"{name} holds too much"
        rack = labels.get(RACK, "")
        if heavy and rack in self.per_rack:
            there = [each for each, machine in self.machines.items() if machine.labels.get(RACK) == rack]
            assert self.weight(there) <= self.per_rack[rack], f"{rack} holds too much"
        if SEATS in labels and any(self.label(uid, SEATED) for uid in come):
            sitting = sum(self.label(uid, SEATED) for uid, t in self.tasks.items() if t.machine == name)
            assert sitting <= int(labels[SEATS]), f"{name} has too few seats"

    def _check_gangs(self, fresh: Iterable[str]) -> None:
        for job in {self.tasks[uid].job for uid in fresh}:
            if self.is_gang(job):
                running = sum(
                    t.job == job and t.state != PENDING and not t.leaving for t in self.tasks.values()
                )
                assert running >= self.jobs[job].min_members, f"{job} was decided partly"

    # --- what is true --------------------------------------------------------------------------------------------

    def is_gang(self, job: str) -> bool:
        return job in self.jobs and self.jobs[job].min_members > 1

    def requests(self, uid: str) -> dict[str, int]:
        amounts = dict(self.classes[self.tasks[uid].cls].requests)
        return {**amounts, "pods": max(1, amounts.get("pods", 0))}

    def free(self, machine: str, resource: str, without: frozenset[str] = frozenset()) -> int:
        used = sum(
            self.requests(uid).get(resource, 0)
            for uid, task in self.tasks.items()
            if task.machine == machine and uid not in without
        )
        return self.machines[machine].allocatable.get(resource, 0) - used

    def label(self, uid: str, key: str) -> int:
        return int(dict(self.classes[self.tasks[uid].cls].labels).get(key, "0"))

    def weight(self, machines: Iterable[str]) -> int:
        names = set(machines)
        return sum(self.label(uid, WEIGHT) for uid, task in self.tasks.items() if task.machine in names)

    def uids(self, state: str) -> list[str]:
        return sorted(uid for uid, task in self.tasks.items() if task.state == state)

    def restart(self) -> list[Event]:
        """What a driver tells a scheduler that knows nothing: those whose bindings are under way count as bound.

        Those that waited for others to go wait again, and those stay.
        """
        for task in self.tasks.values():
            task.leaving = task.held = False
            if task.state == ASSUMED:
                task.state = PENDING if task.awaits else BOUND
                task.machine = "" if task.awaits else task.machine
            task.failed, task.awaits = False, frozenset()
        events: list[Event] = [MachineUpserted(machine) for machine in self.machines.values()]
        events += [ClassDefined(number, content) for number, content in self.classes.items()]
        events += [JobDefined(job) for job in self.jobs.values()]
        for uid, task in self.tasks.items():
            if task.state == PENDING:
                events.append(TasksSubmitted(task.cls, (uid,), job=task.job, priority=task.priority))
            else:
                events.append(
                    TasksBound(task.machine, task.cls, (uid,), job=task.job, priority=task.priority)
                )
        return events
