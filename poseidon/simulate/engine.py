"""Runs a simulation: events happen, the solver decides, and its decisions take effect at once.

The solver is the real one, in this process, and gets the events that a bridge would send. Events are gathered for
``round_every`` seconds; then a round decides about all waiting tasks. Bindings succeed at once, and victims go at once.
All times are seconds since the beginning; the solver's clock begins at `BEGIN`. Equal scenarios run equally, byte for
byte.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from poseidon.embedding import EmbeddedScheduler
from poseidon.simulate.classes import TaskKinds
from poseidon.simulate.measurements import Record
from poseidon.simulate.node_events import NodeChange, NodeChanges, NodeEvents
from poseidon.simulate.nodes import SimulatedMachines
from poseidon.simulate.queue_heads import Head, QueueHeads
from poseidon.simulate.request_limit import RequestBucket
from poseidon.simulate.run_time_records import ToldRuns
from poseidon.simulate.tasks import TaskColumns, TaskProgress
from poseidon.simulate.workloads.columns import ALONE, Int64, Work
from protos.firmament.v1 import scheduler_pb2 as pb

BEGIN = 1_767_225_600.0
"""The first moment of a simulation, in seconds since the epoch: 2026-01-01T00:00:00Z."""
_MOST_ROUNDS = 20
"""Most rounds at one moment: usually one is enough, and each wave of evictions needs one more."""


class Clock:
    """The clock that the solver reads: simulated time in seconds since the epoch."""

    def __init__(self, begin: float = BEGIN) -> None:
        self.now, self.begin = 0.0, begin

    def __call__(self) -> float:
        """Return the simulated time."""
        return self.begin + self.now


class Script(Protocol):
    """Events of a simulation whose times are given beforehand."""

    def next_time(self) -> float | None:
        """Return the time of the next event, in seconds since the beginning; None if there is none."""

    def happen(self, now: float, simulation: Simulation) -> list[pb.Event]:
        """Apply the events until ``now`` to the simulation, and return the events for the solver."""


@dataclass(slots=True)
class Simulation:
    """The whole state of a running simulation, so that it can be saved and resumed."""

    scheduler: EmbeddedScheduler
    """The solver."""
    clock: Clock
    """The clock of the simulation and of the solver."""
    machines: SimulatedMachines
    """The nodes."""
    kinds: TaskKinds
    """The kinds of tasks."""
    tasks: TaskColumns
    """The tasks."""
    uids: dict[int, str]
    """Uids of the tasks that have names of their own; the others are called after their number."""
    jobs: dict[int, str]
    """Names of the jobs of tasks from the cluster's files, by the task's number."""
    node_events: NodeEvents
    """How nodes come and go."""
    record: Record
    """Measurements for the report."""
    horizon: float
    """Length of the simulation in seconds."""
    round_every: float
    """Seconds for which events are gathered before a round."""
    keeps_work: bool
    """Whether evicted tasks keep the work that they have done."""
    arrived: int = 0
    """Number of tasks that have arrived; they have the lowest numbers."""
    wakes: float | None = None
    """Time at which a round could place tasks although no event happens, None for never."""
    warnings: list[str] = field(default_factory=list)
    """Warnings for people."""
    script: Script | None = None
    """Events other than arrivals and ends of tasks, None for no such events."""
    requests: RequestBucket | None = None
    """Limits how fast placements are written, None for no limit."""
    told_runs: ToldRuns | None = None
    """Run times that the solver gets, None if no model reads them."""
    heads: QueueHeads | None = None
    """Lets one gang or pod of each queue take part in a round, None to let all take part."""
    _defined: set[int] = field(default_factory=set)
    """Ids of the classes that the solver knows."""
    _number_of: dict[str, int] = field(default_factory=dict)
    """The number of each task that has a name of its own: ``uids`` reversed."""

    def __post_init__(self) -> None:
        self._number_of = {uid: task for task, uid in self.uids.items()}

    @property
    def now(self) -> float:
        """Simulated seconds since the beginning."""
        return self.clock.now

    def run(
        self,
        until: float | None = None,
        *,
        note: Callable[[float], object] = lambda _: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Run until ``until`` or the end of the simulation, whichever is earlier; return whether the simulation is
        over.

        After each round ``note`` gets the time, and the run ends early if ``stop`` returns True.
        """
        end = self.horizon if until is None else min(until, self.horizon)
        while (moment := self._find_next_round()) is not None and moment <= end:
            self.record.sample_until(moment, self.tasks, self.machines)
            self.clock.now = moment
            self._happen()
            self._decide()
            note(moment)
            if stop():
                return False
        if end < self.horizon:
            return False
        self.record.sample_until(self.horizon, self.tasks, self.machines, last=True)
        self.clock.now = self.horizon
        return True

    def let_come(self, coming: Work) -> None:
        """Replace all future events by the arrivals in ``coming``; the nodes stay as they are, and no more points
        are sampled.

        Gangs of ``coming`` are numbered from 0 on.
        """
        self.tasks.let_come_instead(self.arrived, coming)
        self.node_events.cancel_all()
        self.script = None
        self.record.every = math.inf

    def _find_next_round(self) -> float | None:
        """Return the time of the next round: the end of the interval of the next event; None if no event follows."""
        arrival = self.tasks.work.arrival
        candidates = [
            self.tasks.next_end(),
            float(arrival[self.arrived]) if self.arrived < len(arrival) else None,
            self.node_events.next_time(),
            self.wakes,
            None if self.script is None else self.script.next_time(),
        ]
        times = [each for each in candidates if each is not None and each < math.inf]
        if not times:
            return None
        spans = math.ceil(max(min(times), 0.0) / self.round_every - 1e-9)
        moment = spans * self.round_every
        return max(moment, self.now + self.round_every) if self.now > 0.0 or self.record.rounds else moment

    def _happen(self) -> None:
        """Apply all events until now, and send them to the solver."""
        ended = self.tasks.take_ended(self.now)
        events = [pb.Event(task_removed=self.uid(task)) for task in ended]
        events += self._dissolve_gangs(ended)
        self._wake_queues_of(ended)
        if self.told_runs is not None:
            runs = zip(self.tasks.work.template[ended].tolist(), self.tasks.left[ended].tolist(), strict=True)
            events += self.told_runs.take_ended(self.kinds, runs)
        if self.script is not None:
            events += self.script.happen(self.now, self)
        changes = self.node_events.take(self.now, self.machines, self.tasks, self.kinds)
        events += self._change_nodes(changes)
        reach = int(np.searchsorted(self.tasks.work.arrival, self.now, side="right"))
        if reach > self.arrived:
            coming = np.arange(self.arrived, reach)
            self.arrived = reach
            self.tasks.arrive(coming)
            events += self._let_wait(coming)
        if events:
            self.scheduler.apply(events)

    def _dissolve_gangs(self, ended: list[int]) -> list[pb.Event]:
        """Return the events that remove the gangs whose last member has ended."""
        gangs = dict.fromkeys(self.tasks.work.gang[ended].tolist())
        gangs.pop(ALONE, None)
        return [pb.Event(job_removed=f"gang/{gang}") for gang in gangs if not self.tasks.count_left_of(gang)]

    def _change_nodes(self, changes: NodeChanges) -> list[pb.Event]:
        """Apply changes of nodes, and return the events for the solver; tasks on nodes that go wait again."""
        events = []
        for change, number in changes:
            if change in (NodeChange.FAIL, NodeChange.DRAIN):
                events += self.empty_node(number, stays=change is NodeChange.DRAIN)
            elif change is NodeChange.REMOVE:
                events.append(self.machines.remove(number))
            elif change is NodeChange.ADD:
                events.append(self.machines.describe(number))
            else:
                events.append(self.machines.bring_back(number))
        return events

    def empty_node(self, number: int, *, stays: bool) -> list[pb.Event]:
        """Let all tasks on a node wait again, and remove the node, or cordon it if it ``stays``; return the events."""
        gone = self.tasks.find_on(number)
        events = [pb.Event(task_removed=self.uid(task)) for task in gone]
        for task in gone:
            self.tasks.interrupt(task, self.now, keeps_work=self.keeps_work)
        events.append(self.machines.cordon(number) if stays else self.machines.remove(number))
        self.record.displaced += len(gone)
        return events + self._let_wait(np.array(gone, dtype=np.int64))

    def _let_wait(self, tasks: Int64) -> list[pb.Event]:
        """Return the events that submit tasks to the solver, without those that wait in queues for their turn."""
        if self.heads is not None:
            tasks = np.array(self.heads.add(tasks, self.tasks.work), dtype=np.int64)
        return self.submit_tasks(tasks)

    def _wake_queues_of(self, tasks: Iterable[int]) -> None:
        if self.heads is not None:
            self.heads.wake(self._list_queues(tasks))

    def _list_queues(self, tasks: Iterable[int]) -> set[str]:
        """Return the quotas on which tasks draw."""
        kinds = self.tasks.work.template
        return {self.kinds.classes[int(kinds[task])].queue for task in tasks}

    def submit_tasks(self, tasks: Int64) -> list[pb.Event]:
        """Return the events that submit tasks in order; tasks of one kind and gang are submitted together."""
        events: list[pb.Event] = []
        groups: dict[tuple[int, int, str], list[int]] = {}
        work = self.tasks.work
        sizes = Counter(work.gang[tasks].tolist())
        for task in tasks.tolist():
            key = int(work.template[task]), int(work.gang[task]), self.jobs.get(task, "")
            groups.setdefault(key, []).append(task)
        for (kind, gang, standing), members in groups.items():
            message = self.kinds.classes[kind]
            events += self._define(message)
            job = standing
            if gang != ALONE:
                job = f"gang/{gang}"
                events.append(pb.Event(job=self._describe_gang(job, kind, sizes[gang])))
            events.append(
                pb.Event(
                    tasks=pb.TaskBatch(
                        task_class=message.id,
                        job=job,
                        priority=self.kinds.priorities[kind],
                        uids=[self.uid(task) for task in members],
                        created=[self.clock.begin + float(work.arrival[task]) for task in members],
                        spread_group=self.kinds.spread[kind],
                    )
                )
            )
        return events

    def _describe_gang(self, job: str, kind: int, size: int) -> pb.Job:
        found = pb.Job(id=job, name=job, size=size)
        group = self.kinds.groups[kind]
        if group is None:
            found.min_members = size
        else:
            found.groups.append(group)
            found.groups[0].least = size
        return found

    def submit_bound(self, task: int, machine: str) -> list[pb.Event]:
        """Return the events that report a task that runs on a machine already."""
        kind = int(self.tasks.work.template[task])
        message = self.kinds.classes[kind]
        bound = pb.BoundTasks(
            machine=machine, task_class=message.id, job=self.jobs.get(task, ""), uids=[self.uid(task)],
            priority=self.kinds.priorities[kind], spread_group=self.kinds.spread[kind],
        )  # fmt: skip
        return [*self._define(message), pb.Event(bound=bound)]

    def _define(self, message: pb.TaskClass) -> list[pb.Event]:
        if message.id in self._defined:
            return []
        self._defined.add(message.id)
        return [pb.Event(task_class=message)]

    def _decide(self) -> None:
        """Decide about the tasks that wait: all of them, or those in queues in rounds for the first of each queue."""
        self._run_rounds()
        if self.heads is None:
            return
        while self.now >= self.heads.busy_until - 1e-9 and (heads := self.heads.take_heads()):
            self._decide_on(heads, self.heads)
        if self.heads.busy_until > self.now:
            self.wakes = min(self.heads.busy_until, math.inf if self.wakes is None else self.wakes)

    def _decide_on(self, heads: Sequence[Head], queues: QueueHeads) -> None:
        """Run a round for some gangs and pods; those that it refuses wait in ``queues`` again."""
        tasks = [task for head in heads for task in head.tasks]
        self.scheduler.apply(self.submit_tasks(np.array(tasks, dtype=np.int64)))
        self._run_rounds()
        refused = [head for head in heads if self.tasks.state[head.tasks[0]] == TaskProgress.WAITING]
        rows = [task for head in refused for task in head.tasks]
        gangs = dict.fromkeys(self.tasks.work.gang[rows].tolist())
        gangs.pop(ALONE, None)
        self.scheduler.apply(
            [
                *(pb.Event(task_removed=self.uid(task)) for task in rows),
                *(pb.Event(job_removed=f"gang/{gang}") for gang in gangs),
            ]
        )
        self._run_rounds()  # nothing of the queues is left to decide, but this tells when the others want a round
        queues.put_back(refused, queues.find_roots(self._list_queues({*tasks}.difference(rows))))
        if refused and self.requests is not None and self.requests.per_refusal:
            queues.busy_until = self.requests.send(self.requests.per_refusal * len(refused), self.now)

    def _run_rounds(self) -> None:
        """Run rounds and apply their decisions until no more task can be placed now."""
        for _ in range(_MOST_ROUNDS):
            after = self.scheduler.next_round_in()
            if after != 0.0:
                self.wakes = None if after is None else self.now + after
                return
            result = self.scheduler.run_round()
            self.record.take_round(result)
            self._carry_out(result.deltas)
        self.wakes = self.now + self.round_every

    def _carry_out(self, deltas: Sequence[pb.Delta]) -> None:
        """Apply the decisions of a round: victims wait again, placed tasks begin."""
        victims = self._evict(deltas)
        reports: list[pb.BindingReport] = []
        written: dict[int, float] = {}
        for delta in deltas:
            if delta.kind == pb.Delta.PLACE:
                task = self.find_number(delta.task)
                begun = self._find_beginning(task, written)
                self.tasks.place(task, self.machines.number[delta.machine], begun)
                reports.append(pb.BindingReport(task=delta.task, machine=delta.machine, bound=True))
        if victims:
            self.scheduler.apply([pb.Event(task_removed=self.uid(task)) for task in victims])
        if reports:
            self.scheduler.report(reports)
        if victims:
            self._wake_queues_of(victims)
            self.scheduler.apply(self._let_wait(np.array(victims, dtype=np.int64)))

    def _evict(self, deltas: Iterable[pb.Delta]) -> list[int]:
        """Let the victims of a round wait again, and return them."""
        victims = []
        for delta in deltas:
            if delta.kind == pb.Delta.PREEMPT and not delta.withdrawn:
                task = self.find_number(delta.task)
                if self.tasks.state[task] == TaskProgress.RUNNING:
                    victims.append(task)
                    self.tasks.interrupt(task, self.now, keeps_work=self.keeps_work)
        self.record.preempted += len(victims)
        if victims and self.requests is not None:
            self.requests.send(self.requests.per_eviction * len(victims), self.now)
        return victims

    def _find_beginning(self, task: int, written: dict[int, float]) -> float:
        """Return when a task that is placed now begins; ``written``: when the objects of each gang of this round are
        written.
        """
        if self.requests is None:
            return self.now
        gang, more = int(self.tasks.work.gang[task]), 0.0
        if gang == ALONE:
            more = self.requests.per_gang
        elif gang not in written:
            written[gang] = self.requests.send(self.requests.per_gang, self.now)
        each = self.requests.send(self.requests.per_pod + more, self.now)
        return max(each, written.get(gang, self.now))

    def uid(self, task: int) -> str:
        """Return the uid of a task."""
        return self.uids.get(task) or f"t{task}"

    def find_number(self, uid: str) -> int:
        """Return the number of the task with a uid."""
        known = self._number_of.get(uid)
        return int(uid[1:]) if known is None else known
