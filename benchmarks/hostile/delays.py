"""Measures how long one tenant's most expensive pods delay another tenant's placements: in bridge, protocol and
core.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from benchmarks.child_processes import make_pool
from benchmarks.environment import environment
from benchmarks.hostile.groups import GROUP_SHAPES, HostileGroups, surroundings
from benchmarks.hostile.pods import HOSTNAME, MALLORY, SHAPES, ZONE, Room, hostile_pod
from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    MachineUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import (
    Image,
    Job,
    Machine,
    Requirement,
    SpreadRule,
    Taint,
    TaskClass,
    TaskSelector,
    TaskTerm,
)
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from firmament.wire.events import events_from_proto
from poseidon.kube.api.pods import Pod
from poseidon.pods.classes import ClassTable
from protos.firmament.v1 import scheduler_pb2 as pb

GIB = 2**30
BOUND = 0.5
"""Largest delay, in seconds, that one tenant may cause to the pods of others."""
_FIRST_CLASS = 1_000_000
_EACH = 2**15
"""Bytes of each hostile pod if a shape has no limit; one pod of the shape has the full size."""
_MOST_ROUNDS = 20
_ROUNDS = 20
"""Rounds in which hostile pods are placed, or found to have no place, before all of them are put on machines."""


@dataclass(frozen=True, slots=True)
class HostileOptions:
    """A cluster in which ordinary pods and hostile pods of another namespace come."""

    nodes: int = 1_500
    """Nodes."""
    classes: int = 100
    """Classes of ordinary pods."""
    pods: int = 1_000
    """Ordinary pods."""
    hostile: int = 500
    """Hostile pods."""
    size: int = 3 * 2**19
    """Bytes of the largest pod that an API server takes."""
    runs: int = 3
    """Number of bursts, of which the median or the worst counts."""
    workers: int = 2
    """Number of processes that measure shapes in parallel."""
    shapes: tuple[str, ...] = (*SHAPES, *GROUP_SHAPES)
    """Names of shapes of hostile pods and groups."""


def run_hostile(options: HostileOptions, progress: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Measure each shape of hostile pods on a new cluster, and compare with the same bursts without these pods."""
    rows = []
    with make_pool(options.workers) as pool:
        for row in pool.map(partial(measure_shape, options), options.shapes):
            progress(f"{row['shape']}: {row['delaySeconds']:.2f} s")
            rows.append(row)
    return {"kind": "hostile", **sum_up(options, rows)}


