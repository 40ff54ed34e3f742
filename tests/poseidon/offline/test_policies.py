"""Policies whose input is metadata: it reaches them from manifests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from firmament.configuration.document import BASE_POLICIES
from tests.poseidon.offline.objects import node, pod


@pytest.fixture
def policy(tmp_path):
    """Return a function that writes a configuration with this base policy and returns its path."""

    def to_file(name: str, **args: Any):
        file = tmp_path / f"{name}.yaml"
        header = {"apiVersion": "firmament.io/v1alpha1", "kind": "SchedulerConfiguration"}
        file.write_text(json.dumps({**header, "policy": {"name": name, "args": args}}))
        return file

    return to_file


def of_program(name: str, program: str, **more: Any) -> dict:
    return pod(name, cpu=3, metadata={"annotations": {"firmament.io/program": program}}, **more)


def ended(name: str, program: str, *, minutes: int) -> dict:
    finished = of_program(name, program, phase="Succeeded")
    times = {"startedAt": "2026-01-01T00:00:00Z", "finishedAt": f"2026-01-01T00:{minutes:02d}:00Z"}
    finished["status"]["containerStatuses"] = [{"name": "c", "state": {"terminated": times}}]
    return finished


@pytest.mark.parametrize(("minutes", "first"), [((50, 1), "b"), ((1, 50), "a")])
def test_finished_pods_of_the_input_teach_sjf_who_is_short(run, write, policy, minutes, first):
    file = write(
        node("n1"),
        ended("old-a", "a", minutes=minutes[0]),
        ended("old-b", "b", minutes=minutes[1]),
        of_program("new-a", "a"),
        of_program("new-b", "b"),
    )
    found = run("plan", "-f", file, "--config", policy("sjf"), "-o", "json").json
    assert [each["pod"] for each in found["bindings"]] == [f"shop/new-{first}"]


def test_net_reads_labels_of_pods_and_annotations_of_nodes(run, write, policy):
    slow, fast = node("slow"), node("fast")
    slow["metadata"]["annotations"] = {"firmament.io/network-bandwidth": "1000000000"}
    fast["metadata"]["annotations"] = {"firmament.io/network-bandwidth": "2000000000"}
    pods = [pod(f"p{index}", metadata={"labels": {"networkRequirement": "800000000"}}) for index in range(4)]
    found = run("plan", "-f", write(slow, fast, *pods), "--config", policy("net"), "-o", "json").json
    nodes = sorted(each["node"] for each in found["bindings"])
    assert nodes == ["fast", "fast", "slow"]
    assert "too little free network bandwidth" in found["pending"][0]["reason"]


def test_bad_metadata_is_reported_once(run, write, policy):
    pods = [pod(f"p{index}", metadata={"labels": {"networkRequirement": "lots"}}) for index in range(3)]
    outcome = run("plan", "-f", write(node("n1"), *pods), "--config", policy("net"))
    assert outcome.status == 0
    assert outcome.stderr.count("networkRequirement='lots': not a whole number") == 1


@pytest.mark.parametrize("name", sorted({*BASE_POLICIES} - {"cpu_mem"}))
def test_every_policy_plans_and_explains(run, write, policy, name):
    file = write(node("n1"), node("n2"), *(pod(f"p{index}") for index in range(4)))
    found = run("plan", "-f", file, "--config", policy(name), "-o", "json").json
    assert len(found["bindings"]) == 4
    explained = run("explain", "-f", file, "--pod", "shop/p0", "--config", policy(name), "-o", "json").json
    assert set(explained["nodes"]["n1"]["models"]) == {name, "kubernetes"}
