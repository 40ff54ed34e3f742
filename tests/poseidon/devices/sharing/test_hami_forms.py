"""Inventories, limits and annotations of HAMi, one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from poseidon.devices.sharing import hami
from poseidon.devices.sharing.hami import Gpu, GpuPart
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod

GPU = "nvidia.com/gpu"


def pod(*limits: dict[str, str], **annotations: str) -> Pod:
    """A pod with these limits by container; of annotations, ``nvidia_x`` is ``nvidia.com/x``."""
    told = {key.replace("_", ".com/", 1).replace("_", "-"): value for key, value in annotations.items()}
    containers = [{"name": f"c{at}", "resources": {"limits": each}} for at, each in enumerate(limits)]
    metadata = {"name": "p", "namespace": "ns", "annotations": told}
    return convert_object({"metadata": metadata, "spec": {"containers": containers}}, Pod)


def list_requests(found: Pod, *sizes: int) -> list[dict[str, Any]]:
    requests: list[dict[str, Any]] = hami.describe_claim(found, sizes)["devices"]["requests"]
    return requests


def test_a_gpu_of_which_little_is_said_has_one_slot_and_all_cores():
    [found] = hami.read_inventory(' [{"id": "GPU-a"}]')
    assert found == Gpu("GPU-a", 1, 0, 100, "", 0, "")
    [full] = hami.read_inventory(
        '[{"id": "a", "count": 4, "devmem": 8, "devcore": 90, "type": "T", "numa": 1, "mode": "mig"}]'
    )
    assert full == Gpu("a", 4, 8, 90, "T", 1, "mig")
    assert hami.read_inventory('[{"id": "a", "health": false}]') == []
    assert hami.read_inventory("") == []


def test_a_node_says_what_its_gpus_have():
    found = hami.read_devices(
        "n", '[{"id": "a", "count": 4, "devmem": 8, "type": "nvidia-a100", "mode": "m"}]'
    )
    assert found.sizes == (8,)
    [told] = found.slices
    assert (told["driver"], told["nodeName"], told["pool"]["name"]) == ("hami.io", "n", "n")
    [device] = told["devices"]
    assert device == {
        "name": "a",
        "allowMultipleAllocations": True,
        "attributes": {
            "uuid": {"string": "a"},
            "type": {"string": "NVIDIA-A100"},
            "mode": {"string": "m"},
            "numa": {"int": 0},
            "memory": {"int": 8},
        },
        "capacity": {
            "slots": {"value": "4"},
            "memory": {"value": "8"},
            "cores": {"value": "100"},
            "whole": {"value": "1000"},
        },
    }
    assert hami.read_devices("n", "") == ((), ())
    assert hami.read_devices("n", "[]") == ((), ())


@pytest.mark.parametrize(
    ("limits", "asked"),
    [
        ({}, False),
        ({GPU: "1"}, True),
        ({GPU: "0"}, False),
        ({GPU: "many"}, False),
        ({"nvidia.com/gpumem": "1"}, False),
    ],
)
def test_pods_that_ask_for_gpus(limits, asked):
    assert hami.asks(pod({}, limits)) is asked
    assert len(list_requests(pod({}, limits), 8)) == asked


@pytest.mark.parametrize(
    ("cores", "taken", "whole"),
    [
        (None, "0", "1"),
        ("99", "99", "1"),
        ("100", "100", "1000"),
        ("101", "100", "1000"),
        ("200", "100", "1000"),
    ],
)
def test_all_cores_are_a_whole_gpu(cores, taken, whole):
    limits = {GPU: "2", "nvidia.com/gpumem": "5"} | ({"nvidia.com/gpucores": cores} if cores else {})
    [request] = list_requests(pod(limits), 8)
    assert request["name"] == "c0"
    wanted = request["exactly"]
    assert wanted["count"] == 2
    assert wanted["capacity"]["requests"] == {"slots": "1", "memory": "5", "cores": taken, "whole": whole}
    assert wanted["selectors"] == []
    assert "order" not in wanted


@pytest.mark.parametrize(
    ("percent", "memories"),
    [(None, ["10", "20"]), ("50", ["5", "10"]), ("25", ["2", "5"]), ("101", ["10", "20"])],
)
def test_a_percentage_is_of_each_size_of_gpus(percent, memories):
    limits = {GPU: "1"} | ({"nvidia.com/gpumem-percentage": percent} if percent else {})
    [request] = list_requests(pod(limits), 20, 10, 20)
    options = request["firstAvailable"]
    assert [each["name"] for each in options] == ["m10", "m20"]
    assert [each["capacity"]["requests"]["memory"] for each in options] == memories
    assert [each["selectors"] for each in options] == [
        [{"cel": {"expression": f'device.attributes["hami.io"].memory == {size}'}}] for size in (10, 20)
    ]


def test_without_gpus_a_percentage_fits_none():
    [request] = list_requests(pod({GPU: "1"}))
    assert [each["cel"]["expression"] for each in request["exactly"]["selectors"]] == ["false"]


@pytest.mark.parametrize(
    ("annotations", "expressions"),
    [
        ({}, []),
        ({"nvidia_use_gputype": "a100, v100,"}, ['{d}.type.contains("A100") || {d}.type.contains("V100")']),
        ({"nvidia_nouse_gputype": "t4"}, ['!({d}.type.contains("T4"))']),
        ({"nvidia_use_gpuuuid": "GPU-a"}, ['{d}.uuid == "GPU-a"']),
        ({"nvidia_nouse_gpuuuid": "GPU-a,GPU-b"}, ['!({d}.uuid == "GPU-a" || {d}.uuid == "GPU-b")']),
        ({"nvidia_use_gputype": " , "}, []),
        ({"nvidia_vgpu_mode": "mig"}, ['{d}.mode == "mig"']),
        (
            {"nvidia_use_gputype": "a", "nvidia_vgpu_mode": "mig"},
            ['{d}.type.contains("A")', '{d}.mode == "mig"'],
        ),
    ],
)
def test_how_pods_choose_their_gpus(annotations, expressions):
    limits = {GPU: "1", "nvidia.com/gpumem": "1"}
    [request] = list_requests(pod(limits, **annotations), 8)
    found = [each["cel"]["expression"] for each in request["exactly"]["selectors"]]
    assert found == [each.replace("{d}", 'device.attributes["hami.io"]') for each in expressions]


@pytest.mark.parametrize(("bind", "constrained"), [("true", True), ("false", False), ("", False)])
def test_gpus_of_one_numa_node(bind, constrained):
    found = hami.describe_claim(pod({GPU: "1"}, {}, {GPU: "2"}, nvidia_numa_bind=bind), [8])["devices"]
    expected = [{"requests": [name], "matchAttribute": "hami.io/numa"} for name in ("c0", "c2")]
    assert found["constraints"] == (expected if constrained else [])


PARTS = [[GpuPart("a", 5, 10), GpuPart("b", 6, 0)], [], [GpuPart("a", 1, 100)]]


def test_parts_are_read_as_they_are_written():
    text = hami.write_parts(PARTS)
    assert text == "a,NVIDIA,5,10:b,NVIDIA,6,0:;;a,NVIDIA,1,100:;"
    assert hami.read_parts(text) == PARTS
    assert hami.read_parts("a,NVIDIA,5,10:") == [[GpuPart("a", 5, 10)]]
    assert hami.read_parts("a,NVIDIA,5,10,more") == [[GpuPart("a", 5, 10)]]
    with pytest.raises(ValueError, match="'a,NVIDIA,5' has fewer than four parts"):
        hami.read_parts("a,NVIDIA,5:;")


def test_an_allocation_has_each_part():
    allocation = hami.make_allocation("n", "u", PARTS)
    results = allocation["devices"]["results"]
    assert [(each["request"], each["device"], each["shareID"]) for each in results] == [
        ("c0", "a", "u/0/0"),
        ("c0", "b", "u/0/1"),
        ("c2", "a", "u/2/0"),
    ]
    assert [each["consumedCapacity"]["whole"] for each in results] == ["1", "1", "1000"]
    assert hami.list_parts(allocation, 3) == PARTS
    assert hami.annotate(allocation, 3, 12.7) == {
        "hami.io/vgpu-devices-allocated": hami.write_parts(PARTS),
        "hami.io/vgpu-devices-to-allocate": hami.write_parts(PARTS),
        "hami.io/vgpu-node": "n",
        "hami.io/bind-time": "12",
        "hami.io/bind-phase": "allocating",
    }


def test_a_pod_that_has_gpus_says_which():
    found = pod({GPU: "1"})
    found.metadata.annotations[hami.ALLOCATED] = "a,NVIDIA,5,10:;"
    assert hami.read_allocation(found, "u", "n") == hami.make_allocation("n", "u", [[GpuPart("a", 5, 10)]])
    assert json.dumps(hami.read_allocation(found, "u", "n")).count('"n"') == 2
