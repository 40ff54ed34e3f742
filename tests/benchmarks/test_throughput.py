"""Rates of the core, and whole rounds beside the solver: within them, and by itself on the networks as they are."""

from __future__ import annotations

import json
from itertools import count

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.__main__ import main
from benchmarks.algorithm import run_bursts
from benchmarks.reports.report import load_results, render
from benchmarks.rounds.solver_alone import RecordingSolver, bare_seconds
from benchmarks.rounds.throughput import ThroughputOptions, measure
from benchmarks.scenario import Scenario, machine_events, next_burst, task_events
from firmament.core.configuration import CoreConfiguration, RoundOptions
from firmament.core.events import ClassDefined, TasksSubmitted
from firmament.core.flow.column_generation import GenerationOptions
from firmament.core.placement.outcome import PassOptions
from firmament.solvers.base import FlowProblem, FlowSolution, SolverError
from firmament.solvers.ortools_solver import OrToolsSolver

SCENARIO = Scenario(nodes=1000, tasks=3000, classes=300, fill="0.5")


class Ticks:
    """A clock that advances by a second whenever it is read."""

    def __init__(self) -> None:
        self._next = count(1.0)

    def __call__(self) -> float:
        return next(self._next)


class Asked(OrToolsSolver):
    """Remembers what it was asked to solve."""

    def __init__(self) -> None:
        self.problems: list[FlowProblem] = []

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        self.problems.append(problem)
        return super().solve(problem, time_limit=time_limit)


def small_problem() -> FlowProblem:
    return FlowProblem(
        tails=np.array([0, 0], dtype=np.int32),
        heads=np.array([1, 1], dtype=np.int32),
        capacities=np.array([1, 1]),
        costs=np.array([3, 5]),
        supplies=np.array([2, -2]),
    )


def of_few_columns() -> CoreConfiguration:
    """Rounds that begin with far too few columns, so that several networks are solved."""
    generation = GenerationOptions(
        base_total=0, base_least=1, base_most=1, samples=0.001, samples_each=0, sampled=0
    )
    return CoreConfiguration(options=RoundOptions(passes=PassOptions(generation=generation)))


def test_networks_are_recorded_whole_and_at_their_true_costs():
    asked = Asked()
    recorder = RecordingSolver(asked)
    (run,) = run_bursts(machine_events(SCENARIO), [task_events(SCENARIO)], recorder, of_few_columns())
    networks, _ = recorder.take_networks()
    (stats,) = run.rounds
    assert run.placed == SCENARIO.tasks
    assert 1 < len(networks) <= stats.solves
    assert any(
        (problem.costs < 0).any() for problem in asked.problems
    )  # a part of a network, at reduced costs
    for network in networks:
        assert network.stated is None
        assert (network.costs >= 0).all()
        assert network.supplies[-1] == -SCENARIO.tasks
    sizes = [len(network.tails) for network in networks]
    assert sizes == sorted(sizes)


def test_a_network_in_two_forms_counts_once():
    whole = small_problem()
    form = FlowProblem(
        whole.tails, whole.heads, whole.capacities, whole.costs - 4, whole.supplies, stated=whole
    )
    recorder = RecordingSolver(OrToolsSolver(), Ticks())
    recorder.solve(form)
    recorder.solve(whole)
    other = small_problem()
    recorder.solve(other)
    networks, seconds = recorder.take_networks()
    assert [id(network) for network in networks] == [id(whole), id(other)]
    assert seconds == 3.0
    assert recorder.take_networks() == ([], 0.0)


def test_time_of_a_solve_that_fails_counts():
    class Failing(OrToolsSolver):
        def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
            raise SolverError("no")

    recorder = RecordingSolver(Failing(), Ticks())
    with pytest.raises(SolverError):
        recorder.solve(small_problem())
    assert recorder.take_networks()[1] == 1.0


