"""Records of devices for the solver, and which conditions of devices a pod waits for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from poseidon.devices.binding_conditions import find_failed_device, has_conditions, is_ready
from poseidon.devices.claims import DeviceClaim, PodDeviceClaim
from poseidon.devices.known_pods import ClaimUsers, is_older
from poseidon.devices.records import encode_claim, encode_features
from poseidon.kube.api.devices import AllocatedDeviceStatus
from poseidon.kube.api.metadata import Condition
from tests.poseidon.devices.objects import SPEC, allocation, claim


def known(given: Any = None, said: tuple[AllocatedDeviceStatus, ...] = ()) -> DeviceClaim:
    return DeviceClaim("default/c", claim("c", given=given, said=said), "", "", ())


def says(
    device: str, *conditions: str, status: str = "True", pool: str = "n1", share: str = ""
) -> AllocatedDeviceStatus:
    found = tuple(Condition(type=each, status=status) for each in conditions)
    return AllocatedDeviceStatus("gpu", pool, device, share, found)


def test_gates_that_are_off_are_told():
    assert encode_features([]) is None
    assert json.loads(encode_features(["A", "B"]) or b"") == {"A": False, "B": False}


@pytest.mark.parametrize(("given", "told"), [(None, "under way"), ({"own": 1}, {"own": 1})])
def test_a_claim_has_the_allocation_that_is_written_or_else_the_one_under_way(given, told):
    under_way: Any = "under way"
    assert json.loads(encode_claim(known(given), under_way, ["a"], iter(["b", "c"]))) == {
        "spec": SPEC,
        "allocation": told,
        "reserved_for": ["a"],
        "in_use_by": ["b", "c"],
    }


BINDING = {"bindingConditions": ["Ready", "Set"], "bindingFailureConditions": ["Broken", "Lost"]}


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({}, False),
        (BINDING, True),
        ({"bindingConditions": []}, False),
        ({"bindingConditions": [1]}, False),
        ({"bindingConditions": "x"}, False),
    ],
)
def test_devices_with_binding_conditions(more, found):
    given = allocation("a", "b")
    given["devices"]["results"][1].update(more)
    assert has_conditions(given) is found


@pytest.mark.parametrize(
    ("said", "ready"),
    [
        ([], False),
        ([says("a", "Ready", "Set")], False),
        ([says("a", "Ready", "Set"), says("b", "Ready", "Set", "More")], True),
        ([says("a", "Ready", "Set"), says("b", "Ready")], False),
        ([says("a", "Ready", "Set"), says("b", "Ready", "Set", status="False")], False),
        ([says("a", "Ready", "Set"), says("b", "Ready", "Set", pool="n2")], False),
        ([says("a", "Ready", "Set"), says("b", "Ready", "Set", share="s")], False),
    ],
)
def test_a_claim_is_ready_when_all_of_its_devices_are(said, ready):
    assert is_ready(known(allocation("a", "b", **BINDING), tuple(said))) is ready
    assert is_ready(known(allocation("a", "b"), tuple(said)))
    assert is_ready(known())


def test_a_device_that_has_failed_is_named():
    given = allocation("a", "b", **BINDING)
    assert find_failed_device(known(given, (says("a", "Ready"),))) == ""
    assert find_failed_device(known(given, (says("b", "Lost", status="Unknown"),))) == ""
    said = (says("a", "Ready"), says("b", "Lost", "Broken"))
    assert find_failed_device(known(given, said)) == 'resourceclaim "c": device gpu/n1/b: Broken, Lost'
    assert find_failed_device(known()) == ""


def test_the_pods_of_each_claim():
    users = ClaimUsers()
    one, two, none = (PodDeviceClaim(name, key) for name, key in (("a", "ns/1"), ("b", "ns/2"), ("c", "")))
    assert users.add("p", [two, one, one, none]) == ["ns/2", "ns/1"]
    assert users.add("q", [one]) == ["ns/1"]
    assert list(users.get("ns/1")) == ["p", "q"]
    assert list(users.get("")) == []
    assert users.remove("p", [one, two, none]) == ["ns/1", "ns/2"]
    assert list(users.get("ns/1")) == ["q"]
    assert users.remove("p", [two]) == [], "nobody names it any more"
    assert users.remove("other", [one]) == ["ns/1"]
    assert list(users.get("ns/1")) == ["q"]


@pytest.mark.parametrize(
    ("version", "other", "older"),
    [
        ("1", "2", True),
        ("2", "2", False),
        ("3", "2", False),
        ("9", "10", True),
        ("a", "2", False),
        ("1", "b", False),
    ],
)
def test_versions_of_claims_are_numbers(version, other, older):
    assert is_older(claim("c", version=version), claim("c", version=other)) is older
