"""What slices say of devices, read."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from firmament.core.rules.devices.objects.inventory import BadDevicesError, Policy, read_slice, read_terms
from tests.support.devices import device, slice_record


def read_policy(**policy: Any) -> Policy | None:
    shared = device(
        "d0", capacity={"memory": {"value": "8", "requestPolicy": policy}}, allowMultipleAllocations=True
    )
    found = read_slice("s", slice_record("m", [shared]).payload)
    [(only, _, _)] = found.devices
    [capacity] = only.capacity.values()
    return capacity.policy


@pytest.mark.parametrize(
    ("stated", "limits"),
    [
        ({"validRange": {"min": "2", "max": "6", "step": "2"}}, (2, 6, 2)),
        ({"validRange": {"min": "2"}}, (2, None, None)),
        ({"validRange": None}, (None, None, None)),
        ({}, (None, None, None)),
    ],
)
def test_a_range_of_amounts_is_read_where_one_is_stated(stated, limits):
    policy = read_policy(default="4", **stated)
    assert policy is not None
    found = tuple(
        None if each is None else Fraction(each) for each in (policy.least, policy.most, policy.step)
    )
    assert found == limits
    assert policy.default == 4


@pytest.mark.parametrize(
    ("requirement", "fault"),
    [
        ({"operator": "Gt", "values": []}, "states 0 values for Gt instead of one"),
        ({"operator": "Lt", "values": ["1", "2"]}, "states 2 values for Lt instead of one"),
        ({"operator": "Near", "values": ["1"]}, "the unknown operator 'Near'"),
    ],
)
def test_a_node_selector_that_cannot_be_decided_is_refused(requirement: dict[str, Any], fault: str):
    with pytest.raises(BadDevicesError, match=fault):
        read_terms({"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", **requirement}]}]})
