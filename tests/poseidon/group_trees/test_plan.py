"""The examples of topology groups, through the commands; verdicts by hand from the proposal's text and snapshots."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from poseidon.cli import main

EXAMPLE = Path(__file__).parents[3] / "examples" / "11-topology-groups"
CLUSTER = ("nodes", "topology")


def run(*files, output="json", config="config"):
    given = [
        each for name in files for each in ("-f", str(EXAMPLE / (name if "/" in name else f"{name}.yaml")))
    ]
    configured = ["--config", str(EXAMPLE / f"{config}.yaml")] if config else []
    result = CliRunner().invoke(main, ["plan", *given, *configured, "-o", output])
    assert result.exit_code == 0, result.output
    return (json.loads(result.stdout) if output == "json" else result.stdout), result.stderr


def group(name, *files, **more):
    plan, _ = run(*files, **more)
    return next(each for each in plan["groups"] if each["group"] == f"default/{name}")


def counts(found):
    """How many pods on each node, in racks."""
    return {
        rack: {node: len(pods) for node, pods in nodes.items()} for rack, nodes in found["placement"].items()
    }


@pytest.mark.parametrize(
    ("busy", "expected"),
    [
        ((), {"rack-0": {"node-0": 3, "node-1": 3, "node-2": 2}}),
        (("uneven",), {"rack-0": {"node-0": 5, "node-1": 3}}),
        (("nearly-full",), {"rack-0": {"node-0": 3, "node-2": 3}, "rack-1": {"node-3": 1, "node-5": 1}}),
    ],
)
def test_group_a(busy, expected):
    found = group("group-a", *CLUSTER, "group-a", *busy)
    assert (found["status"], found["message"]) == ("Bound", "")
    assert counts(found) == expected
    in_order = [pod for nodes in found["placement"].values() for pods in nodes.values() for pod in pods]
    assert in_order == [f"group-a-{index}" for index in range(8)], "consecutive pods are neighbours"
    assert found["ranks"] == {f"group-a-{index}": index for index in range(8)}


def test_user_a():
    found = group("user-a", *CLUSTER, "user-a")
    assert found["status"] == "Bound"
    assert {rack: list(nodes.values()) for rack, nodes in counts(found).items()} == {
        "rack-0": [4],
        "rack-1": [4],
    }


def test_user_b():
    found = group("user-b", "servers/")
    assert found["status"] == "Bound"
    assert counts(found) == {"server-0": {"node-0": 3, "node-1": 3}}


def test_the_lowest_gang_makes_room_and_the_other_is_untouched():
    plan, _ = run("preemption/")
    status = {each["group"]: each["status"] for each in plan["groups"]}
    assert status == {"default/a-0": "Preempted", "default/a-1": "Bound", "default/a-3": "Preempting"}
    assert {each["pod"] for each in plan["preemptions"]} == {f"default/a-0-{index}" for index in range(6)}
    assert {each["for"] for each in plan["preemptions"]} == {"default/a-3"}
    assert len(plan["bindings"]) == 6
    assert plan["pending"] == []


def test_a_wish_that_no_cluster_like_this_meets_says_level_rule_and_by_how_much():
    found = group("three-racks", *CLUSTER, "infeasible")
    assert (found["status"], found["placement"], found["ranks"]) == ("Waiting", {}, {})
    assert "level rack: 3 partitions wanted" in found["message"]
    assert "2 units" in found["message"]


def test_bad_groups_are_told_and_hold_up_nobody():
    plan, warnings = run(*CLUSTER, "bad", "group-a")
    status = {each["group"].partition("/")[2]: each["status"] for each in plan["groups"]}
    assert status.pop("group-a") == status.pop("small") == "Bound"
    assert set(status) == {"broken", "early", "none", "odd", "range"}
    assert set(status.values()) == {"Waiting"}
    for line in (
        "ConfigMap default/broken: data.constraints: is not JSON",
        "ConfigMap default/range: data.constraints.node.min: 3 is more than max, 2",
        "ConfigMap default/odd: data.constraints.node.factor: 6 pods are no multiple of 4",
        "ConfigMap default/none: data.size: 0 is out of range",
    ):
        assert line in warnings
    reasons = {each["pod"]: each["reason"] for each in plan["pending"]}
    assert "no ConfigMap in namespace default with the label sakkara.group" in reasons["default/early-0"]
    assert reasons["default/small-2"] == "beyond size: group default/small has its 2 pods"


def test_without_the_overlay_a_group_is_still_a_gang():
    found = group("group-a", *CLUSTER, "group-a", config="")
    assert found["status"] == "Bound"
    assert sum(map(len, found["placement"].values())) == 8
    full = group("group-a", *CLUSTER, "group-a", "full", config="")
    assert (full["status"], full["placement"]) == ("Waiting", {})


def test_the_table_draws_where_a_group_is():
    text, _ = run(*CLUSTER, "group-a", output="table")
    tree = text[text.index("default/group-a (Bound)") :].splitlines()
    assert [line.strip("│├└─ ") for line in tree[:5]] == [
        "default/group-a (Bound)",
        "rack-0 (8)",
        "node-0: group-a-0 (0), group-a-1 (1), group-a-2 (2)",
        "node-1: group-a-3 (3), group-a-4 (4), group-a-5 (5)",
        "node-2: group-a-6 (6), group-a-7 (7)",
    ]


def test_a_tree_out_of_node_labels(tmp_path):
    nodes = (EXAMPLE / "nodes.yaml").read_text()
    for index in range(6):
        name = f"kubernetes.io/hostname: node-{index}"
        nodes = nodes.replace(name, f"{name}, sakkara.topology.rack: r{index % 2}")
    labelled = tmp_path / "labelled.yaml"
    labelled.write_text(nodes)
    found = group("user-a", str(labelled), "user-a")
    assert {rack: list(units.values()) for rack, units in counts(found).items()} == {"r0": [4], "r1": [4]}


def test_a_pod_says_in_explain_what_its_group_waits_for():
    given = [f"-f{EXAMPLE / name}.yaml" for name in (*CLUSTER, "bad")]
    result = CliRunner().invoke(
        main,
        [
            "explain",
            *given,
            "--config",
            str(EXAMPLE / "config.yaml"),
            "--pod",
            "default/small-0",
            "-o",
            "json",
        ],
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["pod"] == "default/small-0"


def test_labels_without_a_value_as_the_proposal_writes_them(tmp_path):
    file = tmp_path / "group.yaml"
    file.write_text("""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: own-name
  labels: {
    "sakkara.group":
  }
