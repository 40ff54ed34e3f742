"""Finds which devices each machine sees, and groups machines into kinds.

Machines of one kind see equal devices in equal order.

Devices often differ in attributes that no claim reads, such as serial numbers. Kinds of machines therefore compare
only the attributes that the expressions and constraints of a round read. Results computed for one machine hold for
all machines of its kind with the same devices in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from firmament.core.rules.devices.objects.features import NOTHING_OFF, FeaturesOff
from firmament.core.rules.devices.objects.inventory import (
    BadDevicesError,
    DeviceReach,
    Pool,
    PoolName,
    PublishedDevice,
    Slice,
    build_pool,
    read_slice,
)
from firmament.core.rules.devices.running_number import RunningNumber
from firmament.core.state.machines import MachineTable

Relevant: TypeAlias = frozenset[str] | None
"""Attributes that claims read: ``domain/name``, or ``domain/`` for a whole domain; None: all attributes."""


class Place(NamedTuple):
    """The devices of one pool that a machine sees; ``devices``: bits of their indexes in the pool."""

    pool: PoolName
    devices: int


class SeenDevice(NamedTuple):
    """A device in a view: an example of it, the index of its pool in the view, and its own index in the pool."""

    device: PublishedDevice
    driver: str
    pool: int
    number: int
    key: int
    """A number that is equal for devices that claims cannot tell apart."""


@dataclass(eq=False, slots=True)
class ViewKind:
    """The devices that machines of one kind see. Kinds are compared by identity."""

    devices: tuple[SeenDevice, ...]
    """The devices, in the order in which searches try them."""
    counters: tuple[int, ...]
    """For each pool, the index of its first counter among those of the view."""
    incomplete: tuple[int, ...] = ()
    """Indexes of the pools with missing slices."""
    faulty: tuple[int, ...] = ()
    """Indexes of the pools whose slices contradict each other."""
    memory: dict[Any, Any] = field(default_factory=dict)
    """Results of searches on machines of the kind, and their states, kept for reuse."""


class View(NamedTuple):
    """The devices that one machine sees: its kind, and where its devices are, in the order of the kind's pools."""

    kind: ViewKind
    places: tuple[Place, ...]


