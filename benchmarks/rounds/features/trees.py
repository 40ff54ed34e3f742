"""Measures whole rounds with trees of groups.

Each tree is a group of groups; of each group all pods share a rack, of each tree all share a zone. The shapes are those
of kube-scheduler's own performance tests of composite groups.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from benchmarks.environment import environment
from cost_models.group_terms import LevelRule
from firmament.core.configuration import CoreConfiguration
from firmament.core.events import ClassDefined, Event, JobDefined, MachineUpserted, TasksSubmitted
from firmament.core.model import Job, JobGroup, Machine, TaskClass
from firmament.core.scheduler import Scheduler
from firmament.memory import keep_freed_memory, relax_garbage_collection
from firmament.solvers.base import Solver
from firmament.solvers.process_solver import ProcessSolver

GIB = 2**30
CORES = 32
ZONE, RACK = "topology.kubernetes.io/zone", "example.com/rack"
SHAPES = ((500, 2, 3), (3, 2, 1_500), (750, 1, 4), (9, 1, 1_000))
"""Trees, groups in each, and pods in each group."""


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """A measurement of trees."""

    nodes: int = 5_000
    """Machines, in racks of ``rack``, in zones of ``zone`` racks."""
    rack: int = 50
    """Machines of a rack."""
    zone: int = 25
    """Racks of a zone."""
    scale: float = 1.0
    """Which share of each shape's trees is used or, for large groups, of their pods."""
    runs: int = 3
    """Runs of each shape."""
    divided: bool = False
    """Whether the pods of each group are divided evenly over racks, instead of sharing one."""


def measure_trees(options: TreeOptions, *, progress: Callable[[str], None]) -> dict[str, object]:
    """Measure all shapes; returns what ``-o json`` prints."""
    results = []
    with contextlib.closing(ProcessSolver()) as solver:
        for shape in (_scale(shape, options.scale) for shape in SHAPES):
            progress(f"{shape[0]} trees of {shape[1]} groups of {shape[2]} pods")
            results.append(_measure(solver, options, *shape))
    return {"kind": "trees", "environment": environment(), "options": asdict(options), "shapes": results}


def _scale(shape: tuple[int, int, int], scale: float) -> tuple[int, int, int]:
    trees, groups, pods = shape
    if trees > pods:
        return max(1, round(trees * scale)), groups, pods
    return trees, groups, max(1, round(pods * scale))


def list_machines(options: TreeOptions) -> list[Event]:
    """Return empty machines of one size."""
    room = {"cpu": CORES * 1000, "memory": 128 * GIB, "pods": 110}
    events: list[Event] = []
    for index in range(options.nodes):
        rack = index // options.rack
        labels = {RACK: f"rack-{rack}", ZONE: f"zone-{rack // options.zone}"}
        events.append(MachineUpserted(Machine(f"node-{index:05d}", room, labels=labels)))
    return events


def list_trees(trees: int, groups: int, pods: int, *, divided: bool = False) -> list[Event]:
    """Return trees of groups, whose pods share a rack or, with ``divided``, go evenly to several; a pod takes one
    core.
    """
    within = () if divided else (RACK,)
    rules = ((RACK, LevelRule("spread")),) if divided else ()
    names = [f"group-{group}" for group in range(groups)]
    events: list[Event] = [
        ClassDefined(number, TaskClass(requests=(("cpu", 1_000), ("memory", GIB)), group=name))
        for number, name in enumerate(names, 1)
    ]
    tree = (
        JobGroup("root", least=groups, within=(ZONE,)),
        *(JobGroup(name, "root", least=pods, within=within, divided=rules) for name in names),
    )
    for index in range(trees):
        job = f"tree-{index}"
        events.append(JobDefined(Job(job, name=job, min_members=groups * pods, groups=tree)))
        for number in range(1, groups + 1):
            uids = tuple(f"{job}-{number}-{pod}" for pod in range(pods))
            events.append(TasksSubmitted(number, uids, job=job))
    return events


def _measure(solver: Solver, options: TreeOptions, trees: int, groups: int, pods: int) -> dict[str, object]:
    """Return a round per run on a fresh scheduler; the first run warms up."""
    seconds, processor, result = [], [], None
    for number in range(options.runs + 1):
        scheduler = Scheduler(
            configuration=CoreConfiguration(), solver=solver, clock=time.time, timer=time.perf_counter
        )
        scheduler.apply(list_machines(options))
        scheduler.apply(list_trees(trees, groups, pods, divided=options.divided))
        relax_garbage_collection()  # the solver process does the same
        keep_freed_memory()
        begin, used = time.perf_counter(), time.process_time()
        result = scheduler.run_round()
        if number:
            seconds.append(time.perf_counter() - begin)
            processor.append(time.process_time() - used)
    assert result is not None
    placed: dict[str, int] = {}
    for delta in result.deltas:
        job = delta.uid.rsplit("-", 2)[0]
        placed[job] = placed.get(job, 0) + 1
    return {
        "trees": trees,
        "groups": groups,
        "pods": pods,
        "placed": len(result.deltas),
        "trees_placed": sum(count == groups * pods for count in placed.values()),
        "trees_split": sum(count < groups * pods for count in placed.values()),
        "seconds": statistics.median(seconds),
        "processor_seconds": statistics.median(processor),
        "pods_per_second": len(result.deltas) / statistics.median(seconds),
    }
