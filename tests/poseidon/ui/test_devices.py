"""Devices of nodes: which claims and pods have them."""

from __future__ import annotations

import msgspec

from poseidon.kube.api.devices import ResourceClaim, ResourceSlice
from poseidon.kube.api.resource import Change
from poseidon.ui.views.nodes import MOST_DEVICES, show_node
from tests.poseidon.ui.objects import known, make_node, make_pod, store


def slice_of(name, *devices, on="n1", generation=1):
    pool = {"name": on, "generation": generation, "resourceSliceCount": 1}
    spec = {"driver": "gpu", "nodeName": on, "pool": pool, "devices": [{"name": each} for each in devices]}
    return Change(name, msgspec.convert({"metadata": {"name": name}, "spec": spec}, ResourceSlice))


def claim_of(name, *devices, pods=(), share=""):
    results = [{"driver": "gpu", "pool": "n1", "device": each, "shareID": share} for each in devices]
    reserved = [{"resource": "pods", "name": each, "uid": f"uid-a/{each}"} for each in pods]
    status = {"allocation": {"devices": {"results": results}}, "reservedFor": reserved} if devices else {}
    raw = {"metadata": {"name": name, "namespace": "a", "uid": name}, "status": status}
    return Change(name, msgspec.convert(raw, ResourceClaim))


def cluster():
    found = known(
        store(make_node("n1"), make_node("n2"), make_pod("a/x", node="n1"), make_pod("a/y", node="n1"))
    )
    found.devices.slices_changed([slice_of("s1", "g0", "g1", "g2"), slice_of("s2", "g9", on="n2")])
    return found


def shown(found, name="n1"):
    answer = show_node(found, name, 0, 10)
    assert answer is not None
    devices = answer["devices"]
    return devices["free"], {
        each["device"]: [(one["claim"], one["share"], one["pods"]) for one in each["claims"]]
        for each in devices["items"]
    }


def test_each_device_names_its_claims_and_their_pods():
    found = cluster()
    found.devices.claims_changed(
        [
            claim_of("one", "g0", pods=("x", "y")),
            claim_of("part", "g1", pods=("x",), share="3f"),
            claim_of("other", "g1", pods=("gone",), share="9a"),
            claim_of("waits"),
        ]
    )
    assert shown(found) == (
        1,
        {
            "g0": [("a/one", "", ["a/x", "a/y"])],
            "g1": [("a/other", "9a", []), ("a/part", "3f", ["a/x"])],
            "g2": [],
        },
    )
    assert shown(found, "n2") == (1, {"g9": []})


def test_claims_and_slices_come_and_go():
    found = cluster()
    found.devices.claims_changed([claim_of("one", "g0", "g1")])
    assert shown(found)[0] == 1
    found.devices.claims_changed([claim_of("one", "g2")])
    assert shown(found) == (2, {"g0": [], "g1": [], "g2": [("a/one", "", [])]})
    found.devices.claims_changed([Change("one", None)])
    assert shown(found)[0] == 3
    # a newer generation of the pool replaces the slices of older ones
    found.devices.slices_changed([slice_of("s3", "g0", "g7", generation=2)])
    assert list(shown(found)[1]) == ["g0", "g7"]
    found.devices.slices_changed([Change("s3", None), Change("s1", None)])
    assert shown(found) == (0, {})


def test_what_drivers_and_people_write_wrongly_is_left_out():
    found = cluster()
    odd = [
        {"nodeName": "n1"},
        {"nodeName": "n1", "pool": 3, "devices": [None, {"name": 4}]},
        {"nodeName": 7, "driver": "gpu", "devices": {}},
    ]
    changes = [
        Change(f"odd-{index}", msgspec.convert({"metadata": {"name": "odd"}, "spec": spec}, ResourceSlice))
        for index, spec in enumerate(odd)
    ]
    found.devices.slices_changed(changes)
    raw = {
        "metadata": {"name": "odd"},
        "status": {"allocation": {"devices": {"results": [None, {"device": 1}]}}},
    }
    found.devices.claims_changed([Change("odd", msgspec.convert(raw, ResourceClaim))])
    assert shown(found) == (3, {"g0": [], "g1": [], "g2": []})


def test_free_devices_are_counted_even_if_they_are_too_many_to_be_listed():
    found = known(store(make_node("n1")))
    found.devices.slices_changed([slice_of("s1", *(f"g{number:03}" for number in range(MOST_DEVICES + 3)))])
    free, items = shown(found)
    assert (free, len(items)) == (MOST_DEVICES + 3, MOST_DEVICES)
