"""Saved results become Markdown and pictures; drift, growth and memory are computed as stated."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import main
from benchmarks.memory import drift
from benchmarks.report import ResultError, load_results, markdown_table, render
from benchmarks.targets.base import thinned, thinned_curve

ENVIRONMENT = {
    "processor": "cpu",
    "cores": 2,
    "memory_gib": 8,
    "python": "3.11",
    "packages": {"ortools": "9.15"},
}


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    run = ["--size", "small", "--param", "pods=30", "--runs", "1"]
    for nodes in ("20", "40"):
        arguments = [*run, "--nodes", nodes, "--save", str(folder / f"run-{nodes}.json")]
        assert CliRunner().invoke(main, ["run", "basic", "steady", *arguments]).exit_code == 0
    arguments = [*run, "--nodes", "20", "--with", "pod by pod", "--save", str(folder / "compare.json")]
    assert CliRunner().invoke(main, ["compare", "basic", *arguments]).exit_code == 0
    arguments = ["--instances", "3", "--save", str(folder / "optimum.json")]
    assert CliRunner().invoke(main, ["optimum", *arguments]).exit_code == 0
    arguments = ["--nodes", "10", "--pods", "10", "--classes", "2", "--runs", "1"]
    arguments += ["--save", str(folder / "growth.json")]
    assert CliRunner().invoke(main, ["growth", *arguments]).exit_code == 0
    return folder


def test_every_kind_is_rendered_with_its_machine(results, tmp_path):
    memory = {
        "kind": "memory",
        "environment": ENVIRONMENT,
        "params": {"times": 2000},
        "peakMiB": {"solver": 100.0, "driver": 50.0},
        "drift": {"solver": 0.012},
        "podsBound": 1,
    }
    (results / "memory.json").write_text(json.dumps(memory))
    text = render(load_results([results]))
    for title in ("Workloads", "Comparison", "Tasks placed beside the optimum", "Growth", "Memory"):
        assert f"### {title}\n" in text
    assert "| solver | 100 | +1.2% |" in text
    assert "cpu, 2 cores, 8 GiB, Python 3.11, OR-Tools 9.15 (`memory.json`)." in text
    assert "basic (20 nodes, 30 pods, 10 classes, 0 fillLow, 100 fillHigh)" in text
    assert text.count("| pod by pod |") == 1


def test_pictures_are_drawn(results, tmp_path):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "plots"
    done = CliRunner().invoke(main, ["report", str(results), "--plots", str(folder)])
    assert done.exit_code == 0, done.output
    drawn = {path.name: path.read_text() for path in folder.iterdir()}
    assert set(drawn) == {"throughput-over-nodes.svg", "latency.svg", "stages.svg", "comparison.svg"}
    assert all("<svg" in text for text in drawn.values())


def test_the_results_that_come_along_can_be_rendered():
    done = CliRunner().invoke(main, ["report"])
    assert done.exit_code == 0, done.output
    assert "### " in done.stdout


@pytest.mark.parametrize("text", ["{", "[]", "{}"])
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(ResultError, match=r"x\.json: "):
        load_results([path])


def test_tables():
    assert markdown_table(("a", "b"), [("x", "1")]) == "| a | b |\n|---|---:|\n| x | 1 |"


def test_drift_compares_ends_after_the_warm_up():
    assert drift([500, 400] + [100] * 8) == 0
    assert drift([0] * 20 + [100] * 40 + [110] * 40) == pytest.approx(0.1)
    assert drift([1, 2, 3]) is None


def test_thinning_keeps_both_ends():
    assert thinned(list(range(1000)), 5) == [0, 250, 500, 749, 999]
    assert thinned([1.0, 2.0], 5) == [1.0, 2.0]
    assert thinned_curve([(float(each), each) for each in range(10)], 2) == [(0.0, 0), (9.0, 9)]
