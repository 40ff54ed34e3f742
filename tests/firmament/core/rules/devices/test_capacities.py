"""What a claim takes of a device's capacities, as requested and as the driver's policies round it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from firmament.core.rules.devices.allocation.device_selector import show_device
from firmament.core.rules.devices.allocation.matching import find_consumption
from firmament.core.rules.devices.cel.values import EvaluationError, Quantity
from firmament.core.rules.devices.objects.inventory import read_slice
from firmament.core.rules.devices.objects.requests import DeviceTerms, Option, tolerates
from firmament.core.rules.devices.visible_devices import SeenDevice
from tests.support.devices import DRIVER, device, slice_record

RANGE = {"validRange": {"min": "2", "max": "8", "step": "3"}}


def seen(**capacities: Any) -> SeenDevice:
    """A device with capacities of 10 and these policies."""
    stated = {
        name: {"value": "10", **({"requestPolicy": policy} if policy else {})}
        for name, policy in capacities.items()
    }
    found = read_slice("s", slice_record("m", [device("d", capacity=stated)]).payload)
    return SeenDevice(found.devices[0][0], DRIVER, 0, 0, 0)


def asks(**capacity: int | Fraction) -> Option:
    return Option("r", DeviceTerms("gpu", ()), (), 1, capacity=tuple(capacity.items()))


@pytest.mark.parametrize(
    ("policy", "wanted", "taken"),
    [
        (None, None, 10),
        (None, 0, 0),
        (None, 7, 7),
        (None, 10, 10),
        (None, 11, None),
        ({"default": "4"}, None, 4),
        ({"default": "4"}, 5, 5),
        ({"default": "11"}, None, None),
        ({"default": "4", "validValues": ["4", "6"]}, None, 4),
        ({"default": "4", "validValues": ["4", "6"]}, 4, 4),
        ({"default": "4", "validValues": ["4", "6"]}, 5, 6),
        ({"default": "4", "validValues": ["4", "6"]}, 6, 6),
        ({"default": "4", "validValues": ["4", "6"]}, 7, None),
        ({"default": "3", "validValues": ["4"]}, None, 3),
        ({"validValues": ["4"]}, None, None),
        ({"default": "2", **RANGE}, None, 2),
        ({"default": "2", **RANGE}, 1, 2),
        ({"default": "2", **RANGE}, 2, 2),
        ({"default": "2", **RANGE}, 3, 5),
        ({"default": "2", **RANGE}, 5, 5),
        ({"default": "2", **RANGE}, 6, 8),
        ({"default": "2", **RANGE}, 8, 8),
        ({"default": "2", **RANGE}, 9, None),
        ({"default": "2", "validRange": {"min": "2"}}, 1, 2),
        ({"default": "2", "validRange": {"min": "2"}}, 7, 7),
        ({"default": "2", "validRange": {"min": "2", "max": "6"}}, 6, 6),
        ({"default": "2", "validRange": {"min": "2", "max": "6"}}, 7, None),
        ({"validRange": {"max": "6"}}, None, None),
        ({"validRange": {"step": "4"}}, 8, 8),
        ({"validRange": {"step": "4"}}, 6, None),
        ({"default": "9", "validRange": {"max": "6"}}, None, 9),
    ],
)
def test_how_much_is_taken(policy: Any, wanted: int | None, taken: int | None):
    option = asks() if wanted is None else asks(memory=wanted)
    assert find_consumption(option, seen(memory=policy)) == (None if taken is None else (("memory", taken),))


def test_several_capacities():
    both = seen(memory=None, **{f"{DRIVER}/slots": {"default": "1"}})
    assert find_consumption(asks(), both) == (("memory", 10), (f"{DRIVER}/slots", 1))
    assert find_consumption(asks(memory=3, slots=2), both) == (("memory", 3), (f"{DRIVER}/slots", 2))
    assert find_consumption(asks(**{f"{DRIVER}/memory": Fraction(1, 2)}), both) == (
        ("memory", Fraction(1, 2)),
        (f"{DRIVER}/slots", 1),
    )
    assert find_consumption(asks(nothing=1), both) is None
    assert find_consumption(asks(**{"other/memory": 1}), both) is None
    assert find_consumption(asks(), seen()) == ()


def test_how_expressions_see_a_device():
    attributes = {
        "model": {"string": "x"},
        "other/size": {"int": 0},
        "ready": {"bool": False},
        "version": {"version": "1.2.3"},
        "sizes": {"ints": [1, 2]},
        "flags": {"bools": [True]},
        "names": {"strings": []},
        "versions": {"versions": ["1.0.0"]},
    }
    stated = {"name": "d", "attributes": attributes, "capacity": {"memory": {"value": "1Ki"}}}
    found = read_slice("s", slice_record("m", [{**stated, "allowMultipleAllocations": True}]).payload)
    shown = show_device(found.devices[0][0], DRIVER)
    own = shown["attributes"][DRIVER]
    assert shown["driver"] == DRIVER
    assert shown["allowMultipleAllocations"] is True
    assert shown["attributes"]["other"] == {"size": 0}
    assert {name: own[name] for name in ("model", "ready", "sizes", "flags", "names")} == {
        "model": "x",
        "ready": False,
        "sizes": [1, 2],
        "flags": [True],
        "names": [],
    }
    assert own["version"].numbers == (1, 2, 3)
    assert [each.text for each in own["versions"]] == ["1.0.0"]
    assert shown["capacity"] == {DRIVER: {"memory": Quantity(1024)}}


def test_an_attribute_of_an_unknown_type_has_no_value():
    found = read_slice("s", slice_record("m", [{"name": "d", "attributes": {"a": {"new": 1}}}]).payload)
    with pytest.raises(EvaluationError, match="an attribute has no value of a known type"):
        show_device(found.devices[0][0], DRIVER)


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (("k", "Equal", "v", "NoSchedule"), True),
        (("k", "Equal", "v", ""), True),
        (("k", "Exists", "", "NoSchedule"), True),
        (("", "Exists", "", ""), True),
        (("", "Equal", "v", ""), True),
        (("k", "Equal", "w", "NoSchedule"), False),
        (("l", "Equal", "v", "NoSchedule"), False),
        (("l", "Exists", "", ""), False),
        (("k", "Equal", "v", "NoExecute"), False),
        (("k", "Exists", "", "NoExecute"), False),
        (("k", "In", "v", ""), False),
    ],
)
def test_tolerations_of_taints(toleration: tuple[str, str, str, str], tolerated: bool):
    taint = ("k", "v", "NoSchedule")
    assert tolerates((toleration,), taint) is tolerated
    assert tolerates((toleration, ("k", "Exists", "", "")), taint) is True
    assert tolerates((), taint) is False
