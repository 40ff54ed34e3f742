from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import main
from benchmarks.rounds.policies import list_installed, policy_events
from benchmarks.scenario import Scenario
from firmament.core.events import ClassDefined, MachineUpserted


def run(*arguments: str):
    return CliRunner().invoke(main, ["policies", "--nodes", "60", "--tasks", "80", "--runs", "1", *arguments])


def test_every_policy_is_measured_on_the_same_tasks():
    done = run("--classes", "3", "--fill", "0.5", "--fill", "empty", "-o", "json")
    assert done.exit_code == 0, done.output
    scenarios = json.loads(done.stdout)["scenarios"]
    assert [scenario["scenario"]["fill"] for scenario in scenarios] == ["0.5", "empty"]
    for scenario in scenarios:
        assert [result["policy"] for result in scenario["policies"]] == list_installed()
        for result in scenario["policies"]:
            assert (result["placed"], result["pending"]) == (80, 0)
            assert result["tasks_per_second"] == pytest.approx(80 / result["seconds"])
            assert result["stats"]["certified"]


def test_policies_find_their_inputs():
    cluster, waiting = policy_events(Scenario(nodes=50, tasks=20, classes=4))
    machines = [event.machine for event in cluster if isinstance(event, MachineUpserted)]
    racks = {machine.labels["topology.kubernetes.io/rack"] for machine in machines}
    assert racks == {"rack-0", "rack-1"}
    classes = [event.task_class for event in waiting if isinstance(event, ClassDefined)]
    assert {dict(each.labels)["taskType"] for each in classes} == {"Sheep", "Rabbit", "Devil", "Turtle"}
    names = {machine.name for machine in machines}
    for each in classes:
        blocks = json.loads(dict(each.annotations)["firmament.io/inputs"])
        assert {name for block in blocks for name in block["machine"]} <= names


def test_the_table_and_a_choice_of_policies():
    done = run("--policy", "trivial", "--fill", "empty")
    assert done.exit_code == 0
    assert "trivial" in done.stdout
    assert "cpu_mem" not in done.stdout
    unknown = run("--policy", "x")
    assert unknown.exit_code == 2
    assert "'x' is no base policy; use one of: " in unknown.output
