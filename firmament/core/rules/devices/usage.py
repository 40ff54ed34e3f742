"""Computes what is in use of the devices that a machine sees, from what has been allocated of each pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from firmament.core.rules.devices.allocation.search import ViewUse
from firmament.core.rules.devices.objects.inventory import Pool, PoolName
from firmament.core.rules.devices.objects.quantities import Amount
from firmament.core.rules.devices.visible_devices import View, list_bits

AllocatedDevices = tuple[frozenset[str] | set[str], Mapping[str, Mapping[str, Amount]]]
"""Names of the devices that a single claim uses; and by name of each shared device, the amounts in use."""


def usage_of(
    view: View, pools: Mapping[PoolName, Pool], find_allocated: Callable[[str, str], AllocatedDevices]
) -> ViewUse:
    """Return which of the devices that one machine sees (its view) are in use.

    ``find_allocated`` returns what is allocated from a pool, by its driver and name.
    """
    taken = 0
    shares = []
    counters: list[Amount] = []
    offset = 0
    for place in view.places:
        pool = pools[place.pool]
        if pool.incomplete or pool.fault:
            counters += pool.counters
            continue
        own, shared = find_allocated(place.pool[0], place.pool[1])
        left = list(pool.counters)
        numbers = list_bits(place.devices)
        if own or shared:
            if left:
                for device in pool.devices:
                    if device.name in own or device.name in shared:
                        for counter, amount in device.takes:
                            left[counter] -= amount
            for at, number in enumerate(numbers):
                device = pool.devices[number]
                if device.name in own:
                    taken |= 1 << offset + at
                if device.name in shared:
                    shares.append((offset + at, tuple(shared[device.name].items())))
        counters += left
        offset += len(numbers)
    return ViewUse(taken, tuple(shares), tuple(counters))