class DeviceInventory:
    """The pools of a cluster, and which of their devices each machine sees.

    ``faults``: by name, why a slice cannot be read. ``version`` grows when a pool changes. ``watchers``: for each
    pool that several machines see, their rows as of the last call of ``see``. ``watched``: the rows of all machines
    that see a shared pool. ``off``: the feature gates that are off.
    """

    def __init__(self, off: FeaturesOff = NOTHING_OFF) -> None:
        self._off = off
        self.pools: dict[PoolName, Pool] = {}
        self.faults: dict[str, str] = {}
        self.version = 0
        self._slices: dict[str, tuple[bytes, Slice | None]] = {}
        self._of_pool: dict[PoolName, dict[str, Slice]] = {}
        self._seen: tuple[int, int, int] = (-1, -1, -1)
        self._places: list[tuple[Place, ...]] = []
        self.watchers: dict[PoolName, tuple[int, ...]] = {}
        self.watched: frozenset[int] = frozenset()
        self._views: tuple[Any, list[View]] = (None, [])
        self._kinds: dict[Any, ViewKind] = {}
        self._nothing = View(ViewKind((), ()), ())
        self._keys: dict[Any, int] = {}
        self._next_key = RunningNumber()
        self._projected: dict[Any, tuple[Pool, tuple[int, ...]]] = {}

    def update(self, payloads: Mapping[str, bytes]) -> None:
        """Read the slices whose records have changed, and rebuild their pools."""
        touched: set[PoolName] = set()
        for name in [name for name in self._slices if name not in payloads]:
            touched |= self._forget(name)
        for name, payload in payloads.items():
            known = self._slices.get(name)
            if known is None or known[0] is not payload:
                touched |= self._forget(name) | self._read(name, payload)
        if touched:
            self.version += 1
            self.pools = dict(self.pools)  # Rounds that are being solved keep the former dict.
        for pool in touched:
            slices = self._of_pool.get(pool)
            if slices:
                self.pools[pool] = build_pool(slices.values())
            else:
                self.pools.pop(pool, None)
                self._of_pool.pop(pool, None)

    def _forget(self, name: str) -> set[PoolName]:
        self.faults.pop(name, None)
        _, former = self._slices.pop(name, (b"", None))
        if former is None:
            return set()
        pool = former.driver, former.pool, former.generation
        self._of_pool[pool].pop(name, None)
        return {pool}

    def _read(self, name: str, payload: bytes) -> set[PoolName]:
        try:
            found = read_slice(name, payload, self._off)
        except BadDevicesError as error:
            self.faults[name] = str(error)
            self._slices[name] = payload, None
            return set()
        self._slices[name] = payload, found
        pool = found.driver, found.pool, found.generation
        self._of_pool.setdefault(pool, {})[name] = found
        return {pool}

    # --- machines ------------------------------------------------------------------------------------------------

    def see(self, machines: MachineTable, relevant: Relevant) -> list[View]:
        """Return what each machine sees of the devices (its view), by row.

        Machines whose devices differ only in attributes not ``relevant`` share a kind.
        """
        seen = self.version, machines.static_version, len(machines)
        if seen != self._seen:
            self._places = self._place(machines)
            self._seen = seen
            self._views = None, []
        if self._views[0] != (relevant, seen):
            if self._views[0] is None or self._views[0][0] != relevant:
                self._kinds.clear()
                self._keys.clear()
                self._projected.clear()
            self._views = (relevant, seen), self._view_all(relevant)
        return self._views[1]

    def show(self, places: Sequence[tuple[Place, ...]], relevant: Relevant) -> list[View]:
        """Return the views of machines that see the devices in ``places``, as ``see`` found them."""
        rows: dict[PoolName, list[int]] = {}
        for row, seen in enumerate(places):
            for place in seen:
                rows.setdefault(place.pool, []).append(row)
        self.watchers = {pool: tuple(at) for pool, at in rows.items() if len(at) > 1}
        self.watched = frozenset(row for at in self.watchers.values() for row in at)
        self._places = [tuple(sorted(seen)) for seen in places]
        return self._view_all(relevant)

    def _place(self, machines: MachineTable) -> list[tuple[Place, ...]]:
        found: list[dict[PoolName, int]] = [{} for _ in range(len(machines))]
        self.watchers = {}
        rows_of: dict[DeviceReach, list[int]] = {}
        newest: dict[tuple[str, str], set[int]] = {}
        for name in sorted(self.pools, key=lambda name: -name[2]):
            pool = self.pools[name]
            masks = [0] * len(pool.reaches)
            for number, device in enumerate(pool.devices):
                masks[device.reach] |= 1 << number
            for reach in pool.reaches:
                if reach not in rows_of:
                    rows_of[reach] = _list_reached(machines, reach)
            newer = newest.get(name[:2])
            only = None if newer is None else self._list_whole(name, newer, rows_of)
            at: set[int] = set()
            for reach, mask in zip(pool.reaches, masks, strict=True):
                for row in rows_of[reach]:
                    if only is None or row in only:
                        found[row][name] = found[row].get(name, 0) | mask
                        at.add(row)
            newest.setdefault(name[:2], set()).update(at)
            if len(at) > 1:
                self.watchers[name] = tuple(sorted(at))
        self.watched = frozenset(row for rows in self.watchers.values() for row in rows)
        return [tuple(Place(*pair) for pair in sorted(places.items())) for places in found]

    def _list_whole(
        self, name: PoolName, newer: set[int], rows_of: Mapping[DeviceReach, Sequence[int]]
    ) -> frozenset[int]:
        """Return the machines (rows) that see all slices of one generation of a pool, and no slice of a newer one."""
        pool = self.pools[name]
        if pool.incomplete:
            return frozenset()
        whole: set[int] | None = None
        for each in self._of_pool[name].values():
            reached: set[int] = set()
            own = [reach for _, reach, _ in each.devices if reach is not None]
            for reach in [each.reach] if each.reach is not None else own:
                reached.update(rows_of[reach])
            whole = reached if whole is None else whole & reached
        return frozenset((whole or set()) - newer)

    def _view_all(self, relevant: Relevant) -> list[View]:
        known: dict[tuple[Place, ...], View] = {(): self._nothing}
        views = []
        for places in self._places:
            view = known.get(places)
            if view is None:
                view = known[places] = self._view(places, relevant)
            views.append(view)
        return views

    def _view(self, places: Sequence[Place], relevant: Relevant) -> View:
        """Return the view of some pools; pools whose devices must be made ready before use come last."""
        order = sorted(places, key=lambda place: (self._waits(place), place.pool))
        parts = []
        for place in order:
            pool = self.pools[place.pool]
            keys = self._project(place.pool, relevant)
            numbers = [] if pool.incomplete or pool.fault else list_bits(place.devices)
            state = (pool.incomplete, bool(pool.fault), len(pool.counters))
            parts.append((pool, numbers, tuple(keys[number] for number in numbers), state))
        key = tuple((pool.driver, keys, state) for pool, _, keys, state in parts)
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = _make_kind(parts)
        return View(kind, tuple(order))

    def _waits(self, place: Place) -> bool:
        return any(device.conditions for device in self.pools[place.pool].devices)

    def _project(self, name: PoolName, relevant: Relevant) -> tuple[int, ...]:
        """Return a number for each device of a pool; devices that differ in nothing ``relevant`` have equal numbers."""
        pool = self.pools[name]
        known = self._projected.get(name)
        if known is None or known[0] is not pool:
            keys = tuple(self._number(_describe(device, pool.driver, relevant)) for device in pool.devices)
            known = self._projected[name] = pool, keys
        return known[1]

    def _number(self, description: Any) -> int:
        """Return the number of a description.

        Numbers are never reused, as views of earlier rounds may still be in use.
        """
        found = self._keys.get(description)
        if found is None:
            found = self._keys[description] = next(self._next_key)
        return found

    def forget_findings(self) -> None:
        """Forget all kinds of machines, and what was computed for them."""
        self._kinds.clear()
        self._nothing = View(ViewKind((), ()), ())
        self._views = None, []


