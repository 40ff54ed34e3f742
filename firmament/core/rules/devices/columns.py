"""Describes devices for cost models: the free share of each device, by machine, and the shares that tasks would take.

Only devices that a single machine reaches are described. Partitions of other devices are left out, as the free part
of a partitioned device is no single share. The free shares are those at the beginning of the round, before it places
tasks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cost_models.interface import DeviceColumns, DeviceDemand
from firmament.core.model import TaskClaim
from firmament.core.rules.devices.allocation.matching import DeviceSelectors, find_consumption
from firmament.core.rules.devices.devices_after_eviction import sum_given
from firmament.core.rules.devices.objects.inventory import Pool, PoolName, PublishedDevice
from firmament.core.rules.devices.objects.quantities import Amount
from firmament.core.rules.devices.objects.requests import ClaimSpec, Request
from firmament.core.rules.devices.rule import DeviceMemory, recall_memory
from firmament.core.rules.devices.usage import AllocatedDevices
from firmament.core.rules.devices.visible_devices import Relevant, SeenDevice, matters
from firmament.core.state.cluster import Cluster
from firmament.core.state.machines import MachineTable

_MEMORY = "DynamicResources/columns"
"""The key of `KnownDevices` in ``Cluster.rule_memory``."""
MOST_KINDS = 64
"""The most kinds of devices that the table distinguishes; a machine with a device of a further kind counts as one
without devices.
"""


class LocalPool(NamedTuple):
    """A pool that a single machine reaches: the machine's row, the number of the devices' kind, and the devices."""

    row: int
    pool: PoolName
    kind: int
    devices: tuple[PublishedDevice, ...]


@dataclass(slots=True)
class KnownDevices:
    """What is known about the devices of some drivers, kept from round to round."""

    key: object = None
    """The versions and arguments from which the other fields were computed."""
    pools: list[LocalPool] = field(default_factory=list)
    """The pools, ordered by row of the machine."""
    kinds: list[SeenDevice] = field(default_factory=list)
    """One example device of each kind."""
    demands: dict[tuple[ClaimSpec, int], tuple[int, float]] = field(default_factory=dict)
    """By (claim, number of the kind): how many devices the claim takes, and the largest share of one device that it
    takes."""
    free: dict[tuple[str, str], tuple[object, tuple[float, ...]]] = field(default_factory=dict)
    """By pool: what has been allocated, and the free share of each device."""


def list_local(
    known: KnownDevices,
    pools: Mapping[PoolName, Pool],
    version: int,
    machines: MachineTable,
    drivers: Sequence[str],
    relevant: Relevant,
) -> None:
    """Update ``known`` with those pools of some drivers that only one machine reaches, and their kinds of devices.

    ``relevant``: the attributes that claims read; ``version``: the version of ``pools``.
    """
    key = version, machines.static_version, len(machines), tuple(drivers), relevant
    if known.key == key:
        return
    kinds: dict[object, int] = {}
    found = []
    known.kinds, known.key = [], key
    known.demands.clear()
    known.free.clear()
    newest: dict[tuple[str, str], PoolName] = {}
    for name in sorted(pools, key=lambda name: name[2]):
        if name[0] in drivers and not pools[name].incomplete:
            newest[name[:2]] = name
    for name in sorted(newest.values()):
        pool = pools[name]
        devices = tuple(each for each in pool.devices if not each.takes)
        row = machines.row_of.get(pool.reaches[0].machine) if len(pool.reaches) == 1 else None
        if row is None or pool.fault or not devices:
            continue
        example = devices[0]
        described = pool.driver, _describe_kind(example, relevant)
        if described not in kinds:
            kinds[described] = len(kinds)
            known.kinds.append(SeenDevice(example, pool.driver, 0, 0, 0))
        if kinds[described] < MOST_KINDS:
            found.append(LocalPool(row, name, kinds[described], devices))
    del known.kinds[MOST_KINDS:]
    known.pools = sorted(found, key=lambda each: each.row)


def _describe_kind(device: PublishedDevice, relevant: Relevant) -> object:
    """Return what all devices of a kind have in common: relevant attributes without uuids, capacities, and sharing."""
    attributes = (
        (name, repr(value))
        for name, value in device.attributes.items()
        if matters(name, relevant) and not name.endswith("/uuid")
    )
    capacity = ((name, each.amount) for name, each in device.capacity.items())
    return tuple(sorted(attributes)), tuple(sorted(capacity)), device.shared


def show_free(
    known: KnownDevices, machines: int, allocated: Mapping[tuple[str, str], AllocatedDevices]
) -> DeviceColumns | None:
    """Return the free shares of the known devices, after ``allocated`` is deducted; None if no device is known."""
    if not known.pools:
        return None
    kind = np.full(machines, -1, dtype=np.int64)
    count = np.zeros(machines, dtype=np.int64)
    rows: list[int] = []
    places: list[int] = []
    shares: list[float] = []
    for each in known.pools:
        if kind[each.row] not in (-1, each.kind):
            continue
        kind[each.row] = each.kind
        given = allocated[each.pool[:2]]
        kept = known.free.get(each.pool[:2])
        if kept is None or kept[0] is not given:
            left = tuple(_find_free(device, given) for device in each.devices)
            kept = known.free[each.pool[:2]] = given, left
        first = int(count[each.row])
        rows += [each.row] * len(kept[1])
        places += range(first, first + len(kept[1]))
        shares += kept[1]
        count[each.row] += len(kept[1])
    free = np.zeros((machines, int(count.max(initial=0))))
    free[rows, places] = shares
    return DeviceColumns(kind, free, count)


def _find_free(device: PublishedDevice, given: AllocatedDevices) -> float:
    own, shares = given
    if device.name in own:
        return 0.0
    taken = shares.get(device.name)
    if not taken or not device.shared:
        return 0.0 if taken else 1.0
    left = [
        float((each.amount - taken.get(name, 0)) / each.amount)
        for name, each in device.capacity.items()
        if each.amount
    ]
    return max(0.0, min(left, default=0.0))


def describe_demand(
    known: KnownDevices, claims: Sequence[Sequence[ClaimSpec]], selectors: DeviceSelectors
) -> DeviceDemand:
    """Return how many devices of each kind a task of each shape takes, and the largest share of one.

    ``claims``: by shape.
    """
    count = np.zeros((len(claims), len(known.kinds)), dtype=np.int64)
    share = np.zeros(count.shape)
    for row, specs in enumerate(claims):
        for spec in specs:
            for kind, seen in enumerate(known.kinds):
                key = spec, kind
                if key not in known.demands:
                    known.demands[key] = _find_demand(spec.requests, seen, selectors)
                more, of_each = known.demands[key]
                count[row, kind] += more
                share[row, kind] = max(share[row, kind], of_each)
    return DeviceDemand(count, share)


def _find_demand(
    requests: Iterable[Request], seen: SeenDevice, selectors: DeviceSelectors
) -> tuple[int, float]:
    """Return how many devices like ``seen`` requests take, and the largest share of one device.

    The share is infinite if the requests take no such device.
    """
    count, share = 0, 0.0
    for request in requests:
        option = next((each for each in request.options if selectors.accepts(each, seen)), None)
        if option is None or not option.count:
            return 1, float("inf")
        if option.admin:
            continue
        count += option.count
        of_each = 1.0
        if seen.device.shared:
            amounts: Mapping[str, Amount] = dict(find_consumption(option, seen) or ())
            parts = [
                float(amounts.get(name, 0) / each.amount)
                for name, each in seen.device.capacity.items()
                if each.amount
            ]
            of_each = max(parts, default=0.0)
        share = max(share, of_each)
    return count, share


# --- columns of a cluster's devices ----------------------------------------------------------------------------------


def show_devices(
    cluster: Cluster, drivers: Sequence[str], without: frozenset[str] = frozenset()
) -> DeviceColumns | None:
    """Return how many devices like ``seen`` the requests take, and the largest share of one device.

    Devices count as free if only the tasks ``without`` (uids) have them.
    """
    memory = recall_memory(cluster)
    relevant = memory.selectors.find_relevant(
        [spec for spec in memory.specs.values() if isinstance(spec, ClaimSpec)]
    )
    inventory, shown = memory.inventory, _recall_shown(cluster)
    list_local(shown, inventory.pools, inventory.version, cluster.machines, drivers, relevant)
    given = {each.pool[:2]: memory.recall_given(cluster, each.pool[:2]) for each in shown.pools}
    if without:
        for pool in given:
            held = memory.recall_held(cluster, pool)
            if any(users & without for holders in held.values() for _, users in holders):
                given[pool] = sum_given(held, without)
    return show_free(shown, len(cluster.machines), given)


def show_demand(cluster: Cluster, shapes: Sequence[int]) -> DeviceDemand | None:
    """Return what tasks of shapes (rows of the table) take of the devices that ``show_devices`` returned last.

    Return None if the tasks take nothing.
    """
    memory, shown = recall_memory(cluster), _recall_shown(cluster)
    claims = [_list_specs(cluster, memory, cluster.classes.shapes[shape].claims) for shape in shapes]
    if not shown.kinds or not any(claims):
        return None
    return describe_demand(shown, claims, memory.selectors)


def _recall_shown(cluster: Cluster) -> KnownDevices:
    shown = cluster.rule_memory.get(_MEMORY)
    if not isinstance(shown, KnownDevices):
        shown = cluster.rule_memory[_MEMORY] = KnownDevices()
    return shown


def _list_specs(cluster: Cluster, memory: DeviceMemory, claims: Sequence[TaskClaim]) -> list[ClaimSpec]:
    """Return the specs of those claims that can be read and have no devices yet."""
    found = []
    for claim in claims:
        text = claim.spec
        if claim.claim:
            known = cluster.devices.known_claims.get(claim.claim)
            if known is None or cluster.devices.find_allocation(claim.claim) is not None:
                continue
            text = json.dumps(known.spec, sort_keys=True)
        spec = memory.read_spec(text)
        if isinstance(spec, ClaimSpec):
            found.append(spec)
    return found
