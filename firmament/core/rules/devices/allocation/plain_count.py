"""Counts the tasks that a machine's devices serve, for claims simple enough to need no search."""

from __future__ import annotations

from collections.abc import Sequence

from firmament.core.rules.devices.allocation.matching import DeviceSelectors, find_consumption
from firmament.core.rules.devices.allocation.search import ViewUse
from firmament.core.rules.devices.objects.requests import MOST_RESULTS, ClaimSpec
from firmament.core.rules.devices.visible_devices import ViewKind, list_bits


def count_plainly(
    kind: ViewKind, use: ViewUse, claims: tuple[ClaimSpec, ...], selectors: DeviceSelectors
) -> int | None:
    """Return how many more times the devices serve ``claims`` if tasks keep their devices.

    Return None if only a search can tell.

    A search is needed if there are several requests or options, constraints, partitions, or errors in expressions.
    """
    if len(claims) != 1 or claims[0].constraints or len(claims[0].requests) != 1 or kind.faulty:
        return None
    (request,) = claims[0].requests
    (option,) = request.options if len(request.options) == 1 else (None,)
    if option is None or option.admin or not option.count or option.count > MOST_RESULTS:
        return None
    found = selectors.find_candidates(kind, option)
    if found.faults:
        return None
    shares = dict(use.shares)
    times = []
    for place in list_bits(found.mask & ~use.taken):
        seen = kind.devices[place]
        if seen.device.takes:
            return None
        if not seen.device.shared:
            times.append(1)
            continue
        held = dict(shares.get(place, ()))
        rooms = [
            int((seen.device.capacity[name].amount - held.get(name, 0)) // amount)
            for name, amount in find_consumption(option, seen) or ()
            if amount
        ]
        if not rooms:
            return None
        times.append(max(0, min(rooms)))
    return _count_sets(times, option.count)


def _count_sets(times: Sequence[int], size: int) -> int:
    """Return how many disjoint sets of ``size`` different devices exist at most.

    Each device can be used ``times`` times.
    """
    if size == 1:
        return sum(times)
    least, most = 0, sum(times) // size
    while least < most:
        middle = (least + most + 1) // 2
        if sum(min(each, middle) for each in times) >= middle * size:
            least = middle
        else:
            most = middle - 1
    return least