def test_bare_seconds_are_those_of_all_networks():
    asked = Asked()
    networks = [small_problem(), small_problem()]
    assert bare_seconds(networks, asked, Ticks()) == 1.0
    assert [id(problem) for problem in asked.problems] == [id(network) for network in networks]


def test_later_bursts_have_other_tasks_of_the_same_classes():
    first, second, third = task_events(SCENARIO), next_burst(SCENARIO, 1), next_burst(SCENARIO, 2)
    defined = {event.id for event in first if isinstance(event, ClassDefined)}
    seen: set[str] = set()
    sizes = []
    for burst in (first, second, third):
        submitted = [event for event in burst if isinstance(event, TasksSubmitted)]
        assert {event.task_class for event in submitted} == defined
        uids = [uid for event in submitted for uid in event.uids]
        assert len(uids) == SCENARIO.tasks
        assert not seen & set(uids)
        seen |= set(uids)
        sizes.append([len(event.uids) for event in submitted])
    assert sizes[0] != sizes[1] != sizes[2]
    assert second == next_burst(SCENARIO, 1)


def test_bursts_end_before_the_next_one_comes():
    scenario = Scenario(
        nodes=4, tasks=60, classes=3, fill="empty"
    )  # room for a few hundred, not for ten bursts
    bursts = [task_events(scenario), *(next_burst(scenario, number) for number in range(1, 10))]
    runs = list(run_bursts(machine_events(scenario), bursts, OrToolsSolver(), CoreConfiguration()))
    assert [(run.placed, run.pending) for run in runs] == [(60, 0)] * 10


def test_the_report_has_both_ratios_for_first_and_later_rounds(tmp_path):
    path = tmp_path / "throughput.json"
    arguments = ["--nodes", "300", "--tasks", "1500", "--classes", "20", "--fill", "0.5", "--fill", "empty"]
    arguments += ["--runs", "1", "--rounds", "3", "--no-grpc", "-o", "json", "--save", str(path)]
    done = CliRunner().invoke(main, ["throughput", *arguments])
    assert done.exit_code == 0, done.output
    report = json.loads(path.read_text())
    assert report["kind"] == "throughput"
    for result in report["results"]:
        first, later = result["algorithm"], result["warm"]
        assert (len(first["all_seconds"]), len(later["all_seconds"])) == (1, 2)
        for part in (first, later):
            assert part["placed"] == 1500
            assert part["ratio"] > 1.0
            assert part["bare"] > 0.0
            assert part["networks"] >= 1
            assert part["certified"] == part["rounds"] >= len(part["all_seconds"])
    text = render(load_results([path]))
    assert "| … later rounds |" in text
    assert f"{report['results'][0]['algorithm']['bare']:.2f}" in text


def test_the_table_names_both_ratios():
    arguments = [
        "--nodes",
        "50",
        "--tasks",
        "100",
        "--classes",
        "3",
        "--fill",
        "0.5",
        "--runs",
        "1",
        "--no-grpc",
    ]
    done = CliRunner().invoke(main, ["throughput", *arguments])
    assert done.exit_code == 0, done.output
    assert "to OR-Tools" in done.stdout
    assert "later rounds" not in done.stdout


@pytest.mark.parametrize("fill", ["half", "1.5", "-1"])
def test_a_fill_that_is_no_share_is_refused(fill):
    done = CliRunner().invoke(main, ["throughput", f"--fill={fill}"])
    assert done.exit_code == 2
    assert 'neither "empty" nor a number from 0 to 1' in done.output


def test_whole_rounds_take_a_few_times_what_the_solver_alone_takes():
    """Processor seconds of one run, with a wide margin: seen are 1.8 to 2.2 on a quiet machine."""
    options = ThroughputOptions(runs=3, grpc=False)
    (result,) = measure([Scenario(nodes=3000, tasks=6000, classes=100)], options)["results"]
    part = result["algorithm"]
    assert part["certified"] == part["rounds"] == 3
    assert part["bare"] < 5.0
