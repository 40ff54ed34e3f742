"""On which nodes a DaemonSet has pods, and how its pods name theirs."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod, PodSpec
from poseidon.kube.api.workloads import PodTemplate
from poseidon.manifests.controllers.daemon_sets import admits, daemon_template, node_of, nodes_of


def node(name: str = "n1", *taints: tuple[str, str], **labels: str) -> Node:
    listed = [{"key": key, "effect": effect} for key, effect in taints]
    metadata = {"name": name, "labels": labels}
    return convert_object({"metadata": metadata, "spec": {"taints": listed}}, Node)


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": required}}


def by_label(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def by_name(*names: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": list(names)}]}


NODE = node(zone="a")


@pytest.mark.parametrize(
    ("spec", "found", "may"),
    [
        ({}, NODE, True),
        ({"nodeName": "n1"}, NODE, True),
        ({"nodeName": "n2"}, NODE, False),
        ({"nodeSelector": {"zone": "a"}}, NODE, True),
        ({"nodeSelector": {"zone": "a", "disk": "ssd"}}, NODE, False),
        (affinity(by_label("zone", "In", "b"), by_label("zone", "Exists")), NODE, True),
        (affinity(by_label("zone", "In", "b")), NODE, False),
        (affinity(by_label("disk", "NotIn", "hdd")), NODE, True),
        (affinity(by_name("n1", "n2")), NODE, True),
        (affinity({**by_name("n1"), **by_label("zone", "In", "b")}), NODE, False),
        (affinity({}), NODE, False),
        (affinity(), NODE, False),
        ({}, node("n1", ("gpu", "NoSchedule")), False),
        ({}, node("n1", ("gpu", "NoExecute")), False),
        ({}, node("n1", ("gpu", "PreferNoSchedule")), True),
        ({"tolerations": [{"key": "gpu", "operator": "Exists"}]}, node("n1", ("gpu", "NoSchedule")), True),
        (
            {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
            node("n1", ("gpu", "NoSchedule"), ("other", "NoSchedule")),
            False,
        ),
    ],
)
def test_which_nodes_a_pod_may_run_on(spec, found, may):
    assert admits(convert_object(spec, PodSpec), found) is may


TROUBLED = [
    node("away", ("node.kubernetes.io/unreachable", "NoExecute")),
    node("cordoned", ("node.kubernetes.io/unschedulable", "NoSchedule")),
    node("full", ("node.kubernetes.io/disk-pressure", "NoSchedule")),
    node("evicting", ("node.kubernetes.io/disk-pressure", "NoExecute")),
    node("offline", ("node.kubernetes.io/network-unavailable", "NoSchedule")),
    node("b"),
    node("a"),
]


@pytest.mark.parametrize(
    ("host_network", "names"),
    [
        (False, ["a", "away", "b", "cordoned", "full"]),
        (True, ["a", "away", "b", "cordoned", "full", "offline"]),
    ],
)
def test_pods_of_daemon_sets_tolerate_trouble_of_nodes(host_network, names):
    template = convert_object({"spec": {"hostNetwork": host_network}}, PodTemplate)
    assert nodes_of(template, TROUBLED) == names


def test_each_pod_names_its_node_instead_of_the_affinity_of_the_template():
    spec = {**affinity(by_label("zone", "Exists")), "nodeSelector": {"zone": "a"}, "nodeName": "elsewhere"}
    made = daemon_template(convert_object({"spec": spec}, PodTemplate), "n7").spec
    assert (made.node_name, made.node_selector) == ("", {"zone": "a"})
    assert made.affinity is not None
    assert made.affinity.node_affinity is not None
    required = made.affinity.node_affinity.required
    assert required is not None
    [term] = required.node_selector_terms
    assert not term.match_expressions
    assert [(each.key, each.operator, each.values) for each in term.match_fields] == [
        ("metadata.name", "In", ("n7",))
    ]
    assert node_of(Pod(metadata=NODE.metadata, spec=made)) == "n7"


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ({"nodeName": "n1", **affinity(by_name("n2"))}, "n1"),
        (affinity(by_name("n2")), "n2"),
        (affinity(by_label("zone", "Exists"), by_name("n3")), "n3"),
        (affinity(by_name("n2", "n3")), ""),
        (affinity({"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n2"]}]}), ""),
        ({}, ""),
    ],
)
def test_the_node_of_a_pod(spec, name):
    assert node_of(convert_object({"metadata": {"name": "p"}, "spec": spec}, Pod)) == name
