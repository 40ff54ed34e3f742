"""Writes the devices that a claim has got as an AllocationResult of resource.k8s.io/v1."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from firmament.core.model import Requirement
from firmament.core.rules.devices.allocation.search import Pick
from firmament.core.rules.devices.objects.inventory import Pool, PoolName, PublishedDevice
from firmament.core.rules.devices.objects.quantities import format_quantity
from firmament.core.rules.devices.objects.requests import ClaimSpec, Option
from firmament.core.rules.devices.visible_devices import View, list_bits


def write_allocation(
    claim: ClaimSpec,
    picks: Sequence[Pick],
    view: View,
    pools: Mapping[PoolName, Pool],
    machine: str,
    mark: str,
) -> dict[str, Any]:
    """Return the AllocationResult of a claim that has got ``picks`` on a machine, as a JSON object.

    ``mark``: a text unique to the claim, from which the IDs of its shares of devices are derived.
    """
    results = []
    given = []
    for number, pick in enumerate(picks):
        pool, device = find_device(view, pick.device, pools)
        given.append((pool, device))
        results.append(_write_result(pick, pool, device, f"{mark}/{number}"))
    found: dict[str, Any] = {"devices": {"results": results}}
    chosen = _list_chosen(claim, picks)
    configurations = _list_configurations(claim, chosen)
    if configurations:
        found["devices"]["config"] = configurations
    selector = _select_machines(given, machine)
    if selector is not None:
        found["nodeSelector"] = selector
    return found


def find_device(view: View, device: int, pools: Mapping[PoolName, Pool]) -> tuple[Pool, PublishedDevice]:
    """Return the pool and the device at index ``device`` of a view."""
    seen = view.kind.devices[device]
    place = view.places[seen.pool]
    pool = pools[place.pool]
    return pool, pool.devices[list_bits(place.devices)[seen.number]]


def _write_result(pick: Pick, pool: Pool, device: PublishedDevice, mark: str) -> dict[str, Any]:
    option = pick.option
    result: dict[str, Any] = {
        "request": option.name,
        "driver": pool.driver,
        "pool": pool.name,
        "device": device.name,
    }
    if option.admin:
        result["adminAccess"] = True
    if option.tolerations_text:
        result["tolerations"] = json.loads(option.tolerations_text)
    if device.conditions:
        result["bindingConditions"] = list(device.conditions)
    if device.failures:
        result["bindingFailureConditions"] = list(device.failures)
    if pick.consumption is not None:
        result["shareID"] = derive_share_id(mark)
        if pick.consumption:
            result["consumedCapacity"] = {name: format_quantity(amount) for name, amount in pick.consumption}
    return result


def derive_share_id(mark: str) -> str:
    """Return the shareID of a claim's share of a device: a UID that depends on ``mark`` alone."""
    digits = hashlib.sha256(mark.encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


# --- configurations of allocated devices ------------------------------------------------------------------------------


def _list_chosen(claim: ClaimSpec, picks: Sequence[Pick]) -> list[Option]:
    """Return the chosen option of each request; its first option if no device was picked for it."""
    picked = {pick.option for pick in picks}
    return [
        next((option for option in request.options if option in picked), request.options[0])
        for request in claim.requests
    ]


def _list_configurations(claim: ClaimSpec, chosen: Sequence[Option]) -> list[dict[str, Any]]:
    """Return the configurations of the chosen options' classes, each class once, then the claim's own configurations.

    Each configuration of a device class names the requests that got devices of the class. A configuration of the
    claim names the requests that the claim lists for it; without a list, it applies to all requests. Configurations
    for options that were not chosen are left out.
    """
    found: list[tuple[str, tuple[str, ...], str]] = []
    for device_class in dict.fromkeys(option.device_class for option in chosen):
        names = tuple(option.name for option in chosen if option.device_class is device_class)
        found += [("FromClass", names, text) for text in device_class.configurations]
    for names, text in claim.configurations:
        if not names or any(_is_named(option, names) for option in chosen):
            found.append(("FromClaim", names, text))
    return [
        {"source": source, **({"requests": list(names)} if names else {}), **json.loads(text)}
        for source, names, text in found
    ]


def _is_named(option: Option, names: Sequence[str]) -> bool:
    return option.name in names or option.name.partition("/")[0] in names


# --- nodes that reach allocated devices -------------------------------------------------------------------------------


def _select_machines(given: Sequence[tuple[Pool, PublishedDevice]], machine: str) -> dict[str, Any] | None:
    """Return the node selector of an allocation; None: any machine.

    If some device is local to the machine, only this machine is selected.
    """
    fields: dict[Any, Requirement] = {}
    labels: dict[Any, Requirement] = {}
    for pool, device in given:
        reach = pool.reaches[device.reach]
        if reach.machine or device.binds_to_machine:
            term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [machine]}]}
            return {"nodeSelectorTerms": [term]}
        for term_of in reach.terms[:1]:
            for into, requirements in ((labels, term_of.labels), (fields, term_of.fields)):
                for each in requirements:
                    into.setdefault((each.key, each.operator, frozenset(each.values)), each)
    if not fields and not labels:
        return None
    parts = {"matchExpressions": labels, "matchFields": fields}
    written = {
        name: [{"key": r.key, "operator": r.operator, "values": list(r.values)} for r in found.values()]
        for name, found in parts.items()
        if found
    }
    return {"nodeSelectorTerms": [written]}
