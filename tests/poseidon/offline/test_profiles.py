"""Profiles in a plan and an explanation: each pod goes by the models of the scheduler that it names."""

from __future__ import annotations

import json

import pytest

from tests.poseidon.offline.objects import node, pod


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "config.yaml"
    document = {
        "apiVersion": "firmament.io/v1alpha1",
        "kind": "SchedulerConfiguration",
        "schedulerNames": ["poseidon", "batch"],
        "profiles": [{"schedulerName": "batch", "policy": {"name": "most_allocated", "weight": 2}}],
    }
    file.write_text(json.dumps(document))
    return file


def cluster(count: int) -> list[dict]:
    nodes = [node(f"n{number}") for number in range(3)]
    spread = [pod(f"web-{number}", cpu="500m", schedulerName="poseidon") for number in range(count)]
    return [*nodes, *spread, *(pod(f"job-{number}", schedulerName="batch") for number in range(count))]


def nodes_of(bindings: list[dict], prefix: str) -> set[str]:
    return {each["node"] for each in bindings if each["pod"].startswith(f"shop/{prefix}")}


def test_a_plan_places_each_pod_by_its_profile(run, write, config):
    found = run("plan", "-f", write(*cluster(3)), "--config", config, "-o", "json").json
    assert not found["pending"]
    assert len(nodes_of(found["bindings"], "web")) == 3
    assert len(nodes_of(found["bindings"], "job")) == 1


def test_a_plan_goes_on_after_a_profile_whose_pods_fit_nowhere(run, write, config):
    file = write(
        node("n"), pod("large", cpu=5, schedulerName="poseidon"), pod("small", schedulerName="batch")
    )
    found = run("plan", "-f", file, "--config", config, "-o", "json").json
    assert [each["pod"] for each in found["bindings"]] == ["shop/small"]
    assert [each["pod"] for each in found["pending"]] == ["shop/large"]


@pytest.mark.parametrize(("name", "policy"), [("web-0", "cpu_mem"), ("job-0", "most_allocated")])
def test_an_explanation_has_the_models_of_the_pods_profile(run, write, config, name, policy):
    file = write(*cluster(1))
    found = run("explain", "-f", file, "--config", config, "--pod", f"shop/{name}", "-o", "json").json
    for each in found["nodes"].values():
        assert each["models"].keys() == {policy, "kubernetes"}
