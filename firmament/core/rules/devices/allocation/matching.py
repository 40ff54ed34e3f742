"""Finds the devices that an option of a request may take, by their expressions, taints and capacities alone.

Each expression is compiled once, and evaluated once for all devices that are equal in the attributes that matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from firmament.core.rules.devices.allocation.device_selector import DeviceSelector, SharedWork
from firmament.core.rules.devices.cel.limits import WORK_PER_DEVICE
from firmament.core.rules.devices.objects.inventory import Capacity, Policy, qualify
from firmament.core.rules.devices.objects.quantities import Amount
from firmament.core.rules.devices.objects.requests import ClaimSpec, Option, tolerates
from firmament.core.rules.devices.visible_devices import Relevant, SeenDevice, ViewKind, join_relevant

_BLOCKING = frozenset({"NoSchedule", "NoExecute"})

Consumption = tuple[tuple[str, Amount], ...]
"""(name, amount) of each capacity that a claim takes from a shared device."""


class Candidates(NamedTuple):
    """The devices of a view that match an option, as bits; bit i stands for the device at index i of the view."""

    mask: int
    """Devices that match and have no untolerated taints."""
    blocked: int
    """Devices that match but have untolerated taints."""
    faults: Mapping[int, str]
    """By index of a device: why an expression has no value for the device."""


class DeviceSelectors:
    """The compiled expressions of a cluster, by their text."""

    def __init__(self) -> None:
        self._known: dict[str, DeviceSelector] = {}
        self._relevant: Any = None
        self._shared = SharedWork()

    def get(self, text: str) -> DeviceSelector:
        """Return the selector of an expression."""
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = DeviceSelector(text, self._shared)
        return found

    def keep(self, texts: frozenset[str], relevant: Relevant) -> None:
        """Forget expressions not in ``texts`` once there are many, and all answers if ``relevant`` attributes change.

        Let all costly expressions together do some more work from now on.
        """
        self._shared.refill()
        if len(self._known) > 2 * len(texts) + 1_000:
            self._known = {text: each for text, each in self._known.items() if text in texts}
        if relevant != self._relevant:
            self._relevant = relevant
            for each in self._known.values():
                each.forget()

    def find_relevant(self, claims: Iterable[ClaimSpec]) -> Relevant:
        """Return the attributes that the expressions and constraints of ``claims`` read."""
        parts: list[Relevant] = []
        for claim in claims:
            parts += [self.get(text).relevant for text in claim.expressions]
            parts.append(frozenset(each.attribute for each in claim.constraints))
        return join_relevant(parts)

    def find_candidates(self, kind: ViewKind, option: Option) -> Candidates:
        """Return the devices of a view that match an option."""
        found = kind.memory.get(option)
        if found is None:
            found = kind.memory[option] = self._find(kind, option)
        return found

    def accepts(self, option: Option, seen: SeenDevice) -> bool:
        """Return whether a device matches an option, leaving taints aside; the answer is not cached."""
        free = WORK_PER_DEVICE
        for text in (*option.device_class.expressions, *option.expressions):
            answer, work = self.get(text).ask(seen, free)
            if answer is not True:
                return False
            free = max(0, free - work)
        return find_consumption(option, seen) is not None

    def _find(self, kind: ViewKind, option: Option) -> Candidates:
        selectors = [self.get(text) for text in (*option.device_class.expressions, *option.expressions)]
        mask = blocked = 0
        faults: dict[int, str] = {}
        for place, seen in enumerate(kind.devices):
            answer: bool | str = True
            free = WORK_PER_DEVICE
            for selector in selectors:
                answer, work = selector.matches(seen, free)
                if answer is not True:
                    break
                free = max(0, free - work)
            if isinstance(answer, str):
                faults[place] = answer
            elif answer and find_consumption(option, seen) is not None:
                if any(
                    taint[2] in _BLOCKING and not tolerates(option.tolerated, taint)
                    for taint in seen.device.device_taints
                ):
                    blocked |= 1 << place
                else:
                    mask |= 1 << place
        return Candidates(mask, blocked, faults)


# --- consumption of shared capacities ---------------------------------------------------------------------------------


def find_consumption(option: Option, seen: SeenDevice) -> Consumption | None:
    """Return what an option takes of each capacity of a device; None if even the unused device cannot offer it."""
    wanted = {qualify(name, seen.driver): amount for name, amount in option.capacity}
    taken = []
    for name, capacity in seen.device.capacity.items():
        amount = _round_up(wanted.pop(qualify(name, seen.driver), None), capacity)
        if _is_against(amount, capacity.policy) or amount > capacity.amount:
            return None
        taken.append((name, amount))
    return None if wanted else tuple(taken)


def _round_up(wanted: Amount | None, capacity: Capacity) -> Amount:
    """Return the amount that a request gets, rounded up as the capacity's policy demands.

    ``wanted`` None: the request states no amount.
    """
    policy = capacity.policy
    if wanted is None:
        return capacity.amount if policy is None or policy.default is None else policy.default
    if policy is None:
        return wanted
    if policy.least is not None:
        if wanted < policy.least or not policy.step:
            return max(wanted, policy.least)
        return policy.least + -(-(wanted - policy.least) // policy.step) * policy.step
    return next((value for value in policy.values if value >= wanted), wanted)


def _is_against(amount: Amount, policy: Policy | None) -> bool:
    if policy is None or amount == policy.default:
        return False
    if policy.least is not None or policy.most is not None or policy.step is not None:
        if policy.most is not None and amount > policy.most:
            return True
        return bool(policy.step and (amount - (policy.least or 0)) % policy.step)
    return bool(policy.values) and amount not in policy.values
