"""Compares moves off hot machines with evictions by the descheduler: hot machines that remain, and number of moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from random import Random
from time import perf_counter

from benchmarks.comparators.low_node_utilization import RunningPod, low_node_utilization
from benchmarks.environment import environment
from cost_models.load_aware.load_threshold import LoadThreshold
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import ClassDefined, Event, MachineSampled, MachineUpserted, TasksBound, TaskUses
from firmament.core.model import Machine, TaskClass
from firmament.core.rescheduling.hot_machines import relieve
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver

CPU, NOW = 32_000, 1_000_000.0
REQUESTS = (500, 1_000, 2_000, 4_000)


@dataclass(frozen=True, slots=True)
class ReliefOptions:
    """Options: ``hot`` and ``low``, percent of use. Requests fill machines to ``fill`` of what they offer."""

    machines: int = 100
    seeds: int = 20
    fill: float = 0.75
    hot: float = 70.0
    low: float = 50.0


def draw_crowded(random: Random, options: ReliefOptions) -> dict[str, RunningPod]:
    """Return pods placed by requests; most use a fifth to all of their requests, some up to 2.5 times as much."""
    pods: dict[str, RunningPod] = {}
    for index in range(options.machines):
        left = int(CPU * options.fill * random.uniform(0.7, 1.3))
        while (request := random.choice(REQUESTS)) <= left:
            factor = random.uniform(1.0, 2.5) if random.random() < 0.15 else random.uniform(0.2, 1.0)
            pods[f"p{len(pods):05d}"] = RunningPod(f"m{index:03d}", request, int(request * factor))
            left -= request
    return pods


def measure_relief(options: ReliefOptions, *, progress: Callable[[str], None]) -> dict[str, object]:
    """Relieve a cluster per seed, by the core's moves and by the descheduler's evictions."""
    clusters = []
    for seed in range(options.seeds):
        progress(f"cluster {seed + 1} of {options.seeds}")
        pods = draw_crowded(Random(seed), options)  # noqa: S311 - a simulation
        nodes = {f"m{index:03d}": CPU for index in range(options.machines)}
        began = perf_counter()
        moves = _relieve(pods, nodes, options.hot)
        took = perf_counter() - began
        evicted = low_node_utilization(pods, nodes, options.low, options.hot)
        clusters.append(
            {
                "hot": _hot(pods, nodes, {}, options.hot),
                "moves": len(moves),
                "hotAfter": _hot(pods, nodes, moves, options.hot),
                "evictions": len(evicted),
                "hotAfterEvictions": _hot(pods, nodes, evicted, options.hot),
                "seconds": took,
            }
        )
    return {
        "kind": "relief",
        "environment": environment(),
        "options": asdict(options),
        "clusters": clusters,
    }


def _relieve(pods: Mapping[str, RunningPod], nodes: Mapping[str, int], hot: float) -> dict[str, str]:
    model = WeightedModel(LoadThreshold(usageThresholds={"cpu": 95}), 1)
    scheduler = Scheduler(
        configuration=CoreConfiguration(overlays=(model,)), solver=OrToolsSolver(), clock=lambda: NOW
    )
    events: list[Event] = [
        MachineUpserted(Machine(name, {"cpu": cpu, "pods": 110})) for name, cpu in nodes.items()
    ]
    events += [ClassDefined(cpu, TaskClass((("cpu", cpu),))) for cpu in REQUESTS]
    events += [TasksBound(pod.node, pod.request, (uid,), assigned=(1.0,)) for uid, pod in pods.items()]
    for name in nodes:
        here = [(uid, float(pod.use)) for uid, pod in pods.items() if pod.node == name]
        uses = TaskUses(tuple(uid for uid, _ in here), ("cpu",), tuple(use for _, use in here), ())
        usage = {"cpu": sum(use for _, use in here)}
        events.append(MachineSampled(name, NOW - 5, usage, interval=60.0, tasks=uses))
    scheduler.apply(events)
    found = relieve(scheduler, pods.keys(), {"cpu": hot}, len(pods))
    return {each.uid: each.target for each in found.moves}


def _hot(
    pods: Mapping[str, RunningPod], nodes: Mapping[str, int], moves: Mapping[str, str], hot: float
) -> int:
    used = dict.fromkeys(nodes, 0)
    for uid, pod in pods.items():
        used[moves.get(uid, pod.node)] += pod.use
    return sum(used[name] * 100 > hot * cpu for name, cpu in nodes.items())
