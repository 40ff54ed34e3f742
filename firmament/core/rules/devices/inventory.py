"""Devices as drivers publish them: slices, read and put together into pools (resource.k8s.io/v1 ResourceSlice).

A pool of which slices are missing is incomplete, one that contradicts itself is faulty: of neither anything is
allocated. A driver that changes a pool publishes a new generation of it, slice by slice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from firmament.core.model import NodeSelectorTerm, Requirement
from firmament.core.rules.devices.features import NOTHING_OFF, FeaturesOff, drop_from_slice
from firmament.core.rules.devices.quantities import Amount, parse_quantity

PoolName: TypeAlias = tuple[str, str, int]
"""Driver, name and generation of a pool."""
Counts: TypeAlias = tuple[tuple[int, Amount], ...]
"""What a device takes of the counters of its pool: pairs of a counter's number and an amount."""


class BadDevicesError(ValueError):
    """What a driver or a claim says cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class DeviceReach:
    """The machines that reach a device: the one called ``machine``, those that match ``terms``, or all."""

    machine: str = ""
    terms: tuple[NodeSelectorTerm, ...] = ()
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """What may be asked of a capacity that several claims share (CapacityRequestPolicy)."""

    default: Amount | None = None
    """What a request takes that says nothing."""
    values: tuple[Amount, ...] = ()
    """The amounts that may be taken, ascending; (): any."""
    least: Amount | None = None
    """The least amount, None without a range."""
    most: Amount | None = None
    step: Amount | None = None


@dataclass(frozen=True, slots=True)
class Capacity:
    """So much of something that a device has."""

    amount: Amount
    policy: Policy | None = None


@dataclass(frozen=True, slots=True)
class PublishedDevice:
    """A device."""

    name: str
    """Its name, unique in its pool."""
    attributes: Mapping[str, Any]
    """By full name (``domain/name``): a value, or a list of values; versions as ``("version", text)``."""
    capacity: Mapping[str, Capacity]
    """By name, as the driver states it."""
    reach: int
    """Number of its reach in its pool."""
    takes: Counts = ()
    """What it takes of the pool's counters."""
    device_taints: tuple[tuple[str, str, str], ...] = ()
    """Key, value and effect of each."""
    shared: bool = False
    """Whether several claims may have it, each a part of its capacity."""
    binds_to_machine: bool = False
    """Whether who gets it may only run where it was allocated for."""
    conditions: tuple[str, ...] = ()
    """Conditions that must hold before a task is bound."""
    failures: tuple[str, ...] = ()
    """Conditions of which each means that it will never be ready."""


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool of devices."""

    driver: str
    """Name of the driver."""
    name: str
    """Its name, unique with the driver's."""
    devices: tuple[PublishedDevice, ...] = ()
    """By the names of their slices, then as these list them."""
    reaches: tuple[DeviceReach, ...] = ()
    """The machines that reach its devices, which devices name by number."""
    counters: tuple[Amount, ...] = ()
    """What there is of each counter."""
    incomplete: bool = False
    """Whether slices are missing."""
    fault: str = ""
    """What contradicts itself, "" for nothing."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice that has been read. ``devices``: without numbers of reaches and counters, which pools give."""

    name: str
    """Its name."""
    driver: str
    """Name of the driver."""
    pool: str
    """Name of the pool."""
    generation: int
    """Generation of the pool."""
    count: int
    """Number of slices of the pool in this generation."""
    reach: DeviceReach | None
    """None: each device has its own."""
    devices: tuple[tuple[PublishedDevice, DeviceReach | None, tuple[tuple[str, str, Amount], ...]], ...]
    """Each with its reach and with what it takes: set, counter, amount."""
    counters: tuple[tuple[str, str, Amount], ...]
    """Set, counter, amount."""


_NO_COUNTER = ("", {"value": 0})
"""Stands for a set of counters itself, which may be empty."""


# --- reading ----------------------------------------------------------------------------------------------------------


def read_slice(name: str, payload: bytes, off: FeaturesOff = NOTHING_OFF) -> Slice:
    """Return what a record says, without the parts that belong to features in ``off``; raises ``BadDevicesError``."""
    try:
        spec = drop_from_slice(json.loads(payload), off)
        pool = spec["pool"]
        driver = str(spec["driver"])
        own_reach = bool(spec.get("perDeviceNodeSelection"))
        devices = tuple(_read_device(driver, each) for each in spec.get("devices") or ())
        return Slice(
            name=name,
            driver=driver,
            pool=str(pool["name"]),
            generation=int(pool.get("generation") or 0),
            count=int(pool["resourceSliceCount"]),
            reach=None if own_reach else _read_reach(spec),
            devices=devices,
            counters=tuple(
                (str(each["name"]), str(counter), _amount(value))
                for each in spec.get("sharedCounters") or ()
                for counter, value in (_NO_COUNTER, *sorted((each.get("counters") or {}).items()))
            ),
        )
    except BadDevicesError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BadDevicesError(f"it is no ResourceSlice ({type(error).__name__}: {error})") from error


def _amount(holder: Mapping[str, Any]) -> Amount:
    return read_amount(holder["value"])


def read_amount(value: object) -> Amount:
    """Return a quantity; raises ``BadDevicesError``."""
    amount = parse_quantity(value)
    if amount is None:
        raise BadDevicesError(f"{str(value)[:60]!r} is no quantity")
    return amount


def qualify(name: str, driver: str) -> str:
    """Return the full name of an attribute or a capacity, which has its driver's domain if it states none."""
    return name if "/" in name else f"{driver}/{name}"


