"""What is in use of the devices that a machine sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firmament.core.rules.devices.allocation.search import ViewUse
from firmament.core.rules.devices.objects.inventory import Capacity, Pool, PublishedDevice
from firmament.core.rules.devices.usage import usage_of
from firmament.core.rules.devices.visible_devices import Place, View, ViewKind

ALLOCATED = tuple[set[str], Mapping[str, Mapping[str, int]]]


def device(name: str, *takes: tuple[int, int], shared: bool = False) -> PublishedDevice:
    return PublishedDevice(name, {}, {"m": Capacity(8)}, 0, takes=takes, shared=shared)


def use(pools: Mapping[str, Pool], seen: Mapping[str, int], **allocated: Any) -> ViewUse:
    """``seen``: by pool, bits of the devices that the machine sees; ``allocated``: names, and shares by name."""
    places = tuple(Place(("d", name, 1), bits) for name, bits in seen.items())
    given = {name: each if isinstance(each, tuple) else (each, {}) for name, each in allocated.items()}
    asked: list[tuple[str, str]] = []

    def find_allocated(driver: str, pool: str) -> ALLOCATED:
        asked.append((driver, pool))
        return given.get(pool, (set(), {}))

    found = usage_of(
        View(ViewKind((), ()), places), {("d", name, 1): each for name, each in pools.items()}, find_allocated
    )
    assert asked == [("d", name) for name in seen if not pools[name].incomplete and not pools[name].fault]
    return found


def pool(*devices: PublishedDevice, counters: tuple[int, ...] = (), **more: Any) -> Pool:
    return Pool("d", "p", devices, counters=counters, **more)


def test_nothing_is_in_use_of_what_nobody_has():
    pools = {"p": pool(device("a", (0, 2)), counters=(5, 6))}
    assert use(pools, {"p": 0b1}) == ViewUse(0, (), (5, 6))
    assert use({}, {}) == ViewUse(0, (), ())


def test_devices_are_numbered_through_all_pools_as_the_machine_sees_them():
    pools = {"p": pool(*map(device, "abc")), "q": pool(*map(device, "abc"))}
    assert use(pools, {"p": 0b110, "q": 0b101}, p={"a", "b"}, q={"c", "b"}).taken == 0b1001
    assert use(pools, {"p": 0b111, "q": 0b111}, p={"c"}, q={"a"}).taken == 0b1100


def test_shares_of_devices():
    pools = {"p": pool(device("a", shared=True), device("b", shared=True))}
    found = use(pools, {"p": 0b11}, p=(set(), {"b": {"m": 3, "n": 1}}))
    assert found == ViewUse(0, ((1, (("m", 3), ("n", 1))),), ())


def test_counters_are_what_allocated_devices_leave_even_those_that_the_machine_does_not_see():
    pools = {"p": pool(device("a", (0, 2), (1, 1)), device("b", (0, 3)), counters=(9, 9))}
    assert use(pools, {"p": 0b10}, p={"a"}) == ViewUse(0, (), (7, 8))
    assert use(pools, {"p": 0b10}, p={"a", "b"}) == ViewUse(1, (), (4, 8))
    assert use(pools, {"p": 0b10}, p=(set(), {"b": {}})).counters == (6, 9)


def test_pools_that_do_not_count_keep_their_counters_and_have_no_devices():
    pools = {
        "p": pool(counters=(4,), incomplete=True),
        "q": pool(device("a"), counters=(5,), fault="twice"),
        "r": pool(device("a", (0, 1)), counters=(6,)),
    }
    assert use(pools, {"p": 0, "q": 0b1, "r": 0b1}, q={"a"}, r={"a"}) == ViewUse(1, (), (4, 5, 5))
