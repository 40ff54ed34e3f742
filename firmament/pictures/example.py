"""Defines the example for which every policy's network is drawn: four machines for one task each, and five tasks.

The example has the data that policies use: load, racks, input data, kinds of neighbours, programs and their run
times, bandwidth. Under any policy, four of the five tasks are placed; the policy decides which tasks, and on which
machines.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import (
    ClassDefined,
    Event,
    MachineUpserted,
    RecordUpserted,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.flow.column_generation import FlowOutcome, GenerationOptions, optimal_flow
from firmament.core.flow.residual import Residual
from firmament.core.flow.tuning import FlowTuning
from firmament.core.model import Machine, TaskClass
from firmament.core.scheduler import Scheduler
from firmament.solvers.base import Solver

GIB = 2**30
GBIT = 10**9
MACHINES = ("m0", "m1", "m2", "m3")
JOBS = {"job A": 3, "job B": 2}
RACKS = ("r0", "r0", "r1", "r1")
RUNNING = (("sheep",), ("sheep", "sheep"), ("devil", "sheep"), ("rabbit", "turtle", "sheep"))
"""Types of the tasks that run on each machine (the example's cost model reads types).

Each machine can take one more task.
"""

_TYPES = {"sheep": 11, "devil": 12, "rabbit": 13, "turtle": 14}
_INPUTS = (
    [{"bytes": 6 * GIB, "machine": "m0"}, {"bytes": 2 * GIB, "rack": "r0"}],
    [{"bytes": 3 * GIB, "machine": "m3"}, {"bytes": 5 * GIB, "machine": ["m1", "m2"]}],
)
_SECONDS = {"program-a": 90.0, "program-b": 30.0}
_SLOWER_ON_SMALL = {"program-a": 1.5, "program-b": 3.0}


def solve_example(policy: str, solver: Solver) -> tuple[FlowOutcome, tuple[str, ...], tuple[str, ...]]:
    """Return the network of the example with an optimal flow under a base policy.

    Return also the labels of classes and machines. The policy gets no arguments. Raise ``UnknownModelError`` if no
    policy has this name.
    """
    problem_of = make_scheduler(policy, solver).open_round().snapshot
    assert problem_of is not None
    residual = Residual(problem_of.problem)
    fits = {shape: residual.find_fitting(shape) for shape in problem_of.problem.shape.tolist()}
    outcome = optimal_flow(residual, fits, solver, GenerationOptions(), FlowTuning())
    assert outcome is not None
    jobs = list(JOBS)
    names = tuple(jobs[problem_of.uids[each].startswith("b")] for each in problem_of.first.tolist())
    return outcome, names, problem_of.machine_names


def make_scheduler(policy: str, solver: Solver) -> Scheduler:
    """Return a scheduler with a base policy that knows the machines and tasks of the example."""
    configuration = CoreConfiguration(policy=WeightedModel(load_model(policy, {})))
    made = Scheduler(configuration=configuration, solver=solver, clock=lambda: 0.0)
    made.apply(list_example_events())
    return made


def list_example_events() -> Sequence[Event]:
    """Return the example as events for the core."""
    happened: list[Event] = [_machine(row) for row in range(len(MACHINES))]
    for name, number in _TYPES.items():
        content = TaskClass(
            requests=(("cpu", 500), ("memory", GIB)), labels=(("taskType", name.capitalize()),)
        )
        happened.append(ClassDefined(number, content))
    for row, types in enumerate(RUNNING):
        happened += [
            TasksBound(MACHINES[row], _TYPES[name], (f"running-{row}-{index}",))
            for index, name in enumerate(types)
        ]
    for program, seconds in _SECONDS.items():
        payload = json.dumps({"count": 10, "meanSeconds": seconds}).encode()
        happened.append(RecordUpserted("RuntimeHistory", program, payload))
        for machine_type, factor in (("large", 1.0), ("small", _SLOWER_ON_SMALL[program])):
            sample = {
                "program": program,
                "machineType": machine_type,
                "runtimeSeconds": seconds * factor,
                "instructions": 1e11,
            }
            name = f"{program}-{machine_type}"
            happened.append(RecordUpserted("WhareMapSample", name, json.dumps(sample).encode()))
    for number, (tasks, letter, kind) in enumerate(
        zip(JOBS.values(), "ab", ("Rabbit", "Devil"), strict=True)
    ):
        content = TaskClass(
            requests=(("cpu", 1000 - 500 * number), ("memory", (2 + 2 * number) * GIB)),
            labels=(("networkRequirement", str((2 + number) * GBIT)), ("taskType", kind)),
            annotations=(
                ("firmament.io/inputs", json.dumps(_INPUTS[number])),
                ("firmament.io/program", f"program-{letter}"),
            ),
        )
        happened.append(ClassDefined(number + 1, content))
        happened.append(TasksSubmitted(number + 1, tuple(f"{letter}-{index}" for index in range(tasks))))
    return happened


def _machine(row: int) -> MachineUpserted:
    allocatable = {
        "cpu": 4000,
        "memory": 16 * GIB,
        "pods": len(RUNNING[row]) + 1,
        "network.aware.com/bandwidth": (10 - 2 * row) * GBIT,
    }
    labels = {
        "topology.kubernetes.io/rack": RACKS[row],
        "topology.kubernetes.io/zone": "z",
        "node.kubernetes.io/instance-type": "large" if row % 2 else "small",
    }
    return MachineUpserted(Machine(MACHINES[row], allocatable, labels))
