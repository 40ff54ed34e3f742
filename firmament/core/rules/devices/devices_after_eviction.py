"""Tells preemption on which machines devices would serve a task if other tasks left.

A device is free again when all tasks that use its claim are gone. The answers are exact: they come from the same
search that rounds use. An eviction does not free devices that several machines see, as they may be in use from
another machine.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.rules.devices.allocation.jointly_served_tasks import ServedState
from firmament.core.rules.devices.ledger import DeviceLedger
from firmament.core.rules.devices.objects.quantities import Amount, parse_quantity
from firmament.core.rules.devices.usage import AllocatedDevices, usage_of
from firmament.core.state.device_allocations import HeldDevices, PoolOfDevices


@dataclass(slots=True, eq=False)
class DevicesAfterEviction:
    """Says which machines could serve a task's device claims if given tasks left.

    The class implements ``SharedRoomAfterEviction``.
    """

    ledger: DeviceLedger
    """The ledger before the task is placed."""
    holdings: Mapping[PoolOfDevices, HeldDevices]
    """Which tasks had which devices when the round began."""
    uids: Sequence[str]
    """The uid of each task, by row of the task table."""
    held: Bool
    """bool[S, M], all False: no filter of this rule refuses a machine."""

    def find_possible(self, shape: int, tasks: Int64) -> Bool:
        """Return machines that take no task of a shape now, but would take one if ``tasks`` left: bool[M]."""
        found: Bool = np.zeros(len(self.ledger.views), dtype=np.bool_)
        if not self.concerns(shape):
            return found
        gone = self._name(tasks.tolist())
        back = {
            pool
            for pool, held in self.holdings.items()
            if any(users and users <= gone for holders in held.values() for _, users in holders)
        }
        everywhere = np.arange(len(found))
        full = self.ledger.find_full(np.full(len(found), shape), everywhere)
        for row in np.flatnonzero(full).tolist():
            if any(place.pool[:2] in back for place in self.ledger.views[row].places):
                found[row] = self._serves([shape], row, gone)
        return found

    def admits(self, shape: int, machine: int, tasks: Collection[int]) -> bool:
        """Return whether a machine takes a task of a shape once ``tasks`` have left."""
        return self.admits_all([shape], machine, tasks)

    def admits_all(self, shapes: Sequence[int], machine: int, tasks: Collection[int]) -> bool:
        """Return whether a machine takes a task of each of ``shapes`` once ``tasks`` have left."""
        return self._serves(list(filter(self.concerns, shapes)), machine, self._name(tasks))

    def concerns(self, shape: int) -> bool:
        """Return whether tasks of a shape have claims."""
        return self.ledger.has_claims(shape)

    def _name(self, tasks: Collection[int]) -> frozenset[str]:
        return frozenset(self.uids[row] for row in tasks)

    def _serves(self, shapes: Sequence[int], machine: int, gone: frozenset[str]) -> bool:
        if not shapes:
            return True
        ledger = self.ledger
        if machine in ledger.watched:
            return len(shapes) == 1 and not ledger.find_full(np.array(shapes), np.array([machine]))[0]
        view = ledger.views[machine]
        use = usage_of(view, ledger.pools, lambda *pool: sum_given(self.holdings.get(pool, {}), gone))
        state: ServedState | str = ledger.table.begin(view.kind, use)
        for shape in shapes:
            demand = ledger.find_demand(shape, machine, alone=len(shapes) == 1)
            if demand is None:
                return False
            if demand:
                state = ledger.table.add(state, demand) if isinstance(state, ServedState) else state
                if isinstance(state, str):
                    return False
        return True


def sum_given(held: HeldDevices, without: Collection[str] = ()) -> AllocatedDevices:
    """Return what has been allocated of a pool; a share that several holders name counts once.

    Devices count as free if only the tasks ``without`` (uids) use them.
    """
    own: set[str] = set()
    shares: dict[str, dict[str, Amount]] = {}
    for device, holders in held.items():
        seen: set[str] = set()
        for holding, users in holders:
            if without and users and all(user in without for user in users):
                continue
            if not holding.share:
                own.add(device)
            elif holding.share not in seen:
                seen.add(holding.share)
                amounts = shares.setdefault(device, {})
                for name, value in holding.consumed:
                    amounts[name] = amounts.get(name, 0) + (parse_quantity(value) or 0)
    return own, shares
