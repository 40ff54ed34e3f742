"""Extracts the history of a cluster from a recording: arrivals, machines and run times of tasks, changes of nodes.

Times are in seconds since the end of the first snapshot. A task that still runs when the recording ends runs for
ever. A task that was deleted while it waited is deleted at the same time in every simulation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from poseidon.recording.stream_state import StreamState, StreamTask
from protos.firmament.v1 import scheduler_pb2 as pb

_FACTS = frozenset({"record", "record_removed", "machine_sample", "machine_sample_removed"})
"""Kinds of events that a simulation repeats as they were recorded.

Measurements of tasks are not repeated, because the tasks run on other nodes in the simulation.
"""


@dataclass(slots=True)
class RecordedTask:
    """A task of a recorded cluster."""

    uid: str
    """The task's uid."""
    kind: int
    """Position of the task's kind in ``RecordedHistory.kinds``."""
    job: str
    """Id of the task's job, "" for none."""
    arrival: float
    """Time at which the solver learnt of the task."""
    began: float | None = None
    """Time at which the task got its machine, None for never."""
    machine: str = ""
    """Name of the task's machine, "" for none."""
    ended: float | None = None
    """Time at which the task ended or was deleted, None if it still exists at the end of the recording."""
    foreign: bool = False
    """Whether another scheduler placed the task."""


@dataclass(frozen=True, slots=True)
class RecordedKind:
    """A kind of task of a recorded cluster."""

    task_class: pb.TaskClass
    """Class of the tasks."""
    priority: int
    """Priority of the tasks."""
    spread_group: str
    """Name of the group whose tasks are spread by default, "" for none."""


@dataclass(slots=True)
class RecordedHistory:
    """The history of a recorded cluster as columns."""

    configuration: pb.RecordedStream = field(default_factory=pb.RecordedStream)
    """Configuration and cluster of the first recorded stream, which the recording states at its beginning."""
    begin: float = 0.0
    """The moment at which times are 0, in seconds since the epoch."""
    horizon: float = 0.0
    """Time of the recording's last entry."""
    kinds: list[RecordedKind] = field(default_factory=list)
    """The kinds of tasks in the recording."""
    tasks: dict[str, RecordedTask] = field(default_factory=dict)
    """The tasks by uid, in the order in which the solver learnt of them."""
    jobs: dict[str, pb.Job] = field(default_factory=dict)
    """The last state of each job, by id."""
    script: list[tuple[float, pb.Event]] = field(default_factory=list)
    """Times and events of machines, records and samples; events at time 0 describe the first snapshot."""
    rounds: list[tuple[float, pb.RoundResult]] = field(default_factory=list)
    """Times and results of rounds, without their placements."""
    preempted: int = 0
    """Number of evictions that the recorded rounds decided."""


def read_history(entries: Iterable[pb.Recorded]) -> RecordedHistory:
    """Return the history that a recording contains. Raises ``ValueError`` if the recording has no complete snapshot."""
    reader = _HistoryReader()
    for entry in entries:
        reader.take_entry(entry)
    if not reader.whole:
        raise ValueError("the recording has no whole snapshot of the cluster; record for longer")
    return reader.found


