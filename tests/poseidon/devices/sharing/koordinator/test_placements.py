"""Koordinator's devices: requests, inventories, nearness, and the annotation that koordlet reads."""

from __future__ import annotations

import json

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.devices.sharing.koordinator.results import ALLOCATED
from poseidon.embedding import load_configuration
from poseidon.kube.api import kinds
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.devices import NodeDeviceList
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.manifests.loader import load_manifests
from poseidon.offline.plan import make_plan
from tests.support.effort import examples

SHARING = """
apiVersion: firmament.io/v1alpha1
kind: SchedulerConfiguration
devices: {sharing: [koordinator]}
"""
GI = 1 << 30
HINT, JOINT = "device-allocate-hint", "device-joint-allocate"


def gpu(minor, pcie="", numa=0, memory="16Gi", health=True, labels=None):
    resources = {"gpu-core": "100", "gpu-memory-ratio": "100", "gpu-memory": memory}
    return {
        "type": "gpu",
        "id": f"GPU-{minor}",
        "minor": minor,
        "health": health,
        "labels": labels or {},
        "resources": {f"koordinator.sh/{name}": value for name, value in resources.items()},
        **({"topology": {"socketID": 0, "nodeID": numa, "pcieID": pcie, "busID": ""}} if pcie else {}),
    }


def rdma(minor, pcie, numa=0):
    return {
        "type": "rdma",
        "id": f"0000:{minor:02}:00.0",
        "minor": minor,
        "health": True,
        "resources": {"koordinator.sh/rdma": "100"},
        "topology": {"socketID": 0, "nodeID": numa, "pcieID": pcie},
    }


def node(*devices, name="n1"):
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "status": {"allocatable": {"cpu": "96", "memory": "640Gi", "pods": "110"}},
        },
        {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1",
            "kind": "Device",
            "metadata": {"name": name},
            "spec": {"devices": list(devices)},
        },
    ]


def pod(name, node_name="", annotations=None, **stated):
    limits = {
        "nvidia.com/gpu" if key == "whole" else f"koordinator.sh/{key.replace('_', '-')}": str(value)
        for key, value in stated.items()
    }
    limits = {key.replace("gpu-shared", "gpu.shared"): value for key, value in limits.items()}
    told = {
        f"scheduling.koordinator.sh/{key}": json.dumps(value) for key, value in (annotations or {}).items()
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": told},
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": {"limits": limits}}],
            **({"nodeName": node_name} if node_name else {}),
        },
    }


def plan(tmp_path, *objects):
    listed = [each for given in objects for each in (given if isinstance(given, list) else [given])]
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(listed))
    (tmp_path / "configuration").write_text(SHARING)
    configuration = load_configuration(tmp_path / "configuration")
    return make_plan(load_manifests([str(tmp_path / "all.yaml")]), configuration, 0.0)


def allocated(made):
    return {each.pod.partition("/")[2]: json.loads(each.annotations[ALLOCATED]) for each in made.bindings}


def minors(entries):
    return [each["minor"] for each in entries]


def reasons(made):
    return {each.reason for each in made.pending}


def test_a_pod_is_annotated_as_koordlet_expects(tmp_path):
    [binding] = plan(tmp_path, node(gpu(0)), pod("p", gpu=50)).bindings
    assert binding.as_json()["annotations"] == {
        ALLOCATED: '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"50",'
        '"koordinator.sh/gpu-memory":"8Gi","koordinator.sh/gpu-memory-ratio":"50"}}]}'
    }


