"""Streams of a small cluster, drawn: what a driver tells a solver, and the rounds that follow."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from poseidon.embedding import EmbeddedScheduler, load_configuration
from poseidon.recording.recorder import StreamRecorder
from protos.firmament.v1 import scheduler_pb2 as pb

BEGIN = 1_800_000_000.0


def machine(name: str, cores: int = 16) -> pb.Event:
    amounts = [pb.Quantity(resource="cpu", amount=1000 * cores), pb.Quantity(resource="pods", amount=110)]
    return pb.Event(machine=pb.Machine(name=name, allocatable=amounts))


def task_class(number: int) -> pb.Event:
    request = pb.Quantity(resource="cpu", amount=250 * number)
    return pb.Event(task_class=pb.TaskClass(id=number, requests=[request], namespace="default"))


class DrawnStream:
    """A driver and a solver in one process, with a clock of their own. ``recorder`` hears what passes between them."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now = BEGIN
        self.solver = EmbeddedScheduler(load_configuration(None), lambda: self.now)
        self.recorder: StreamRecorder | None = None
        self.steps = 0
        self.made: dict[str, str] = {}
        """By task, where rounds have placed it."""
        self.decisions = 0
        self._machines: list[str] = []
        self._alive: list[str] = []
        self._count = 0

    def begin(self, machines: int) -> None:
        """Send a snapshot."""
        if self.recorder is not None:
            self.recorder.begin(pb.Hello(cluster="drawn"), pb.Welcome(server="drawn"))
        self.send(pb.ClientMessage(snapshot_begin=pb.SnapshotBegin()))
        self._machines = [f"m{number}" for number in range(machines)]
        classes = [task_class(number) for number in range(1, 9)]
        self.tell([*map(machine, self._machines), *classes])
        self.send(pb.ClientMessage(snapshot_end=pb.SnapshotEnd()))

    def tell(self, events: list[pb.Event], reports: tuple[pb.BindingReport, ...] = ()) -> None:
        self.send(pb.ClientMessage(events=pb.EventBatch(events=events, reports=reports)))

    def send(self, message: pb.ClientMessage) -> None:
        """Send a message and have it applied."""
        if self.recorder is not None:
            self.recorder.note_sent(message)
        self.steps += 1
        if message.events.reports:
            self.steps += 1
            self.solver.report(message.events.reports)
        self.solver.report(message.reports.reports)
        self.solver.apply(message.events.events)

    def play(self, turns: int, most: int = 12, look: Callable[[], None] = lambda: None) -> None:
        """Let tasks come and go, nodes too, with rounds between; ``look`` is called after each turn."""
        for _ in range(turns):
            self.now += self.random.uniform(0.1, 5.0)
            self.tell(self._draw_events(most))
            if self.solver.has_work():
                self._decide()
            look()

    def _draw_events(self, most: int) -> list[pb.Event]:
        events = []
        for _ in range(self.random.randint(1, 3)):
            uids = [f"{self.random.getrandbits(64):016x}" for _ in range(self.random.randint(1, most))]
            self._count += len(uids)
            self._alive += uids
            cls, priority = self.random.randint(1, 8), 0
            batch = pb.TaskBatch(task_class=cls, priority=priority, uids=uids, created=[self.now] * len(uids))
            events.append(pb.Event(tasks=batch))
        while len(self._alive) > 30 + most * 2:
            gone = self._alive.pop(self.random.randrange(len(self._alive)))
            events.append(pb.Event(task_removed=gone))
        if self.random.random() < 0.2:
            events.append(machine(f"later{self._count}", 4))
        if self.random.random() < 0.1:
            bound = pb.BoundTasks(machine="m0", task_class=1, uids=[f"foreign-{self._count}"])
            events.append(pb.Event(bound=bound))
        return events

    def _decide(self) -> None:
        opened = self.steps
        result = self.solver.run_round(whole=True)
        decided = pb.DecidedOn(
            opened_after=opened, closed_after=opened, opened_at=self.now, closed_at=self.now
        )
        result.decided.CopyFrom(decided)
        if self.recorder is not None:
            self.recorder.note_round(result)
        reports = []
        for delta in result.deltas:
            if delta.kind == pb.Delta.PLACE:
                bound = self.random.random() < 0.9
                self.made[delta.task] = delta.machine
                self.decisions += 1
                reports.append(
                    pb.BindingReport(task=delta.task, machine=delta.machine, bound=bound, retry=True)
                )
        if self.random.random() < 0.5:
            self.send(pb.ClientMessage(reports=pb.BindingReports(reports=reports)))
        else:
            self.tell([], tuple(reports))
