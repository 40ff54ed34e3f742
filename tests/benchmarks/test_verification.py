"""The check of rules finds what is broken, and nothing else."""

from __future__ import annotations

import pytest

from benchmarks.quality.verification import count_broken_rules

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def node(name: str, zone: str):
    return {"kind": "Node", "metadata": {"name": name, "labels": {HOST: name, ZONE: zone, "disk": "ssd"}}}


NODES = [node("a1", "a"), node("a2", "a"), node("b1", "b")]


def pod(name: str, spec=None, **labels: str):
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "labels": labels},
        "spec": spec or {},
    }


def inter(kind: str, key: str, **labels: str):
    term = {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def on_nodes(**expressions):
    selector = {"nodeSelectorTerms": [{"matchExpressions": [expressions]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}}


def spread(key: str, **labels: str):
    constraint = {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**constraint, "labelSelector": {"matchLabels": labels}}]}


ANTI = inter("podAntiAffinity", HOST, app="x")
AFFINE = inter("podAffinity", ZONE, app="x")
SPREAD = spread(ZONE, app="x")
NEW_DISK = on_nodes(key="disk", operator="NotIn", values=["ssd"])


@pytest.mark.parametrize(
    ("spec", "label", "where", "expected"),
    [
        (ANTI, "x", ["a1", "a2", "b1"], {}),
        (ANTI, "x", ["a1", "a1", "b1"], {"anti-affinity": 2}),
        (ANTI, "y", ["a1", "a1", "a1"], {}),
        (AFFINE, "x", ["a1", "a2", "a1"], {}),
        (AFFINE, "x", ["a1", "a2", "b1"], {"affinity": 1}),
        (AFFINE, "y", ["a1"], {"affinity": 1}),
        (AFFINE, "x", ["b1"], {}),
        (SPREAD, "x", ["a1", "a2", "b1"], {}),
        (SPREAD, "x", ["a1", "a2", "a1", "b1"], {"topology spread": 3}),
        (SPREAD, "y", ["a1", "a1", "a1"], {}),
        (NEW_DISK, "x", ["a1"], {"node affinity": 1}),
        (on_nodes(key="disk", operator="Exists"), "x", ["a1"], {}),
        ({"nodeSelector": {ZONE: "a"}}, "x", ["a1", "b1"], {"node affinity": 1}),
    ],
)
def test_rules_between_pods_and_nodes(spec, label, where, expected):
    pods = [pod(f"p{index}", spec, app=label) for index in range(len(where))]
    assert count_broken_rules([*NODES, *pods], {f"ns/p{i}": name for i, name in enumerate(where)}) == expected


def test_a_daemon_sets_pod_belongs_to_its_node():
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a2"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    pods = [pod("p", {"affinity": {"nodeAffinity": required}})]
    assert count_broken_rules([*NODES, *pods], {"ns/p": "a2"}) == {}
    assert count_broken_rules([*NODES, *pods], {"ns/p": "a1"}) == {"node affinity": 1}


def test_volumes_stay_in_their_zone():
    affinity = {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]}]
    }
    storage = [
        {
            "kind": "PersistentVolume",
            "metadata": {"name": "v"},
            "spec": {"nodeAffinity": {"required": affinity}},
        },
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "c", "namespace": "ns"},
            "spec": {"volumeName": "v"},
        },
    ]
    one = pod("p", {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]})
    assert count_broken_rules([*NODES, *storage, one], {"ns/p": "b1"}) == {}
    assert count_broken_rules([*NODES, *storage, one], {"ns/p": "a1"}) == {"volume": 1}