def _make_kind(parts: Sequence[tuple[Pool, list[int], tuple[int, ...], tuple[bool, bool, int]]]) -> ViewKind:
    devices: list[SeenDevice] = []
    counters: list[int] = []
    total = 0
    for place, (pool, numbers, keys, state) in enumerate(parts):
        counters.append(total)
        total += state[2]
        devices += [
            SeenDevice(pool.devices[number], pool.driver, place, at, key)
            for at, (number, key) in enumerate(zip(numbers, keys, strict=True))
        ]
    return ViewKind(
        tuple(devices),
        tuple(counters),
        incomplete=tuple(place for place, part in enumerate(parts) if part[3][0]),
        faulty=tuple(place for place, part in enumerate(parts) if part[3][1]),
    )


def _describe(device: PublishedDevice, driver: str, relevant: Relevant) -> Any:
    """Return a device without its name and without attributes that are not ``relevant``."""
    attributes = tuple(
        sorted((name, repr(value)) for name, value in device.attributes.items() if matters(name, relevant))
    )
    capacity = tuple(sorted((name, repr(value)) for name, value in device.capacity.items()))
    flags = device.shared, device.binds_to_machine, device.conditions, device.failures
    return driver, attributes, capacity, device.takes, device.device_taints, flags


def matters(attribute: str, relevant: Relevant) -> bool:
    """Return whether ``relevant`` includes an attribute (``domain/name``)."""
    return relevant is None or attribute in relevant or f"{attribute.partition('/')[0]}/" in relevant


def _list_reached(machines: MachineTable, reach: DeviceReach) -> list[int]:
    if reach.machine:
        row = machines.row_of.get(reach.machine)
        return [] if row is None else [row]
    if reach.everywhere:
        return list(range(len(machines)))
    found: list[int] = np.flatnonzero(machines.selectors().terms(reach.terms)).tolist()
    return found


def list_bits(bits: int) -> list[int]:
    """Return the indexes of the bits that are set, ascending."""
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found


def join_relevant(parts: Iterable[Relevant]) -> Relevant:
    """Return the union of ``parts``; None if one of them is None."""
    found: set[str] = set()
    for part in parts:
        if part is None:
            return None
        found |= part
    return frozenset(found)
