"""A cluster as a dict of machines and a dict of tasks, told the same events as the scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    MachineRemoved,
    MachineUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Machine, TaskClass
from firmament.core.results import Delta, DeltaKind
from tests.oracle.matching import allowed

PENDING, BACKOFF, ASSUMED, BOUND = "PENDING", "BACKOFF", "ASSUMED", "BOUND"
FIRST_BACKOFF, LAST_BACKOFF = 1.0, 60.0


@dataclass
class OracleTask:
    """``held``: its binding was refused for good, so it waits for an event about itself; ``leaving``: it was told to
    go; ``counts_on``: uids of those that must go before it may come; ``told``: a round told it to go; ``needed``: and
    has not said since that nobody needs that; ``owed``: others were told to leave for it; ``promised``: the machine
    on which it has lost its place after that: that room is its own in its back-off, and it comes to a round when a
    more important task does.
    """

    content: TaskClass
    priority: int
    state: str = PENDING
    machine: str = ""
    not_before: float = 0.0
    failures: int = 0
    held: bool = False
    leaving: bool = False
    counts_on: frozenset[str] = frozenset()
    told: bool = False
    needed: bool = False
    owed: bool = False
    promised: str = ""


class OracleCluster:
    """What must be true of the scheduler's snapshot after every event and round.

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
            same = task if task is not None and task.leaving and task.machine == event.machine else None
            self.tasks[uid] = OracleTask(
                content,
                event.priority,
                leaving=same is not None or content.terminating,
                told=same is not None and same.told,
                needed=same is not None and same.needed,
            )
        self.tasks[uid].state, self.tasks[uid].machine = BOUND, event.machine
        self.tasks[uid].priority = event.priority

    def report(self, report: BindingReport, now: float) -> None:
        """Follow a binding report; only tasks on the machine they were meant for are touched.

        One that was told to go and does not takes the places of those that counted on it.
        """
        task = self.tasks.get(report.uid)
        if task is None or task.machine != report.machine:
            return
        if task.state == BOUND and task.leaving and not report.bound:
            task.leaving, task.told, task.needed = task.content.terminating, False, False
            for other in self.tasks.values():
                if other.state == ASSUMED and report.uid in other.counts_on:
                    self._return(other, now)
        if task.state != ASSUMED:
            return
        if report.bound:
            task.state = BOUND
            return
        self._return(task, now)
        task.held = not report.retry

    @staticmethod
    def _return(task: OracleTask, now: float) -> None:
        """Let a task wait again, with back-off."""
        task.promised = task.machine if task.owed else ""
        task.state, task.machine, task.counts_on = PENDING, "", frozenset()
        task.not_before = now + min(FIRST_BACKOFF * 2.0**task.failures, LAST_BACKOFF)
        task.failures += 1

    def place(self, deltas: Sequence[Delta], opened_at: float, *, quiet: bool = True) -> None:
        """Follow a round, checking every placement by itself and then all of them together.

        ``quiet``: nothing happened while it was decided.
        """
        withdrawn = [each for each in deltas if each.withdrawn]
        victims = [delta for delta in deltas if delta.kind is DeltaKind.PREEMPT and not delta.withdrawn]
        deltas = tuple(delta for delta in deltas if delta.kind is DeltaKind.PLACE)
        moving = {
            self.tasks[each.uid].machine
            for each in deltas
            if each.uid in self.tasks and self.waits_for_others(each.uid)
        }
        self._evict(victims, deltas)
        if quiet:
            self._check_needed(victims, [each for each in deltas if each.machine not in moving], opened_at)
        for delta in deltas:
            task = self.tasks.get(delta.uid)
            assert task is not None, f"{delta.uid} was placed, but is unknown"
            if not self.waits_for_others(
                delta.uid
            ):  # else it takes another place than the one that it waits for
                assert task.state == PENDING, f"{delta.uid} was placed, but is {task.state} on {task.machine}"
                assert not task.held, f"{delta.uid} was placed, but waits for an event about itself"
                assert task.not_before <= opened_at or (task.promised and self._overtaken(task, opened_at)), (
                    f"{delta.uid} was placed in its back-off"
                )
            else:
                assert not delta.depends_on, f"{delta.uid} has moved to wait again"
            assert delta.machine in self.machines, f"{delta.uid} was placed on unknown {delta.machine}"
            assert allowed(self.machines[delta.machine], task.content), f"{delta} is not allowed"
            task.state, task.machine, task.counts_on = ASSUMED, delta.machine, frozenset(delta.depends_on)
            task.owed |= bool(delta.depends_on)
            for uid in delta.depends_on:
                self.tasks[uid].needed = self.tasks[uid].told
        for delta in deltas:
            assert all(self.tasks[uid].leaving for uid in delta.depends_on), f"{delta} waits for nobody"
            free = self.free(delta.machine, self._absent(frozenset(delta.depends_on)))
            everybody_gone = self.free(delta.machine, frozenset(self._leaving()))
            for resource in request(self.tasks[delta.uid].content):
                assert free[resource] >= 0, f"{delta} overcommits {resource}: {free[resource]} left"
                assert everybody_gone[resource] >= 0, f"{delta} will overcommit {resource}"

        for delta in withdrawn:
            task = self.tasks[delta.uid]
            assert task.needed, f"{delta.uid} was told twice that nobody needs its place"
            assert not self._counted_on(delta.uid), f"{delta.uid} may stay, but somebody counts on its going"
            task.needed = False

    def _overtaken(self, task: OracleTask, now: float) -> bool:
        """Whether a more important task takes part in a round, or has just got its place in it."""
        return any(
            other.priority > task.priority and other.not_before <= now and other.state in (PENDING, ASSUMED)
            for other in self.tasks.values()
        )

    def _counted_on(self, uid: str) -> bool:
        return any(task.state == ASSUMED and uid in task.counts_on for task in self.tasks.values())

    def needless(self) -> list[str]:
        """Tasks that are to go for nobody, and have not been told so."""
        return [uid for uid, task in self.tasks.items() if task.needed and not self._counted_on(uid)]

    def waits_for_others(self, uid: str) -> bool:
        """Whether a task has a place that somebody has yet to leave."""
        task = self.tasks[uid]
        there = (self.tasks.get(other) for other in task.counts_on)
        return task.state == ASSUMED and any(other is not None and other.leaving for other in there)

    def _leaving(self) -> list[str]:
        return [uid for uid, task in self.tasks.items() if task.leaving]

    def _absent(self, gone: frozenset[str]) -> frozenset[str]:
        """Who is not on any machine once ``gone`` are: those, and whoever waits for somebody else to go."""
        present = {uid for uid in self._leaving() if uid not in gone}
        waiting = {
            uid for uid, task in self.tasks.items() if task.state == ASSUMED and task.counts_on & present
        }
        return gone | waiting

    def _evict(self, victims: list[Delta], placed: tuple[Delta, ...]) -> None:
        """Follow evictions: of bound tasks, each for a more important task that comes to that very machine."""
        for delta in victims:
            task = self.tasks.get(delta.uid)
            assert task is not None, f"{delta.uid} was evicted, but is unknown"
            assert (task.state, task.machine) == (BOUND, delta.machine), f"{delta} is about {task}"
            assert not task.leaving, f"{delta.uid} was evicted, but is leaving already"
            served = [each for each in placed if delta.uid in each.depends_on]
            assert served, f"{delta.uid} was evicted for nobody"
            assert all(each.machine == delta.machine for each in served)
            # All who come to a machine wait for all who leave it; one of them has to be the more important.
            most_important = max(self.tasks[each.uid].priority for each in served)
            assert most_important > task.priority, f"{delta.uid} gave way to {served}"
            task.leaving = task.told = task.needed = True

    def _check_needed(self, victims: list[Delta], placed: list[Delta], opened_at: float) -> None:
        """Nobody goes who could as well stay."""
        freed = {delta.uid for delta in victims}
        for each in placed:
            for uid in freed & set(each.depends_on):
                without = freed - {uid}
                together = [other for other in placed if other.machine == each.machine]
                asked = {
                    resource for other in together for resource in request(self.tasks[other.uid].content)
                }
                free = self.free(each.machine, frozenset(without) | set(each.depends_on) - {uid})
                for task in [
                    *(self.tasks[it.uid] for it in together),
                    *self.promised(each.machine, opened_at),
                ]:
                    for resource, amount in request(task.content).items():
                        free[resource] -= amount
                assert any(free[resource] < 0 for resource in asked), f"{uid} need not go for {each.uid}"

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

    def promised(self, name: str, now: float) -> list[OracleTask]:
        """Tasks to which room on a machine is promised until their back-off ends."""
        return [
            task
            for task in self.tasks.values()
            if task.promised == name and task.state == PENDING and task.not_before > now
        ]

    def free_of_promises(self, name: str, now: float) -> dict[str, int]:
        """What is left on a machine beside what is promised there, by resource."""
        free = self.free(name)
        for task in self.promised(name, now):
            for resource, amount in request(task.content).items():
                free[resource] -= amount
        return free

    def fits_beside_promises(self, uid: str, name: str, now: float) -> bool:
        """Whether a task is allowed on a machine and has room there that is promised to nobody."""
        free = self.free_of_promises(name, now)
        content = self.tasks[uid].content
        return allowed(self.machines[name], content) and all(
            free[resource] >= amount for resource, amount in request(content).items()
        )

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
