"""A slow, obvious allocator: tries every choice of devices, and checks each as a whole. It knows JSON alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

Spec = Mapping[str, Any]


class Chosen(NamedTuple):
    """Devices of a request: its name, the alternative, and pool and device of each."""

    name: str
    option: Spec
    devices: tuple[tuple[str, str], ...]


def find_any(slices: Sequence[Spec], claims: Sequence[Spec], taken: set[tuple[str, str]]) -> bool:
    """Whether there is a choice at all."""
    devices = {
        (each["pool"]["name"], device["name"]): device for each in slices for device in each["devices"]
    }
    counters = {
        (each["pool"]["name"], key): int(value["value"])
        for each in slices
        for counter_set in each.get("sharedCounters", ())
        for key, value in counter_set["counters"].items()
    }
    per_claim = [list(list_choices(claim, devices)) for claim in claims]
    return any(
        is_valid(dict(enumerate(choice)), claims, devices, counters, taken) for choice in product(*per_claim)
    )


def list_choices(claim: Spec, devices: Mapping[tuple[str, str], Spec]) -> Iterator[tuple[Chosen, ...]]:
    """All choices of one claim by itself."""
    per_request = []
    for request in claim["devices"]["requests"]:
        options = request.get("firstAvailable") or [request["exactly"]]
        found = []
        for option in options:
            fitting = [key for key, device in devices.items() if suits(device, option)]
            if option["allocationMode"] == "All":
                found += [Chosen(request["name"], option, tuple(fitting))] if fitting else []
            else:
                found += [
                    Chosen(request["name"], option, each) for each in combinations(fitting, option["count"])
                ]
        per_request.append(found)
    return iter(product(*per_request))


def suits(device: Spec, option: Spec) -> bool:
    """Whether a device is of the kind that an option's only expression asks for."""
    wanted = [each["cel"]["expression"].rsplit('"', 2)[1] for each in option.get("selectors", ())]
    return all(device["attributes"].get("kind", {}).get("string") == kind for kind in wanted)


def is_valid(
    choice: Mapping[int, Sequence[Chosen]],
    claims: Sequence[Spec],
    devices: Mapping[tuple[str, str], Spec],
    counters: Mapping[tuple[str, str], int],
    taken: set[tuple[str, str]],
) -> bool:
    """Whether nobody gets what another has, counters and capacities suffice, and constraints hold."""
    left = dict(counters)
    given: dict[tuple[str, str], int] = {}
    for number, chosen in choice.items():
        if not keeps_constraints(claims[number], chosen, devices):
            return False
        for each in chosen:
            for key in each.devices:
                device = devices[key]
                if any(t["effect"] != "None" for t in device.get("taints", ())) and not each.option.get(
                    "tolerations"
                ):
                    return False
                amount = each.option.get("capacity", {}).get("requests", {}).get("memory")
                memory = int(device["capacity"].get("memory", {"value": 0})["value"])
                if amount is not None and ("memory" not in device["capacity"] or int(amount) > memory):
                    return False
                first = key not in given
                if device.get("allowMultipleAllocations"):
                    given[key] = given.get(key, 0) + (memory if amount is None else int(amount))
                    if given[key] > memory:
                        return False
                elif key in taken or not first:
                    return False
                given.setdefault(key, 0)
                for use in device.get("consumesCounters", ()) if first else ():
                    for counter, value in use["counters"].items():
                        left[key[0], counter] -= int(value["value"])
    return all(value >= 0 for value in left.values())


def keeps_constraints(claim: Spec, chosen: Sequence[Chosen], devices: Mapping[tuple[str, str], Spec]) -> bool:
    """Whether devices agree, or differ, as the claim says."""
    for constraint in claim["devices"].get("constraints", ()):
        name = (constraint.get("matchAttribute") or constraint["distinctAttribute"]).partition("/")[2]
        covered = constraint.get("requests") or [each.name for each in chosen]
        values = [
            devices[key]["attributes"].get(name, {}).get("int")
            for each in chosen
            if each.name in covered
            for key in each.devices
        ]
        if None in values:
            return False
        if "matchAttribute" in constraint and len(set(values)) > 1:
            return False
        if "distinctAttribute" in constraint and len(set(values)) < len(values):
            return False
    return True
