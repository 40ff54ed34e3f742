"""The examples of gangs and preemption, through the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from poseidon.cli import main

EXAMPLES = Path(__file__).parents[3] / "examples"


def run(command, folder, *files, output="json", **options):
    given = [each for name in files for each in ("-f", str(EXAMPLES / folder / f"{name}.yaml"))]
    named = [each for name, value in options.items() for each in (f"--{name}", value)]
    result = CliRunner().invoke(main, [command, *given, *named, "-o", output])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout) if output == "json" else result.stdout


def gangs(*files):
    plan = run("plan", "08-gangs", "nodes", "pod-group", *files)
    return plan, {each["group"]: each for each in plan["groups"]}


def test_a_gang_is_placed_as_a_whole():
    plan, groups = gangs()
    train = groups["default/train"]
    assert (train["status"], train["message"], train["ranks"]) == ("Bound", "", {})
    nodes = {each["pod"]: each["node"] for each in plan["bindings"]}
    assert len(nodes) == 8
    assert {f"default/{name}": node for node, names in train["placement"].items() for name in names} == nodes
    assert plan["pending"] == []


def test_a_gang_that_does_not_fit_leaves_its_room_to_others():
    plan, groups = gangs("too-large", "share")
    assert groups["default/simulate"]["status"] == "Waiting"
    assert groups["default/simulate"]["placement"] == {}
    assert "needs 6 places at once" in groups["default/simulate"]["message"]
    assert groups["default/render"]["status"] == groups["default/train"]["status"] == "Bound"
    assert len(plan["bindings"]) == 12
    assert {each["pod"] for each in plan["pending"]} == {f"default/simulate-{index}" for index in range(6)}


def test_pod_groups_of_a_workload_are_groups_of_their_own():
    _, groups = gangs("workload")
    found = {name: each["status"] for name, each in groups.items() if "pairs" in name}
    assert found == {
        "default/pairs-driver": "Bound",
        "default/pairs-workers-0": "Bound",
        "default/pairs-workers-1": "Waiting",
    }


def test_what_pods_wait_for_is_said_and_nobody_else_is_held_up():
    plan, groups = gangs("not-yet")
    reasons = {each["pod"]: each["reason"] for each in plan["pending"]}
    assert reasons["default/early"] == "waits for PodGroup default/later, which does not exist"
    assert reasons["default/puzzled"].startswith("PodGroup default/none: spec.minMember: 0 is out of range")
    assert reasons["default/eager-0"].startswith("annotation firmament-gang-scheduling: '150' is no share")
    assert len(plan["bindings"]) == 8
    assert groups["default/later"]["message"] == reasons["default/early"]


@pytest.mark.parametrize(
    ("files", "victim", "node"),
    [(("urgent",), "default/web-", "n2"), (("urgent", "budget"), "default/report", "n1")],
)
def test_who_makes_way(files, victim, node):
    plan = run("plan", "09-preemption", "cluster", "running", *files)
    [preemption] = plan["preemptions"]
    assert preemption["pod"].startswith(victim)
    assert (preemption["node"], preemption["for"]) == (node, "default/alert")
    assert plan["bindings"] == [{"pod": "default/alert", "node": node, "after": [preemption["pod"]]}]
    assert plan["pending"] == []


def test_a_gang_takes_the_place_of_a_whole_one():
    plan = run("plan", "09-preemption", "cluster", "gangs")
    nodes = {"default/nightly-0": "n1", "default/nightly-1": "n1", "default/nightly-2": "n2"}
    nodes["default/nightly-3"] = "n2"
    assert {each["pod"]: each["node"] for each in plan["preemptions"]} == nodes
    assert {each["for"] for each in plan["preemptions"]} == {"default/train"}
    after = sorted(nodes)
    assert plan["bindings"] == [
        {"pod": "default/train-0", "node": "n1", "after": after},
        {"pod": "default/train-1", "node": "n2", "after": after},
    ]
    statuses = {each["group"]: each["status"] for each in plan["groups"]}
    assert statuses == {"default/nightly": "Preempted", "default/train": "Preempting"}


def test_a_polite_pod_waits():
    plan = run("plan", "09-preemption", "cluster", "running", "polite")
    assert plan["preemptions"] == plan["bindings"] == []
    [pending] = plan["pending"]
    assert pending["reason"].startswith("0/2 nodes are available: 2 Insufficient cpu.")


def test_the_tables_name_groups_and_victims():
    table = run("plan", "08-gangs", "nodes", "pod-group", "too-large", output="table")
    rows = [line.split() for line in table.splitlines()]
    assert ["GROUP", "STATUS", "PODS", "NODES", "MESSAGE"] in rows
    assert ["default/train", "Bound", "8", "of", "8", "3"] in rows
    table = run("plan", "09-preemption", "cluster", "running", "urgent", output="table")
    [row] = [line.split() for line in table.splitlines() if line.startswith("n2")]
    assert row == ["n2", "1", "2", "100%", "0%"]


def test_explain_says_what_a_pod_and_its_group_wait_for():
    said = run(
        "explain", "09-preemption", "cluster", "running", "urgent", "budget", output="table", pod="alert"
    )
    first = said.splitlines()[0]
    assert first.startswith(
        "A round now gives pod default/alert node n1 once default/report is gone, at cost "
    )
    said = run("explain", "08-gangs", "nodes", "pod-group", "too-large", output="table", pod="simulate-0")
    group = "Its group default/simulate is Waiting, 0 of 6 pods have a node: "
    assert said.splitlines()[2].startswith(group)
    said = run("explain", "08-gangs", "nodes", "pod-group", output="table", pod="train-0")
    assert said.splitlines()[2] == "Its group default/train is Bound, 8 of 8 pods have a node."
