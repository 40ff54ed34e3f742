"""Applications and networks of an input: the order of workloads, and faults in words."""

from __future__ import annotations

from typing import Any

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.other_projects.app_network import AppGroup, ConfigMap, NetworkTopology
from poseidon.manifests.controllers.applications import OrderedWorkload, read_applications

LAST_GOOD = "network.firmament.io/last-good-spec"
KEY = "netperf.{}.latency.milliseconds.origin.a.destination.b"


def group(name: str, *edges: str, algorithm: str = "KahnSort", annotations: Any = None) -> AppGroup:
    """Return an AppGroup; an edge is a workload and those that it needs; selectors are in capitals."""
    workloads = [
        {
            "workload": {"name": each[0], "selector": each[0].upper()},
            "dependencies": [{"workload": {"name": other, "selector": other.upper()}} for other in each[1:]],
        }
        for each in edges
    ]
    metadata = ObjectMeta(name=name, namespace="shop", annotations=annotations or {})
    return AppGroup(metadata, {"topologySortingAlgorithm": algorithm, "workloads": workloads})


def topology(**spec: Any) -> NetworkTopology:
    return NetworkTopology(ObjectMeta(name="net", namespace="shop"), spec)


def test_workloads_are_in_their_order_by_selector_and_groups_by_name():
    found = read_applications([group("z", "a"), group("b", "ba", "a", "cb")])
    assert [each.app_group for each in found.app_groups] == ["shop/b", "shop/z"]
    assert found.app_groups[0].workloads == (
        OrderedWorkload("C", 1),
        OrderedWorkload("B", 2),
        OrderedWorkload("A", 3),
    )
    assert found.warnings == ()


def test_faults_of_groups_are_warnings_that_say_what_is_in_force():
    broken = AppGroup(ObjectMeta(name="x", namespace="shop"), "spec")
    kept = AppGroup(ObjectMeta(name="y", namespace="shop", annotations={LAST_GOOD: "{}"}), "spec")
    first, second = read_applications([broken, kept]).warnings
    assert first == "AppGroup shop/x: spec: is not a map; write key: value pairs; nothing is in force"
    assert second.endswith("; the last good spec stays in force")
    [cycle] = read_applications([group("c", "ab", "ba")]).warnings
    assert cycle.startswith("AppGroup shop/c: ")


def test_measurements_of_the_named_config_map_alone_are_read():
    bad = {KEY.format("p90"): "fast", KEY.format("p50"): "slow"}
    wanted = ConfigMap(ObjectMeta(name="netperf", namespace="shop"), bad)
    others = [
        ConfigMap(ObjectMeta(name="other", namespace="shop"), bad),
        ConfigMap(ObjectMeta(name="netperf", namespace="app"), bad),
    ]
    net = topology(configmapName="netperf", weights=[])
    [line] = read_applications([net, wanted, *others]).warnings
    assert line.startswith(f"ConfigMap shop/netperf: data[{KEY.format('p90')}]: 'fast' is not a number")
    assert line.endswith("; no costs follow from it")
    [line] = read_applications([net, wanted], "p50").warnings
    assert "'slow'" in line
    assert read_applications([net, *others]).warnings == ()


def test_faults_of_networks_are_warnings():
    [line] = read_applications([topology(weights="x")]).warnings
    assert line == (
        "NetworkTopology shop/net: spec.weights: is not a list; write a list of maps; nothing is in force"
    )
