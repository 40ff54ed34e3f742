"""Reads the slices that drivers publish, and combines them into pools of devices (resource.k8s.io/v1 ResourceSlice).

If slices of a pool are missing, or contradict each other, no device of the pool is allocated. A driver that changes a
pool publishes a new generation of the pool, slice by slice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from firmament.core.model import NodeSelectorTerm, Requirement
from firmament.core.rules.devices.objects.features import NOTHING_OFF, FeaturesOff, drop_from_slice
from firmament.core.rules.devices.objects.quantities import Amount, parse_quantity

PoolName: TypeAlias = tuple[str, str, int]
"""Driver, name and generation of a pool."""
Counts: TypeAlias = tuple[tuple[int, Amount], ...]
"""The amounts that a device takes of its pool's counters: pairs of (number of the counter, amount)."""


class BadDevicesError(ValueError):
    """A slice, class or claim cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class DeviceReach:
    """The machines that reach a device: the one named ``machine``, those that match ``terms``, or ``everywhere``."""

    machine: str = ""
    terms: tuple[NodeSelectorTerm, ...] = ()
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """The amounts that claims may take of a shared capacity (CapacityRequestPolicy)."""

    default: Amount | None = None
    """The amount for a request that states none."""
    values: tuple[Amount, ...] = ()
    """The allowed amounts, ascending; (): any amount."""
    least: Amount | None = None
    """The least amount that a claim may take; None: the policy has no range."""
    most: Amount | None = None
    step: Amount | None = None


@dataclass(frozen=True, slots=True)
class Capacity:
    """One capacity of a device, such as its memory."""

    amount: Amount
    policy: Policy | None = None


@dataclass(frozen=True, slots=True)
class PublishedDevice:
    """A device as its driver publishes it."""

    name: str
    """The device's name, unique in its pool."""
    attributes: Mapping[str, Any]
    """By full name (``domain/name``): a value, or a list of values; versions as ``("version", text)``."""
    capacity: Mapping[str, Capacity]
    """The device's capacities, by the name that the driver states."""
    reach: int
    """The index in ``Pool.reaches`` of the machines that reach the device."""
    takes: Counts = ()
    """The amounts that the device takes of the pool's counters."""
    device_taints: tuple[tuple[str, str, str], ...] = ()
    """(key, value, effect) of each of the device's taints."""
    shared: bool = False
    """Whether several claims may share the device, each with a part of its capacity."""
    binds_to_machine: bool = False
    """Whether a task that gets the device may run only on the machine for which it was allocated."""
    conditions: tuple[str, ...] = ()
    """Conditions that must hold before a task with this device is bound."""
    failures: tuple[str, ...] = ()
    """Conditions each of which means that the device will never be ready."""


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool of devices: one generation, combined from its slices."""

    driver: str
    """Name of the pool's driver."""
    name: str
    """The pool's name, unique together with the driver's."""
    devices: tuple[PublishedDevice, ...] = ()
    """The pool's devices, in the order of the slices' names, then in the order in which each slice lists them."""
    reaches: tuple[DeviceReach, ...] = ()
    """The different sets of machines that reach devices of the pool; devices refer to them by index."""
    counters: tuple[Amount, ...] = ()
    """The total amount of each counter."""
    incomplete: bool = False
    """Whether slices of the pool are missing."""
    fault: str = ""
    """How the pool's slices contradict each other; "" if they do not."""
    slices: tuple[tuple[str, bytes], ...] = ()
    """(name, record) of each slice of the pool."""


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice as its record states it; only the pool gives indexes to the reaches and counters of its devices."""

    name: str
    """The slice's name."""
    driver: str
    """Name of the slice's driver."""
    pool: str
    """Name of the slice's pool."""
    generation: int
    """Generation of the slice's pool."""
    count: int
    """Number of slices that the pool has in this generation."""
    reach: DeviceReach | None
    """The machines that reach all devices of the slice; None: each device states its own."""
    devices: tuple[tuple[PublishedDevice, DeviceReach | None, tuple[tuple[str, str, Amount], ...]], ...]
    """For each device: the device, the machines that reach it, and what it takes, as (counter set, counter, amount)."""
    counters: tuple[tuple[str, str, Amount], ...]
    """(counter set, counter, amount) of each counter."""
    payload: bytes
    """The record from which the slice was read."""


