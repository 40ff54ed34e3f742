"""The example's cluster, through the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from poseidon.cli import main

FOLDER = Path(__file__).parents[3] / "examples" / "07-numa"
COMMON = ["-f", str(FOLDER), "--config", str(FOLDER / "config.yaml"), "-o", "json"]


def run(*arguments):
    result = CliRunner().invoke(main, [*arguments, *COMMON])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    ("pod", "refusals", "scores"),
    [
        ("trainer", {}, {"aligned": 20, "pod-aligned": 41, "relaxed": 0, "unknown": 0}),
        (
            "pair",
            {"aligned": "Insufficient cpu", "pod-aligned": "Insufficient cpu"},
            {"relaxed": 0, "unknown": 0},
        ),
        ("viewer", {}, {"aligned": 100, "pod-aligned": 100, "relaxed": 100, "unknown": 100}),
    ],
)
def test_explain(pod, refusals, scores):
    nodes = run("explain", "--pod", f"numa/{pod}")["nodes"]
    refused = {name: each for name, each in nodes.items() if not each["models"]["numa_fit"]["feasible"]}
    assert {name: each["reasons"][0] for name, each in refused.items()} == refusals
    for name, score in scores.items():
        assert nodes[name]["models"]["numa_fit"]["score"] == score
        assert nodes[name]["models"]["numa_fit"]["cost"] == 2 * (100 - score)


def test_plan():
    answer = run("plan")
    nodes = {each["pod"]: each["node"] for each in answer["bindings"]}
    assert nodes["numa/pair"] in {"relaxed", "unknown"}
    assert nodes["numa/trainer"] == nodes["numa/viewer"] == "pod-aligned"
    assert answer["pending"] == []


def test_bad_objects_are_warned_about_once(tmp_path):
    manifest = tmp_path / "bad.yaml"
    manifest.write_text(
        "apiVersion: topology.node.k8s.io/v1alpha2\nkind: NodeResourceTopology\nmetadata: {name: relaxed-2}\n"
        "attributes: [{name: topologyManagerPolicy, value: sometimes}]\n"
        "zones: [{name: numa-node-0, type: Node, resources: [{name: cpu, capacity: 1, available: 1}]}]\n"
    )
    result = CliRunner().invoke(main, ["plan", *COMMON, "-f", str(manifest)])
    assert result.exit_code == 0
    lines = [line for line in result.stderr.splitlines() if "relaxed-2" in line]
    assert len(lines) == 2
    assert any(
        "'sometimes' is not one of none, best-effort, restricted, single-numa-node" in line for line in lines
    )
    assert any("zones[numa-node-0]" in line for line in lines)
