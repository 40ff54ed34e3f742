"""Applies Kubernetes' feature gates for devices: drops the fields that kube-scheduler ignores if a gate is off.

A cluster whose API server has a feature off may still hold objects that were stored while the feature was on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias

ADMIN_ACCESS = "DRAAdminAccess"
BINDING_CONDITIONS = "DRADeviceBindingConditions"
CONSUMABLE_CAPACITY = "DRAConsumableCapacity"
LIST_ATTRIBUTES = "DRAListTypeAttributes"
PARTITIONS = "DRAPartitionableDevices"
PRIORITIZED_LIST = "DRAPrioritizedList"
TAINTS = "DRADeviceTaints"

FEATURES = frozenset(
    {
        ADMIN_ACCESS,
        BINDING_CONDITIONS,
        CONSUMABLE_CAPACITY,
        LIST_ATTRIBUTES,
        PARTITIONS,
        PRIORITIZED_LIST,
        TAINTS,
    }
)

FeaturesOff: TypeAlias = AbstractSet[str]
"""Names of the feature gates that are off; all other gates are on."""
NOTHING_OFF: FeaturesOff = frozenset()


def read_features(payload: bytes | None) -> FeaturesOff:
    """Return the feature gates that a record (`DEVICE_FEATURES_RECORD`) switches off; no gates if it cannot be read."""
    try:
        gates = json.loads(payload) if payload else {}
        return frozenset(str(name) for name, on in gates.items() if on is False) & FEATURES
    except (ValueError, AttributeError, RecursionError):
        return NOTHING_OFF


def drop_from_slice(spec: Mapping[str, Any], off: FeaturesOff) -> Mapping[str, Any]:
    """Return a slice's spec without the fields of the features in ``off``; the slice may be left without devices."""
    if not off:
        return spec
    if PARTITIONS in off and (spec.get("perDeviceNodeSelection") or spec.get("sharedCounters")):
        return {**spec, "devices": (), "sharedCounters": ()}
    devices = [_drop_from_device(each, off) for each in spec.get("devices") or () if _counts(each, off)]
    return {**spec, "devices": devices}


def _counts(device: Mapping[str, Any], off: FeaturesOff) -> bool:
    if PARTITIONS in off and device.get("consumesCounters"):
        return False
    return not (BINDING_CONDITIONS in off and device.get("bindingConditions"))


def _drop_from_device(device: Mapping[str, Any], off: FeaturesOff) -> Mapping[str, Any]:
    dropped = set()
    if TAINTS in off:
        dropped.add("taints")
    if CONSUMABLE_CAPACITY in off:
        dropped.add("allowMultipleAllocations")
    return {key: value for key, value in device.items() if key not in dropped}


def find_use(request: Mapping[str, Any], off: FeaturesOff) -> str:
    """Return which disabled feature a request uses, in kube-scheduler's words; "" if it uses none."""
    name = request.get("name")
    listed = request.get("firstAvailable") or ()
    if PRIORITIZED_LIST in off and listed:
        return f"request {name}: has subrequests, but the {PRIORITIZED_LIST} feature is disabled"
    exactly = request.get("exactly") or {}
    if CONSUMABLE_CAPACITY in off:
        words = f"has capacity requests, but the {CONSUMABLE_CAPACITY} feature is disabled"
        if exactly.get("capacity") is not None:
            return f"request {name}: {words}"
        for each in listed:
            if each.get("capacity") is not None:
                return f"subrequest {each.get('name')}: {words}"
    if ADMIN_ACCESS in off and exactly.get("adminAccess"):
        return f"request {name}: admin access is requested, but the feature is disabled"
    return ""
