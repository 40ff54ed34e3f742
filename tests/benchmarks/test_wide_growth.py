"""Growth over a wide range: sizes measured apart, with exponents and steps that are steeper than allowed."""

from __future__ import annotations

import math
import subprocess
import sys

import psutil
import pytest

from benchmarks.child_processes import make_pool
from benchmarks.reports.charts import sections
from benchmarks.reports.core import wide_growth_sheets
from benchmarks.rounds.growing import wide_growth
from benchmarks.rounds.growing.bridge_memory import measure_bridge_memory
from benchmarks.rounds.growing.wide_growth import Axis, Measured, measure_size, measure_wide_growth
from benchmarks.scenario import Scenario
from poseidon.ui.report import LineChart
from tests.support.waiting import wait_until


def test_a_size_places_all_its_tasks_in_every_run():
    found = measure_size(Scenario(nodes=30, tasks=60, classes=4), 2)
    assert len(found.seconds) == 2
    assert found.placed == 60


def test_exponents_and_steep_steps_follow_from_the_figures(monkeypatch: pytest.MonkeyPatch):
    seconds = {100: 1.0, 200: 2.0, 400: 8.0}
    monkeypatch.setattr(
        wide_growth,
        "_measure_apart",
        lambda scenario, runs: Measured((seconds[scenario.nodes],) * runs, scenario.nodes / 10, 7),
    )
    monkeypatch.setattr(wide_growth, "_measure_bridge_apart", lambda scenario: scenario.nodes**0.5)
    report = measure_wide_growth({"nodes": Axis((*seconds,), Scenario())}, runs=1, progress=lambda _: None)
    (result,) = report["results"]
    assert [point.get("ofLinear") for point in result["points"]] == [None, 1.0, 2.0]
    assert [point.get("steep") for point in result["points"]] == [None, False, True]
    assert result["exponents"]["seconds"] == pytest.approx(math.log(8, 4))
    assert result["exponents"]["coreMiB"] == pytest.approx(1.0)
    assert result["exponents"]["bridgeMiB"] == pytest.approx(0.5)
    (sheet,) = wide_growth_sheets(report)
    assert sheet.rows[-1][-3:] == ["2.00 (steep)", "40", "20"]
    chart = sections([report])["growth"].chart
    assert isinstance(chart, LineChart)
    assert chart.at == [100.0, 200.0, 400.0]
    assert list(chart.series.values()) == [[1.0, 2.0, 8.0]]


def test_each_size_is_measured_in_a_process_of_its_own():
    axes = {"tasks": Axis((20, 40), Scenario(nodes=20, classes=2))}
    report = measure_wide_growth(axes, runs=1, progress=lambda _: None)
    assert [point["placed"] for point in report["results"][0]["points"]] == [20, 40]


def test_what_a_bridge_knows_takes_memory():
    with make_pool(1) as pool:
        few = pool.submit(measure_bridge_memory, 20, 100, 2).result()
    with make_pool(1) as pool:
        many = pool.submit(measure_bridge_memory, 1_000, 3_000, 20).result()
    assert 0 < few < many


def test_processes_end_with_the_one_that_was_killed():
    imports = "import time; from benchmarks.child_processes import make_pool"
    words = f"{imports}; make_pool(1).submit(time.sleep, 600).result()"
    parent = subprocess.Popen([sys.executable, "-c", words])
    try:
        wait_until(lambda: [each for each in psutil.Process(parent.pid).children() if _is_worker(each)])
        workers = psutil.Process(parent.pid).children()
    finally:
        parent.kill()
        parent.wait()
    _, alive = psutil.wait_procs(workers, timeout=20.0)
    assert not alive


def _is_worker(process: psutil.Process) -> bool:
    return "spawn_main" in " ".join(process.cmdline())