@pytest.mark.parametrize(
    ("stated", "count", "each"),
    [
        ({"whole": 2}, 2, ("100", "16Gi", "100")),
        ({"gpu": 200}, 2, ("100", "16Gi", "100")),
        ({"gpu_core": 30, "gpu_memory": "4Gi"}, 1, ("30", "4Gi", "25")),
        ({"gpu_core": 30, "gpu_memory_ratio": 50}, 1, ("30", "8Gi", "50")),
        ({"gpu_memory": "8Gi"}, 1, ("0", "8Gi", "50")),
        ({"gpu_shared": 2, "gpu_core": 100, "gpu_memory_ratio": 50}, 2, ("50", "4Gi", "25")),
        ({"gpu_shared": 2, "gpu_memory": "16Gi"}, 2, ("0", "8Gi", "50")),
    ],
)
def test_every_form_of_a_request_is_read(tmp_path, stated, count, each):
    made = plan(tmp_path, node(gpu(0), gpu(1)), pod("p", **stated))
    found = allocated(made)["p"]["gpu"]
    core, memory, ratio = each
    named = {"gpu-core": core, "gpu-memory": memory, "gpu-memory-ratio": ratio}
    expected = {f"koordinator.sh/{name}": value for name, value in named.items() if value != "0"}
    assert found == [{"minor": minor, "resources": expected} for minor in range(count)]


@pytest.mark.parametrize(
    ("stated", "annotations", "said"),
    [
        ({"gpu": 150}, {}, "invalid resource unit koordinator.sh/gpu: 150"),
        ({"gpu_core": 50}, {}, "invalid resource device requests: [koordinator.sh/gpu-core]"),
        ({"gpu": 50, "gpu_core": 50}, {}, "invalid resource device requests"),
        ({"gpu_shared": 2, "gpu_memory_ratio": 25}, {}, "gpu-memory-ratio 25 for 2 GPUs"),
        ({"rdma": 120}, {}, "invalid resource unit koordinator.sh/rdma: 120"),
        ({"rdma": 1}, {HINT: {"rdma": {"vfSelector": {}}}}, "virtual functions are not supported"),
        ({"gpu": 100}, {JOINT: {"deviceTypes": ["gpu"], "requiredScope": "x"}}, "SamePCIe or nothing"),
        ({"gpu": 100}, {HINT: {"gpu": {"requiredTopologyScope": "x"}}}, "requiredTopologyScope 'x'"),
        ({"gpu": 100}, {HINT: {"gpu": {"selector": {"matchExpressions": [3]}}}}, "a selector cannot be read"),
        ({"gpu": 100}, {HINT: []}, "it is no object"),
    ],
)
def test_a_pod_whose_requests_make_no_sense_says_why(tmp_path, stated, annotations, said):
    made = plan(tmp_path, node(gpu(0), rdma(0, "a")), pod("p", annotations=annotations, **stated))
    assert not made.bindings
    assert said in made.pending[0].reason


def test_devices_that_are_not_healthy_and_nodes_without_a_device_object_are_none(tmp_path):
    made = plan(tmp_path, node(gpu(0, health=False)), node(name="n2")[0], pod("p", gpu=10))
    assert not made.bindings
    assert "cannot allocate all claims" in made.pending[0].reason