class _HistoryReader:
    """Reads streams into a history; from a repeated snapshot, it uses only what differs from the known state."""

    def __init__(self) -> None:
        self.found = RecordedHistory()
        self.whole = False
        self._state = StreamState()
        self._kinds: dict[tuple[bytes, int, str], int] = {}
        self._in_snapshot = False
        self._machines: dict[str, bytes] = {}
        self._anew: list[pb.Event] = []

    def take_entry(self, entry: pb.Recorded) -> None:
        """Add the next entry of the recording to the history."""
        body = entry.WhichOneof("body")
        if body == "stream":
            if not self.found.configuration.cluster:
                self.found.configuration = entry.stream
            return
        if not self.whole:
            self.found.begin = entry.at
        now = entry.at - self.found.begin
        self.found.horizon = max(self.found.horizon, now)
        if body == "round":
            self._take_round(entry.round, entry.at, now)
        else:
            self._take_sent(entry.sent, entry.at, now)

    def _take_round(self, result: pb.RoundResult, at: float, now: float) -> None:
        self._state.note_round(result, at)
        for delta in result.deltas:
            task = self.found.tasks.get(delta.task)
            if task is not None and delta.kind == pb.Delta.PLACE:
                task.began, task.machine = now, delta.machine
            self.found.preempted += delta.kind == pb.Delta.PREEMPT and not delta.withdrawn
        self.found.rounds.append((now, pb.RoundResult(stats=result.stats)))

    def _take_sent(self, message: pb.ClientMessage, at: float, now: float) -> None:
        body = message.WhichOneof("body")
        reports = message.reports.reports if body == "reports" else message.events.reports
        for report in reports:
            task = self.found.tasks.get(report.task)
            if task is not None and not report.bound and task.machine == report.machine:
                task.began, task.machine = None, ""
        self._state.note_sent(message, at)
        if body == "snapshot_begin":
            self._in_snapshot, self._anew = True, []
        elif body == "events":
            for event in message.events.events:
                self._take_event(event, now)
        elif body == "snapshot_end":
            self._end_snapshot(now)

    def _take_event(self, event: pb.Event, now: float) -> None:
        body = event.WhichOneof("body")
        if body == "job":
            self.found.jobs[event.job.id] = event.job
        elif body in ("machine", "machine_removed") or body in _FACTS:
            if self._in_snapshot:
                self._anew.append(event)
            else:
                self._add_fact(event, now)
        elif self._in_snapshot:
            return  # Tasks are recorded when the snapshot ends.
        elif body == "task_removed":
            self._end(event.task_removed, now)
        elif body in ("tasks", "bound"):
            for uid in event.tasks.uids if body == "tasks" else event.bound.uids:
                self._record_task(uid, now)

    def _end_snapshot(self, now: float) -> None:
        """Apply a snapshot when it ends: machines and tasks that are not in the snapshot no longer exist."""
        self._in_snapshot = False
        there = {event.machine.name for event in self._anew if event.HasField("machine")}
        for name in self._machines.keys() - there:
            self._add_fact(pb.Event(machine_removed=name), now)
        for event in self._anew:
            self._add_fact(event, now)
        self._anew = []
        for uid, task in self.found.tasks.items():
            if task.ended is None and uid not in self._state.tasks:
                self._end(uid, now)
        for uid in self._state.tasks:
            self._record_task(uid, now)
        self.whole = True

    def _add_fact(self, event: pb.Event, now: float) -> None:
        if event.HasField("machine"):
            content = event.machine.SerializeToString(deterministic=True)
            if self._machines.get(event.machine.name) == content:
                return
            self._machines[event.machine.name] = content
        elif event.WhichOneof("body") == "machine_removed":
            self._machines.pop(event.machine_removed, None)
        self.found.script.append((now, event))

    def _record_task(self, uid: str, now: float) -> None:
        """Record on which machine a task is, according to the present state of the stream."""
        current = self._state.tasks[uid]
        task = self.found.tasks.get(uid)
        if task is None or task.ended is not None:
            task = RecordedTask(uid, self._find_kind(current), current.kind.job, now)
            self.found.tasks[uid] = task
        if current.machine and task.machine != current.machine:
            task.foreign = self.whole and not current.assumed
            task.began, task.machine = now, current.machine

    def _end(self, uid: str, now: float) -> None:
        task = self.found.tasks.get(uid)
        if task is not None and task.ended is None:
            task.ended = now

    def _find_kind(self, current: StreamTask) -> int:
        message = pb.TaskClass()
        known = self._state.find_class(current.kind.task_class)
        if known is not None:
            message.CopyFrom(known)
        message.id = 0
        kind = current.kind
        key = message.SerializeToString(deterministic=True), kind.priority, kind.spread_group
        if key not in self._kinds:
            self._kinds[key] = len(self.found.kinds)
            message.id = len(self.found.kinds) + 1
            self.found.kinds.append(RecordedKind(message, kind.priority, kind.spread_group))
        return self._kinds[key]


def list_durations(history: RecordedHistory) -> np.ndarray:
    """Return the run time of each task in seconds, infinite if the recording does not contain its end: float64[N]."""
    found = [
        task.ended - task.began if task.ended is not None and task.began is not None else np.inf
        for task in history.tasks.values()
    ]
    return np.maximum(np.array(found, dtype=np.float64), 0.001)
