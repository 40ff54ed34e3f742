"""The ledger of devices: how many more tasks each machine's devices serve, and what a round has booked.

The class implements `Ledger`, the interface for shared capacity that joint rows cannot express. If a machine shares
no devices with other machines, its state does not depend on the order of its tasks. Devices that several machines
see, and claims that several tasks share, are allocated as soon as they are booked. All tasks that share a claim must
go to machines that reach the devices allocated to the first of these tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from cost_models.api.arrays import Arrays
from cost_models.interface import Bool, Int64, RoomAfterEviction
from firmament.core.rules.devices.allocation.jointly_served_tasks import MOST_ROOM, Demand, Picks, StateTable
from firmament.core.rules.devices.objects.inventory import Pool, PoolName
from firmament.core.rules.devices.objects.requests import ClaimSpec
from firmament.core.rules.devices.results import find_device
from firmament.core.rules.devices.usage import AllocatedDevices, usage_of
from firmament.core.rules.devices.visible_devices import View

REASON = "cannot allocate all claims"
"""kube-scheduler's message for nodes whose devices do not serve a pod."""
ANY = 2**31 - 1
"""The number that stands for "no limit" where tasks have no claims."""
NOTHING_ALLOCATED: AllocatedDevices = (frozenset(), {})


class NamedClaim(NamedTuple):
    """A claim of a shape that is an object of its own (ResourceClaim), and not made from a template.

    ``machines``: bool[M], the machines that reach its devices; None if the claim is not allocated yet.
    """

    name: str
    spec: ClaimSpec
    machines: Bool | None = None


@dataclass(frozen=True, slots=True)
class ShapeClaims:
    """The claims of a shape, in the order of its tasks' specs.

    ``fault``: why the claims get no devices on any machine.
    """

    claims: tuple[ClaimSpec | NamedClaim, ...] = ()
    fault: str = ""


class Served(NamedTuple):
    """A booked task: its machine, the claims for which it was booked, and the devices if these are final already."""

    machine: int
    demand: Demand
    names: tuple[str, ...]
    """The name of each claim of ``demand``; "" if the claim belongs to the task alone."""
    picks: Picks | None
    """The devices of each claim; None: the machine's state at the end decides, see `share_out`."""


