"""A cluster as the server keeps it, a driver's messages as bytes, and decent tasks beside hostile ones.

What a stream brings is read as `Session` reads it: decoded, checked, applied, and refused with one error that ends the
stream. Rounds are run, encoded and carried out. Most decent tasks have machines of their own, which no hostile task may
use: what happens to them is somebody's fault. None is less important than a hostile one.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import MappingProxyType

from google.protobuf.message import DecodeError

from firmament.configuration.document import build_core, load
from firmament.configuration.sections import LimitSection
from firmament.core.events import InvalidEventError
from firmament.core.intake.events import TooLargeClusterError
from firmament.core.rules.devices.running_number import RunningNumber
from firmament.core.scheduler import Scheduler
from firmament.core.state.classes import LEAST_SURPLUS
from firmament.server.cluster import ServedCluster
from firmament.server.driving.loop import RoundRunner
from firmament.server.metrics import Metrics
from firmament.solvers.ortools_solver import OrToolsSolver
from firmament.wire.events import events_from_proto, reports_from_proto
from firmament.wire.rounds import (
    EncodedRound,
    explanation_to_proto,
    machine_state_to_proto,
    task_state_to_proto,
)
from protos.firmament.v1 import scheduler_pb2 as pb

START = 1_767_268_800.0
GIB = 2**30
POOL = "decent.example/pool"
FIRST_CLASS = 2**40
HIGHEST = 2**31 - 1
GOOD = {f"good-{index}": ("east", "west")[index % 2] for index in range(4)}
CPU = 8_000
SHARED = "shared-0"
"""The one machine that hostile tasks may use as well; decent ones of kind ``shared`` have to go there."""
REQUESTS = {"plain": 100, "large": 2_500, "spread": 200, "gang": 300, "shared": 500}
CLASSES = {kind: FIRST_CLASS + index for index, kind in enumerate(REQUESTS)}
MOST_ROUNDS = 6
CONFIGURATION = """\
apiVersion: firmament.io/v1alpha1
kind: SchedulerConfiguration
policy: {{name: {policy}}}
costModels:
  - {{name: network_overhead, weight: 5, args: {{namespaces: [decent, mallory], networkTopologyName: net}}}}
  - {{name: numa_fit, weight: 2}}
  - name: load_threshold
    args: {{usageThresholds: {{cpu: 65, memory: 95}}, allowCustomizeEstimation: true}}
  - {{name: topology, weight: 1}}
