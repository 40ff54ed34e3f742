"""Measures whole rounds with groups on a tree: one large group, many groups, many groups beside other tasks.

Rounds of the core, snapshot to deltas, on machines that are partly taken, with the policy `cpu_mem` and the overlay
`topology`. Groups that are placed completely, and groups that are placed only in part, are counted.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np

from cost_models.group_terms import GROUP_RECORD, TREE_RECORD
from cost_models.registry import load_model
from firmament.core import configuration as core_options
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    MachineUpserted,
    RecordUpserted,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job, Machine, TaskClass
from firmament.core.scheduler import Scheduler
from firmament.memory import keep_freed_memory, relax_garbage_collection
from firmament.solvers.base import Solver
from firmament.solvers.process_solver import ProcessSolver

GIB = 2**30
CORES = 8
SERVERS_PER_RACK, RACKS_PER_ROW, ROWS_PER_ZONE = 20, 10, 10
MEMBER, FILLER = 1, 2
RULES: tuple[dict[str, dict[str, object]], ...] = (
    {},
    {"rack": {"hard": True}},
    {"row": {"type": "spread", "partitions": 2}},
    {"server": {"type": "spread", "min": 1, "max": 2}},
)
"""Rules of the groups of a case, in turn."""
LARGE: dict[str, dict[str, object]] = {
    "row": {"type": "spread", "partitions": 2},
    "server": {"type": "spread", "min": 2, "max": 4},
}


@dataclass(frozen=True, slots=True)
class RoundOptions:
    """Options: ``pods`` of the large group; ``groups`` of 2 to 39 pods; ``others``: tasks without a group."""

    nodes: int = 10_000
    pods: int = 1000
    groups: int = 200
    others: int = 5000
    runs: int = 3
    seed: int = 1


def measure_rounds(options: RoundOptions, *, progress: Callable[[str], None]) -> list[dict[str, object]]:
    """Measure each case: seconds of a round, how many groups are placed completely, and how many only in part."""
    rng = np.random.default_rng(options.seed)
    cluster = list(_cluster(options, rng))
    large = list(_group("large", options.pods, LARGE))
    many = [
        event
        for number in range(options.groups)
        for event in _group(f"group-{number}", int(rng.integers(2, 40)), RULES[number % len(RULES)])
    ]
    others = TasksSubmitted(MEMBER, tuple(f"other-{number}" for number in range(options.others)))
    cases = {
        f"one group of {options.pods:,}": large,
        f"{options.groups} groups": many,
        f"{options.groups} groups beside {options.others:,} pods": [*many, others],
    }
    found = []
    with contextlib.closing(ProcessSolver()) as solver:
        for name, events in cases.items():
            progress(name)
            found.append({"name": name, **_measure(solver, cluster, events, options.runs)})
    return found


def _cluster(options: RoundOptions, rng: np.random.Generator) -> Iterator[Event]:
    """Yield partly taken machines, and their tree."""
    yield ClassDefined(MEMBER, TaskClass(requests=(("cpu", 1000), ("memory", 2 * GIB))))
    yield ClassDefined(FILLER, TaskClass(requests=(("cpu", 1000), ("memory", GIB))))
    tree: dict[str, dict[str, dict[str, dict[str, dict[str, object]]]]] = {}
    for index in range(options.nodes):
        name = f"server-{index:06d}"
        rack = index // SERVERS_PER_RACK
        row = rack // RACKS_PER_ROW
        zone = row // ROWS_PER_ZONE
        racks = tree.setdefault(f"zone-{zone}", {}).setdefault(f"row-{row}", {})
        racks.setdefault(f"rack-{rack}", {})[name] = {}
        yield MachineUpserted(Machine(name, {"cpu": 1000 * CORES, "memory": 64 * GIB, "pods": 110}))
        taken = int(rng.integers(0, CORES + 1))
        if taken:
            yield TasksBound(name, FILLER, tuple(f"filler-{index}-{n}" for n in range(taken)))
    record = {"name": "tree", "levels": ["zone", "row", "rack", "server"], "tree": tree}
    yield RecordUpserted(TREE_RECORD, "tree", json.dumps(record).encode())


def _group(name: str, size: int, constraints: dict[str, dict[str, object]]) -> Iterator[Event]:
    names = tuple(f"{name}-{member}" for member in range(size))
    yield JobDefined(Job(name, name=name, size=size, min_members=size))
    record = {"group": name, "constraints": constraints}
    yield RecordUpserted(GROUP_RECORD, name, json.dumps(record).encode())
    yield TasksSubmitted(MEMBER, names, job=name, names=names)


def _measure(solver: Solver, cluster: list[Event], events: list[Event], runs: int) -> dict[str, object]:
    """Return a round per run on a fresh scheduler; the first run warms up."""
    configuration = CoreConfiguration(
        overlays=(WeightedModel(load_model("topology", {})),),
        options=core_options.RoundOptions(namespace_checks=2**40),  # one namespace's groups in one round
    )
    sizes = {event.job.id: event.job.min_members for event in events if isinstance(event, JobDefined)}
    seconds, result = [], None
    for number in range(runs + 1):
        core = Scheduler(configuration=configuration, solver=solver, clock=time.time, timer=time.perf_counter)
        core.apply([*cluster, *events])
        relax_garbage_collection()  # the solver process does the same
        keep_freed_memory()
        begin = time.perf_counter()
        result = core.run_round()
        if number:
            seconds.append(time.perf_counter() - begin)
    assert result is not None
    placed = Counter(delta.uid.rpartition("-")[0] for delta in result.deltas)
    return {
        "seconds": statistics.median(seconds),
        "all_seconds": seconds,
        "placed": len(result.deltas),
        "pods_per_second": len(result.deltas) / statistics.median(seconds),
        "groups_whole": sum(placed[name] == size for name, size in sizes.items()),
        "groups_split": sum(0 < placed[name] < size for name, size in sizes.items()),
        "stats": asdict(result.stats),
    }