@dataclass(slots=True)
class DeviceLedger:
    """The ledger of devices; `SavableLedger` states what the methods guarantee."""

    model: ClassVar[str] = "DynamicResources"
    """The name of the rule that reads a saved ledger."""
    shapes: tuple[ShapeClaims | None, ...]
    """The claims of each shape; None: the shape has none."""
    views: Sequence[View]
    """The devices that each machine sees."""
    pools: Mapping[PoolName, Pool]
    """The pools of devices in the cluster."""
    watchers: Mapping[PoolName, Sequence[int]]
    """For each pool that several machines see, the rows of these machines."""
    watched: frozenset[int]
    """Rows of all machines that see a pool which other machines see too."""
    table: StateTable
    """The states that machines may be in."""
    at: Int64
    """int64[M], the number of each machine's state in ``table``."""
    allocated: dict[tuple[str, str], AllocatedDevices]
    """By (driver, pool name): what has been allocated of the pools of watched machines."""
    write: Callable[[DeviceLedger], Arrays]
    """A function that returns the content of a ledger as arrays, for saving."""
    room_after_eviction: RoomAfterEviction | None = None
    """Says what evictions would free; None outside of rounds."""
    reason: str = REASON
    """The reason for which machines whose devices are all in use refuse a task."""
    pending: dict[str, Bool] = field(default_factory=dict)
    """By claim that got devices in this round, bool[M]: the machines on which tasks of the claim may be placed."""
    _rooms: dict[Demand, Int64] = field(default_factory=dict)
    """By demand, int64: how many more tasks each state serves; -1 if not counted yet."""
    _rooms_of_watched: dict[Demand, Int64] = field(default_factory=dict)
    """Like ``_rooms``, but for watched machines, where each task keeps the devices that it got."""
    _is_watched: Bool = field(init=False)
    """bool[M], the machines of ``watched``."""

    def __post_init__(self) -> None:
        self._is_watched = np.zeros(len(self.at), dtype=np.bool_)
        self._is_watched[list(self.watched)] = True

    @property
    def shared(self) -> bool:
        """Whether a booking on one machine may reduce what other machines can take."""
        named = any(
            isinstance(claim, NamedClaim) and claim.machines is None
            for shape in self.shapes
            if shape is not None
            for claim in shape.claims
        )
        return named or bool(self.watchers)

    def find_ordered(self, shapes: Int64, machines: Int64) -> Bool:  # noqa: ARG002  # nobody waits for others
        """Return bool[A], all False: no task depends on the order of binding, as each gets its devices before."""
        return np.zeros(len(shapes), dtype=np.bool_)

    def count_room(self, shape: int) -> Int64:
        """Return how many more tasks of a shape each machine takes if no other tasks are placed: int64[M]."""
        return self._count(shape, np.arange(len(self.at)))

    def room_at(self, shapes: Int64, machines: Int64) -> Int64:
        """Return how many more tasks of ``shapes[i]`` machine ``machines[i]`` takes if no others come: int64[A]."""
        found = np.full(len(shapes), ANY, dtype=np.int64)
        for shape in np.unique(shapes).tolist():
            if self._claims_of(shape) is not None:
                where = np.flatnonzero(shapes == shape)
                found[where] = self._count(shape, machines[where])
        return found

    def list_faults(self, shape: int) -> list[tuple[str, Bool]]:
        """Return why machines cannot serve a shape, other than for devices in use: each reason, with bool[M]."""
        claims = self._claims_of(shape)
        if claims is None or claims.fault:
            return []
        demand = self._demand(claims)[0]
        by_words: dict[str, list[int]] = {}
        for number in np.unique(self.at).tolist():
            following = self.table.states[number].after.get(demand)
            if isinstance(following, str) and following:
                by_words.setdefault(following, []).append(number)
        return [(f"{REASON}: {words}", np.isin(self.at, numbers)) for words, numbers in by_words.items()]

    def find_full(self, shapes: Int64, machines: Int64) -> Bool:
        """Return whether the devices of ``machines[i]`` serve no further task of ``shapes[i]``: bool[A]."""
        full: Bool = self.room_at(shapes, machines) <= 0
        return full

    def has_claims(self, shape: int) -> bool:
        """Return whether a shape has claims."""
        return self._claims_of(shape) is not None

    def find_demand(self, shape: int, machine: int, *, alone: bool) -> Demand | None:
        """Return the claims of a shape that need devices; None if its tasks must not be placed on the machine.

        ``alone``: no other task is placed on the machine together with this one; only then may the task have a shared
        claim without devices.
        """
        claims = self._claims_of(shape)
        if claims is None:
            return ()
        if claims.fault:
            return None
        demand, names, allowed = self._demand(claims)
        if (any(names) and not alone) or (allowed is not None and not allowed[machine]):
            return None
        return demand

    def find_fault(self, shape: int) -> str:
        """Return why a shape's claims get no devices on any machine; "" if nothing prevents it."""
        claims = self._claims_of(shape)
        return "" if claims is None else claims.fault

    def _claims_of(self, shape: int) -> ShapeClaims | None:
        return self.shapes[shape] if shape < len(self.shapes) else None

    def _count(self, shape: int, machines: Int64) -> Int64:
        claims = self._claims_of(shape)
        if claims is None:
            return np.full(len(machines), ANY, dtype=np.int64)
        if claims.fault:
            return np.zeros(len(machines), dtype=np.int64)
        demand, names, allowed = self._demand(claims)
        if demand:
            room = self._count_on_machines(demand, machines)
            if any(names):
                # The first task of a shared claim fixes its devices; the other tasks must follow it in later
                # passes.
                room = np.minimum(room, 1)
        else:
            room = np.full(len(machines), ANY, dtype=np.int64)
        if allowed is not None:
            room = np.where(allowed[machines], room, 0)
        return room

    def _demand(self, claims: ShapeClaims) -> tuple[Demand, tuple[str, ...], Bool | None]:
        """Return the claims that need devices now, the names of these claims, and bool[M].

        bool[M] marks the machines that the allocated claims allow (None: all).
        """
        demand: list[ClaimSpec] = []
        names: list[str] = []
        allowed: Bool | None = None
        for claim in claims.claims:
            if isinstance(claim, ClaimSpec):
                demand.append(claim)
                names.append("")
                continue
            machines = self.pending.get(claim.name) if claim.machines is None else claim.machines
            if machines is None and claim.name not in names:
                demand.append(claim.spec)
                names.append(claim.name)
            elif machines is not None:
                allowed = machines if allowed is None else allowed & machines
        return tuple(demand), tuple(names), allowed

    def _count_on_machines(self, demand: Demand, machines: Int64) -> Int64:
        """Return how many more tasks with ``demand`` each machine serves: int64[A]."""
        states = self.at[machines]
        if not self.watched:
            return self._count_states(demand, states, self.table.count_served, self._rooms)
        watched = self._is_watched[machines]
        room = np.empty(len(machines), dtype=np.int64)
        room[~watched] = self._count_states(demand, states[~watched], self.table.count_served, self._rooms)
        room[watched] = self._count_states(
            demand, states[watched], self.table.count_served_one_by_one, self._rooms_of_watched
        )
        return room

    @staticmethod
    def _count_states(
        demand: Demand, states: Int64, count: Callable[[int, Demand], int], rooms: dict[Demand, Int64]
    ) -> Int64:
        """Return what ``count`` returns for each of ``states``: int64[A]. The results are kept in ``rooms``."""
        known = rooms.get(demand)
        most = int(states.max(initial=-1))
        if known is None or len(known) <= most:
            grown = np.full(most + 1_000, -1, dtype=np.int64)
            if known is not None:
                grown[: len(known)] = known
            known = rooms[demand] = grown
        room = known[states]
        unknown = states[room < 0]
        if len(unknown):
            for number in np.unique(unknown).tolist():
                known[number] = count(number, demand)
            room = known[states]
        return room

    def book(self, shapes: Int64, machines: Int64, counts: Int64) -> Int64:
        """Book up to ``counts[i]`` tasks of ``shapes[i]`` on ``machines[i]``; return int64[A], how many were booked."""
        took = counts.copy()
        for entry, (shape, machine, count) in enumerate(
            zip(shapes.tolist(), machines.tolist(), counts.tolist(), strict=True)
        ):
            if self._claims_of(shape) is None:
                continue
            taken = 0
            while taken < min(count, MOST_ROOM) and self.book_task(shape, machine) is not None:
                taken += 1
            took[entry] = taken
        return took

    def book_task(self, shape: int, machine: int) -> Served | None:
        """Book one task of a shape on a machine; return None if the machine's devices do not serve it."""
        claims = self._claims_of(shape)
        if claims is None or claims.fault:
            return None
        demand, names, allowed = self._demand(claims)
        if allowed is not None and not allowed[machine]:
            return None
        if not demand:
            return Served(machine, (), (), ())
        state = self.table.states[int(self.at[machine])]
        following = self.table.add(state, demand)
        if isinstance(following, str):
            return None
        picks: Picks | None = None
        if machine in self.watched:
            picks = following.picks[-1]
            self._give_away(machine, picks)
        else:
            self.at[machine] = following.number
        for name in filter(None, names):
            self.pending[name] = np.arange(len(self.at)) == machine
        return Served(machine, demand, names, picks)

    def _give_away(self, machine: int, picks: Picks) -> None:
        """Record devices as allocated, and compute anew the states of all machines that see their pools."""
        view = self.views[machine]
        touched: set[PoolName] = set()
        for pick in (pick for claim in picks for pick in claim if not pick.option.admin):
            pool, device = find_device(view, pick.device, self.pools)
            key = pool.driver, pool.name
            own, shares = self.allocated.get(key, NOTHING_ALLOCATED)
            if pick.consumption is None:
                own = {*own, device.name}
            else:
                held = dict(shares.get(device.name, {}))
                for name, amount in pick.consumption:
                    held[name] = held.get(name, 0) + amount
                shares = {**shares, device.name: held}
            self.allocated[key] = own, shares
            touched.add(view.places[view.kind.devices[pick.device].pool].pool)
        rows = {machine, *(row for pool in touched for row in self.watchers.get(pool, ()))}
        place_machines(self, sorted(rows))

    def save(self) -> Arrays:
        """Return the present content of the ledger as arrays."""
        return self.write(self)

    def copy(self) -> DeviceLedger:
        """Return an independent copy."""
        twin = copy(self)
        twin.at, twin.pending, twin.allocated = self.at.copy(), dict(self.pending), dict(self.allocated)
        return twin


def place_machines(ledger: DeviceLedger, rows: Sequence[int]) -> None:
    """Compute the states of machines (rows) anew, from what has been allocated of the pools that they see."""
    known: dict[int, int] = {}
    for row in rows:
        view = ledger.views[row]
        number = known.get(id(view))
        if number is None:
            use = usage_of(view, ledger.pools, lambda *pool: ledger.allocated.get(pool, NOTHING_ALLOCATED))
            number = known[id(view)] = ledger.table.begin(view.kind, use).number
        ledger.at[row] = number


def share_out(ledger: DeviceLedger, served: Sequence[Served]) -> list[Picks]:
    """Return the devices of each task in ``served``.

    ``served``: all tasks booked since the ledger was made, in order of booking.
    """
    left: dict[int, list[tuple[Demand, Picks]]] = {}
    found: list[Picks] = []
    for each in served:
        if each.picks is not None:
            found.append(each.picks)
            continue
        if each.machine not in left:
            state = ledger.table.states[int(ledger.at[each.machine])]
            left[each.machine] = list(zip(state.tasks, state.picks, strict=True))
        at = next(at for at, (demand, _) in enumerate(left[each.machine]) if demand == each.demand)
        found.append(left[each.machine].pop(at)[1])
    return found
