"""Figures that the documents work out by hand are those of the code; scripts in them run."""

from __future__ import annotations

import asyncio
import re
import sys
from asyncio.subprocess import PIPE, STDOUT

import numpy as np

from cost_models.cpu_mem import CpuMem
from firmament.core.configuration import CoreConfiguration
from firmament.core.events import ClassDefined, MachineUpserted, TasksBound, TasksSubmitted
from firmament.core.model import Machine, TaskClass
from firmament.core.scheduler import Scheduler
from firmament.flow.network import dearest_path, unscheduled_penalties
from firmament.flow.problem import Residual
from firmament.rounds.cost import placement_cost
from firmament.solvers.ortools_solver import OrToolsSolver
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.documentation.markdown import ROOT, blocks, section, text
from tests.server.driving import running_server

GIB = 2**30
ROUND = text("docs/round.md")
EXAMPLE = section(ROUND, "A worked example")


def example() -> Scheduler:
    """The cluster of the worked example: one machine empty, one half full, seven tasks waiting."""
    scheduler = Scheduler(configuration=CoreConfiguration(), solver=OrToolsSolver(), clock=lambda: 1000.0)
    allocatable = {"cpu": 4000, "memory": 16 * GIB, "pods": 110}
    scheduler.apply(
        [
            MachineUpserted(Machine("a", allocatable)),
            MachineUpserted(Machine("b", allocatable)),
            ClassDefined(1, TaskClass(requests=(("cpu", 2000), ("memory", 8 * GIB)))),
            TasksBound("b", 1, ("running",)),
            ClassDefined(2, TaskClass(requests=(("cpu", 500), ("memory", GIB)))),
            TasksSubmitted(2, tuple(f"task-{number}" for number in range(7))),
        ]
    )
    return scheduler


def test_the_round_of_the_worked_example():
    scheduler = example()
    opened = scheduler.open_round()
    assert opened.picture is not None
    problem = opened.picture.problem
    assert problem.cost.tolist() == [[744, 4744]]
    assert problem.crowd.tolist() == [750, 750]
    placement = opened.solve()
    assert placement.assignments.count.tolist() == [6, 1]
    assert placement_cost(problem, placement.assignments) == 20458
    assert placement.stats.cost == 205
    start = Residual(problem)
    assert dearest_path(start) == 9994
    assert unscheduled_penalties(start, 9994).cost.tolist() == [[49975, 39980, 29985, 19990]]
    for figure in (744, 4744, 750, 20458, 205, 9994, 9995, 19990, 49975):
        assert re.search(rf"(?<!\d){figure}(?!\d)", EXAMPLE), figure


def test_the_network_of_the_worked_example():
    scheduler = example()
    scheduler.run_round()
    [shown] = blocks(EXAMPLE, "")
    assert scheduler.last_network_dimacs() == shown


def test_the_figures_of_cpu_mem():
    described = section(text("docs/cost-models.md"), "`cpu_mem`")
    span = CpuMem.range
    assert f"{span.best} to {span.worst}" in described
    assert span.points_per_unit() * 93.75 == 7.5
    assert round(span.points(np.array([2093]))[0], 2) == 7.44
    assert round(span.points(np.array([2593]))[0], 2) == 47.44
    for figure in ("2093", "7.44", "2593", "47.44", "93.75", "7.5"):
        assert figure in described


async def test_the_script_for_asking_a_solver_runs(tmp_path):
    [script] = blocks(text("docs/troubleshooting.md"), "python")
    quantities = [pb.Quantity(resource="cpu", amount=1000), pb.Quantity(resource="pods", amount=10)]
    async with running_server() as running:
        driver = await running.driving(
            pb.Event(machine=pb.Machine(name="node", allocatable=quantities)),
            pb.Event(task_class=pb.TaskClass(id=1, requests=[pb.Quantity(resource="cpu", amount=600)])),
            pb.Event(tasks=pb.TaskBatch(task_class=1, uids=["one", "two"], names=["ns/one", "ns/two"])),
            cluster="default",
        )
        await driver.until(lambda: bool(driver.unscheduled))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-",
            str(running.address),
            "default",
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "PATH": ""},
            stdin=PIPE,
            stdout=PIPE,
            stderr=STDOUT,
        )
        async with asyncio.timeout(60):
            printed, _ = await process.communicate(script.encode())
    output = printed.decode()
    assert process.returncode == 0, output
    assert "machines=1 pending=1 assumed=1 bound=0" in output
    assert "PENDING 0/1 nodes are available: 1 Insufficient cpu." in output
    assert "node {'cpu': 400, 'pods': 9}" in output
    assert (tmp_path / "network.dimacs").read_text().startswith("c ")