data: {"name": "g", "size": "2"}
---
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {sakkara.group.name: g}}
spec: {containers: [{name: main}]}
""")
    assert "waits for members: 1 of 2 exist" in group("g", "nodes", str(file))["message"]


def test_a_pod_group_with_rules_is_placed_by_the_tree(tmp_path):
    file = tmp_path / "group.yaml"
    pods = "".join(
        f"""\
---
apiVersion: v1
kind: Pod
metadata: {{name: w-{index}, labels: {{scheduling.x-k8s.io/pod-group: w}}}}
spec: {{containers: [{{name: main, resources: {{requests: {{cpu: "1"}}}}}}]}}
"""
        for index in range(4)
    )
    file.write_text(f"""\
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata:
  name: w
  annotations: {{sakkara.group.constraints: '{{"rack": {{"type": "spread", "partitions": 2}}}}'}}
spec: {{minMember: 4}}
{pods}""")
    found = group("w", *CLUSTER, str(file))
    assert {rack: sum(nodes.values()) for rack, nodes in counts(found).items()} == {"rack-0": 2, "rack-1": 2}
    assert set(found["ranks"].values()) == {0, 1, 2, 3}


def test_both_priorities_of_a_group_are_told():
    plan, _ = run("preemption/")
    told = {each["group"]: (each["priority"], each["statedPriority"]) for each in plan["groups"]}
    assert told == {"default/a-0": (0, 0), "default/a-1": (0, 1), "default/a-3": (0, 3)}
