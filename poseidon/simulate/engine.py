"""Runs a simulation: applies events, lets the solver decide, and carries out its decisions at once.

The solver is the real one, in this process, and gets the events that a bridge would send. Events are gathered for
``round_every`` seconds; then a round decides about all waiting tasks. Unless a limit on requests is set, bindings
succeed at once, and victims leave at once. All times are seconds since the beginning; the solver's clock begins at
`BEGIN`. Equal scenarios give equal results, byte for byte.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from poseidon.embedding import EmbeddedScheduler
from poseidon.simulate.classes import TaskKinds
from poseidon.simulate.measurements import Record
from poseidon.simulate.node_events import NodeChange, NodeChanges, NodeEvents
from poseidon.simulate.nodes import SimulatedMachines
from poseidon.simulate.rounds.evictions import EvictionsUnderWay
from poseidon.simulate.rounds.queue_heads import Head, QueueHeads
from poseidon.simulate.rounds.request_limit import RequestBucket
from poseidon.simulate.rounds.task_messages import TaskMessages
from poseidon.simulate.run_time_records import RunTimeRecords
from poseidon.simulate.tasks import TaskColumns, TaskProgress
from poseidon.simulate.workloads.columns import ALONE, Int64, Work
from protos.firmament.v1 import scheduler_pb2 as pb

BEGIN = 1_767_225_600.0
"""The first moment of a simulation, in seconds since the epoch: 2026-01-01T00:00:00Z."""
_MOST_ROUNDS = 20
"""The most rounds at one moment: usually one is enough, and each wave of evictions needs one more."""


class Clock:
    """The clock that the solver reads: simulated time in seconds since the epoch."""

    def __init__(self, begin: float = BEGIN) -> None:
        self.now, self.begin = 0.0, begin

    def __call__(self) -> float:
        """Return the simulated time."""
        return self.begin + self.now


class Script(Protocol):
    """Events of a simulation whose times are known in advance."""

    def next_time(self) -> float | None:
        """Return the time of the next event, in seconds since the beginning, or None if no event is left."""

    def happen(self, now: float, simulation: Simulation) -> list[pb.Event]:
        """Apply the events up to ``now`` to the simulation, and return the events that the solver must get."""


@dataclass(slots=True)
class Simulation:
    """The whole state of a running simulation, so that it can be saved and resumed."""

    scheduler: EmbeddedScheduler
    """The solver that decides the placements."""
    clock: Clock
    """The clock of the simulation and of the solver."""
    machines: SimulatedMachines
    """The nodes of the simulated cluster."""
    kinds: TaskKinds
    """The kinds of tasks in the simulation."""
    tasks: TaskColumns
    """The tasks of the simulation, as columns."""
    uids: dict[int, str]
    """Uids of the tasks that have names of their own; all other tasks are named by their numbers."""
    jobs: dict[int, str]
    """Jobs of the tasks that come from the cluster's files, by the task's number."""
    node_events: NodeEvents
    """The failures, drains and autoscaling of nodes."""
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
    """Time at which a round could place tasks even without an event, in seconds since the beginning; None for never."""
    warnings: list[str] = field(default_factory=list)
    """Warnings for people."""
    script: Script | None = None
    """Events besides the arrivals and ends of tasks; None if there are none."""
    requests: RequestBucket | None = None
    """Limit on how fast the scheduler writes its decisions, None for no limit."""
    told_runs: RunTimeRecords | None = None
    """Run times that the solver learns, None if no cost model reads them."""
    heads: QueueHeads | None = None
    """Lets only the first gang or pod of each queue take part in a round; None: all take part."""
    messages: TaskMessages = field(init=False)
    """Makes the events that describe tasks to the solver."""
    evictions: EvictionsUnderWay = field(init=False)
    """Evictions that rounds have decided and that are not written yet."""

    def __post_init__(self) -> None:
        self.messages = TaskMessages(self.kinds, self.tasks, self.uids, self.jobs, self.clock.begin)
        self.evictions = EvictionsUnderWay(self.tasks)

    @property
    def now(self) -> float:
        """Simulated seconds since the beginning of the simulation."""
        return self.clock.now

    def run(
        self,
        until: float | None = None,
        *,
        note: Callable[[float], object] = lambda _: None,
        again: Callable[[], bool] = lambda: False,
        stop: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Run until ``until`` or until the simulation ends, if that is earlier; return whether it has ended.

        After each round, ``note`` gets the time. If ``stop`` then returns True, the run ends early; if ``again`` does,
        another round follows at the same time.
        """
        end = self.horizon if until is None else min(until, self.horizon)
        while (moment := self._find_next_round()) is not None and moment <= end:
            self.record.sample_until(moment, self.tasks, self.machines)
            self.clock.now = moment
            once_more = True
            while once_more:
                self._happen()
                self._decide()
                note(moment)
                if stop():
                    return False
                once_more = again()
        if end < self.horizon:
            return False
        self.record.sample_until(self.horizon, self.tasks, self.machines, last=True)
        self.clock.now = self.horizon
        return True

    def let_come(self, coming: Work) -> None:
        """Replace all future events by the arrivals in ``coming``.

        After the replacement, no node changes, and no more points of time series are recorded. Gangs of ``coming``
        are numbered from 0 on.
        """
        self.tasks.let_come_instead(self.arrived, coming)
        self.node_events.cancel_all()
        self.script = None
        self.record.every = math.inf

    def _find_next_round(self) -> float | None:
        """Return when the next round begins: when the interval of the next event ends; None if no event follows."""
        arrival = self.tasks.work.arrival
        candidates = [
            self.tasks.next_end(),
            float(arrival[self.arrived]) if self.arrived < len(arrival) else None,
            self.node_events.next_time(),
            self.wakes,
            self.evictions.find_next_written(),
            None if self.heads is None else self.heads.find_next_requeue(),
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
        gangs = self.tasks.work.gang[ended].tolist()
        events = self.messages.withdraw_tasks(ended)
        events += self.messages.dissolve_gangs(
            gang for gang in gangs if gang != ALONE and not self.tasks.count_left_of(gang)
        )
        self._requeue_beside(ended)
        self.evictions.let_leave(ended)
        events += self._let_wait_again(self._cut_off())
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
        self._place([(each.task, each.machine) for each in self.evictions.take_ready()])

    def _change_nodes(self, changes: NodeChanges) -> list[pb.Event]:
        """Apply changes of nodes, and return the events for the solver; tasks on removed nodes wait again."""
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
        """Make all tasks on a node wait again, and remove the node, or cordon it if it ``stays``; return the events."""
        gone = self.tasks.find_on(number)
        self.evictions.break_promises(machine=self.machines.names[number])
        self.evictions.let_leave(gone)
        events = self.messages.withdraw_tasks(gone)
        for task in gone:
            self.tasks.interrupt(task, self.now, keeps_work=self.keeps_work)
        events.append(self.machines.cordon(number) if stays else self.machines.remove(number))
        self.record.displaced += len(gone)
        return events + self._let_wait(np.array(gone, dtype=np.int64))

    def _let_wait(self, tasks: Int64) -> list[pb.Event]:
        """Return the events that submit tasks to the solver.

        Tasks in queues are submitted later, as heads of their queues.
        """
        if self.heads is not None:
            tasks = np.array(self.heads.add(tasks, self.tasks.work), dtype=np.int64)
        return self.messages.make_submissions(tasks)

    def _let_wait_again(self, victims: Sequence[int]) -> list[pb.Event]:
        """Return the events that withdraw evicted tasks from the solver and submit them again."""
        if not victims:
            return []
        self._requeue_beside(victims)
        return self.messages.withdraw_tasks(victims) + self._let_wait(np.array(victims, dtype=np.int64))

    def _requeue_beside(self, tasks: Iterable[int]) -> None:
        """Let gangs and pods that were set aside take part again, in all trees of quotas to which ``tasks`` belong."""
        if self.heads is not None:
            self.heads.requeue_later(self._list_queues(tasks), self.now)

    def _list_queues(self, tasks: Iterable[int]) -> set[str]:
        """Return the quotas from which some tasks take."""
        kinds = self.tasks.work.template
        return {self.kinds.classes[int(kinds[task])].queue for task in tasks}

    def _decide(self) -> None:
        """Decide about waiting tasks: all at once, or, if they are in queues, in rounds for the first of each queue."""
        self._run_rounds()
        if self.heads is None:
            return
        self.heads.requeue_due(self.now)
        released = self.heads.release(self.evictions.waits)
        given_up = [head for head in released if self._is_waiting(head)]
        self._take_back(given_up, self.heads, [head.queue for head in given_up])
        while self.now >= self.heads.busy_until - 1e-9 and (heads := self.heads.take_heads()):
            self._decide_on(heads, self.heads)
        if self.heads.busy_until > self.now:
            self.wakes = min(self.heads.busy_until, math.inf if self.wakes is None else self.wakes)

    def _decide_on(self, heads: Sequence[Head], queues: QueueHeads) -> None:
        """Run a round for some gangs and pods; those that get no place return to ``queues``."""
        tasks = [task for head in heads for task in head.tasks]
        self.scheduler.apply(self.messages.make_submissions(np.array(tasks, dtype=np.int64)))
        self._run_rounds()
        waiting = [head for head in heads if self._is_waiting(head)]
        promised = [head for head in waiting if self.evictions.waits(head.tasks[0])]
        queues.hold(promised)
        refused = [head for head in waiting if not self.evictions.waits(head.tasks[0])]
        left = {*refused}
        moved = [head.queue for head in heads if head not in left]
        news = len(promised) + self._take_back(refused, queues, moved)
        # This round places no task of a queue, but finds when the remaining tasks need a round.
        self._run_rounds()
        if self.requests is not None:
            written = self.requests.send_refusals(news, self.now)
            queues.busy_until = max(queues.busy_until, written)

    def _take_back(self, refused: Sequence[Head], queues: QueueHeads, moved: Iterable[str]) -> int:
        """Withdraw from the solver the gangs and pods that a round refused, and return them to ``queues``.

        ``moved`` has the queues in which the round placed other gangs or pods. Returns the number of refusals that
        are new and must be written.
        """
        tasks = [task for head in refused for task in head.tasks]
        gangs = self.tasks.work.gang[tasks].tolist()
        self.scheduler.apply([*self.messages.withdraw_tasks(tasks), *self.messages.dissolve_gangs(gangs)])
        return queues.put_back(refused, queues.find_roots(moved))

    def _is_waiting(self, head: Head) -> bool:
        return bool(self.tasks.state[head.tasks[0]] == TaskProgress.WAITING)

    def _run_rounds(self) -> None:
        """Run rounds and carry out their decisions until no more task can be placed now."""
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
        """Carry out a round: victims leave when their evictions are written, then tasks take their places."""
        victims = self._evict(deltas)
        ready = []
        for delta, awaited in self._list_placed(deltas):
            task = self.messages.find_number(delta.task)
            if not self.evictions.promise(task, delta.machine, awaited):
                ready.append((task, delta.machine))
        if victims:
            self.scheduler.apply(self.messages.withdraw_tasks(victims))
        self._place(ready)
        if victims:
            self._requeue_beside(victims)
            self.scheduler.apply(self._let_wait(np.array(victims, dtype=np.int64)))

    def _list_placed(self, deltas: Iterable[pb.Delta]) -> list[tuple[pb.Delta, set[int]]]:
        """Return a round's placements, each with the victims of its whole gang, which must leave first."""
        placed = [delta for delta in deltas if delta.kind == pb.Delta.PLACE]
        tasks = [self.messages.find_number(delta.task) for delta in placed]
        gangs = self.tasks.work.gang[tasks].tolist()
        units = [-2 - task if gang == ALONE else gang for task, gang in zip(tasks, gangs, strict=True)]
        awaited: dict[int, set[int]] = {unit: set() for unit in units}
        for delta, unit in zip(placed, units, strict=True):
            awaited[unit].update(map(self.messages.find_number, delta.depends_on))
        return [(delta, awaited[unit]) for delta, unit in zip(placed, units, strict=True)]

    def _evict(self, deltas: Iterable[pb.Delta]) -> list[int]:
        """Begin the evictions that a round decided; return the victims that have left at once."""
        victims = []
        for delta in deltas:
            if delta.kind == pb.Delta.PREEMPT:
                task = self.messages.find_number(delta.task)
                if delta.withdrawn:
                    self.evictions.break_promises(victim=task)
                elif self.tasks.state[task] == TaskProgress.RUNNING and task not in self.evictions:
                    victims.append(task)
        written = [self.now] * len(victims)
        if self.requests is not None:
            written = self.requests.send_evictions(self.tasks.work.gang[victims].tolist(), self.now)
        for task, when in zip(victims, written, strict=True):
            self.evictions.add(task, when)
        if self.heads is not None:
            self.heads.busy_until = max([self.heads.busy_until, *written])
        return self._cut_off()

    def _cut_off(self) -> list[int]:
        """Stop the tasks whose evictions have been written by now, and return them."""
        victims = self.evictions.take_written(self.now)
        self.evictions.let_leave(victims)
        for task in victims:
            self.tasks.interrupt(task, self.now, keeps_work=self.keeps_work)
        self.record.preempted += len(victims)
        return victims

    def _place(self, placements: Sequence[tuple[int, str]]) -> None:
        """Let tasks begin on machines when their placements are written, and report them as placed to the solver."""
        if not placements:
            return
        tasks = [task for task, _ in placements]
        begun = [self.now] * len(tasks)
        if self.requests is not None:
            begun = self.requests.send_placements(self.tasks.work.gang[tasks].tolist(), self.now)
        for (task, machine), when in zip(placements, begun, strict=True):
            self.tasks.place(task, self.machines.number[machine], when)
        self.scheduler.report(
            pb.BindingReport(task=self.messages.uid(task), machine=machine, bound=True)
            for task, machine in placements
        )

    def replace_kinds(self, kinds: TaskKinds) -> None:
        """Replace the kinds of tasks; kinds that exist already must keep their numbers."""
        self.kinds = self.messages.kinds = kinds
