"""NodeResourceTopology objects become records; what makes no sense is reported, and treated as upstream does."""

from __future__ import annotations

import json

import pytest

from cost_models.numa.records import parse_topology
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.other_projects.node_topology import NodeResourceTopology
from poseidon.numa.fingerprints import of_hashes, pod_hash, xxhash64
from poseidon.numa.node_topology import CountedPod, make_record
from protos.firmament.v1 import scheduler_pb2 as pb

GPU = "example.com/gpu"


def fingerprint(pods):
    return of_hashes(pod_hash(namespace, name) for namespace, name in pods)


def topology(*zones, attributes=None, policies=(), managed=()):
    return convert_object(
        {
            "apiVersion": "topology.node.k8s.io/v1alpha2",
            "kind": "NodeResourceTopology",
            "metadata": {"name": "n", "managedFields": [{"time": each} for each in managed]},
            "topologyPolicies": list(policies),
            "attributes": [{"name": name, "value": value} for name, value in (attributes or {}).items()],
            "zones": list(zones),
        },
        NodeResourceTopology,
    )


def zone(name="node-0", kind="Node", costs=(), **available):
    resources = [{"name": key, "capacity": "8", "available": value} for key, value in available.items()]
    return {"name": name, "type": kind, "costs": list(costs), "resources": resources}


def record(found, pods=()):
    payload, defects = make_record(found, lambda: list(pods))
    parse_topology(payload)  # a model takes it
    return json.loads(payload), [str(defect) for defect in defects]


def test_amounts_are_in_the_units_of_the_protocol():
    found, defects = record(topology(zone(cpu="3500m", memory="2Gi")))
    assert found["zones"][0]["resources"] == {
        "cpu": {"available": 3500, "capacity": 8000},
        "memory": {"available": 2 * 2**30, "capacity": 8},
    }
    assert defects == []


@pytest.mark.parametrize(
    ("policies", "attributes", "expected"),
    [
        ((), {}, ("none", "container")),
        (("SingleNUMANodePodLevel",), {}, ("single-numa-node", "pod")),
        (("RestrictedContainerLevel", "SingleNUMANodePodLevel"), {}, ("restricted", "container")),
        (("BestEffortPodLevel",), {"topologyManagerPolicy": "restricted"}, ("restricted", "pod")),
        (
            (),
            {"topologyManagerPolicy": "single-numa-node", "topologyManagerScope": "pod"},
            ("single-numa-node", "pod"),
        ),
    ],
)
def test_attributes_overwrite_the_deprecated_field(policies, attributes, expected):
    found, defects = record(topology(policies=policies, attributes=attributes))
    assert (found["policy"], found["scope"]) == expected
    assert defects == []


def test_the_number_of_nodes_allowed_is_capped():
    found, _ = record(topology(attributes={"topologyManagerMaxNUMANodes": "4096"}))
    assert found["maxNUMANodes"] == 1024


@pytest.mark.parametrize(
    ("found", "fragment"),
    [
        (topology(policies=["Sideways"]), "topologyPolicies[0]: 'Sideways' is not a known policy"),
        (
            topology(attributes={"topologyManagerPolicy": "Restricted"}),
            "attributes[topologyManagerPolicy]: 'Restricted'",
        ),
        (
            topology(attributes={"topologyManagerMaxNUMANodes": "1"}),
            "attributes[topologyManagerMaxNUMANodes]: '1'",
        ),
        (topology(zone("numa-node-0", cpu="1")), "zones[numa-node-0]: is not called node-<number>"),
        (topology(zone("node-64", cpu="1")), "zones[node-64]: is not called node-<number>, 0 to 63"),
        (topology(zone(cpu="1"), zone(cpu="2")), "zones[node-0]: is given twice"),
        (topology(zone()), "zones[node-0]: has no resources"),
        (
            topology(zone(cpu="-2")),
            "zones[node-0].resources[cpu].available: '-2' is negative; it counts as 0",
        ),
        (topology(zone(cpu="much")), "zones[node-0].resources[cpu].available: 'much' is not a quantity"),
    ],
)
def test_what_makes_no_sense_is_reported_once(found, fragment):
    result, defects = record(found)
    assert len(defects) == 1
    assert fragment in defects[0]
    assert all(
        amounts["available"] >= 0 for each in result["zones"] for amounts in each["resources"].values()
    )


