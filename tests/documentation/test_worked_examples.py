"""Figures that the documents work out by hand are those of the code; what they show commands print, they print."""

from __future__ import annotations

import asyncio
import re

import numpy as np
import pytest
from click.testing import CliRunner

from cost_models.firmament_policies.cpu_mem import CpuMem
from firmament.cli import main
from firmament.core.configuration import CoreConfiguration
from firmament.core.events import ClassDefined, MachineUpserted, TasksBound, TasksSubmitted
from firmament.core.flow.network.network import compute_unscheduled_penalties, dearest_path
from firmament.core.flow.problem import Assignments
from firmament.core.flow.residual import Residual
from firmament.core.model import Machine, TaskClass
from firmament.core.placement.cost import placement_cost
from firmament.core.scheduler import Scheduler
from firmament.core.search.moves.exchange import exchange_sizes
from firmament.solvers.ortools_solver import OrToolsSolver
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.documentation.markdown import blocks, section, text
from tests.firmament.server.driving import Running, eventually, machine, running_server, task_class
from tests.support.core import problem
from tests.support.heights import size_cost, with_heights
from tests.support.tuning import PLACING

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
    assert opened.snapshot is not None
    problem = opened.snapshot.problem
    assert problem.cost.tolist() == [[744, 4744]]
    assert problem.crowd.tolist() == [750, 750]
    placement = opened.solve()
    assert placement.assignments.count.tolist() == [6, 1]
    assert placement_cost(problem, placement.assignments) == 20458
    assert placement.stats.cost == 205
    start = Residual(problem)
    assert dearest_path(start) == 9994
    assert compute_unscheduled_penalties(start, 9994).tolist() == [[49975, 39980, 29985, 19990]]
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


async def test_asking_a_solver_shows_what_the_page_shows():
    [session] = [
        each for each in blocks(text("docs/troubleshooting.md"), "console") if "firmament get tasks" in each
    ]
    shown = {
        command: output.split()
        for command, _, output in (part.partition("\n") for part in session.split("$ ")[1:])
    }
    async with running_server() as running:
        driver = await running.driving(
            *(machine("node-1", cpu=300), machine("node-2", cpu=200), task_class(1, 150), task_class(2, 900)),
            cluster="default",
        )
        for number, name in ((1, "web-0"), (1, "web-1"), (2, "big")):
            uids = [f"uid-{name}"]
            batch = pb.TaskBatch(task_class=number, uids=uids, names=[f"default/{name}"])
            await driver.events(pb.Event(tasks=batch))
            await driver.until(lambda uids=uids: uids[0] in driver.placed | driver.unscheduled)  # type: ignore[misc]
        await driver.report(driver.placed, bound=True)
        await eventually(lambda: _bound(running, 2))
        for command in ("get clusters", "get tasks --state pending", "get machines"):
            arguments = [*command.split(), "--target", str(running.address)]
            done = await asyncio.to_thread(CliRunner().invoke, main, arguments)
            assert done.exit_code == 0, done.stderr
            printed = done.stdout.split()
            assert printed == shown.pop(f"firmament {command}"), command
    assert list(shown) == ["firmament explain default/big", "firmament export-network -o network.dimacs"]


async def test_the_solver_answers_as_the_install_page_asks():
    """After `firmament submit`, and beside a cluster that is driven at the same time."""
    [block] = [each for each in blocks(text("docs/install.md"), "console") if "firmament explain" in each]
    commands = [line.removeprefix("$ firmament ").split() for line in block.splitlines()]
    async with running_server() as running:

        async def ask(*words: str) -> None:
            done = await asyncio.to_thread(
                CliRunner().invoke, main, [*words, "--target", str(running.address)]
            )
            assert done.exit_code == 0, done.stderr

        await ask("submit", "--nodes", "5", "--tasks", "8")
        for words in commands:
            await ask(*words)
        driver = await running.driving(machine("node-1"), task_class(1, 100), cluster="default")
        await driver.events(pb.Event(tasks=pb.TaskBatch(task_class=1, uids=["u"], names=["task-0"])))
        for words in commands:
            await ask(*words)


async def _bound(running: Running, count: int) -> bool:
    return (await running.state("default")).bound == count


def test_heights_of_two_machines():
    """docs/cost-models.md, heights: what a small and a large task cost on two machines, either way."""
    plain = problem(tasks=[1, 1], requests=[[1], [1]], free=[[9], [9]])
    given = with_heights(plain, (10, 12), (2, 4))
    one = np.ones(2, dtype=np.int64)
    there, exchanged = (Assignments(np.array([0, 1]), np.array(rows), one) for rows in ([0, 1], [1, 0]))
    # The network charges 12 + 16 for a first task each, or 14 + 14.
    assert 28 + size_cost(given, there) == pytest.approx(29)
    assert 28 + size_cost(given, exchanged) == pytest.approx(27.67, abs=0.01)
    assert exchange_sizes(given, there, tuning=PLACING.exchange, log=[]).machine.tolist() == [1, 0]
