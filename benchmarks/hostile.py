"""How long one hostile pod holds up the placement of others: from its JSON through bridge and wire into a round."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from benchmarks.environment import environment
from benchmarks.hostile_pods import HOSTNAME, SHAPES, ZONE, Room, hostile_pod
from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import ClassDefined, Event, MachineUpserted, TasksBound, TasksSubmitted
from firmament.core.model import (
    Image,
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
_HOSTILE_CLASS = 1_000_000


@dataclass(frozen=True, slots=True)
class HostileOptions:
    """A cluster of ``nodes`` on which pods of ``classes`` run, of which ``pods`` more wait beside the hostile one."""

    nodes: int = 10_000
    classes: int = 500
    pods: int = 1_000
    size: int = 2**20
    shapes: tuple[str, ...] = tuple(SHAPES)


def run_hostile(options: HostileOptions, progress: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Hold each shape against a cluster of its own, and against the same rounds without it."""
    rows = []
    for shape in options.shapes:
        progress(shape)
        rows.append({"shape": shape, **_measure(options, shape, Room(options.size))})
        if SHAPES[shape].limit is not None:
            most = Room(options.size, SHAPES[shape].limit)
            rows.append({"shape": f"{shape}, at the limit", **_measure(options, shape, most)})
    return {
        "kind": "hostile",
        "environment": environment(),
        "nodes": options.nodes,
        "classes": options.classes,
        "pods": options.pods,
        "bytes": options.size,
        "rows": rows,
    }


def _measure(options: HostileOptions, shape: str, room: Room) -> dict[str, Any]:
    """Seconds of each step, and by how much others are placed later: all of them beyond what rounds take anyway."""
    core = _running(options)
    core.run_round()
    plain = _round(core, options, 1)
    raw = msgspec.json.encode(hostile_pod(shape, room))
    watch = time.process_time
    begun = watch()
    message = _message(raw)
    translated = watch()
    events = events_from_proto(pb.EventBatch.FromString(message).events)
    decoded = watch()
    core.apply(events)
    applied = watch()
    first = _round(core, options, 2)
    next_ = _round(core, options, 3)
    bridge, wire, apply = translated - begun, decoded - translated, applied - decoded
    later = max(0.0, first - plain) + max(0.0, next_ - plain)
    return {
        "kib": len(raw) // 1024,
        "bridgeSeconds": round(bridge, 3),
        "wireSeconds": round(wire + apply, 3),
        "plainRoundSeconds": round(plain, 3),
        "roundSeconds": round(first, 3),
        "nextRoundSeconds": round(next_, 3),
        "delaySeconds": round(bridge + wire + apply + later, 3),
        "message": _describe(core),
    }


def _message(raw: bytes) -> bytes:
    """What the bridge makes of a pod, as it travels."""
    pod = msgspec.json.decode(raw, type=Pod)
    table = ClassTable()
    traits = table.traits(pod)
    table.refresh()
    described = pb.TaskClass()
    described.CopyFrom(table.message(traits.task_class))
    described.id = _HOSTILE_CLASS
    events = [
        pb.Event(task_class=described),
        pb.Event(tasks=pb.TaskBatch(task_class=_HOSTILE_CLASS, uids=["hostile"])),
    ]
    return pb.EventBatch(sequence=1, events=events).SerializeToString()


def _round(core: Scheduler, options: HostileOptions, number: int) -> float:
    """Seconds of a round for as many pods as wait at a time, the look for work included."""
    share = options.pods // options.classes
    core.apply(
        [
            TasksSubmitted(cls + 1, tuple(f"round-{number}-{cls}-{copy}" for copy in range(share)))
            for cls in range(options.classes)
        ]
    )
    begun = time.process_time()
    core.next_round_in()
    core.run_round()
    core.next_round_in()
    return time.process_time() - begun


def _describe(core: Scheduler) -> str:
    return next((state.message for state in core.task_states() if state.uid == "hostile"), "")


def _running(options: HostileOptions) -> Scheduler:
    core = Scheduler(
        configuration=CoreConfiguration(policy=WeightedModel(load_model("cpu_mem", {}))),
        solver=OrToolsSolver(),
        clock=time.time,
    )
    core.apply(list(_events(options)))
    return core


def _events(options: HostileOptions) -> Iterator[Event]:
    images = tuple(Image((f"image-{number}",), 2**29) for number in range(50))
    for number in range(options.nodes):
        name = f"node-{number:05d}"
        yield MachineUpserted(
            Machine(
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
        )
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