def test_of_65_zones_one_is_too_many():
    found, defects = record(topology(*(zone(f"node-{number}", cpu="1") for number in range(65))))
    assert len(found["zones"]) == 64
    assert len(defects) == 1


def test_zones_of_other_types_and_unknown_costs_are_passed_over():
    costs = [{"name": "node-0", "value": 10}, {"name": "switch", "value": 5}]
    found, defects = record(topology(zone("cache-1", "Cache", cpu="1"), zone(costs=costs, cpu="1")))
    assert [(each["id"], each["costs"]) for each in found["zones"]] == [(0, {"0": 10})]
    assert defects == []


def test_the_time_is_that_of_the_last_change():
    found, _ = record(topology(managed=["2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", "soon"]))
    assert found["updated"] == 1767225660.0
    assert "updated" not in record(topology())[0]


class TestFingerprints:
    def test_the_hash_is_xxhash64(self):
        assert xxhash64(b"") == 0xEF46DB3751D8E999
        assert xxhash64(b"Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1
        assert xxhash64(b"a" * 64, 1) != xxhash64(b"a" * 64)

    def test_the_check_value(self):
        assert fingerprint([("namespace1", "pod1")]) == "pfp0v0019e0420efb37746c6"

    def test_the_order_of_pods_does_not_matter(self):
        assert fingerprint([("a", "x"), ("b", "y")]) == fingerprint([("b", "y"), ("a", "x")])

    def pods(self, *names, cpu=1000, qos="Guaranteed"):
        content = pb.TaskClass(
            qos=qos,
            containers=[pb.Container(requests=[pb.Quantity(resource="cpu", amount=cpu)])],
        )
        return [CountedPod(f"uid-{name}", f"ns/{name}", content) for name in names]

    def stated(self, *names, method="all", **devices):
        return topology(
            zone(cpu="1", **devices),
            attributes={
                "nodeTopologyPodsFingerprint": fingerprint([("ns", name) for name in names]),
                "nodeTopologyPodsFingerprintMethod": method,
            },
        )

    def test_the_latest_pods_may_be_missing(self):
        found, _ = record(self.stated("a", "b"), self.pods("b", "a", "c", "d"))
        assert found["missing"] == ["uid-c", "uid-d"]
        assert record(self.stated("a", "b"), self.pods("a", "b"))[0]["missing"] == []

    def test_a_fingerprint_that_is_not_recognised_says_nothing(self):
        assert "missing" not in record(self.stated("a", "z"), self.pods("a", "b"))[0]

    def test_pods_without_anything_of_their_own_may_be_left_out(self):
        shared = self.pods("s", cpu=500) + self.pods("t", qos="Burstable")
        found, _ = record(
            self.stated("a", method="with-exclusive-resources"), [*shared, *self.pods("a", "b")]
        )
        assert found["missing"] == ["uid-b"]

    @pytest.mark.parametrize(
        ("kind", "qos", "listed"),
        [
            (pb.Container.INIT, "Burstable", False),
            (pb.Container.INIT, "BestEffort", False),
            (pb.Container.INIT, "Guaranteed", True),
            (pb.Container.SIDECAR, "Burstable", True),
            (pb.Container.APP, "Burstable", True),
        ],
    )
    def test_devices_of_init_containers_of_pods_that_are_not_guaranteed_are_left_out(self, kind, qos, listed):
        device = pb.Container(kind=kind, requests=[pb.Quantity(resource=GPU, amount=1)])
        other = pb.Container(kind=pb.Container.APP, requests=[pb.Quantity(resource="cpu", amount=10)])
        with_device = CountedPod("uid-d", "ns/d", pb.TaskClass(qos=qos, containers=[device, other]))
        names = ["a", *(["d"] if listed else [])]
        stated = self.stated(*names, method="with-exclusive-resources", **{GPU: "1"})
        found, _ = record(stated, [with_device, *self.pods("a", "b")])
        assert found["missing"] == ["uid-b"]
