"""AppGroups, NetworkTopologies and measurements among manifests: what is printed, warned of, and told to models."""

from __future__ import annotations

import json

import pytest

from poseidon.embedding import load_configuration
from poseidon.manifests.loader import load_manifests
from poseidon.offline.cluster import build_offline_cluster
from tests.poseidon.app_network import boutique
from tests.poseidon.offline.objects import node, pod


def app_group(name="boutique", **options):
    return {
        "apiVersion": "appgroup.diktyo.x-k8s.io/v1alpha1",
        "kind": "AppGroup",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": boutique.spec(**options),
    }


def topology(*weights, config_map="netperf"):
    return {
        "apiVersion": "networktopology.diktyo.x-k8s.io/v1alpha1",
        "kind": "NetworkTopology",
        "metadata": {"name": "net", "namespace": "shop"},
        "spec": {"configmapName": config_map, "weights": list(weights)},
    }


def config_map(name="netperf", **data):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "shop"},
        "data": data,
    }


def placed_node(name, region, zone):
    found = node(name)
    found["metadata"]["labels"] |= {
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": zone,
    }
    return found


def latency(origin, destination, value, percentile="p90"):
    return {f"netperf.{percentile}.latency.milliseconds.origin.{origin}.destination.{destination}": value}


def weights(*paths, percentile="p90", folder=None):
    """What the solver is told of costs, by the name of the record."""
    config = folder / "config.cfg"
    config.write_text(
        "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"
        f"costModels: [{{name: network_overhead, args: {{percentile: {percentile}}}}}]\n"
    )
    state = build_offline_cluster(
        load_manifests(list(map(str, paths))), load_configuration(config), 0.0
    ).state
    records = [each.record for each in state.snapshot() if each.WhichOneof("body") == "record"]
    return {
        each.key.name: json.loads(each.payload)["weights"]
        for each in records
        if each.key.kind == "NetworkTopology"
    }


@pytest.mark.parametrize("algorithm", boutique.ORDERS)
def test_the_order_is_printed_without_the_overlay_too(run, write, algorithm):
    answer = run("plan", "-f", write(app_group(algorithm=algorithm), node("n1")), "-o", "json").json
    (found,) = answer["appGroups"]
    assert found["appGroup"] == "shop/boutique"
    assert [each["workload"] for each in found["topologyOrder"]] == boutique.ORDERS[algorithm].split()
    assert [each["index"] for each in found["topologyOrder"]] == list(range(1, 12))


def test_bad_objects_warn_and_the_rest_goes_on(run, write):
    broken = app_group(maxNetworkCost=-1, algorithm="Bogus")
    shown = run("plan", "-f", write(broken, node("n1"), pod("a")), "-o", "json")
    assert shown.json["bindings"][0]["node"] == "n1"
    assert "maxNetworkCost: -1 is too small" in shown.stderr
    assert "'Bogus' is unknown, KahnSort is used" in shown.stderr
    assert len(shown.json["appGroups"][0]["topologyOrder"]) == 11


def test_costs_follow_from_the_config_map(write, tmp_path):
    file = write(
        topology({"name": "UserDefined", "topologyList": []}),
        config_map(
            **latency("w1", "e1", "20"), **latency("w1", "w2", "5"), **latency("w1", "w2", "9", "p99")
        ),
        config_map(name="other", **latency("w1", "e1", "99")),
        placed_node("w1", "west", "z1"),
        placed_node("w2", "west", "z2"),
        placed_node("e1", "east", "z3"),
    )
    assert weights(file, folder=tmp_path)["shop/net"]["NetperfCosts"] == {
        "region": {"west": {"east": 20}, "east": {"west": 20}},
        "zone": {"z1": {"z2": 5}, "z2": {"z1": 5}},
    }
    slow = weights(file, percentile="p99", folder=tmp_path)["shop/net"]["NetperfCosts"]
    assert slow == {"region": {}, "zone": {"z1": {"z2": 9}, "z2": {"z1": 9}}}


def test_wrong_measurements_warn_and_no_costs_follow_from_them(run, write, tmp_path):
    """As in a running bridge, where the last good costs stay in force: here there are none."""
    wrong = config_map(**latency("w1", "e1", "fast"), **latency("w2", "e1", "20"))
    nodes = [placed_node("w2", "west", "z2"), placed_node("e1", "east", "z3")]
    file = write(topology(), wrong, *nodes)
    assert "'fast' is not a number of milliseconds; no costs follow from it" in run("plan", "-f", file).stderr
    assert "NetperfCosts" not in weights(file, folder=tmp_path)["shop/net"]


def test_a_topology_or_an_application_with_faults_is_not_in_force(run, write, tmp_path):
    """As in a running bridge: models are told nothing of it."""
    faulty = topology({"name": "UserDefined", "topologyList": "none"})
    outcome = run("plan", "-f", write(faulty, app_group(maxNetworkCost=-1), node("n1")))
    assert outcome.stderr.count("; nothing is in force") > 1
    assert weights(write(faulty, node("n1")), folder=tmp_path) == {}


def test_bandwidth_annotations_are_requests_where_configured(run, write, tmp_path):
    network = "network.aware.com/bandwidth"
    offered = node("n1")
    offered["status"]["allocatable"][network] = "100M"
    shaped = pod("shaped", metadata={"annotations": {"kubernetes.io/ingress-bandwidth": "80M"}})
    other = pod("other", metadata={"annotations": {"kubernetes.io/egress-bandwidth": "30M"}})
    odd = pod("odd", metadata={"annotations": {"kubernetes.io/egress-bandwidth": "lots"}})
    file = write(offered, shaped, other, odd)
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\nnetwork: {bandwidthAnnotations: true}\n"
    )
    assert len(run("plan", "-f", file, "-o", "json").json["bindings"]) == 3
    answer = run("plan", "-f", file, "--config", config, "-o", "json").json
    assert len(answer["bindings"]) == 2
    assert f"1 Insufficient {network}." in answer["pending"][0]["reason"]
