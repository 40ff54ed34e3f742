"""What a bridge's state is told of manifests: every object once, under its name, before the pods that need it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from poseidon.api import read
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod, PodSpec, SchedulingGate
from poseidon.offline.cluster import build_offline_cluster
from poseidon.offline.feeding import as_created, as_pending
from tests.poseidon.offline.objects import node, pod

NOON = 1_767_268_800.0


@pytest.mark.parametrize(
    ("stated", "time"),
    [(None, "2026-01-01T12:00:00+00:00"), ("2020-05-05T00:00:00Z", "2020-05-05T00:00:00Z")],
)
def test_a_pod_without_a_creation_time_is_created_now(stated, time):
    given = Pod(metadata=ObjectMeta(name="p", namespace="shop", creation_timestamp=stated))
    found = as_created(given, NOON)
    assert found.metadata.creation_timestamp == time
    assert (found.metadata.name, found.metadata.namespace) == ("p", "shop")


def test_a_pending_pod_has_no_node_no_gate_and_does_not_leave():
    spec = PodSpec(node_name="n1", scheduling_gates=(SchedulingGate("later"),), priority=7)
    metadata = ObjectMeta(name="p", deletion_timestamp="2026-01-01T00:00:00Z", creation_timestamp="x")
    found = as_pending(Pod(metadata=metadata, spec=spec))
    assert (found.spec.node_name, found.spec.scheduling_gates) == ("", ())
    assert found.metadata.deletion_timestamp is None
    assert (found.spec.priority, found.metadata.creation_timestamp) == (7, "x")


def built(*objects, config=None, **more):
    cluster = read(list(objects), config=config or {})
    manifests = replace(cluster.manifests, **more)
    return build_offline_cluster(manifests, cluster.configuration, NOON)


def records(cluster) -> dict[tuple[str, str], bytes]:
    """Return the records that a solver would be told, by kind and name."""
    return {
        (event.record.key.kind, event.record.key.name): event.record.payload
        for event in cluster.state.snapshot()
        if event.WhichOneof("body") == "record"
    }


def test_nodes_and_pods_are_known_by_their_names():
    cluster = built(node("n1"), node("n2"), pod("a"), pod("b", phase="Running", nodeName="n1"))
    assert sorted(each.name for each in cluster.scheduler.machines()) == ["n1", "n2"]
    assert {each.uid for each in cluster.scheduler.tasks()} == {"shop/a", "shop/b"}
    assert all(isinstance(each, Node) for each in read([node("n1")]).manifests.nodes)


NAMESPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "shop", "labels": {"team": "blue"}},
}


def anti_affine(name: str, **selector) -> dict:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "namespaceSelector": {"matchLabels": selector},
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return pod(name, metadata={"labels": {"app": "web"}}, affinity={"podAntiAffinity": required})


@pytest.mark.parametrize(("team", "together"), [("blue", False), ("red", True)])
def test_the_labels_of_namespaces_are_known_before_the_pods(team, together):
    objects = [node("n1"), NAMESPACE, anti_affine("a", team=team), anti_affine("b", team=team)]
    cluster = built(*objects)
    result = cluster.run_round()
    assert len(result.deltas) == (2 if together else 1)


def test_namespaces_that_only_pods_name_have_their_own_name_as_a_label():
    name = {"kubernetes.io/metadata.name": "shop"}
    objects = [node("n1"), anti_affine("a", **name), anti_affine("b", **name)]
    assert len(built(*objects).run_round().deltas) == 1


def owned_by_daemon_set(name: str) -> dict:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "u", "controller": True}
    return pod(name, metadata={"ownerReferences": [owner]}, phase="Running", nodeName="n1")


def test_applications_follow_their_objects_and_only_wanted_config_maps():
    group = {
        "apiVersion": "appgroup.diktyo.x-k8s.io/v1alpha1",
        "kind": "AppGroup",
        "metadata": {"name": "boutique", "namespace": "shop"},
        "spec": {"workloads": [{"workload": {"name": "web", "selector": "web"}}]},
    }
    net = {
        "apiVersion": "networktopology.diktyo.x-k8s.io/v1alpha1",
        "kind": "NetworkTopology",
        "metadata": {"name": "net", "namespace": "shop"},
        "spec": {"configmapName": "netperf", "weights": []},
    }
    key = "netperf.p90.latency.milliseconds.origin.n1.destination.n2"

    def config_map(name: str, value: str) -> dict:
        metadata = {"name": name, "namespace": "shop"}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {key: value}}

    nodes = [node("n1"), node("n2")]
    for number, each in enumerate(nodes):
        each["metadata"]["labels"]["topology.kubernetes.io/region"] = f"r{number}"
    config = {"costModels": [{"name": "network_overhead"}]}
    objects = [*nodes, group, net, config_map("netperf", "5"), config_map("other", "99")]
    found = records(built(*objects, config=config))
    assert ("AppGroup", "shop/boutique") in found
    assert b'"r1":5' in found["NetworkTopology", "shop/net"]
    assert not [kind for kind, _ in records(built(*objects)) if kind in ("AppGroup", "NetworkTopology")]


def test_zones_of_nodes_are_read_if_a_model_needs_them_and_budgets_always():
    zones = {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": "n1"},
        "attributes": [{"name": "topologyManagerPolicy", "value": "restricted"}],
    }
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    objects = [node("n1"), pod("a", metadata={"labels": {"app": "web"}}), zones, budget]
    found = records(built(*objects, config={"costModels": [{"name": "numa_fit"}]}))
    assert b"restricted" in found["NodeResourceTopology", "n1"]
    assert ("PodDisruptionBudget", "shop/web") in found
    assert "NodeResourceTopology" not in {kind for kind, _ in records(built(*objects))}