def test_what_running_pods_have_counts(tmp_path):
    memory = str(16 * GI * 60 // 100)
    stated = {"gpu-core": 60, "gpu-memory-ratio": 60, "gpu-memory": memory}
    has = {"minor": 0, "resources": {f"koordinator.sh/{name}": value for name, value in stated.items()}}
    running = pod("old", "n1", {"device-allocated": {"gpu": [has]}}, gpu=60)
    made = plan(tmp_path, node(gpu(0)), running, pod("a", gpu=40), pod("b", gpu=1))
    assert allocated(made).keys() == {"a"}


def test_gpus_of_a_pod_come_from_one_switch_if_they_can_else_from_one_numa_node(tmp_path):
    gpus = [gpu(0, "a"), gpu(1, "b"), gpu(2, "b"), gpu(3, "c", numa=1), gpu(4, "d", numa=1)]
    two = allocated(plan(tmp_path, node(*gpus), pod("p", gpu=200)))["p"]["gpu"]
    assert minors(two) == [1, 2]
    split = [gpu(0, "a"), gpu(1, "c", numa=1), gpu(2, "d", numa=1)]
    assert minors(allocated(plan(tmp_path, node(*split), pod("p", gpu=200)))["p"]["gpu"]) == [1, 2]
    assert minors(allocated(plan(tmp_path, node(*split), pod("p", gpu=300)))["p"]["gpu"]) == [0, 1, 2]


@pytest.mark.parametrize(("scope", "fits"), [("PCIe", False), ("NUMANode", True), ("Node", True)])
def test_a_scope_may_be_required(tmp_path, scope, fits):
    told = {HINT: {"gpu": {"requiredTopologyScope": scope}}}
    made = plan(tmp_path, node(gpu(0, "a"), gpu(1, "b")), pod("p", annotations=told, gpu=200))
    assert bool(made.bindings) == fits


def test_devices_may_be_chosen_by_labels(tmp_path):
    gpus = [gpu(0, labels={"kind": "old"}), gpu(1, labels={"kind": "new"}), gpu(2)]
    for selector, expected in (
        ({"matchLabels": {"kind": "new"}}, 1),
        ({"matchExpressions": [{"key": "kind", "operator": "DoesNotExist"}]}, 2),
        ({"matchExpressions": [{"key": "kind", "operator": "NotIn", "values": ["old"]}]}, 1),
        ({"matchExpressions": [{"key": "kind", "operator": "In", "values": ["old", "x"]}]}, 0),
    ):
        told = {HINT: {"gpu": {"selector": selector}}}
        made = plan(tmp_path, node(*gpus), pod("p", annotations=told, gpu=10))
        assert minors(allocated(made)["p"]["gpu"]) == [expected]


def test_gpus_and_network_cards_of_the_same_switches_go_together(tmp_path):
    """The first GPUs have no card beside them, so that whoever chooses them first, finds none."""
    told = {JOINT: {"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"}}
    devices = [gpu(0, "a"), gpu(1, "b"), gpu(2, "c"), rdma(5, "c"), rdma(6, "b")]
    one = allocated(plan(tmp_path, node(*devices), pod("p", annotations=told, gpu=100, rdma=100)))["p"]
    assert (minors(one["gpu"]), one["rdma"]) == (
        [1],
        [{"minor": 6, "resources": {"koordinator.sh/rdma": "100"}, "id": "0000:06:00.0"}],
    )
    two = allocated(plan(tmp_path, node(*devices), pod("p", annotations=told, gpu=200, rdma=100)))["p"]
    assert (minors(two["gpu"]), minors(two["rdma"])) == ([1, 2], [5, 6])
    three = plan(tmp_path, node(*devices), pod("p", annotations=told, gpu=300, rdma=100))
    assert not three.bindings
    wish = {JOINT: {"deviceTypes": ["gpu", "rdma"]}}
    three = allocated(plan(tmp_path, node(*devices), pod("p", annotations=wish, gpu=300, rdma=100)))["p"]
    assert (minors(three["gpu"]), minors(three["rdma"])) == ([0, 1, 2], [5])


@pytest.mark.parametrize(
    ("hint", "stated", "count", "share"),
    [
        ({"allocateStrategy": "ApplyForAll"}, 1, 2, "1"),
        ({"allocateStrategy": "RequestsAsCount"}, 2, 2, "1"),
        ({"allocateStrategy": "RequestsAsCount", "exclusivePolicy": "DeviceLevel"}, 1, 1, "100"),
        ({}, 30, 1, "30"),
        ({}, 200, 2, "100"),
    ],
)
def test_cards_are_given_by_strategy(tmp_path, hint, stated, count, share):
    made = plan(
        tmp_path, node(rdma(0, "a"), rdma(1, "b")), pod("p", annotations={HINT: {"rdma": hint}}, rdma=stated)
    )
    found = allocated(made)["p"]["rdma"]
    assert [each["resources"]["koordinator.sh/rdma"] for each in found] == [share] * count


def test_a_device_object_that_cannot_be_read_takes_other_pods(tmp_path):
    for devices in ("x", [3], [{"type": "gpu", "health": True, "minor": "a"}], [gpu(0), gpu(0)]):
        objects = node()
        objects[1]["spec"]["devices"] = devices
        made = plan(tmp_path, objects, pod("p", gpu=10), pod("q", cpu=0))
        assert [each.pod for each in made.bindings] == ["default/q"]


def test_the_bridge_follows_device_objects_only_where_they_matter():
    for sharing, follows in (("koordinator", True), ("hami", False)):
        state = BridgeState(BridgeConfiguration.model_validate({"devices": {"sharing": [sharing]}}))
        assert state.follows(kinds.NODE_DEVICES) is follows
    assert not BridgeState().follows(kinds.NODE_DEVICES)


def test_a_pod_whose_request_makes_no_sense_does_not_hide_devices_that_come_later():
    state = BridgeState(BridgeConfiguration.model_validate({"devices": {"sharing": ["koordinator"]}}))
    for name, percent in (("bad", 150), ("good", 50)):
        made = convert_object(pod(name, gpu=percent), Pod)
        spec, metadata = replace(made.spec, scheduler_name="poseidon"), replace(made.metadata, uid=name)
        state.pods_changed([Change(name, replace(made, metadata=metadata, spec=spec))])
    state.handlers[kinds.NODE_DEVICES]([Change("d", convert_object(node(gpu(0))[1], NodeDeviceList))])
    told = {
        (event.record.key.kind, event.record.key.name)
        for event in state.snapshot()
        if event.HasField("record")
    }
    assert ("DeviceSlice", "gpu.koordinator.sh/n1") in told


def test_devices_of_a_deleted_object_are_gone():
    state = BridgeState(BridgeConfiguration.model_validate({"devices": {"sharing": ["koordinator"]}}))

    def told():
        return {
            event.record.key.name: bool(event.record.payload)
            for event in state.take_events()
            if event.HasField("record") and event.record.key.kind == "DeviceSlice"
        }

    state.take_events()
    shown = msgspec.convert(node(gpu(0), rdma(1, "a"))[1], NodeDeviceList)
    take = state.handlers[kinds.NODE_DEVICES]
    take([Change("d", shown)])
    list(state.snapshot())
    take([Change("d", msgspec.convert(node(gpu(0))[1], NodeDeviceList))])
    gone = [event.record_removed.name for event in state.take_events() if event.HasField("record_removed")]
    assert gone == ["rdma.koordinator.sh/n1"]
    take([Change("d", None)])
    gone = [event.record_removed.name for event in state.take_events() if event.HasField("record_removed")]
    assert gone == ["gpu.koordinator.sh/n1"]


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([0, 25, 50, 100]), st.sampled_from([5, 20, 34, 100])), max_size=10),
    st.lists(st.sampled_from(["16Gi", "24Gi", "1000001"]), min_size=1, max_size=3),
)
def test_no_gpu_is_ever_given_away_twice(tmp_path_factory, asked, sizes):
    """Counted anew from the annotations alone; and who waits for one GPU finds none that would do."""
    gpus = [gpu(minor, memory=size) for minor, size in enumerate(sizes)]
    pods = [
        pod(f"p{number}", **({"gpu_core": core} if core else {}), gpu_memory_ratio=ratio)
        for number, (core, ratio) in enumerate(asked)
    ]
    made = plan(tmp_path_factory.mktemp("plan"), node(*gpus), *pods)
    left = {each["minor"]: [100, 100] for each in gpus}
    for entries in allocated(made).values():
        for each in entries["gpu"]:
            left[each["minor"]][0] -= int(each["resources"].get("koordinator.sh/gpu-core", "0"))
            left[each["minor"]][1] -= int(each["resources"]["koordinator.sh/gpu-memory-ratio"])
    assert all(min(each) >= 0 for each in left.values())
    for each in made.pending:
        core, ratio = asked[int(each.pod.rpartition("p")[2])]
        assert not any(cores >= core and memory >= ratio for cores, memory in left.values())
