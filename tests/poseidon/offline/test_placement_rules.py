"""The examples of placement rules, against verdicts that were written down by hand from Kubernetes' semantics."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
import yaml

EXAMPLE = Path(__file__).parents[3] / "examples" / "03-placement-rules"
NODES = EXAMPLE / "nodes.yaml"
RULES = sorted(file.stem for file in EXAMPLE.glob("*.yaml") if file != NODES)


def expected(rule):
    return json.loads((EXAMPLE / "expected" / f"{rule}.json").read_text())


EXPLAINED = [(rule, pod) for rule in RULES for pod in expected(rule)["explain"]]


def alone(rule, pod):
    """Return a rule's objects with no other pod that waits: what is said of nodes is how a round leaves them."""
    for each in yaml.safe_load_all((EXAMPLE / f"{rule}.yaml").read_text()):
        if each["kind"] == "Pod" and not each["spec"].get("nodeName") and each["metadata"]["name"] != pod:
            continue
        if "replicas" in each.get("spec", ()):
            each["spec"]["replicas"] = 1
        yield each


@pytest.mark.parametrize(("rule", "pod"), EXPLAINED)
def test_verdicts(run, tmp_path, rule, pod):
    objects = tmp_path / "objects.yaml"
    objects.write_text(yaml.safe_dump_all(alone(rule, pod.partition("/")[2])))
    answer = run("explain", "-f", NODES, "-f", objects, "--pod", pod, "-o", "json").json
    found = {name: each["reasons"] for name, each in answer["nodes"].items()}
    assert found == {
        name: [reason] if reason else [] for name, reason in expected(rule)["explain"][pod].items()
    }
    assert {name: each["feasible"] for name, each in answer["nodes"].items()} == {
        name: not reasons for name, reasons in found.items()
    }


@pytest.mark.parametrize("rule", RULES)
def test_plans(run, rule):
    answer = run("plan", "-f", NODES, "-f", EXAMPLE / f"{rule}.yaml", "-o", "json").json
    wanted = expected(rule)
    assert {each["pod"]: each["reason"] for each in answer["pending"]} == wanted["pending"]
    found = {each["pod"]: each["node"] for each in answer["bindings"]}
    assert found.keys() == wanted["bindings"].keys()
    for pod, node in found.items():
        assert node in wanted["bindings"][pod], pod
    zones = {node["metadata"]["name"]: node["metadata"]["labels"] for node in nodes()}
    together = {zones[found[pod]]["topology.kubernetes.io/zone"] for pod in wanted.get("sameZone", ())}
    assert len(together) <= 1


def nodes():
    return yaml.safe_load_all(NODES.read_text())


def test_every_expectation_belongs_to_a_rule_and_covers_all_nodes():
    assert sorted(file.stem for file in (EXAMPLE / "expected").iterdir()) == RULES
    names = {node["metadata"]["name"] for node in nodes()}
    assert all(verdicts.keys() == names for rule in RULES for verdicts in expected(rule)["explain"].values())


README = (EXAMPLE / "README.md").read_text()


def test_the_readme_lists_every_rule():
    assert all(f"]({rule}.yaml)" in README for rule in RULES)


@pytest.mark.parametrize(
    "command",
    [line.removeprefix("$ poseidon ") for line in README.splitlines() if line.startswith("$ poseidon ")],
)
def test_the_readmes_commands_run(run, monkeypatch, command):
    monkeypatch.chdir(EXAMPLE.parents[1])
    outcome = run(*shlex.split(command))
    assert (outcome.status, outcome.stderr) == (0, "")
    assert outcome.stdout