def _read_reach(holder: Mapping[str, Any]) -> DeviceReach:
    if holder.get("nodeName"):
        return DeviceReach(machine=str(holder["nodeName"]))
    if holder.get("allNodes"):
        return DeviceReach(everywhere=True)
    return DeviceReach(terms=read_terms(holder.get("nodeSelector")))


def read_terms(selector: Any) -> tuple[NodeSelectorTerm, ...]:
    """Return the terms of a core/v1 NodeSelector, () for none."""
    return tuple(
        NodeSelectorTerm(
            tuple(map(_read_requirement, term.get("matchExpressions") or ())),
            tuple(map(_read_requirement, term.get("matchFields") or ())),
        )
        for term in (selector or {}).get("nodeSelectorTerms") or ()
    )


def _read_requirement(given: Mapping[str, Any]) -> Requirement:
    return Requirement(str(given["key"]), str(given["operator"]), tuple(map(str, given.get("values") or ())))


_SINGLE = ("int", "bool", "string")


def _read_attribute(given: Mapping[str, Any]) -> Any:
    for kind in _SINGLE:
        if given.get(f"{kind}s") is not None:
            return list(given[f"{kind}s"])
        if given.get(kind) is not None:
            return given[kind]
    if given.get("versions") is not None:
        return [("version", str(each)) for each in given["versions"]]
    if given.get("version") is not None:
        return ("version", str(given["version"]))
    return None


def _read_device(
    driver: str, given: Mapping[str, Any]
) -> tuple[PublishedDevice, DeviceReach | None, tuple[tuple[str, str, Amount], ...]]:
    attributes = {
        qualify(str(name), driver): _read_attribute(each)
        for name, each in (given.get("attributes") or {}).items()
    }
    capacity = {
        str(name): Capacity(_amount(each), _read_policy(each.get("requestPolicy")))
        for name, each in (given.get("capacity") or {}).items()
    }
    takes = tuple(
        (str(each["counterSet"]), str(counter), _amount(value))
        for each in given.get("consumesCounters") or ()
        for counter, value in sorted((each.get("counters") or {}).items()) or (_NO_COUNTER,)
    )
    device = PublishedDevice(
        name=str(given["name"]),
        attributes=attributes,
        capacity=capacity,
        reach=0,
        device_taints=tuple(
            (str(each.get("key") or ""), str(each.get("value") or ""), str(each.get("effect") or ""))
            for each in given.get("taints") or ()
        ),
        shared=bool(given.get("allowMultipleAllocations")),
        binds_to_machine=bool(given.get("bindsToNode")),
        conditions=tuple(map(str, given.get("bindingConditions") or ())),
        failures=tuple(map(str, given.get("bindingFailureConditions") or ())),
    )
    return device, _read_reach(given), takes


def _read_policy(given: Any) -> Policy | None:
    if not given:
        return None
    span = given.get("validRange") or {}

    def read(holder: Mapping[str, Any], name: str) -> Amount | None:
        return None if holder.get(name) is None else read_amount(holder[name])

    return Policy(
        default=read(given, "default"),
        values=tuple(map(read_amount, given.get("validValues") or ())),
        least=read(span, "min"),
        most=read(span, "max"),
        step=read(span, "step"),
    )


# --- putting together -------------------------------------------------------------------------------------------------


def build_pool(slices: Iterable[Slice]) -> Pool:
    """Return the pool that slices of one driver, name and generation are; at least one slice."""
    current = sorted(slices, key=lambda each: each.name)
    first = current[0]
    if len(current) != first.count:
        reaches = _number(_reaches(current))
        return Pool(first.driver, first.pool, reaches=tuple(reaches), incomplete=True)
    counters: dict[tuple[str, str], int] = {}
    amounts: list[Amount] = []
    fault = ""
    for name, counter, amount in [counter for each in current for counter in each.counters]:
        if (name, counter) in counters:
            fault = fault or f"duplicate counter set name {name}"
        counters[name, counter] = len(amounts)
        amounts.append(amount)
    reaches = _number(_reaches(current))
    devices: list[PublishedDevice] = []
    names: set[str] = set()
    for each in current:
        for device, own, takes in each.devices:
            missing = [(name, counter) for name, counter, _ in takes if (name, counter) not in counters]
            if missing:
                fault = fault or f"counter {missing[0][1]} not found in counter set {missing[0][0]}"
                continue
            if device.name in names:
                fault = fault or f"duplicate device name {device.name}"
            names.add(device.name)
            taken = tuple((counters[name, counter], amount) for name, counter, amount in takes)
            reach = each.reach if each.reach is not None else own
            assert reach is not None  # a slice without a reach of its own states one for each device
            devices.append(replace(device, reach=reaches[reach], takes=taken))
    return Pool(first.driver, first.pool, tuple(devices), tuple(reaches), tuple(amounts), fault=fault)


def _reaches(slices: Iterable[Slice]) -> set[DeviceReach]:
    """Return the reaches of slices, and those of devices that have their own."""
    found = {each.reach for each in slices if each.reach is not None}
    for each in slices:
        if each.reach is None:
            found.update(own for _, own, _ in each.devices if own is not None)
    return found


def _number(reaches: Iterable[DeviceReach]) -> dict[DeviceReach, int]:
    order = sorted(reaches, key=lambda each: (each.machine, each.everywhere, repr(each.terms)))
    return {reach: number for number, reach in enumerate(order)}
