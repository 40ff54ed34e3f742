"""A book of tasks, jobs and machines that follows what a scheduler is told and answers, and judges its rounds.

It shares no code with the scheduler: plain dicts, sums over all tasks, one rule at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from firmament.core.events import (
    BindingReport,
    Event,
    JobDefined,
    JobRemoved,
    MachineRemoved,
    MachineUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.results import DeltaKind, GangState, RoundResult

TRIES = 3


@dataclass
class Entry:
    """``size``: cpu that the task takes; ``failures``: refused bindings in a row; ``asleep_until``: its back-off;
    ``awaits``: uids of the tasks that are to leave before it comes.
    """

    size: int
    job: str
    priority: int
    state: str = "PENDING"
    machine: str = ""
    failures: int = 0
    asleep_until: float = 0.0
    held: bool = False
    leaving: bool = False
    awaits: frozenset[str] = frozenset()


@dataclass
class Book:
    """``sizes``: cpu per class. Places are booked by machine name, known or not."""

    sizes: dict[int, int]
    tasks: dict[str, Entry] = field(default_factory=dict)
    needs: dict[str, int] = field(default_factory=dict)
    room: dict[str, int] = field(default_factory=dict)
    told: dict[str, GangState] = field(default_factory=dict)

    # --- what happens --------------------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        match event:
            case MachineUpserted(machine):
                self.room[machine.name] = machine.allocatable["cpu"]
            case MachineRemoved(name):
                self.room.pop(name, None)
            case JobDefined(job):
                self.needs[job.id] = job.min_members
            case JobRemoved(job_id):
                self.needs.pop(job_id, None)
            case TaskRemoved(uid):
                self.tasks.pop(uid, None)
            case TasksSubmitted(cls, uids):
                for uid in uids:
                    task = self.tasks.get(uid)
                    if task is None:
                        self.tasks[uid] = Entry(self.sizes[cls], event.job, event.priority)
                    elif task.state == "PENDING":
                        changed = (task.size, task.priority) != (self.sizes[cls], event.priority) or task.held
                        task.size, task.priority, task.job = self.sizes[cls], event.priority, event.job
                        task.held = task.held and not changed
            case TasksBound(machine, cls, uids):
                for uid in uids:
                    task = self.tasks.setdefault(uid, Entry(self.sizes[cls], event.job, event.priority))
                    same = (task.machine, task.size) == (machine, self.sizes[cls])
                    task.leaving = task.leaving and task.machine == machine and same | task.leaving
                    task.size, task.job, task.priority = self.sizes[cls], event.job, event.priority
                    task.state, task.machine, task.held = "BOUND", machine, False

    def report(self, report: BindingReport, now: float) -> None:
        task = self.tasks[report.uid]
        if report.bound:
            task.state, task.failures = "BOUND", 0
            return
        task.failures += 1
        task.asleep_until = now + min(60.0, 2.0 ** (task.failures - 1))
        keeps = (
            report.retry and self.is_gang(task.job) and task.machine in self.room and task.failures % TRIES
        )
        if not keeps:
            task.state, task.machine, task.held = "PENDING", "", not report.retry

    # --- rounds --------------------------------------------------------------------------------------------------

    def close(self, result: RoundResult, now: float) -> set[str]:
        """Follow a round's answer; returns the uids that got a place in it, those bound again in theirs left out."""
        self.forget()
        for state in result.gangs:
            assert state != self.told.get(state.job), "told twice"
            self.told[state.job] = state
        fresh = set()
        crowded = {delta.machine for delta in result.deltas if delta.depends_on}  # until victims have gone
        for delta in result.deltas:
            task = self.tasks[delta.uid]
            if delta.kind is DeltaKind.PREEMPT:
                assert (task.state, task.machine) == ("BOUND", delta.machine)
                assert task.leaving == delta.withdrawn, "told to go twice"
                task.leaving = True
                continue
            assert delta.machine in self.room
            if task.state == "ASSUMED" and not self.is_gang(task.job) and self.waits(task):
                assert not delta.depends_on, "moved to wait again"
                task.state, task.machine = "PENDING", ""
            if task.state == "ASSUMED":
                assert task.machine == delta.machine, "moved between tries"
                assert task.asleep_until <= now
                continue
            assert task.state == "PENDING"
            assert not task.held
            assert task.asleep_until <= now
            task.state, task.machine = "ASSUMED", delta.machine
            task.awaits = frozenset(delta.depends_on)
            fresh.add(delta.uid)
        told = [each for each in result.deltas if each.kind is DeltaKind.PREEMPT and not each.withdrawn]
        for job in {self.tasks[delta.uid].job for delta in told}:
            if self.is_gang(job):
                assert self.running(job) in (0, *range(self.needs[job], 99)), f"half of {job} was evicted"
        for uid in fresh:
            at = self.tasks[uid].machine
            assert at in crowded or self.free(at) >= 0, "overcommitted"
        for job in {self.tasks[uid].job for uid in fresh}:
            if self.is_gang(job):
                assert self.running(job) >= self.needs[job], f"{job} was decided partly"
        return fresh

    def forget(self) -> None:
        """Forget what was told of gangs that are none any more, or of which no task is left."""
        for job in list(self.told):
            if not self.is_gang(job) or not any(task.job == job for task in self.tasks.values()):
                del self.told[job]

    def release(self, uid: str, now: float) -> None:
        """Follow a task that lost its place without a report: a refused member's machine is gone, or time is up."""
        task = self.tasks[uid]
        assert task.state == "ASSUMED"
        lost, task.state, task.machine = task.machine not in self.room, "PENDING", ""
        if lost and task.failures:
            return
        assert self.is_gang(task.job), "only members of gangs are released"
        bound = sum(t.job == task.job and t.state == "BOUND" and not t.leaving for t in self.tasks.values())
        assert bound < self.needs[task.job], "a gang that is whole is not given up"
        for other in self.tasks.values():
            if other.job == task.job and other.state == "PENDING":
                other.asleep_until = now + 60.0

    # --- what is true --------------------------------------------------------------------------------------------

    def is_gang(self, job: str) -> bool:
        return self.needs.get(job, 0) > 1

    def waits(self, task: Entry) -> bool:
        return any(uid in self.tasks and self.tasks[uid].leaving for uid in task.awaits)

    def running(self, job: str) -> int:
        return sum(t.job == job and t.state != "PENDING" and not t.leaving for t in self.tasks.values())

    def free(self, machine: str, without: frozenset[str] = frozenset()) -> int:
        used = sum(t.size for uid, t in self.tasks.items() if t.machine == machine and uid not in without)
        return self.room[machine] - used

    def ready(self, now: float) -> dict[str, list[str]]:
        """Tasks that could be tried, by gang; single ones, and those beyond a gang's need, under their own uid."""
        found: dict[str, list[str]] = {}
        for uid, task in sorted(self.tasks.items()):
            if task.state == "PENDING" and not task.held and task.asleep_until <= now:
                together = self.is_gang(task.job) and self.running(task.job) < self.needs[task.job]
                found.setdefault(task.job if together else uid, []).append(uid)
        return found

    def would_fit(self, uids: list[str], need: int, without: frozenset[str] = frozenset()) -> bool:
        """Whether ``need`` tasks of one size find room; False if they are of several sizes, which this cannot tell."""
        sizes = {self.tasks[uid].size for uid in uids}
        if len(uids) < need or len(sizes) > 1 or 0 in sizes:
            return False
        size = sizes.pop()
        return sum(max(0, self.free(name, without)) // size for name in self.room) >= need

    def left_behind(
        self, now: float, fresh: frozenset[str] = frozenset(), *, above: bool = False
    ) -> list[str]:
        """Gangs and tasks that stay pending although there is room for them.

        ``above``: also if room were there but for less important tasks among those just placed, ``fresh``.
        """
        found = []
        for name, uids in self.ready(now).items():
            need = self.needs[name] - self.running(name) if name in self.needs and name not in uids else 1
            rank = max(self.tasks[uid].priority for uid in uids)
            lower = frozenset(uid for uid in fresh if above and self.tasks[uid].priority < rank)
            if self.would_fit(uids, need, lower):
                found.append(name)
        return found
