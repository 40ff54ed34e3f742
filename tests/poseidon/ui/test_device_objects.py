"""Devices of nodes, as slices list them, and who has them, as claims say it."""

from __future__ import annotations

from typing import Any

from poseidon.devices.claims import Device
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.devices import ResourceSlice
from poseidon.kube.api.resource import Change
from poseidon.ui.device_objects import DeviceObjects
from tests.poseidon.devices.objects import allocation, claim


def listed(
    uid: str, *devices: Any, node: str = "n1", pool: Any = "n1", generation: Any = 1
) -> Change[ResourceSlice]:
    spec = {
        "driver": "gpu",
        "nodeName": node,
        "pool": {"name": pool, "generation": generation},
        "devices": [{"name": each} for each in devices],
    }
    return Change(uid, convert_object({"metadata": {"name": uid}, "spec": spec}, ResourceSlice))


def names(found: DeviceObjects, node: str = "n1") -> list[str]:
    return [each.name for each in found.list_devices(node)]


def test_a_node_has_the_devices_of_the_newest_slices_of_each_pool():
    found = DeviceObjects()
    found.slices_changed([listed("a", "g1", "g0"), listed("b", "g2"), listed("c", "x", pool="other")])
    assert names(found) == ["g0", "g1", "g2", "x"]
    found.slices_changed([listed("b", "g9", generation=2)])
    assert names(found) == ["g9", "x"], "an older slice of the pool is out of date"
    found.slices_changed([Change("b", None)])
    assert names(found) == ["g0", "g1", "x"]
    found.slices_changed([listed("a", "g0", node="n2"), Change("c", None), Change("unknown", None)])
    assert (names(found), names(found, "n2")) == ([], ["g0"])


def test_slices_of_no_node_and_what_cannot_be_read_are_no_devices():
    found = DeviceObjects()
    found.slices_changed([listed("a", "g0", node=""), listed("b", "g1", 5, "", pool=7, generation="new")])
    assert names(found, "") == []
    assert names(found) == ["g1"]


def test_claims_have_devices_until_they_change_or_go():
    found = DeviceObjects()

    def holders(device: str) -> list[str]:
        return [each.name for each, _ in found.iter_holders(Device("gpu", "n1", device))]

    for name, devices in (("b", ("d0",)), ("a", ("d0", "d1"))):
        given = claim(name, given=allocation(*devices))
        found.claims_changed([Change(given.metadata.uid, given)])
    assert (holders("d0"), holders("d1"), holders("d2")) == (["a", "b"], ["a"], [])
    without = claim("a")
    found.claims_changed([Change(without.metadata.uid, without)])
    assert (holders("d0"), holders("d1")) == (["b"], [])
    assert found.find_claim("default/a") is not None
    found.claims_changed([Change("claim-a", None), Change("claim-b", None)])
    assert holders("d0") == []
    assert found.find_claim("default/a") is None
