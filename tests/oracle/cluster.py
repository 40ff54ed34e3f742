"""A cluster as a dict of machines and a dict of tasks, told the same events as the scheduler."""

from __future__ import annotations

from dataclasses import dataclass

from firmament.core.model import (
    BindingReport,
    ClassDefined,
    Event,
    Machine,
    MachineRemoved,
    MachineUpserted,
    TaskClass,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.results import Delta, DeltaKind
from tests.oracle.matching import allowed

PENDING, BACKOFF, ASSUMED, BOUND = "PENDING", "BACKOFF", "ASSUMED", "BOUND"
FIRST_BACKOFF, LAST_BACKOFF = 1.0, 60.0


@dataclass
class OracleTask:
    """``held``: its binding was refused for good, so it waits for an event about itself."""

    content: TaskClass
    priority: int
    state: str = PENDING
    machine: str = ""
    not_before: float = 0.0
    failures: int = 0
    held: bool = False


class OracleCluster:
    """What must be true of the scheduler's picture after every event and round.

    A task counts on the machine that it names, whether or not that machine is known at the moment.
    """

    def __init__(self) -> None:
        self.machines: dict[str, Machine] = {}
        self.classes: dict[int, TaskClass] = {}
        self.tasks: dict[str, OracleTask] = {}

    # --- what happens --------------------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        """Follow one event; those that say nothing about machines and tasks are ignored."""
        match event:
            case MachineUpserted(machine):
                self.machines[machine.name] = machine
            case MachineRemoved(name):
                self.machines.pop(name, None)
            case ClassDefined(number, content):
                self.classes[number] = content
            case TaskRemoved(uid):
                self.tasks.pop(uid, None)
            case TasksSubmitted():
                for uid in event.uids:
                    self._submit(uid, event)
            case TasksBound():
                for uid in event.uids:
                    self._bound(uid, event)
            case _:
                pass

    def _submit(self, uid: str, event: TasksSubmitted) -> None:
        content = self.classes[event.task_class]
        task = self.tasks.get(uid)
        if task is None:
            self.tasks[uid] = OracleTask(content, event.priority)
        elif task.state == PENDING:
            task.content, task.priority, task.held = content, event.priority, False

    def _bound(self, uid: str, event: TasksBound) -> None:
        content = self.classes[event.task_class]
        task = self.tasks.get(uid)
        if task is None or (task.machine, task.content) != (event.machine, content):
            self.tasks[uid] = OracleTask(content, event.priority)
        self.tasks[uid].state, self.tasks[uid].machine = BOUND, event.machine

    def report(self, report: BindingReport, now: float) -> None:
        """Follow a binding report; only assumed tasks, on the machine they were meant for, are touched."""
        task = self.tasks.get(report.uid)
        if task is None or task.state != ASSUMED or task.machine != report.machine:
            return
        if report.bound:
            task.state = BOUND
            return
        task.state, task.machine = PENDING, ""
        task.not_before = now + min(FIRST_BACKOFF * 2.0**task.failures, LAST_BACKOFF)
        task.failures += 1
        task.held = not report.retry

    def place(self, deltas: tuple[Delta, ...], opened_at: float) -> None:
        """Follow a round, checking every placement by itself and then all of them together."""
        for delta in deltas:
            task = self.tasks.get(delta.uid)
            assert delta.kind is DeltaKind.PLACE
            assert task is not None, f"{delta.uid} was placed, but is unknown"
            assert task.state == PENDING, f"{delta.uid} was placed, but is {task.state} on {task.machine}"
            assert not task.held, f"{delta.uid} was placed, but waits for an event about itself"
            assert task.not_before <= opened_at, f"{delta.uid} was placed in its back-off"
            assert delta.machine in self.machines, f"{delta.uid} was placed on unknown {delta.machine}"
            assert allowed(self.machines[delta.machine], task.content), f"{delta} is not allowed"
            task.state, task.machine = ASSUMED, delta.machine
        for delta in deltas:
            free = self.free(delta.machine)
            for resource in request(self.tasks[delta.uid].content):
                assert free[resource] >= 0, f"{delta} overcommits {resource}: {free[resource]} left"

    # --- what is true --------------------------------------------------------------------------------------------

    def free(self, name: str, without: frozenset[str] = frozenset()) -> dict[str, int]:
        """What is left on a machine, by resource; ``without``: uids that are taken to be absent."""
        free = dict(self.machines[name].allocatable)
        for uid, task in self.tasks.items():
            if task.machine == name and uid not in without:
                for resource, amount in request(task.content).items():
                    free[resource] = free.get(resource, 0) - amount
        for task in self.tasks.values():
            for resource in request(task.content):
                free.setdefault(resource, 0)
        return free

    def fits(self, uid: str, name: str, without: frozenset[str] = frozenset()) -> bool:
        """Whether a task is allowed on a machine and has room there."""
        content = self.tasks[uid].content
        if not allowed(self.machines[name], content):
            return False
        free = self.free(name, without)
        return all(free[resource] >= amount for resource, amount in request(content).items())

    def fits_somewhere(self, uid: str, without: frozenset[str] = frozenset()) -> bool:
        """Whether any machine would take the task."""
        return any(self.fits(uid, name, without) for name in self.machines)

    def waiting(self, now: float) -> list[str]:
        """Tasks that a round at ``now`` may place: pending, not backed off, not held."""
        return sorted(
            uid
            for uid, task in self.tasks.items()
            if task.state == PENDING and task.not_before <= now and not task.held
        )

    def state(self, uid: str, now: float) -> str:
        """PENDING, BACKOFF, ASSUMED or BOUND."""
        task = self.tasks[uid]
        return BACKOFF if task.state == PENDING and task.not_before > now else task.state


def request(content: TaskClass) -> dict[str, int]:
    """What a task takes, zeros left out; always one of ``pods``."""
    wanted = {**dict(content.requests), "pods": 1}
    return {resource: amount for resource, amount in wanted.items() if amount > 0}
