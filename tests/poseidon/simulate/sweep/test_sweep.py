"""Sweeps: every combination is run once, whoever is killed, and the best are named."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import psutil
import pytest
import yaml
from click.testing import CliRunner

from poseidon.cli import main
from poseidon.simulate.sweep.grid import SweepPlan, load_sweep
from poseidon.simulate.sweep.runs import (
    EndedRuns,
    Row,
    WorkersLostError,
    find_best,
    on_cores,
    on_dask,
    run_one,
    run_sweep,
)
from protos.configuration.file import ConfigurationError
from tests.poseidon.simulate.scenarios import kind, pool, scenario, write

pytestmark = pytest.mark.usefixtures("forked_programs")

COUNT = "cluster.pools[0].count"
EXAMPLE = Path(__file__).parents[4] / "examples" / "16-simulate" / "sweep.yaml"


def write_sweep(folder: Path, grid: dict[str, Any], **more: Any) -> Path:
    cluster = {"pools": [pool(count=2)]}
    name = write(folder, scenario(kind(mean="5m"), horizon="20m", cluster=cluster)).name
    path = folder / "sweep.yaml"
    document = {"apiVersion": "firmament.io/v1alpha1", "kind": "Sweep", "scenario": name, "grid": grid}
    path.write_text(yaml.safe_dump(document | more, sort_keys=False))
    return path


def without_seconds(rows: list[Row]) -> list[Row]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def run(plan: SweepPlan, folder: Path, jobs: int, note: Callable[[int], object]) -> list[Row]:
    return without_seconds(run_sweep(plan, EndedRuns(folder, plan), on_cores(jobs), note))


@pytest.mark.timeout(600)  # workers load everything, twice, on a machine that may be busy
def test_every_combination_is_a_run_and_a_killed_worker_loses_nothing(tmp_path: Path) -> None:
    plan = load_sweep(write_sweep(tmp_path, {"seed": [1, 2], COUNT: [2, 3]}))
    expected = without_seconds([run_one(each, plan.folder) for each in plan.runs])
    assert [(row["seed"], row[COUNT]) for row in expected] == [(s, c) for s in (1, 2) for c in (2, 3)]
    killed: list[int] = []

    def kill(done: int) -> None:
        if done >= 1 and not killed:
            for each in psutil.Process().children(recursive=True):
                if "popen_loky" in " ".join(each.cmdline()):
                    killed.append(each.pid)
                    os.kill(each.pid, signal.SIGKILL)

    assert run(plan, tmp_path / "rows", 2, kill) == expected
    assert killed


def test_the_sweep_of_the_examples_is_read_and_has_a_run_for_each_combination() -> None:
    assert len(load_sweep(EXAMPLE).runs) == 5 * 4


def test_a_sweep_that_is_begun_again_goes_on(tmp_path: Path) -> None:
    plan = load_sweep(write_sweep(tmp_path, {"seed": [1, 2, 3]}))
    kept = EndedRuns(tmp_path / "rows", plan)
    kept.keep({"run": 1, "seed": 2, "fault": "", "nodes": -7})
    told: list[int] = []
    rows = run(plan, tmp_path / "rows", 1, told.append)
    assert told == [1, 2, 3]
    assert rows[1]["nodes"] == -7
    other = load_sweep(write_sweep(tmp_path, {"seed": [1, 5, 3]}))
    assert EndedRuns(tmp_path / "rows", other).read().keys() == {0, 2}
    with pytest.raises(WorkersLostError, match="1 runs are missing"):
        run_sweep(other, EndedRuns(tmp_path / "rows", other), lambda *_: iter(()))


@pytest.mark.timeout(600)
@pytest.mark.full  # test_every_combination_is_a_run_and_a_killed_worker_loses_nothing holds the same of processes
def test_a_killed_worker_of_dask_loses_nothing(tmp_path: Path) -> None:
    from distributed import LocalCluster

    plan = load_sweep(write_sweep(tmp_path, {"seed": list(range(1, 101)), COUNT: [2, 3]}))
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        killed: list[int] = []

        def kill(done: int) -> None:
            if done >= 10 and not killed:
                killed.append(cluster.workers[0].pid)
                os.kill(killed[0], signal.SIGKILL)

        start = on_dask(cluster.scheduler_address)
        rows = run_sweep(plan, EndedRuns(tmp_path / "rows", plan), start, kill)
    assert killed
    assert [row["run"] for row in rows] == list(range(200))
    assert without_seconds(rows[:3]) == without_seconds(
        [run_one(each, plan.folder) for each in plan.runs[:3]]
    )


def test_the_command_writes_rows_a_page_and_the_best(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, {COUNT: [1, 2, 4], "configuration": [None, "missing.yaml"]})
    out, page = tmp_path / "runs.parquet", tmp_path / "page.html"
    arguments = ["simulate", "sweep", str(path), "--out", str(out), "--html", str(page)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "6 runs; " in result.stdout
    assert "Run 1 failed: " in result.stdout
    assert "missing.yaml" in result.stdout
    rows = pl.read_parquet(out)
    assert rows[COUNT].to_list() == [1, 1, 2, 2, 4, 4]
    assert rows["nodes"].to_list() == [1, None, 2, None, 4, None]
    assert "Runs that no other beats" in page.read_text()
    assert not out.with_name("runs.parquet.rows").exists()


def test_no_other_run_beats_the_best() -> None:
    figures = [(1, 9), (2, 5), (2, 6), (3, 5), (4, None), (2, 5)]
    rows = [{"run": run, "a": a, "b": b, "fault": ""} for run, (a, b) in enumerate(figures)]
    rows.append({"run": 6, "a": 0, "b": 0, "fault": "broken"})
    assert find_best(rows, ("a", "b")) == [0, 1, 5]


@pytest.mark.parametrize(
    ("grid", "fault"),
    [
        ({"cluster.pools[7].count": [1]}, "has no such place"),
        ({"cluster pools": [1]}, "has no such place"),
        ({"seed": []}, "grid.seed: has no values"),
        ({"seed": [1, "x"]}, "run 1: .*seed: "),
        ({"seed": list(range(1000)), COUNT: list(range(101))}, "makes 101,000 runs"),
    ],
)
def test_a_grid_that_makes_no_scenarios_is_refused(
    tmp_path: Path, grid: dict[str, list[Any]], fault: str
) -> None:
    with pytest.raises(ConfigurationError, match=fault):
        load_sweep(write_sweep(tmp_path, grid))
