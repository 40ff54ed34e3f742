"""Records who holds which devices: the known claims, and placements that no record reports yet.

An allocated claim arrives as a record (`DEVICE_CLAIM_RECORD`). From the round that gives devices to a task until the
record that reports this, the task itself counts as their holder. Devices held by both a claim and its task count
once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from firmament.core.model import ClaimAllocation
from firmament.core.selectors.label_columns import NAME_FIELD

PoolOfDevices: TypeAlias = tuple[str, str]
"""The driver and name of a pool."""
Holder: TypeAlias = tuple[str, str]
"""A holder of devices: ("", name of a claim), or (uid of a task, the task's name for the claim)."""


class Holding(NamedTuple):
    """The part of a device that a holder has.

    A holder has the whole device, or the share with this ID, with JSON values by capacity.
    """

    share: str = ""
    consumed: tuple[tuple[str, Any], ...] = ()


HeldDevices: TypeAlias = Mapping[str, tuple[tuple[Holding, frozenset[str]], ...]]
"""By device of a pool: the amounts held, each with the uids of the tasks that use it (no uids: an unused claim)."""


@dataclass(frozen=True, slots=True)
class KnownClaim:
    """A claim as its record states it, see `DEVICE_CLAIM_RECORD`."""

    spec: Mapping[str, Any]
    allocation: Mapping[str, Any] | None = None
    reserved_for: tuple[str, ...] = ()
    in_use_by: tuple[str, ...] = ()


@dataclass(slots=True)
class DeviceAllocations:
    """The holders of all devices. ``version`` grows with each change of holders or claims."""

    known_claims: dict[str, KnownClaim] = field(default_factory=dict)
    """The known claims, by name."""
    promised: dict[str, tuple[ClaimAllocation, ...]] = field(default_factory=dict)
    """By uid of a task: devices that the task has got, and that no record reports yet."""
    version: int = 0
    """How often holders or claims have changed."""
    changes: dict[PoolOfDevices, int] = field(default_factory=dict)
    """By pool: the version at the last change of holders of its devices."""
    _held: dict[PoolOfDevices, dict[str, dict[Holder, tuple[Holding, ...]]]] = field(default_factory=dict)
    """Holders by pool, then by device. A holder may have several shares of a device, one for each request."""
    _of_holder: dict[Holder, tuple[tuple[PoolOfDevices, str], ...]] = field(default_factory=dict)
    """By holder: its devices, each with its pool."""
    _promised_claims: dict[str, dict[str, ClaimAllocation]] = field(default_factory=dict)
    """Promised allocations, by name of the claim, then by uid."""
    stayed: dict[tuple[str, str], tuple[ClaimAllocation, ...]] | None = None
    """For trials of moves: the devices of tasks that have left, by uid and machine. None: claims are as the records
    state.
    """
    _private: dict[str, list[str]] | None = None
    """By uid: names of the claims whose devices no other task uses."""

    def get_holders(self, pool: PoolOfDevices) -> Mapping[str, Mapping[Holder, tuple[Holding, ...]]]:
        """Return who holds which devices of a pool, by device."""
        return self._held.get(pool, {})

    def find_allocation(self, claim: str) -> Mapping[str, Any] | None:
        """Return the devices of a claim: as its record says, otherwise as a round has promised them since.

        The result is None if the claim has no devices.
        """
        known = self.known_claims.get(claim)
        if known is not None and known.allocation is not None:
            return known.allocation
        for promised in self._promised_claims.get(claim, {}).values():
            found: Mapping[str, Any] = json.loads(promised.allocation)
            return found
        return None

    def list_pools(self) -> tuple[PoolOfDevices, ...]:
        """Return the pools with devices that somebody holds."""
        return tuple(self._held)

    def list_held(self, pool: PoolOfDevices) -> HeldDevices:
        """Return a copy of who holds which devices of a pool."""
        return {
            device: tuple(
                (holding, users)
                for holder, holdings in holders.items()
                for users in (self._list_users(holder),)
                for holding in holdings
            )
            for device, holders in self._held.get(pool, {}).items()
        }

    def _list_users(self, holder: Holder) -> frozenset[str]:
        if holder[0]:
            return frozenset((holder[0],))
        claim = self.known_claims.get(holder[1])
        return frozenset() if claim is None else frozenset((*claim.reserved_for, *claim.in_use_by))

    # --- claims by their records ---------------------------------------------------------------------------------

    def keep_claim(self, name: str, payload: bytes | None) -> frozenset[str]:
        """Store the record of a claim (None: it is deleted); return the machines where devices have become free.

        "" stands for machines that the claim does not name.

        An unreadable record counts as deleted. A claim takes over the devices of the tasks for which it is reserved.
        """
        found = None if payload is None else _read_claim(payload)
        former, before = self._of_holder.get(("", name), ()), self.known_claims.get(name)
        self._drop(("", name))
        self.version += 1
        if found is None:
            self.known_claims.pop(name, None)
        else:
            self.known_claims[name] = found
            if found.allocation is not None:
                self._hold(("", name), found.allocation)
                self._settle(name, found)
        now = self._of_holder.get(("", name), ())
        if before is None or before.allocation is None or not set(former) - set(now):
            return frozenset()
        return frozenset(_list_machines(before.allocation))

    def _settle(self, name: str, claim: KnownClaim) -> None:
        """Release what tasks hold themselves if a claim now holds it for them."""
        held = set(self._of_holder.get(("", name), ()))
        for uid in {*claim.reserved_for, *claim.in_use_by}:
            for each in self.promised.get(uid, ()):
                if set(self._of_holder.get((uid, each.name), ())) == held:
                    self._withdraw(uid, each)

    # --- devices of placements that no record shows yet ----------------------------------------------------------

    def promise(self, uid: str, allocations: tuple[ClaimAllocation, ...]) -> None:
        """Reserve for a task the devices that a round gives it.

        The reservation lasts until records show the devices, or the task loses its machine.

        Nothing is stored for a task that got no devices because its claims have devices already.
        """
        self.withdraw(uid)
        if not allocations:
            return
        self.version += 1
        self.promised[uid] = allocations
        for each in allocations:
            self._hold((uid, each.name), json.loads(each.allocation))
            if each.claim:
                self._promised_claims.setdefault(each.claim, {})[uid] = each

    def withdraw(self, uid: str) -> None:
        """Release the devices that a task holds, if any."""
        for each in self.promised.get(uid, ()):
            self._withdraw(uid, each)

    def _withdraw(self, uid: str, allocation: ClaimAllocation) -> None:
        rest = tuple(each for each in self.promised[uid] if each is not allocation)
        if rest:
            self.promised[uid] = rest
        else:
            del self.promised[uid]
        self._drop((uid, allocation.name))
        if allocation.claim:
            self._promised_claims.get(allocation.claim, {}).pop(uid, None)

    # --- trials of moves -----------------------------------------------------------------------------------------

    def leave_behind(self, uid: str, machine: str) -> None:
        """Release the devices of a task that leaves a machine, because its own claims are deleted with it.

        Trials of moves call this method.

        A call of ``come_back`` gives the same devices to the task again. Trials begin by setting ``stayed``.
        """
        if self._private is None:
            self._private = self._list_private()
        taken = list(self.promised.get(uid, ()))
        self.withdraw(uid)
        for name in self._private.pop(uid, ()):
            self._drop(("", name))
            allocation = self.known_claims[name].allocation
            taken.append(ClaimAllocation(name, "", json.dumps(allocation)))
        if taken and self.stayed is not None:
            self.stayed[uid, machine] = tuple(taken)

    def come_back(self, uid: str, machine: str) -> None:
        """Give a task the devices that it had on a machine, unless it has devices already."""
        taken = (self.stayed or {}).get((uid, machine))
        if taken is not None and uid not in self.promised:
            self.promise(uid, taken)

    def _list_private(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, claim in self.known_claims.items():
            users = {*claim.reserved_for, *claim.in_use_by}
            if claim.allocation is not None and len(users) == 1:
                found.setdefault(users.pop(), []).append(name)
        return found

    # --- storing holders -----------------------------------------------------------------------------------------

    def _hold(self, holder: Holder, allocation: Mapping[str, Any]) -> None:
        places = []
        for pool, device, holding in list_results(allocation):
            holders = self._held.setdefault(pool, {}).setdefault(device, {})
            holders[holder] = (*holders.get(holder, ()), holding)
            self.changes[pool] = self.version
            places.append((pool, device))
        if places:
            self._of_holder[holder] = tuple(dict.fromkeys(places))

    def _drop(self, holder: Holder) -> None:
        places = self._of_holder.pop(holder, ())
        if places:
            self.version += 1
        for pool, device in places:
            self.changes[pool] = self.version
            holders = self._held[pool][device]
            holders.pop(holder, None)
            if not holders:
                del self._held[pool][device]
                if not self._held[pool]:
                    del self._held[pool]


def list_results(allocation: Mapping[str, Any]) -> Iterable[tuple[PoolOfDevices, str, Holding]]:
    """Yield pool, device and holding of each result of an allocation.

    Results with admin access are left out, because they hold nothing.
    """
    for each in (allocation.get("devices") or {}).get("results") or ():
        if not each.get("adminAccess"):
            consumed = tuple(sorted((each.get("consumedCapacity") or {}).items()))
            pool = str(each.get("driver", "")), str(each.get("pool", ""))
            yield pool, str(each.get("device", "")), Holding(str(each.get("shareID") or ""), consumed)


def _list_machines(allocation: Mapping[str, Any]) -> list[str]:
    """Return the machines that an allocation names; [""] if it is not limited to named machines."""
    terms = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or ()
    fields = [field for term in terms[:1] for field in term.get("matchFields") or ()]
    named = [field.get("values") or () for field in fields if field.get("key") == NAME_FIELD]
    return [str(name) for names in named for name in names] if len(terms) == 1 and named else [""]


def _read_claim(payload: bytes) -> KnownClaim | None:
    """Return the content of a claim's record; None if it is malformed."""
    try:
        content = json.loads(payload)
        allocation = content.get("allocation")
        if allocation is not None:
            allocation = dict(allocation)
            list(list_results(allocation))
            _list_machines(allocation)
        return KnownClaim(
            dict(content.get("spec") or {}),
            allocation,
            tuple(map(str, content.get("reserved_for") or ())),
            tuple(map(str, content.get("in_use_by") or ())),
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