_NO_COUNTER = ("", {"value": 0})
"""A counter that stands for a counter set itself, so that sets without counters are known too."""


# --- reading slices ---------------------------------------------------------------------------------------------------


def read_slice(name: str, payload: bytes, off: FeaturesOff = NOTHING_OFF) -> Slice:
    """Return the slice that a record states, without fields of the features in ``off``.

    Raise ``BadDevicesError`` if the record is invalid.
    """
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
            payload=payload,
        )
    except BadDevicesError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BadDevicesError(f"it is no ResourceSlice ({type(error).__name__}: {error})") from error


def _amount(holder: Mapping[str, Any]) -> Amount:
    return read_amount(holder["value"])


def read_amount(value: object) -> Amount:
    """Return the quantity that a value states; raise ``BadDevicesError`` if it states none."""
    amount = parse_quantity(value)
    if amount is None:
        raise BadDevicesError(f"{str(value)[:60]!r} is no quantity")
    return amount


def qualify(name: str, driver: str) -> str:
    """Return the full name of an attribute or a capacity: a name without a domain gets the driver's."""
    return name if "/" in name else f"{driver}/{name}"


def _read_reach(holder: Mapping[str, Any]) -> DeviceReach:
    if holder.get("nodeName"):
        return DeviceReach(machine=str(holder["nodeName"]))
    if holder.get("allNodes"):
        return DeviceReach(everywhere=True)
    return DeviceReach(terms=read_terms(holder.get("nodeSelector")))


def read_terms(selector: Any) -> tuple[NodeSelectorTerm, ...]:
    """Return the terms of a core/v1 NodeSelector, () if it has none; raise ``BadDevicesError`` if it is invalid."""
    return tuple(
        NodeSelectorTerm(
            tuple(map(_read_requirement, term.get("matchExpressions") or ())),
            tuple(map(_read_requirement, term.get("matchFields") or ())),
        )
        for term in (selector or {}).get("nodeSelectorTerms") or ()
    )


def _read_requirement(given: Mapping[str, Any]) -> Requirement:
    operator, wanted = str(given["operator"]), tuple(map(str, given.get("values") or ()))
    if operator not in _OPERATORS:
        raise BadDevicesError(f"a node selector has the unknown operator {operator[:40]!r}")
    if operator in _COMPARISONS and len(wanted) != 1:
        raise BadDevicesError(f"a node selector states {len(wanted)} values for {operator} instead of one")
    return Requirement(str(given["key"]), operator, wanted)


_COMPARISONS = frozenset({"Gt", "Lt"})
_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"}) | _COMPARISONS
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


# --- building pools from slices ---------------------------------------------------------------------------------------


def build_pool(slices: Iterable[Slice]) -> Pool:
    """Return the pool that consists of ``slices`` (at least one).

    All slices must have the same driver, pool name and generation.
    """
    current = sorted(slices, key=lambda each: each.name)
    first = current[0]
    stated = tuple((each.name, each.payload) for each in current)
    if len(current) != first.count:
        reaches = _number(_reaches(current))
        return Pool(first.driver, first.pool, reaches=tuple(reaches), incomplete=True, slices=stated)
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
            assert reach is not None  # A slice that states no reach of its own states one for each device.
            devices.append(replace(device, reach=reaches[reach], takes=taken))
    return Pool(
        first.driver,
        first.pool,
        tuple(devices),
        tuple(reaches),
        tuple(amounts),
        fault=fault,
        slices=stated,
    )


def _reaches(slices: Iterable[Slice]) -> set[DeviceReach]:
    """Return the reach of slices, and the reach of devices that state their own: in both cases, sets of machines."""
    found = {each.reach for each in slices if each.reach is not None}
    for each in slices:
        if each.reach is None:
            found.update(own for _, own, _ in each.devices if own is not None)
    return found


def _number(reaches: Iterable[DeviceReach]) -> dict[DeviceReach, int]:
    order = sorted(reaches, key=lambda each: (each.machine, each.everywhere, repr(each.terms)))
    return {reach: number for number, reach in enumerate(order)}
