"""Workload files: the ones that come along, parameters, and one clear line per defect."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import main
from benchmarks.declarative.loading import WorkloadError, available, load_workload
from tests.benchmarks.workload_files import NODE, content, nodes, pods, write


@pytest.mark.parametrize("name", available())
def test_the_workloads_that_come_along_are_sound_and_have_a_small_size(name):
    workload = load_workload(name, size="small")
    assert workload.file.name == name
    assert workload.params["nodes"] <= 500


def test_parameters_come_from_the_file_then_the_size_then_the_command_line(tmp_path):
    path = write(
        tmp_path, content(nodes(), pods("pods * 2"), sizes={"big": {"nodes": 30, "pods": 60}}, seeds=None)
    )
    with pytest.raises(WorkloadError, match=r"test.yaml: seeds: is not a known key; did you mean sizes\?"):
        load_workload(path)
    path = write(tmp_path, content(nodes(), pods("pods * 2"), sizes={"big": {"nodes": 30, "pods": 60}}))
    assert load_workload(path).params == {"nodes": 3, "pods": 6}
    big = load_workload(path, size="big", params={"pods": 7})
    assert big.params == {"nodes": 30, "pods": 7}
    assert big.amount("pods * 2") == 14


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ("a: [", "test.yaml: not YAML"),
        ([1], "test.yaml: the document: must be a map, not a list"),
        (content(), "test.yaml: ops: must not be empty"),
        (
            content({"createNodes": {"count": 1}}),
            "test.yaml: ops[0].createNodes.template: is missing; add it",
        ),
        (content({}), "an op has exactly one of the keys createNodes, createObjects, createPods"),
        (content(nodes(), nodes() | pods()), "test.yaml: ops[1]: an op has exactly one of"),
        (
            content({"createPod": {}}),
            "test.yaml: ops[0].createPod: is not a known key; did you mean createPods?",
        ),
        (content(nodes("$node")), "test.yaml: ops[0].count: unknown name 'node'"),
        (
            content({"measure": {"ops": [{"createPods": {"count": 1, "template": "po"}}]}}),
            "test.yaml: ops[0].measure.ops[0].template: no template 'po'; known: node, pod",
        ),
        (
            content(nodes(), templates={"node": {**NODE, "spec": {"x": "${zone}"}}}),
            "test.yaml: templates.node: ${zone}: unknown name 'zone'",
        ),
        (content(nodes(), params={"index": 1}), "test.yaml: params.index: reserved"),
        (
            content(nodes(), sizes={"s": {"zones": 1}}),
            "test.yaml: sizes.s.zones: not among params; add it there",
        ),
    ],
)
def test_a_defect_is_one_line_that_names_file_and_field(tmp_path, document, line):
    with pytest.raises(WorkloadError) as caught:
        load_workload(write(tmp_path, document))
    assert any(each.startswith("test.yaml: ") and line in each for each in caught.value.lines)


def test_unknown_names_list_what_is_known():
    with pytest.raises(WorkloadError, match=r"no such workload; known: .*basic"):
        load_workload("nothing")
    with pytest.raises(WorkloadError, match=r"no size 'huge'; known: .*small"):
        load_workload("basic", size="huge")
    with pytest.raises(WorkloadError, match="no parameter 'x'; known: classes"):
        load_workload("basic", params={"x": 1})


def test_the_command_prints_defects_and_ends_with_2(tmp_path):
    path = write(tmp_path, content(nodes("a"), pods("b")))
    done = CliRunner().invoke(main, ["run", path])
    assert done.exit_code == 2
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == ["ops[0].count", "ops[1].count"]
    bad = CliRunner().invoke(main, ["run", "basic", "--param", "nodes=many"])
    assert bad.exit_code == 2
    assert "'nodes=many' is not NAME=NUMBER" in bad.stderr


def test_the_command_measures_and_saves(tmp_path):
    saved = tmp_path / "folder" / "result.json"
    arguments = [
        "--size",
        "small",
        "--nodes",
        "20",
        "--param",
        "pods=30",
        "--runs",
        "1",
        "--save",
        str(saved),
    ]
    done = CliRunner().invoke(main, ["run", "basic", *arguments, "-o", "json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert json.loads(saved.read_text()) == report
    (result,) = report["results"]
    assert result["params"] == {"nodes": 20, "pods": 30, "classes": 10, "fillLow": 0, "fillHigh": 100}
    (part,) = result["measured"]
    assert (part["bound"], part["waiting"]) == (30, 0)
    assert part["podsPerSecond"] == pytest.approx(30 / part["seconds"])
    assert part["placementCost"] > 0
    table = CliRunner().invoke(main, ["run", "basic", *arguments])
    assert "basic" in table.stdout
    listed = CliRunner().invoke(main, ["list"])
    assert listed.exit_code == 0


def test_the_documented_example_runs(tmp_path):
    page = (Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    path = tmp_path / "example.yaml"
    path.write_text(example)
    done = CliRunner().invoke(main, ["run", str(path), "--param", "pods=80", "--runs", "1", "-o", "json"])
    assert done.exit_code == 0, done.output
    (part,) = json.loads(done.stdout)["results"][0]["measured"]
    assert (part["bound"], part["brokenRules"]) == (80, {})


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--param", "nodes=-3"], "'nodes=-3' is not NAME=NUMBER, with a whole number of 0 or more"),
        (["--param", "nodes"], "'nodes' is not NAME=NUMBER"),
        (["--bindings-only"], "are for --stage end-to-end; add that"),
        (["--server-latency", "1"], "are for --stage end-to-end; add that"),
    ],
)
def test_options_that_make_no_sense_are_refused(arguments, told):
    done = CliRunner().invoke(main, ["run", "basic", *arguments])
    assert done.exit_code == 2
    assert told in done.stderr


def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(tmp_path):
    (tmp_path / "file").touch()
    for command in (["run", "basic"], ["full"]):
        done = CliRunner().invoke(main, [*command, "--save", str(tmp_path / "file" / "below")])
        assert done.exit_code == 2
        assert "below cannot be" in done.stderr
        assert done.stdout == ""