fairShare: {{enabled: true}}
limits: {{tasks: 120, machines: 20, classes: 200, records: 70, recordBytes: 65536}}
"""


class Tenants:
    """The driver of a cluster. ``bound``: machine of each decent task that has one; ``now`` is the time."""

    def __init__(self, folder: Path, policy: str) -> None:
        self.now = START
        path = folder / "configuration.yaml"
        path.write_text(CONFIGURATION.format(policy=policy))
        core = build_core(load(path))
        self._cluster = ServedCluster(
            "c", lambda: Scheduler(configuration=core, solver=OrToolsSolver(), clock=lambda: self.now)
        )
        self._runner = RoundRunner(Metrics())
        self.kinds: dict[str, str] = {}
        self.bound: dict[str, str] = {}
        self.evicted: list[str] = []
        self.refused: Counter[str] = Counter()
        self.hostile: list[tuple[str, str]] = []
        self.placed = 0
        self._cluster.attach(self, 1)
        self.begin_anew()

    # --- a driver, as the cluster sees it --------------------------------------------------------------------------

    def supersede(self, by_fencing: int) -> None:
        """Nobody else drives the cluster."""
        raise AssertionError(by_fencing)

    def deliver(self, result: EncodedRound) -> None:
        """Nobody else asks for rounds."""
        raise AssertionError(result)

    # --- messages --------------------------------------------------------------------------------------------------

    def receive(self, raw: bytes, *, compare: bool = False) -> pb.ClientMessage | None:
        """Take a message as it travels; returns it if it was heeded, None if the stream ends over it.

        With ``compare``, what was refused must have changed nothing.
        """
        if len(raw) > LimitSection().message_bytes:
            self.refused["too large"] += 1
            return None
        try:
            message = pb.ClientMessage.FromString(raw)
        except DecodeError:
            self.refused["not a message"] += 1
            return None
        keep_off(message)
        body = message.WhichOneof("body")
        if body not in ("events", "reports"):
            self.refused["not in its place"] += 1
            return None
        before = self.state() if compare else b""
        try:
            if body == "events":
                self._cluster.apply(self, events_from_proto(message.events.events))
            else:
                self._cluster.report(self, reports_from_proto(message.reports))
        except InvalidEventError as error:
            self.refused["too much" if isinstance(error, TooLargeClusterError) else "invalid"] += 1
            assert not compare or self.state() == before, "a refused batch has left something behind"
            return None
        return message

    def send(self, events: Iterable[pb.Event]) -> None:
        """Send events that are sound."""
        message = pb.ClientMessage(events=pb.EventBatch(sequence=1, events=events))
        assert self.receive(message.SerializeToString()) is not None

    def begin_anew(self) -> None:
        """Begin with a new snapshot, which has nothing hostile in it."""
        self._cluster.begin_snapshot(self)
        self.send(_snapshot())
        for uid in self.kinds:
            self.send([self._task(uid)])
        self._cluster.end_snapshot(self)
        self.hostile.clear()

    def forget_classes(self) -> None:
        """Let the core drop classes that nothing refers to: it does so when there are many."""
        numbers = range(1, 2 * LEAST_SURPLUS)
        described = (
            pb.TaskClass(id=number, requests=[pb.Quantity(resource="cpu", amount=number)])
            for number in numbers
        )
        self.send(pb.Event(task_class=each) for each in described)
        self.send(pb.Event(class_removed=number) for number in numbers)

    # --- decent tasks ----------------------------------------------------------------------------------------------

    def create(self, uid: str, kind: str) -> None:
        """Submit a decent task; those of kind ``gang`` come in twos."""
        self.kinds[uid] = kind
        self.send([self._task(uid)])

    def delete(self, uid: str) -> None:
        """End a decent task."""
        del self.kinds[uid]
        self.bound.pop(uid, None)
        self.send([pb.Event(task_removed=uid)])

    def _task(self, uid: str) -> pb.Event:
        kind = self.kinds[uid]
        job, number = f"decent-{kind}", CLASSES[kind]
        if uid in self.bound:
            there = pb.BoundTasks(
                machine=self.bound[uid], task_class=number, priority=HIGHEST, uids=[uid], job=job
            )
            return pb.Event(bound=there)
        return pb.Event(tasks=pb.TaskBatch(task_class=number, job=job, priority=HIGHEST, uids=[uid]))

    def turn(self, seconds: float, report: Callable[[list[tuple[str, str]]], bytes]) -> None:
        """Let time pass, run rounds and carry them out; ``report`` says what becomes of hostile placements."""
        self.now += seconds
        for _ in range(MOST_ROUNDS):
            if self._cluster.next_round_in(self) != 0.0:
                break
            encoded = self._runner.run_here(self._cluster)
            assert encoded is not None
            self._carry_out(pb.RoundResult.FromString(encoded.body))
            if self.hostile:
                self.receive(report(self.hostile))
                self.hostile.clear()

    def _carry_out(self, result: pb.RoundResult) -> None:
        reports, events = [], []
        for delta in result.deltas:
            decent = delta.task in self.kinds
            if delta.kind == pb.Delta.PLACE:
                self.placed += not decent
                if decent:
                    self.bound[delta.task] = delta.machine
                    reports.append(pb.BindingReport(task=delta.task, machine=delta.machine, bound=True))
                else:
                    assert delta.machine not in GOOD, (
                        f"{delta.task} is on a machine that it has no business on"
                    )
                    self.hostile.append((delta.task, delta.machine))
            elif decent:
                self.evicted.append(delta.task)
            else:
                events.append(pb.Event(task_removed=delta.task))
        message = pb.ClientMessage(reports=pb.BindingReports(reports=reports))
        assert self.receive(message.SerializeToString()) is not None
        self.send(events)

    def ask(self, uid: str) -> None:
        """Ask what can be asked, as people do who wonder."""
        _, tasks, machines = self._cluster.listing(with_tasks=True)
        for task in tasks:
            task_state_to_proto(task).SerializeToString()
        for machine in machines:
            machine_state_to_proto(machine).SerializeToString()
        if any(task.uid == uid for task in tasks):
            explanation_to_proto(self._cluster.explain(uid)).SerializeToString()

    # --- how they fare ---------------------------------------------------------------------------------------------

    def complaints(self) -> list[str]:
        """What decent tenants have to complain about: told to go, or pending although there is room by plain sums."""
        used = Counter[str]()
        for uid, machine in self.bound.items():
            used[machine] += REQUESTS[self.kinds[uid]]
        found = [f"{uid} was told to go" for uid in self.evicted]
        for uid, kind in self.kinds.items():
            if kind == "shared" or uid in self.bound:
                continue  # who is as important may have come first
            if any(used[name] + REQUESTS[kind] <= CPU for name in GOOD):
                found.append(f"{uid} is pending")
        return found + [
            f"{uid} is on {name}" for uid, name in self.bound.items() if name not in (*GOOD, SHARED)
        ]

    def state(self) -> bytes:
        """All that is known of the cluster, to be compared."""
        scheduler = self._cluster._aside or self._cluster._scheduler
        assert scheduler is not None
        written = io.BytesIO()
        pickler = pickle.Pickler(written)
        pickler.dispatch_table = copyreg.dispatch_table | {
            MappingProxyType: lambda map_: (dict, (dict(map_),)),
            RunningNumber: lambda _: (RunningNumber, ()),  # goes on by being pickled
        }
        pickler.dump(scheduler._cluster)
        return written.getvalue()


def keep_off(message: pb.ClientMessage) -> None:
    """Take out what Kubernetes itself lets keep others off their nodes: this is not about that."""
    for event in message.events.events:
        if event.WhichOneof("body") == "task_class" and event.task_class.id not in CLASSES.values():
            for toleration in event.task_class.tolerations:
                if not toleration.key:
                    toleration.key = "some"


def _snapshot() -> list[pb.Event]:
    """The machines, classes and jobs of decent tenants."""
    events = []
    for name, zone in {**GOOD, SHARED: "a"}.items():
        pool = "shared" if name == SHARED else "yes"
        labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone, POOL: pool}
        room = {"cpu": 1_200 if name == SHARED else CPU, "memory": 32 * GIB, "pods": 110}
        allocatable = [pb.Quantity(resource=resource, amount=amount) for resource, amount in room.items()]
        taint = pb.Taint(key=POOL, value="yes", effect="NoSchedule")
        machine = pb.Machine(name=name, labels=labels, allocatable=allocatable)
        if name != SHARED:
            machine.taints.append(taint)
        events.append(pb.Event(machine=machine))
    for kind, number in CLASSES.items():
        content = pb.TaskClass(
            id=number,
            requests=[pb.Quantity(resource="cpu", amount=REQUESTS[kind])],
            node_selector={POOL: "shared" if kind == "shared" else "yes"},
            tolerations=[pb.Toleration(key=POOL, operator="Exists")],
            namespace="decent",
            labels={"app": "a", "kind": kind},
        )
        if kind == "spread":
            own = pb.TaskSelector(labels=[pb.Requirement(key="kind", operator="In", values=[kind])])
            content.spread.add(
                topology_key="topology.kubernetes.io/zone", selector=own, max_skew=1, required=True
            )
        events.append(pb.Event(task_class=content))
        members = 2 if kind == "gang" else 0
        events.append(pb.Event(job=pb.Job(id=f"decent-{kind}", min_members=members, namespace="decent")))
    return events
