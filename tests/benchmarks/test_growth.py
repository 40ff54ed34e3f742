"""What growth measures is the burst of the basic workload, on a cluster that was built once."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.algorithm import run_events
from benchmarks.declarative.loading import load_workload
from benchmarks.declarative.runner import Runner
from benchmarks.reports.core import growth_sheets
from benchmarks.rounds.growing.growth import PROCESSES, measure_growth, measure_memory_growth
from benchmarks.targets.algorithm import AlgorithmTarget
from benchmarks.targets.base import TargetError
from benchmarks.targets.recorded_events import RecordedEvents
from firmament.configuration.document import build_core, load
from firmament.solvers.ortools_solver import OrToolsSolver


def test_told_in_advance_a_burst_is_the_same_round():
    workload = load_workload("basic", params={"nodes": 60, "pods": 500, "classes": 12}, seed=3)
    configuration = build_core(load(None))
    told = RecordedEvents(configuration)
    asyncio.run(Runner(workload, told).run())
    (measured,) = asyncio.run(Runner(workload, AlgorithmTarget(configuration)).run())
    (expected,) = measured.figures.rounds
    for _ in range(2):
        run = run_events(told.cluster, told.burst, OrToolsSolver(), configuration)
        (stats,) = run.rounds
        assert (run.placed, run.pending) == (500, 0)
        for name in ("machines", "tasks", "classes", "arcs", "solves", "cost", "gap", "certified"):
            assert getattr(stats, name) == getattr(expected, name), name


def test_a_workload_that_deletes_cannot_be_told_in_advance():
    workload = load_workload("churn", size="small", seed=1)
    with pytest.raises(TargetError, match="pods are deleted"):
        asyncio.run(Runner(workload, RecordedEvents(build_core(load(None)))).run())


def test_ratios_are_those_of_the_medians():
    said: list[str] = []
    params = {"nodes": 20, "pods": 20, "classes": 2}
    report = asyncio.run(measure_growth(params, runs=3, seed=1, progress=said.append))
    assert report["sizes"]["pods"] == {"nodes": 20, "pods": 200, "classes": 2}
    for name in params:
        assert len(report["allSeconds"][name]) == 3
        assert report["ratios"][name] == pytest.approx(
            sorted(report["allSeconds"][name])[1] / sorted(report["allSeconds"]["base"])[1]
        )
    assert len(said) == 4 + 4


def test_exponents_are_from_step_to_step():
    report = asyncio.run(
        measure_growth(
            {"nodes": 4, "pods": 4, "classes": 1}, runs=1, seed=1, progress=lambda _: None, steps=2
        )
    )
    assert report["sizes"]["pods, 2 times"] == {"nodes": 4, "pods": 400, "classes": 1}
    seconds = report["seconds"]
    for name in ("nodes", "pods", "classes"):
        found = [report["exponents"][each] for each in (name, f"{name}, 2 times")]
        assert 10 ** sum(found) == pytest.approx(seconds[f"{name}, 2 times"] / seconds["base"])


@pytest.mark.full  # its ratios are held by the one before, at a smaller size
def test_ten_times_the_work_takes_less_than_fifteen_times_the_seconds():
    """Ratios within one run, with wide margins: seen are about 2 and 4 on a quiet machine."""
    params = {"nodes": 500, "pods": 500, "classes": 10}
    ratios = asyncio.run(measure_growth(params, runs=2, seed=1, progress=lambda _: None))["ratios"]
    assert ratios["nodes"] < 15.0
    assert ratios["pods"] < 15.0


@pytest.mark.full  # starts both programs twice
def test_memory_of_both_processes_is_told_with_each_size():
    sizes = {
        "base": {"nodes": 10, "pods": 10, "classes": 2},
        "pods": {"nodes": 10, "pods": 100, "classes": 2},
    }
    report = {
        "kind": "growth",
        "sizes": sizes,
        "seconds": {"base": 0.1, "pods": 0.2},
        "ratios": {"pods": 2.0},
    }
    found = measure_memory_growth(report, seed=1, progress=lambda _: None)
    for process in PROCESSES:
        base, more = (found["memoryMiB"][name][process] for name in ("base", "pods"))
        assert 10 ** found["memoryExponents"]["pods"][process] == pytest.approx(more / base)
    (sheet,) = growth_sheets(found)
    assert list(sheet.headings[-2:]) == ["bridge, MiB (exponent)", "solver, MiB (exponent)"]
    assert all(len(row) == len(sheet.headings) for row in sheet.rows)


def test_a_report_without_memory_has_no_columns_for_it():
    report = {
        "sizes": {"base": {"nodes": 1, "pods": 1, "classes": 1}},
        "seconds": {"base": 0.1},
        "ratios": {},
    }
    (sheet,) = growth_sheets(report)
    assert "MiB" not in " ".join(sheet.headings)
