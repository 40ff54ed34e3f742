"""Claims that stand for annotations of a pod: how they are told apart, and how they are written."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from poseidon.devices.shared_gpus import without_devices
from poseidon.devices.sharing.hami import ALLOCATED, GpuPart, make_allocation
from poseidon.devices.sharing.node_devices import build_slice
from poseidon.devices.sharing.systems import SYSTEMS
from poseidon.devices.sharing.virtual_claims import CONTAINERS, build_patch, is_virtual, name_claim
from poseidon.kube.api.devices import ResourceClaim
from poseidon.kube.api.pods import Container, ResourceRequirements
from tests.poseidon.bridge.objects import pod
from tests.poseidon.devices.objects import claim

GIVEN = make_allocation("n1", "u", [[], [GpuPart("a", 5, 10)]])


def virtual(given: object = None, system: str = "hami") -> ResourceClaim:
    found = claim(name_claim("p", system), given=given, owner="p")
    return replace(found, metadata=replace(found.metadata, annotations={CONTAINERS: "2"}))


@pytest.mark.parametrize(
    ("name", "stands"),
    [
        ("p:hami", True),
        ("p:koordinator", True),
        ("p", False),
        (":hami", False),
        ("p:other", False),
        ("p-hami", False),
    ],
)
def test_which_claims_stand_for_annotations(name, stands):
    assert is_virtual(claim(name)) is stands


@pytest.mark.parametrize(
    ("before", "change", "written"),
    [
        (None, {"allocation": GIVEN}, True),
        (GIVEN, {}, True),
        (GIVEN, {"allocation": None}, False),
        (None, {}, False),
    ],
)
def test_a_change_is_written_to_the_pod(before, change, written):
    path, patch = build_patch(virtual(before), change, 3.0)
    assert path == "/api/v1/namespaces/default/pods/p"
    assert patch["metadata"]["uid"] == "pod-p"
    annotations = patch["metadata"]["annotations"]
    assert annotations.keys() >= set(SYSTEMS["hami"].written)
    assert annotations[ALLOCATED] == (";a,NVIDIA,5,10:;" if written else None)
    assert any(each is not None for each in annotations.values()) is written


def test_one_slice_is_the_whole_pool_of_a_node():
    assert build_slice("hami.io", "n1", [{"name": "a"}]) == {
        "driver": "hami.io",
        "nodeName": "n1",
        "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "a"}],
    }


@pytest.mark.parametrize(("system", "kept"), [("hami", ["nvidia.com/gpu"]), ("koordinator", [])])
def test_init_containers_ask_for_devices_where_requests_are_summed(system, kept):
    gpu = Container(name="c", resources=ResourceRequirements(limits={"nvidia.com/gpu": "1"}))
    made = pod("p")
    made = replace(made, spec=replace(made.spec, containers=(gpu,), init_containers=(gpu,)))
    stripped = without_devices(made, SYSTEMS[system])
    assert [*stripped.spec.init_containers[0].resources.limits] == kept
    assert not stripped.spec.containers[0].resources.limits
