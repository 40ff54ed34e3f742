"""Compares moves that lower costs, found in a round of all tasks, with a network per task and with CP-SAT.

The cluster has been placed by the scheduler in ten rounds. Since then some machines have changed to
kinds that tasks do not prefer, and tasks have come and gone; moves can repair that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.comparators.moves_exact import cheapest_with
from benchmarks.comparators.moves_per_task import solve_per_task
from benchmarks.environment import environment
from firmament.core.configuration import CoreConfiguration
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    MachineUpserted,
    TaskRemoved,
    TasksSubmitted,
)
from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.model import Machine, NodeSelectorTerm, PreferredTerm, Requirement, TaskClass
from firmament.core.rescheduling.move_network.move_search import (
    MoveSearch,
    SearchOptions,
    best_moves,
    compute_frontier,
)
from firmament.core.rescheduling.move_network.problem import MoveProblem, compute_saved
from firmament.core.rescheduling.plan_moves import CompiledMoves, compile_moves
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver

GIB = 2**30
KINDS = 40
ROUNDS = 10
POINTS = 24


@dataclass(frozen=True, slots=True)
class Drifted:
    """A cluster that was placed well and has changed since."""

    machines: int = 12_500
    """Number of machines."""
    tasks: int = 150_000
    """Number of tasks."""
    classes: int = 1_500
    """Number of classes of tasks."""
    changed: float = 0.05
    """Share of machines whose kind has changed."""
    left: float = 0.1
    """Share of tasks that have been replaced by others."""
    sizes: bool = False
    """Whether tasks differ in size; else each takes one slot of its machine."""
    seed: int = 1
    """Seed of the draws."""


def build_drifted(scenario: Drifted) -> tuple[Scheduler, list[str]]:
    """Place the cluster, let it drift, and return its scheduler and the uids of all running tasks."""
    rng = np.random.default_rng(scenario.seed)
    scheduler = Scheduler(configuration=CoreConfiguration(), solver=OrToolsSolver(), clock=lambda: 0.0)
    scheduler.apply([_machine(index, rng) for index in range(scenario.machines)])
    scheduler.apply(
        [ClassDefined(number + 1, _class(number, scenario, rng)) for number in range(scenario.classes)]
    )
    running: dict[str, int] = {}
    for number in range(ROUNDS):
        _arrive(
            scheduler, running, rng.integers(1, scenario.classes + 1, scenario.tasks // ROUNDS), f"a{number}"
        )
    again = rng.choice(scenario.machines, int(scenario.machines * scenario.changed), replace=False)
    scheduler.apply([_machine(index, rng) for index in again.tolist()])
    gone = rng.choice(sorted(running), int(len(running) * scenario.left), replace=False).tolist()
    scheduler.apply([TaskRemoved(uid) for uid in gone])
    for uid in gone:
        del running[uid]
    _arrive(scheduler, running, rng.integers(1, scenario.classes + 1, len(gone)), "late")
    return scheduler, sorted(running)


def _machine(index: int, rng: np.random.Generator) -> Event:
    labels = {"kind": f"kind-{rng.integers(0, KINDS)}"}
    return MachineUpserted(Machine(f"m{index:05d}", {"cpu": 32_000, "memory": 64 * GIB, "pods": 16}, labels))


def _class(number: int, scenario: Drifted, rng: np.random.Generator) -> TaskClass:
    """Return a class with different preferences for machines of three kinds."""
    preferred = tuple(
        PreferredTerm(
            int(rng.integers(10, 100)), NodeSelectorTerm((Requirement("kind", "In", (f"kind-{kind}",)),))
        )
        for kind in rng.choice(KINDS, 3, replace=False).tolist()
    )
    cpu, memory = (
        (int(rng.integers(5, 60)) * 100, int(rng.integers(1, 12)) * GIB)
        if scenario.sizes
        else (1_000, 2 * GIB)
    )
    return TaskClass(
        (("cpu", cpu), ("memory", memory)), preferred=preferred, labels=(("class", str(number)),)
    )


def _arrive(scheduler: Scheduler, running: dict[str, int], classes: Any, prefix: str) -> None:
    """Submit tasks, place and bind them."""
    uids: dict[int, list[str]] = {}
    for index, number in enumerate(classes.tolist()):
        uids.setdefault(number, []).append(f"{prefix}-{index}")
    scheduler.apply([TasksSubmitted(number, tuple(each)) for number, each in sorted(uids.items())])
    placed = list(scheduler.run_round().deltas)
    scheduler.report([BindingReport(delta.uid, delta.machine, True) for delta in placed])
    running.update((delta.uid, 0) for delta in placed)


@dataclass(frozen=True, slots=True)
class ReschedulingOptions:
    """A measurement of rescheduling."""

    machines: int = 12_500
    """Machines."""
    tasks: int = 150_000
    """Tasks."""
    classes: int = 1_500
    """Classes of tasks."""
    price: float = 20.0
    """Points that a move must gain."""
    runs: int = 3
    """Runs of each measurement, alternating."""
    small: int = 3
    """Number of small clusters that CP-SAT solves as well."""
    seconds: float = 600.0
    """Seconds for each search of CP-SAT, 0 for none."""
    beside: int = 24
    """Pairs of rounds: one by itself, one together with a process that plans moves."""
    seed: int = 1
    """Seed of the draws."""


def measure_rescheduling(
    options: ReschedulingOptions, *, progress: Callable[[str], None]
) -> dict[str, object]:
    """Measure a round of all tasks, its frontier, and the networks per task; then small clusters beside CP-SAT."""
    progress("placing the cluster")
    scheduler, uids = build_drifted(
        Drifted(options.machines, options.tasks, options.classes, seed=options.seed)
    )
    extra = round(options.price * COST_UNITS_PER_POINT)
    rounds = []
    for run in range(options.runs):
        progress(f"run {run + 1} of {options.runs}")
        rounds.append(_one_round(scheduler, uids, extra))
    return {
        "kind": "rescheduling",
        "environment": environment(),
        "options": asdict(options),
        "tasks": len(uids),
        "rounds": rounds,
        "frontier": _frontier(_compile(scheduler, uids).problem),
        "small": [_compare_with_cp_sat(seed, options.seconds, progress) for seed in range(options.small)],
    }


def _compile(scheduler: Scheduler, uids: list[str]) -> CompiledMoves:
    running = scheduler.snapshot_of_running(uids)
    if running is None:
        raise AssertionError("nothing runs")
    return compile_moves(running, np.zeros(len(running.home), dtype=np.int64))


def _one_round(scheduler: Scheduler, uids: list[str], extra: int) -> dict[str, float]:
    began = perf_counter()
    made = _compile(scheduler, uids).problem
    assessed = perf_counter()
    found = MoveSearch(made, OrToolsSolver(), SearchOptions()).find_moves(extra)
    done = perf_counter()
    result: dict[str, float] = {
        "assess": assessed - began,
        "solve": done - assessed,
        "moves": found.moves.total,
        "saved": found.saved,
        "mostSaved": found.most_saved,
    }
    for name, grouped in (("perTask", False), ("perTaskGrouped", True)):
        other = solve_per_task(made, found.columns, extra, OrToolsSolver(), grouped=grouped)
        if other.saved != found.saved:
            raise AssertionError(f"a network per task saves {other.saved}, not {found.saved}")
        result |= {name: other.seconds, f"{name}Arcs": other.arcs}
    return result


def _frontier(problem: MoveProblem) -> dict[str, object]:
    began = perf_counter()
    points = compute_frontier(MoveSearch(problem, OrToolsSolver(), SearchOptions(gap=0.005)), POINTS)
    seconds = perf_counter() - began
    return {
        "seconds": seconds,
        "points": [
            {
                "price": each.found.extra_price,
                "moves": each.moves,
                "saved": each.saved,
                "mostSaved": each.most_saved,
            }
            for each in points
        ],
    }


def _compare_with_cp_sat(seed: int, seconds: float, progress: Callable[[str], None]) -> dict[str, float]:
    """Return the comparison on 300 machines with 2,000 tasks of all sizes, of which 3 % may move."""
    progress(f"CP-SAT: cluster {seed + 1}")
    scheduler, uids = build_drifted(Drifted(300, 2_000, 60, sizes=True, seed=seed + 1))
    most = len(uids) * 3 // 100
    began = perf_counter()
    problem = _compile(scheduler, uids).problem
    search = MoveSearch(problem, OrToolsSolver(), SearchOptions(gap=0.001))
    moves, _ = best_moves(problem, search, 0, most=most, local_moves=2 * most)
    took = perf_counter() - began
    cost = problem.cost_now() - compute_saved(problem, moves)
    other, bound = cheapest_with(problem, most, seconds=seconds)
    return {
        "now": problem.cost_now(),
        "moves": moves.total,
        "cost": cost,
        "cpSat": other,
        "cpSatBound": bound,
        "seconds": took,
    }
