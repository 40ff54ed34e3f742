"""Which claims have which devices: no device is given to two claims, and drivers' conditions are looked at."""

from __future__ import annotations

import pytest

from poseidon.devices.binding_conditions import find_failed_device, has_conditions, is_ready
from poseidon.devices.claims import PodDeviceClaim, read_claim
from poseidon.devices.device_use import DeviceUse
from poseidon.devices.known_pods import ClaimUsers, is_older
from poseidon.kube.api.devices import AllocatedDeviceStatus
from poseidon.kube.api.metadata import Condition
from tests.poseidon.devices.objects import allocation, claim

TAKEN = "device gpu/n1/a is allocated to another claim"


def test_a_device_is_not_given_twice():
    use = DeviceUse()
    use.put("ns/one", allocation("a", "b"))
    assert use.find_conflict("ns/two", allocation("c", "a")) == TAKEN
    assert use.find_conflict("ns/two", allocation("c")) == ""
    assert use.find_conflict("ns/two", allocation("a", node="n2")) == ""
    assert use.find_conflict("ns/one", allocation("a")) == ""


def test_claims_that_make_way_do_not_count():
    use = DeviceUse()
    use.put("ns/one", allocation("a"))
    use.put("ns/three", allocation("a"))
    assert use.find_conflict("ns/two", allocation("a"), {"ns/one", "ns/three"}.__contains__) == ""
    assert use.find_conflict("ns/two", allocation("a"), {"ns/one"}.__contains__) == TAKEN


def test_a_claim_that_gives_its_devices_back_has_none():
    use = DeviceUse()
    use.put("ns/one", allocation("a", "b"))
    use.put("ns/one", allocation("b"))
    assert use.find_conflict("ns/two", allocation("a")) == ""
    assert use.find_conflict("ns/two", allocation("b")) != ""
    use.put("ns/one", None)
    use.put("ns/one", None)
    assert use.find_conflict("ns/two", allocation("b")) == ""
    use.put("ns/one", allocation("b"))
    assert use.find_conflict("ns/two", allocation("b")) != ""


@pytest.mark.parametrize("shared", [{"adminAccess": True}, {"shareID": "s"}])
def test_devices_that_are_shared_conflict_with_nobody(shared):
    use = DeviceUse()
    use.put("ns/one", allocation("a", **shared))
    assert use.find_conflict("ns/two", allocation("a")) == ""
    use.put("ns/one", allocation("a"))
    assert use.find_conflict("ns/two", allocation("a", **shared)) == ""


def said(device="a", *true, share="", untrue=()):
    conditions = [Condition(type=each, status="True") for each in true]
    conditions += [Condition(type=each, status="False") for each in untrue]
    return AllocatedDeviceStatus("gpu", "n1", device, share, tuple(conditions))


BINDING = {"bindingConditions": ["attached", "warm"], "bindingFailureConditions": ["broken", "gone"]}


@pytest.mark.parametrize(
    ("reports", "ready"),
    [
        ((said("a", "attached", "warm"), said("b", "attached", "warm", "more")), True),
        ((said("a", "attached", "warm"), said("b", "attached")), False),
        ((said("a", "attached", "warm"),), False),
        ((said("a", "attached", "warm"), said("b", "attached", untrue=("warm",))), False),
        ((said("a", "attached", "warm"), said("b", "attached", "warm", share="s")), False),
        ((), False),
    ],
)
def test_all_devices_have_to_report_all_their_conditions(reports, ready):
    found = read_claim(claim("c", given=allocation("a", "b", **BINDING), said=reports))
    assert has_conditions(found.found.status.allocation or {})
    assert is_ready(found) is ready


@pytest.mark.parametrize("more", [{}, {"bindingConditions": []}, {"bindingConditions": "attached"}])
def test_devices_without_conditions_are_ready(more):
    given = allocation("a", **more)
    assert not has_conditions(given)
    assert is_ready(read_claim(claim("c", given=given)))


@pytest.mark.parametrize(
    ("reports", "failed"),
    [
        ((said("a", "attached"),), ""),
        ((said("a", untrue=("broken",)),), ""),
        ((said("b", "gone", "broken", "attached"),), 'resourceclaim "c": device gpu/n1/b: broken, gone'),
        ((said("other", "broken"),), ""),
        ((), ""),
    ],
)
def test_a_failure_names_the_device_and_its_conditions(reports, failed):
    assert (
        find_failed_device(read_claim(claim("c", given=allocation("a", "b", **BINDING), said=reports)))
        == failed
    )
    assert find_failed_device(read_claim(claim("c"))) == ""


@pytest.mark.parametrize(
    ("version", "known", "older"),
    [
        ("1", "2", True),
        ("2", "2", False),
        ("3", "2", False),
        ("9", "10", True),
        ("", "2", False),
        ("1", "x", False),
    ],
)
def test_versions_grow(version, known, older):
    assert is_older(claim("c", version=version), claim("c", version=known)) is older


def test_pods_that_name_a_claim_are_known_as_long_as_they_do():
    users = ClaimUsers()
    twice = [PodDeviceClaim("x", "ns/a"), PodDeviceClaim("y", "ns/a"), PodDeviceClaim("z", "")]
    assert users.add("p1", twice) == ["ns/a"]
    assert users.add("p2", [PodDeviceClaim("x", "ns/a"), PodDeviceClaim("y", "ns/b")]) == ["ns/a", "ns/b"]
    assert list(users.get("ns/a")) == ["p1", "p2"]
    assert list(users.get("ns/none")) == []
    assert users.remove("p1", twice) == ["ns/a"]
    assert list(users.get("ns/a")) == ["p2"]
    assert users.remove("p2", [PodDeviceClaim("x", "ns/a"), PodDeviceClaim("y", "ns/c")]) == ["ns/a"]
    assert users.remove("p2", [PodDeviceClaim("x", "ns/a")]) == []
    assert list(users.get("ns/b")) == ["p2"]
