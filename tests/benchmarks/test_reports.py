"""Saved results become Markdown and snapshots; drift, growth and memory are computed as stated."""

from __future__ import annotations

import json
import re
from io import StringIO
from itertools import pairwise

import pytest
from click.testing import CliRunner
from rich.console import Console

from benchmarks.__main__ import main
from benchmarks.commands.options import emit
from benchmarks.processes.memory import drift
from benchmarks.reports.plots import draw_all
from benchmarks.reports.report import ResultError, load_results, render
from benchmarks.reports.sheets import Sheet, markdown, markdown_table, print_sheets
from benchmarks.targets.base import thin, thin_curve

ENVIRONMENT = {
    "processor": "cpu",
    "cores": 2,
    "memory_gib": 8,
    "python": "3.11",
    "packages": {"ortools": "9.15"},
}

END_TO_END = {
    "kind": "end-to-end",
    "environment": ENVIRONMENT,
    "cluster": "simulated",
    "nodes": 3,
    "pods": 10,
    "classes": 2,
    "waiting": False,
    "killed": "solver",
    "restartSeconds": 1.5,
    "bound": 10,
    "rounds": 2,
    "seconds": 0.4,
    "bindingsPerSecond": 25.0,
    "latencySeconds": {"p50": 0.1, "p90": 0.2, "p99": 0.3},
    "usage": {"bridge": {"cpuSeconds": 0.5, "peakMiB": 90.0}},
    "boundTwice": 0,
    "overcommittedNodes": 1,
    "overcommitted": ["node-1: cpu 5 of 4"],
    "nodesUsed": 3,
    "events": {"withinSeconds": 10.0, "share": 0.99, "worstSeconds": 4.0},
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
        "threads": {"solver": [9, 9]},
        "descriptors": {"solver": [20, 21]},
        "podsBound": 1,
    }
    (results / "memory.json").write_text(json.dumps(memory))
    text = render(load_results([results]))
    for title in ("Workloads", "Comparison", "Tasks placed beside the optimum", "Growth", "Memory"):
        assert f"### {title}\n" in text
    assert "| solver | 100 | +1.2% | 9 to 9 | 20 to 21 |" in text
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


def test_labels_of_many_bars_do_not_overlap(tmp_path):
    pytest.importorskip("matplotlib")
    figures = {
        "seconds": 1.0,
        "bestFit": 0.93,
        "fgd": 0.95,
        "rounds": 0.96,
        "withMoves": 0.965,
        "bound": 0.97,
    }
    runs = [{"variant": f"variant{number}", "moved": 0.01} | figures for number in range(20)]
    report = {"kind": "fragmentation", "options": {"seeds": 1, "part": 1}, "runs": runs}
    (drawn,) = draw_all([report], tmp_path)
    label = r"<!-- variant[^>]* -->\s*<g [^>]*translate\(\S+ (\S+)\)"
    heights = sorted(float(height) for height in re.findall(label, drawn.read_text(encoding="utf-8")))
    assert len(heights) == 40
    # Ten points is the size of the letters.
    assert min(b - a for a, b in pairwise(heights)) > 10


def test_a_page_holds_all_pictures_and_tables(results, tmp_path):
    page = tmp_path / "page.html"
    done = CliRunner().invoke(main, ["report", str(results), "--html", str(page)])
    assert done.exit_code == 0, done.output
    (answers,) = re.findall(r'<script type="application/json" id="answers">(.*?)</script>', page.read_text())
    sections = json.loads(answers)["report"]["sections"]
    charts = [each["chart"]["type"] for each in sections if each["chart"]]
    assert charts == ["lines", "lines", "stacks", "bars"]
    tables = done.stdout.count("|---|")
    assert sum(each["table"] is not None for each in sections) == tables > 0
    refused = CliRunner().invoke(main, ["report", str(results), "--html", str(tmp_path / "no" / "page")])
    assert (refused.exit_code, "cannot be written" in refused.output) == (1, True)


def test_the_results_that_come_along_can_be_rendered():
    done = CliRunner().invoke(main, ["report"])
    assert done.exit_code == 0, done.output
    assert "### " in done.stdout


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"environment": {}}', '{"environment": {}, "kind": []}', '{"environment": 1}']
)
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(ResultError, match=r"x\.json: "):
        load_results([path])


def test_a_kind_that_is_not_known_is_told_beside_the_others(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"kind": "tides", "environment": ENVIRONMENT}))
    (tmp_path / "b.json").write_text(json.dumps(END_TO_END))
    done = CliRunner().invoke(main, ["report", str(tmp_path)])
    assert done.exit_code == 1
    assert done.stdout.startswith("### End to end\n")
    assert done.stderr.count("\n") == 1
    assert "a.json: results of kind 'tides' are not known" in done.stderr


def test_a_result_that_lacks_something_is_named(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"kind": "gangs", "environment": ENVIRONMENT, "options": {}}))
    done = CliRunner().invoke(main, ["report", str(tmp_path)])
    assert (done.exit_code, done.stdout) == (1, "")
    assert "a.json: a result of kind 'gangs' without 'room_for_all'; measure it again" in done.stderr


def test_end_to_end_is_told_line_by_line():
    text = render([{**END_TO_END, "file": "x.json"}])
    assert "10 pods of 2 classes on 3 nodes (simulated):\n\n| what | figure |\n|---|---:|\n" in text
    assert "| creation to binding, p50 / p90 / p99 | 0.10 / 0.20 / 0.30 s |" in text
    assert "| solver killed, back after | 1.50 s |" in text
    assert "| events within 10 s | 99.00% |" in text
    assert "| bridge | 0.5 s CPU, 90 MiB |" in text
    assert "\nnode-1: cpu 5 of 4.\n" in text
    waiting = {**END_TO_END, "waiting": True, "killed": None, "latencySeconds": {}, "file": "x.json"}
    assert "creation" not in render([waiting])


def test_a_result_is_not_saved_in_vain(tmp_path):
    """What has been measured is kept even if it cannot be shown."""
    file = tmp_path / "x.json"
    with pytest.raises(KeyError, match="tides"):
        emit({"kind": "tides"}, "table", file)
    assert json.loads(file.read_text()) == {"kind": "tides"}


def test_tables():
    assert markdown_table(("a", "b"), [("x|y", "1")]) == "| a | b |\n|---|---:|\n| x\\|y | 1 |"


def test_a_sheet_looks_the_same_in_a_terminal_and_in_a_document():
    sheets = [Sheet("in all", ("a", "b"), [["x [bold]", "1"]], ["said below"]), Sheet("", ("c",), [["z"]])]
    assert markdown(sheets) == (
        "in all:\n\n| a | b |\n|---|---:|\n| x [bold] | 1 |\n\nsaid below.\n\n| c |\n|---|\n| z |"
    )
    console = Console(width=60, record=True, file=StringIO())
    print_sheets(sheets, console)
    text = console.export_text()
    assert all(each in text for each in ("in all", "x [bold]", "said below", "z"))


def test_drift_compares_ends_after_the_warm_up():
    assert drift([500, 400] + [100] * 8) == 0
    assert drift([0] * 20 + [100] * 40 + [110] * 40) == pytest.approx(0.1)
    assert drift([1, 2, 3]) is None


def test_thinning_keeps_both_ends():
    assert thin(list(range(1000)), 5) == [0, 250, 500, 749, 999]
    assert thin([1.0, 2.0], 5) == [1.0, 2.0]
    assert thin_curve([(float(each), each) for each in range(10)], 2) == [(0.0, 0), (9.0, 9)]