def sum_up(options: HostileOptions, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a report without its kind: the cluster, whether the bound holds for all shapes, and a row per shape."""
    return {
        "environment": environment(),
        "nodes": options.nodes,
        "classes": options.classes,
        "pods": options.pods,
        "hostile": options.hostile,
        "boundSeconds": BOUND,
        "holds": all(row["holds"] for row in rows),
        "rows": rows,
    }


def measure_shape(options: HostileOptions, shape: str) -> dict[str, Any]:
    """Return the figures of one shape."""
    return {"shape": shape, **_Measure(options, shape).measured()}


@dataclass(frozen=True, slots=True)
class _Hostile:
    """The hostile pods as events: their classes, and tasks whose names begin with ``prefix``."""

    defined: Sequence[Event]
    classes: Sequence[int]
    gang: bool

    def tasks(self, prefix: str) -> list[Event]:
        """Return the events that submit all hostile tasks."""
        job = f"gang-{prefix}" if self.gang else ""
        events: list[Event] = (
            [JobDefined(Job(job, min_members=len(self.classes), namespace=MALLORY))] if job else []
        )
        return events + [
            TasksSubmitted(number, (f"{prefix}-{at}",), job, names=(f"{MALLORY}/{prefix}-{at}",))
            for at, number in enumerate(self.classes)
        ]

    def uids(self, prefix: str) -> list[str]:
        """Return the names of the tasks."""
        return [f"{prefix}-{at}" for at in range(len(self.classes))]

    def job(self, prefix: str, at: int) -> str:  # noqa: ARG002 - asked alike
        """Return no group: running tasks are members of no gang here."""
        return ""


class _Measure:
    """A cluster, and bursts of ordinary pods in it; all times are processor seconds."""

    def __init__(self, options: HostileOptions, shape: str) -> None:
        self._options, self._shape = options, shape
        group = GROUP_SHAPES.get(shape)
        self._runs = group.runs if group is not None else SHAPES[shape].runs
        self._core = _running(options, group.overlay if group is not None else "")
        self._bursts = 0
        self._core.run_round()

    def measured(self) -> dict[str, Any]:
        """Return how long a burst takes by itself, and together with hostile pods in each stage of their lives."""
        options, core = self._options, self._core
        alone = statistics.median([self._burst() for _ in range(options.runs + 1)][1:])
        hostile: _Hostile | HostileGroups
        if self._shape in GROUP_SHAPES:
            hostile, bridge = GROUP_SHAPES[self._shape].make(options.hostile), 0.0
        else:
            hostile, bridge = _translated(self._shape, options)
        applying = _timed(lambda: core.apply(hostile.defined))[0]
        beside = self._burst(hostile.tasks("first"))
        behind = [self._burst(during=True) for _ in range(options.runs)]
        self._remove(hostile.uids("first"))
        core.apply(hostile.tasks("second"))
        behind.append(self._burst(during=True))
        for _ in range(_ROUNDS):
            if core.next_round_in() != 0.0:
                break
            core.run_round()
        message = next(
            (each.message for each in core.task_states() if each.uid.startswith("second-") and each.message),
            "",
        )
        waiting = statistics.median([self._burst() for _ in range(options.runs)])
        running = self._measure_beside_running(hostile) if self._runs else waiting
        late = max(beside, *behind, waiting, running) - alone + bridge
        return {
            "bridgeSeconds": bridge,
            "intakeSeconds": applying / options.hostile,
            "aloneSeconds": alone,
            "besideSeconds": beside,
            "behindSeconds": max(behind),
            "waitingSeconds": waiting,
            "runningSeconds": running,
            "delaySeconds": late,
            "holds": late <= BOUND,
            "message": message,
        }

    def _measure_beside_running(self, hostile: _Hostile | HostileGroups) -> float:
        """Return how long a burst takes while the hostile pods run on the machines."""
        options = self._options
        self._core.apply(
            [
                TasksBound(f"node-{at % options.nodes:05d}", number, (uid,), job=hostile.job("second", at))
                for at, (number, uid) in enumerate(zip(hostile.classes, hostile.uids("second"), strict=True))
            ]
        )
        self._burst()
        return statistics.median([self._burst() for _ in range(options.runs)])

    def _burst(self, hostile: Sequence[Event] = (), *, during: bool = False) -> float:
        """Return how many seconds it takes to place a burst that comes together with ``hostile``; remove it afterwards.

        ``during``: the burst comes when a round has just begun.
        """
        self._bursts += 1
        share = self._options.pods // self._options.classes
        burst = [
            TasksSubmitted(cls + 1, tuple(f"burst-{self._bursts}-{cls}-{copy}" for copy in range(share)))
            for cls in range(self._options.classes)
        ]
        uids = [uid for event in burst for uid in event.uids]
        seconds, _ = _timed(lambda: self._place([*hostile, *burst], set(uids), during=during))
        self._remove(uids)
        return float(seconds)

    def _place(self, events: Sequence[Event], uids: set[str], *, during: bool) -> None:
        core = self._core
        if during:
            opened = core.open_round()
            core.apply(events)
            core.close_round(opened, opened.solve())
        else:
            core.apply(events)
        for _ in range(_MOST_ROUNDS):
            core.next_round_in()
            uids.difference_update(delta.uid for delta in core.run_round().deltas)
            if not uids:
                return
        raise RuntimeError(f"{len(uids)} ordinary pods found no place in {_MOST_ROUNDS} rounds")

    def _remove(self, uids: Sequence[str]) -> None:
        self._core.apply([TaskRemoved(uid) for uid in uids])
        self._core.next_round_in()


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.process_time()
    result = work()
    return time.process_time() - begun, result


def _translated(shape: str, options: HostileOptions) -> tuple[_Hostile, float]:
    """Return the hostile pods after translation by the bridge, and the longest seconds for one of them."""
    kind = SHAPES[shape]
    table, described = ClassTable(), []
    seconds = [0.0]
    for number in range(min(options.hostile * kind.times, kind.most)):
        variety = 0 if kind.copies else number
        room = Room(
            options.size if kind.limit else min(options.size, _EACH), kind.limit, variety * (kind.limit or 1)
        )
        raw = msgspec.json.encode(hostile_pod(shape, room, variety))
        took, traits = _timed(lambda raw=raw: table.traits(msgspec.json.decode(raw, type=Pod)))  # type: ignore[misc]
        seconds.append(took)
        described.append(traits)
    raw = msgspec.json.encode(hostile_pod(shape, Room(options.size), options.hostile))
    largest, _ = _timed(lambda: ClassTable().traits(msgspec.json.decode(raw, type=Pod)))
    table.refresh()
    numbers = dict.fromkeys(each.task_class for each in described)
    classes: list[Event] = []
    for number in numbers:
        message = pb.TaskClass()
        message.CopyFrom(table.message(number))
        message.id = _FIRST_CLASS + number
        batch = pb.EventBatch(sequence=1, events=[pb.Event(task_class=message)]).SerializeToString()
        classes += events_from_proto(pb.EventBatch.FromString(batch).events)
    hostile = _Hostile(classes, [_FIRST_CLASS + each.task_class for each in described], kind.gang)
    return hostile, max(statistics.median(seconds), largest)


def _running(options: HostileOptions, overlay: str) -> Scheduler:
    overlays = (WeightedModel(load_model(overlay, {})),) if overlay else ()
    core = Scheduler(
        configuration=CoreConfiguration(policy=WeightedModel(load_model("cpu_mem", {})), overlays=overlays),
        solver=OrToolsSolver(),
        clock=time.time,
    )
    machines = list(_machines(options))
    core.apply(
        [
            *map(MachineUpserted, machines),
            *(surroundings(overlay, machines) if overlay else ()),
            *_plain_events(options),
        ]
    )
    return core


def _machines(options: HostileOptions) -> Iterator[Machine]:
    images = tuple(Image((f"image-{number}",), 2**29) for number in range(50))
    for number in range(options.nodes):
        name = f"node-{number:05d}"
        yield Machine(
            name,
            {"cpu": 64_000, "memory": 256 * GIB, "pods": 250},
            labels={
                HOSTNAME: name,
                ZONE: f"zone-{number % 3}",
                "rack": f"rack-{number % 200}",
                "generation": str(number % 7),
                **{f"tier-{each}": str(number % (each + 2)) for each in range(28)},
            },
            taints=(Taint("dedicated", f"team-{number}", "NoSchedule"),) if number % 10 == 0 else (),
            images=images,
        )


def _plain_events(options: HostileOptions) -> Iterator[Event]:
    for cls in range(options.classes):
        yield ClassDefined(cls + 1, _plain_class(cls))
    for number in range(options.nodes * 2):
        cls = number % options.classes
        yield TasksBound(f"node-{number % options.nodes:05d}", cls + 1, (f"running-{number}",))


def _plain_class(number: int) -> TaskClass:
    own = TaskSelector(labels=(Requirement("app", "In", (f"app-{number}",)),))
    spread = (SpreadRule(ZONE, own, max_skew=5, required=False),) if number % 10 == 0 else ()
    apart = (TaskTerm(HOSTNAME, own),) if number % 25 == 1 else ()
    return TaskClass(
        requests=(("cpu", 50 * (number % 40 + 1)), ("memory", (number % 64 + 1) * GIB // 16)),
        namespace="default",
        labels=(("app", f"app-{number}"),),
        spread=spread,
        anti_affinity=apart,
    )
