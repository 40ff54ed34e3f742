"""Checks binding conditions: those that drivers must report for a claim's devices before the pod is bound."""

from __future__ import annotations

from poseidon.devices.claims import Device, DeviceClaim, device_of, list_results
from poseidon.kube.api.devices import Json


def has_conditions(allocation: Json) -> bool:
    """Return whether any device of an allocation has binding conditions."""
    return any(_names(each, "bindingConditions") for each in list_results(allocation))


def is_ready(claim: DeviceClaim) -> bool:
    """Return whether drivers have reported all binding conditions of all devices of a claim."""
    said = _list_true(claim)
    return all(
        said.get(device_of(each), frozenset()).issuperset(_names(each, "bindingConditions"))
        for each in list_results(claim.found.status.allocation or {})
    )


def find_failed_device(claim: DeviceClaim) -> str:
    """Return which device of a claim has failed, and by which conditions; "" if none has."""
    said = _list_true(claim)
    for each in list_results(claim.found.status.allocation or {}):
        device = device_of(each)
        failed = said.get(device, frozenset()).intersection(_names(each, "bindingFailureConditions"))
        if failed:
            where = f"{device.driver}/{device.pool}/{device.name}"
            return f'resourceclaim "{claim.name}": device {where}: {", ".join(sorted(failed))}'
    return ""


def _names(result: Json, field: str) -> list[str]:
    names = result.get(field)
    return [each for each in names if isinstance(each, str)] if isinstance(names, list) else []


def _list_true(claim: DeviceClaim) -> dict[Device, frozenset[str]]:
    """Return, by device, the types of conditions that its driver reports as true."""
    return {
        Device(each.driver, each.pool, each.device, each.share_id): frozenset(
            condition.type for condition in each.conditions if condition.status == "True"
        )
        for each in claim.found.status.devices
    }
