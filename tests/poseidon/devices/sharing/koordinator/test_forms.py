"""Requests, hints and annotations of Koordinator's devices, one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from poseidon.devices.sharing.koordinator.hints import RequestError, read_hints
from poseidon.devices.sharing.koordinator.inventory import describe_node
from poseidon.devices.sharing.koordinator.requests import asks, describe_claim
from poseidon.devices.sharing.koordinator.results import ALLOCATED, annotate, read_allocation
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod

HINT, JOINT = (
    "scheduling.koordinator.sh/device-allocate-hint",
    "scheduling.koordinator.sh/device-joint-allocate",
)
LABELS = 'device.attributes["koordinator.sh"].labels'
SIZE = 1000


def name(key: str) -> str:
    return "nvidia.com/gpu" if key == "whole" else f"koordinator.sh/{key}"


def container(**stated: Any) -> dict[str, Any]:
    limits = {
        name(key.replace("_", "-")).replace("gpu-shared", "gpu.shared"): str(value)
        for key, value in stated.items()
    }
    return {"name": "c", "resources": {"limits": limits}}


def pod(*containers: Any, init: Any = (), hint: Any = None, joint: Any = None, **stated: Any) -> Pod:
    annotations = {key: json.dumps(each) for key, each in ((HINT, hint), (JOINT, joint)) if each is not None}
    spec = {"containers": list(containers) or [container(**stated)], "initContainers": list(init)}
    return convert_object({"metadata": {"name": "p", "annotations": annotations}, "spec": spec}, Pod)


def list_options(found: Pod, *sizes: int) -> dict[str, list[tuple[str, int, dict[str, str]]]]:
    """By request: name, count (0 for all) and capacities of each alternative."""
    requests = describe_claim(found, sizes or (SIZE,))["devices"]["requests"]
    return {
        each["name"]: [
            (option["name"], option.get("count", 0), option["capacity"]["requests"])
            for option in each["firstAvailable"]
        ]
        for each in requests
    }


def amounts(cores: int, ratio: int, memory: int) -> dict[str, str]:
    return {"cores": str(cores), "ratio": str(ratio), "memory": str(memory)}


@pytest.mark.parametrize(
    ("stated", "count", "each"),
    [
        ({"whole": 1}, 1, amounts(100, 100, SIZE)),
        ({"gpu": 1}, 1, amounts(1, 1, 10)),
        ({"gpu": 100}, 1, amounts(100, 100, SIZE)),
        ({"gpu_memory_ratio": 33}, 1, amounts(0, 33, 330)),
        ({"gpu_memory": 333}, 1, amounts(0, 33, 333)),
        ({"gpu_memory": SIZE}, 1, amounts(0, 100, SIZE)),
        ({"gpu_memory_ratio": 50, "gpu_shared": 1}, 1, amounts(0, 50, 500)),
        ({"gpu_memory_ratio": 100, "gpu_core": 100, "gpu_shared": 1}, 1, amounts(100, 100, SIZE)),
    ],
)
def test_what_a_pod_takes_of_one_gpu(stated, count, each):
    assert list_options(pod(**stated)) == {"gpu": [(f"any{SIZE}", count, each)]}


@pytest.mark.parametrize(
    ("stated", "count", "each"),
    [
        ({"whole": 2}, 2, amounts(100, 100, SIZE)),
        ({"gpu": 300}, 3, amounts(100, 100, SIZE)),
        ({"gpu_memory_ratio": 200}, 2, amounts(0, 100, SIZE)),
        ({"gpu_memory_ratio": 200, "gpu_core": 100}, 2, amounts(50, 100, SIZE)),
        ({"gpu_memory_ratio": 200, "gpu_shared": 2}, 2, amounts(0, 100, SIZE)),
        ({"gpu_memory": 400, "gpu_shared": 4}, 4, amounts(0, 10, 100)),
    ],
)
def test_several_gpus_are_looked_for_near_each_other_first(stated, count, each):
    assert list_options(pod(**stated)) == {
        "gpu": [(f"{scope}{SIZE}", count, each) for scope in ("pcie", "numa", "any")]
    }


def test_gpus_that_are_too_small_are_no_choice():
    assert [each[0] for each in list_options(pod(gpu_memory=500), 499, 500, 501)["gpu"]] == [
        "any500",
        "any501",
    ]
    assert list_options(pod(gpu_memory=500), 499) == {"gpu": [("none", 1, {})]}
    assert list_options(pod(gpu=50), 0) == {"gpu": [("none", 1, {})]}


@pytest.mark.parametrize(
    "stated",
    [
        {"gpu_core": 10},
        {"gpu_shared": 2},
        {"whole": 1, "gpu": 100},
        {"gpu_memory": 1, "gpu_memory_ratio": 1},
        {"gpu": 101},
        {"gpu_memory_ratio": 150},
        {"gpu_memory_ratio": 100, "gpu_core": 150},
        {"gpu_memory_ratio": 202, "gpu_shared": 2},
        {"gpu_memory_ratio": 201, "gpu_shared": 2},
        {"gpu_memory_ratio": 100, "gpu_core": 101, "gpu_shared": 2},
        {"rdma": 101},
        {"gpu": "some"},
    ],
)
def test_requests_that_make_no_sense_are_refused(stated):
    with pytest.raises(RequestError):
        describe_claim(pod(**stated), [SIZE])


def test_containers_that_run_at_one_time_add_up():
    side = {**container(gpu=20), "restartPolicy": "Always"}
    assert list_options(pod(container(gpu=30), container(gpu=40)))["gpu"][0][2]["cores"] == "70"
    assert list_options(pod(container(gpu=30), init=[container(gpu=50)]))["gpu"][0][2]["cores"] == "50"
    assert list_options(pod(container(gpu=30), init=[container(gpu=10)]))["gpu"][0][2]["cores"] == "30"
    assert list_options(pod(container(gpu=30), init=[side]))["gpu"][0][2]["cores"] == "50"
    assert list_options(pod(container(gpu=30), init=[side, container(gpu=60)]))["gpu"][0][2]["cores"] == "80"
    assert list_options(pod(container(gpu=30), init=[container(gpu=60), side]))["gpu"][0][2]["cores"] == "60"
    assert asks(pod(init=[container(gpu=1)]))
    assert not asks(pod(container(other=1)))


@pytest.mark.parametrize(
    ("value", "hint", "count", "share"),
    [
        (1, {}, 1, "1"),
        (100, {}, 1, "100"),
        (200, {}, 2, "100"),
        (5, {"allocateStrategy": "ApplyForAll"}, 0, "5"),
        (200, {"allocateStrategy": "ApplyForAll"}, 2, "100"),
        (5, {"allocateStrategy": "RequestsAsCount"}, 5, "1"),
        (5, {"allocateStrategy": "RequestsAsCount", "exclusivePolicy": "DeviceLevel"}, 5, "100"),
        (5, {"exclusivePolicy": "DeviceLevel"}, 1, "5"),
    ],
)
def test_how_many_cards_a_pod_wants(value, hint, count, share):
    for kind in ("rdma", "fpga"):
        found = list_options(pod(hint={kind: hint}, **{kind: value}))
        assert found == {kind: [("any", count, {"share": share})]}


@pytest.mark.parametrize(
    ("scope", "options"),
    [
        ("", ["near1", "near2", "any"]),
        ("SamePCIe", ["near1", "near2"]),
    ],
)
def test_cards_near_the_gpus(scope, options):
    joint = {"deviceTypes": ["gpu", "rdma"], **({"requiredScope": scope} if scope else {})}
    found = describe_claim(pod(whole=2, rdma=1, joint=joint), [SIZE])["devices"]
    assert [each["name"] for each in found["requests"]] == ["gpu", "rdma"]
    assert [each["name"] for each in found["requests"][1]["firstAvailable"]] == options
    assert found["constraints"] == [
        {"requests": [f"gpu/pcie{SIZE}"], "matchAttribute": "koordinator.sh/pcie"},
        {"requests": [f"gpu/numa{SIZE}"], "matchAttribute": "koordinator.sh/numa"},
        {
            "sameValues": "koordinator.sh/pcie",
            "requests": ["gpu"],
            "others": ["rdma/near1", "rdma/near2"],
        },
    ]


def test_cards_for_all_are_near_nothing():
    joint = {"deviceTypes": ["rdma", "gpu"]}
    wanted = pod(whole=1, rdma=1, joint=joint, hint={"rdma": {"allocateStrategy": "ApplyForAll"}})
    found = describe_claim(wanted, [SIZE])["devices"]
    assert [each["name"] for each in found["requests"]] == ["gpu", "rdma"]
    assert found["requests"][1]["firstAvailable"][0]["allocationMode"] == "All"
    assert found["constraints"] == []
    first = describe_claim(pod(whole=1, rdma=1, joint=joint), [SIZE])["devices"]
    assert [each["name"] for each in first["requests"]] == ["rdma", "gpu"], (
        "those named first are chosen first"
    )


@pytest.mark.parametrize(
    ("selector", "expressions"),
    [
        ({}, []),
        ({"matchLabels": {"a": "b"}}, [f'"a=b" in {LABELS}']),
        (
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "c"]}]},
            [f'"a=b" in {LABELS} || "a=c" in {LABELS}'],
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]},
            [f'!("a=b" in {LABELS})'],
        ),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, ["false"]),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, [f'"a" in {LABELS}']),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, [f'!("a" in {LABELS})']),
    ],
)
def test_labels_choose_devices(selector, expressions):
    hint = {"gpu": {"selector": selector}}
    [request] = describe_claim(pod(whole=1, hint=hint), [SIZE])["devices"]["requests"]
    found = [each["cel"]["expression"] for each in request["firstAvailable"][0]["selectors"]]
    driver, size = (
        'device.driver == "gpu.koordinator.sh"',
        f'device.attributes["koordinator.sh"].memory == {SIZE}',
    )
    assert found == [driver, *expressions, size]


@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        ({HINT: "{"}, "it is no JSON"),
        ({HINT: "[]"}, "device-allocate-hint: it is no object"),
        ({JOINT: "1"}, "device-joint-allocate: it is no object"),
        ({HINT: '{"gpu": 1}'}, "what it says of gpu is no object"),
        ({HINT: '{"rdma": {"vfSelector": {}}}'}, "virtual functions"),
        ({JOINT: '{"deviceTypes": "gpu"}'}, "give deviceTypes as a list"),
        ({JOINT: '{"requiredScope": "Node"}'}, "SamePCIe or nothing"),
        ({HINT: '{"gpu": {"requiredTopologyScope": "Rack"}}'}, "'Rack' is none of Node, NUMANode, PCIe"),
        ({HINT: '{"gpu": {"selector": {"matchExpressions": [{"key": "a"}]}}}'}, "a selector cannot be read"),
        (
            {HINT: '{"gpu": {"selector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}}}'},
            "operator 'Gt' is none of",
        ),
    ],
)
def test_hints_that_make_no_sense_say_why(annotations, said):
    with pytest.raises(RequestError, match=said):
        read_hints(annotations)


@pytest.mark.parametrize(
    ("scope", "levels"),
    [
        (None, ["pcie", "numa", "any"]),
        ("Node", ["pcie", "numa", "any"]),
        ("NUMANode", ["pcie", "numa"]),
        ("PCIe", ["pcie"]),
    ],
)
def test_the_levels_of_nearness(scope, levels):
    found = read_hints({HINT: json.dumps({"gpu": {"requiredTopologyScope": scope}})})
    assert list(found.list_scopes()) == levels
    assert not found.requires_same_switches


DEVICES = [
    {
        "type": "gpu",
        "minor": 1,
        "health": True,
        "labels": {"a": "b"},
        "resources": {"koordinator.sh/gpu-memory": "1Ki"},
    },
    {"type": "gpu", "minor": 2, "health": False},
    {"type": "rdma", "id": "x", "health": True, "topology": {"nodeID": 0, "pcieID": "p"}},
    {"type": "rdma", "id": "y", "health": True, "topology": {"nodeID": -1}},
    {"type": "xpu", "health": True},
]


def test_a_node_has_a_slice_for_each_type():
    found = describe_node("n", json.dumps({"devices": DEVICES}))
    assert found.sizes == (1024,)
    assert [each["driver"] for each in found.slices] == ["gpu.koordinator.sh", "rdma.koordinator.sh"]
    [gpu], rdma = (each["devices"] for each in found.slices)
    assert (gpu["name"], [each["name"] for each in rdma]) == ("1", ["0/x", "0/y"])
    assert gpu["allowMultipleAllocations"]
    assert gpu["attributes"] == {
        "koordinator.sh/type": {"string": "gpu"},
        "koordinator.sh/labels": {"strings": ["a", "a=b"]},
        "koordinator.sh/memory": {"int": 1024},
    }
    assert gpu["capacity"] == {"cores": {"value": "0"}, "memory": {"value": "1024"}, "ratio": {"value": "0"}}
    assert [sorted(each["attributes"]) for each in rdma] == [
        ["koordinator.sh/labels", "koordinator.sh/numa", "koordinator.sh/pcie", "koordinator.sh/type"],
        ["koordinator.sh/labels", "koordinator.sh/type"],
    ]
    assert describe_node("n", "") == ((), ())
    with pytest.raises(ValueError, match="two devices of type gpu have the minor 1"):
        describe_node("n", json.dumps({"devices": DEVICES[:1] * 2}))


@pytest.mark.parametrize(
    ("memory", "written"),
    [(1 << 30, "1Gi"), (3 << 20, "3Mi"), ((1 << 30) + (1 << 20), "1025Mi"), (1 << 10, "1Ki"), (1025, "1025")],
)
def test_memory_is_written_in_the_largest_unit(memory, written):
    consumed = {"cores": "0", "memory": str(memory), "ratio": "10"}
    results = [{"driver": "gpu.koordinator.sh", "device": "0", "consumedCapacity": consumed}]
    [entry] = json.loads(annotate({"devices": {"results": results}}, 1, 0.0)[ALLOCATED])["gpu"]
    assert entry == {
        "minor": 0,
        "resources": {"koordinator.sh/gpu-memory": written, "koordinator.sh/gpu-memory-ratio": "10"},
    }


def test_what_is_written_is_read_again():
    stated = {
        "gpu": [
            {"minor": 3, "resources": {"koordinator.sh/gpu-core": "5", "koordinator.sh/gpu-memory": "1Ki"}},
            {"minor": 4, "resources": {"koordinator.sh/gpu-core": "6"}},
        ],
        "rdma": [{"minor": 0, "id": "x", "resources": {"koordinator.sh/rdma": "0"}}],
    }
    found = pod(whole=1)
    found.metadata.annotations[ALLOCATED] = json.dumps(stated)
    allocation = read_allocation(found, "u", "n")
    assert [
        (each["request"], each["device"], each["shareID"], each["pool"])
        for each in allocation["devices"]["results"]
    ] == [("gpu", "3", "u/gpu/0", "n"), ("gpu", "4", "u/gpu/1", "n"), ("rdma", "0/x", "u/rdma/0", "n")]
    allocation["devices"]["results"].reverse()
    assert json.loads(annotate(allocation, 1, 0.0)[ALLOCATED]) == stated, "in the order of their numbers"
