"""Finds devices for the claims of tasks on one machine, by an exact search with a bound on the work.

The search tries requests in their order, options by preference, devices in the order of pools, slices and lists, and
takes the first solution, as Kubernetes' allocator does. (A request for part of one device may state that devices are
tried in the order of their use.) The search skips only what cannot lead to a solution. Of devices that are equal in
all that the claims read, it tries one. A request for more devices than are left fails at once; a request that has
failed before with the same devices left does so, too. The search gives up after it has tried `MOST_PICKS` devices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from firmament.core.rules.devices.allocation.match_attribute import (
    ConstraintState,
    add_device,
    find_allowed,
    is_kept,
)
from firmament.core.rules.devices.allocation.matching import Consumption, DeviceSelectors, find_consumption
from firmament.core.rules.devices.allocation.search_plan import AttributeIndex, SearchPlan
from firmament.core.rules.devices.objects.quantities import Amount
from firmament.core.rules.devices.objects.requests import (
    MOST_RESULTS,
    PACKED,
    AttributeConstraint,
    ClaimSpec,
    Option,
)
from firmament.core.rules.devices.visible_devices import SeenDevice, ViewKind, list_bits

MOST_PICKS = 20_000
"""The most devices that a search tries; that many take some hundredths of a second."""
GIVEN_UP = "the search for devices was given up"
AGAINST_CONSTRAINT = "cannot add a device because a claim constraint would not be satisfied"


class ViewUse(NamedTuple):
    """The devices of a view that are in use; each device is given by its index in the view."""

    taken: int = 0
    """The devices (bits) that are allocated to one claim alone."""
    shares: tuple[tuple[int, Consumption], ...] = ()
    """(device, amounts taken of its capacities) of each shared device in use, ascending."""
    counters: tuple[Amount, ...] = ()
    """The amount left of each counter."""


class Pick(NamedTuple):
    """A device picked for an option; ``consumption``: what it takes of a shared device, else None."""

    option: Option
    device: int
    consumption: Consumption | None


class SearchOutcome(NamedTuple):
    """The devices that a search found for the claims of one task on one machine, or why it found none."""

    picks: tuple[tuple[Pick, ...], ...] | None
    """The picks for each claim; None: no solution was found."""
    fault: str = ""
    """Why the search found no solution, unless devices are in use: an expression without a value, a constraint
    against all devices, an incomplete pool, or too much work."""


class _StopError(Exception):
    """Signals that the search ends without a solution."""


class _Search:
    def __init__(self, kind: ViewKind, plan: SearchPlan, use: ViewUse, most_picks: int) -> None:
        self._kind, self._plan = kind, plan
        self._devices: tuple[SeenDevice, ...] = kind.devices
        self._taken = use.taken
        self._shares: dict[int, dict[str, Amount]] = {place: dict(amounts) for place, amounts in use.shares}
        self._counters = list(use.counters)
        self._own = [0] * len(plan.claims)
        self._states: list[list[ConstraintState]] = [[None] * len(each.constraints) for each in plan.claims]
        self.picks: list[list[Pick]] = [[] for _ in plan.claims]
        self.fault = ""  # Why a request for all devices failed, unless devices are in use.
        self._left = most_picks
        self._failed: set[Any] = set()
        self._all: dict[Option, list[int]] = {}
        for claim in plan.claims:
            for request in claim.requests:
                for option in request.options:
                    if not option.count:
                        self._all[option] = self._list_all(option)

    def _list_all(self, option: Option) -> list[int]:
        """Return all devices that match an option; raise `_StopError` if not all of them are known."""
        found = self._plan.candidates[option]
        if self._kind.incomplete:
            raise _StopError("asks for all devices, but a resource pool is currently being updated")
        if self._kind.faulty:
            raise _StopError("asks for all devices, but a resource pool is currently invalid")
        if found.faults:
            raise _StopError(next(iter(found.faults.values())))
        return [
            place
            for place in list_bits(found.mask | found.blocked)
            if not self._plan.shared >> place & 1
            or self._find_affordable_consumption(option, place) is not None
        ]

    def run(self) -> bool:
        """Return whether the search found devices for all claims; ``picks`` then holds them."""
        return self._request(0, 0)

    def _request(self, number: int, place: int) -> bool:
        """Return whether devices can serve the request at ``place`` of claim ``number``, and all requests after it."""
        while number < len(self._plan.claims) and place == len(self._plan.claims[number].requests):
            number, place = number + 1, 0
        if number == len(self._plan.claims):
            return True
        for mask, need in self._plan.needs[number, place]:
            if (mask & ~self._taken).bit_count() < need:
                return False
        key = self._describe(number, place)
        if key in self._failed:
            return False
        for option in self._plan.claims[number].requests[place].options:
            count = option.count or len(self._all[option])
            if not count or len(self.picks[number]) + count > MOST_RESULTS:
                continue
            done = (
                self._pick(number, place, option, count, 0)
                if option.count
                else self._pick_all(number, place, option)
            )
            if done:
                return True
        self._failed.add(key)
        return False

    def _describe(self, number: int, place: int) -> Any:
        """Return a key that is equal for two states of the search if the remaining search has the same outcome."""
        free = ~self._taken
        return (
            number,
            place,
            tuple([(group & free).bit_count() for group in self._plan.groups]),
            tuple(self._states[number]),
            tuple(self._counters),
            len(self.picks[number]),
            tuple(sorted((at, tuple(each.items())) for at, each in self._shares.items())),
            (self._own[number], self._taken) if self._plan.has_admin else None,
        )

    def _pick(self, number: int, place: int, option: Option, left: int, start: int) -> bool:
        """Return whether ``left`` more devices serve an option, and leave enough for the requests after it.

        The devices are chosen among the option's candidates from index ``start`` on.
        """
        if not left:
            return self._is_kept(number, option) and self._request(number, place + 1)
        found = self._plan.candidates[option]
        open_to = self._own[number] if option.admin else self._taken
        faults = sum(1 << at for at in found.faults if not open_to >> at & 1 and at >= start)
        devices = (found.mask & ~open_to & self._allow(number, option)) >> start << start
        if not faults and devices.bit_count() < left:
            return False
        tried: set[Any] = set()
        for device in self._order(option, list_bits(devices | faults)):
            if device in found.faults:
                raise _StopError(found.faults[device])
            sign = self._sign(device)
            if sign in tried:
                continue
            undo = self._take(number, option, device)
            if undo is None:
                continue
            if self._pick(number, place, option, left - 1, device + 1):
                return True
            self._give_back(number, device, undo)
            tried.add(sign)
        return False

    def _pick_all(self, number: int, place: int, option: Option) -> bool:
        done: list[tuple[int, Any]] = []
        blocked = self._plan.candidates[option].blocked
        for device in self._all[option]:
            in_use = (self._own[number] if option.admin else self._taken) >> device & 1
            undo = None
            if not in_use and not blocked >> device & 1:
                allowed = self._allow(number, option) >> device & 1
                undo = self._take(number, option, device)
                if undo is not None and not allowed:
                    self.fault = AGAINST_CONSTRAINT
                    self._give_back(number, device, undo)
                    undo = None
            if undo is None:
                break
            done.append((device, undo))
        else:
            if self._is_kept(number, option) and self._request(number, place + 1):
                return True
        for device, undo in reversed(done):
            self._give_back(number, device, undo)
        return False

    def _order(self, option: Option, devices: list[int]) -> list[int]:
        """Return devices in the order in which an option tries them: as listed, or by how much of each is in use."""
        if option.order and option.count == 1 and self._shares:
            devices.sort(key=self._measure_use, reverse=option.order == PACKED)
        return devices

    def _measure_use(self, device: int) -> float:
        share = self._shares.get(device)
        if not share:
            return 0.0
        capacity = self._devices[device].device.capacity
        parts = (float(share.get(name, 0) / each.amount) for name, each in capacity.items() if each.amount)
        return max(parts, default=0.0)

    def _sign(self, device: int) -> Any:
        share = self._shares.get(device)
        # Options with administrative access may get devices in use, so two devices are alike only if both are in use
        # or neither is.
        in_use = self._taken >> device & 1
        return self._plan.signature[device], in_use, None if share is None else tuple(share.items())

    # --- constraints ---------------------------------------------------------------------------------------------

    def _covering(
        self, number: int, option: Option
    ) -> Iterator[tuple[int, AttributeConstraint, AttributeIndex]]:
        claim = self._plan.claims[number]
        for index, constraint in enumerate(claim.constraints):
            if constraint.covers(option.name):
                yield index, constraint, self._plan.attributes[number][index]

    def _allow(self, number: int, option: Option) -> int:
        """Return the devices (bits) that the constraints of a claim allow for an option."""
        allowed = (1 << len(self._devices)) - 1
        for index, constraint, attribute in self._covering(number, option):
            allowed &= find_allowed(constraint, attribute, self._states[number][index], option.name)
        return allowed

    def _constrain(self, number: int, option: Option, device: int) -> None:
        for index, constraint, attribute in self._covering(number, option):
            state = self._states[number][index]
            self._states[number][index] = add_device(
                constraint, state, attribute.by_device[device], option.name
            )

    def _is_kept(self, number: int, option: Option) -> bool:
        """Return whether those constraints hold that can be checked only when all devices of an option are picked."""
        return all(
            is_kept(constraint, self._states[number][index], option.name)
            for index, constraint, _ in self._covering(number, option)
        )

    # --- allocating devices and undoing it --------------------------------------------------------

    def _take(self, number: int, option: Option, device: int) -> Any:
        """Pick a device for an option; return what ``_give_back`` needs, None if too little of the device is left."""
        self._left -= 1
        if self._left < 0:
            raise _StopError(GIVEN_UP)
        seen = self._devices[device]
        share = self._shares.get(device)
        consumption: Consumption | None = None
        if seen.device.shared:
            consumption = self._find_affordable_consumption(option, device)
            if consumption is None:
                return None
        counted = bool(seen.device.takes) and share is None
        first = self._kind.counters[seen.pool]
        if counted:
            for counter, amount in seen.device.takes:
                if self._counters[first + counter] < amount:
                    return None
            self._count(device, -1)
        undo = (self._taken, self._own[number], list(self._states[number]), share, counted)
        if seen.device.shared:
            held = dict(share or {})
            for name, amount in consumption or ():
                held[name] = held.get(name, 0) + amount
            self._shares[device] = held
        else:
            self._taken |= 1 << device
            self._own[number] |= 1 << device
        self._constrain(number, option, device)
        self.picks[number].append(Pick(option, device, consumption))
        return undo

    def _give_back(self, number: int, device: int, undo: Any) -> None:
        self._taken, self._own[number], self._states[number], share, counted = undo
        if counted:
            self._count(device, 1)
        if self._devices[device].device.shared:
            if share is None:
                del self._shares[device]
            else:
                self._shares[device] = share
        self.picks[number].pop()

    def _count(self, device: int, sign: int) -> None:
        seen = self._devices[device]
        first = self._kind.counters[seen.pool]
        for counter, amount in seen.device.takes:
            self._counters[first + counter] += sign * amount

    def _find_affordable_consumption(self, option: Option, device: int) -> Consumption | None:
        """Return what an option takes of a shared device; None if too little of the device is left."""
        seen = self._devices[device]
        wanted = find_consumption(option, seen)
        share = self._shares.get(device)
        if wanted is not None and share is not None:
            for name, amount in wanted:
                if share.get(name, 0) + amount > seen.device.capacity[name].amount:
                    return None
        return wanted


def find_devices(
    kind: ViewKind,
    use: ViewUse,
    claims: tuple[ClaimSpec, ...],
    selectors: DeviceSelectors,
    most_picks: int = MOST_PICKS,
) -> SearchOutcome:
    """Return devices that serve all ``claims`` on a machine of a kind, whose devices in use are ``use``."""
    plan = kind.memory.get(claims)
    if plan is None:
        plan = kind.memory[claims] = SearchPlan(kind, claims, selectors)
    try:
        search = _Search(kind, plan, use, most_picks)
        if search.run():
            return SearchOutcome(tuple(map(tuple, search.picks)))
    except _StopError as stopped:
        return SearchOutcome(None, str(stopped))
    except RecursionError:  # One task may ask for hundreds of devices, as any tenant is free to.
        return SearchOutcome(None, GIVEN_UP)
    fault = search.fault or ("invalid resource pools were encountered" if kind.faulty else "")
    return SearchOutcome(None, fault)


def use_after(kind: ViewKind, use: ViewUse, picks: Sequence[Sequence[Pick]]) -> ViewUse:
    """Return the devices in use after ``picks`` are allocated in addition."""
    taken = use.taken
    shares = {place: dict(amounts) for place, amounts in use.shares}
    counters = list(use.counters)
    for claim in picks:
        for option, device, consumption in claim:
            if option.admin:
                continue
            seen = kind.devices[device]
            if not seen.device.shared or device not in shares:
                for counter, amount in seen.device.takes:
                    counters[kind.counters[seen.pool] + counter] -= amount
            if seen.device.shared:
                held = shares.setdefault(device, {})
                for name, amount in consumption or ():
                    held[name] = held.get(name, 0) + amount
            else:
                taken |= 1 << device
    return ViewUse(
        taken, tuple((place, tuple(shares[place].items())) for place in sorted(shares)), tuple(counters)
    )
