"""Translates what claims ask for into indexes of one kind of machine, once for all searches on such machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from firmament.core.rules.devices.allocation.matching import Candidates, DeviceSelectors, find_consumption
from firmament.core.rules.devices.objects.requests import ClaimSpec, Option
from firmament.core.rules.devices.visible_devices import ViewKind

Values: TypeAlias = frozenset[tuple[str, Any]]
NO_VALUES: Values = frozenset()


class AttributeIndex(NamedTuple):
    """An attribute of the devices of a view.

    ``by_device``: the values of each device; ``by_value``: the devices (bits) that have each value.
    """

    by_device: tuple[Values, ...]
    by_value: Mapping[tuple[str, Any], int]

    def any_of(self, values: Values) -> int:
        """Return the index of an attribute for one kind of machine."""
        found = 0
        for value in values:
            found |= self.by_value.get(value, 0)
        return found


def index_attribute(kind: ViewKind, name: str, *, lists: bool = True) -> AttributeIndex:
    """Return the index of an attribute for a kind of machines.

    If ``lists`` is False, a device whose attribute is a list of values counts as a device without values.
    """
    found = kind.memory.get(("attribute", name, lists))
    if found is None:
        of = tuple(_list_values(seen.device.attributes.get(name), lists=lists) for seen in kind.devices)
        having: dict[tuple[str, Any], int] = {}
        for place, values in enumerate(of):
            for value in values:
                having[value] = having.get(value, 0) | 1 << place
        found = kind.memory["attribute", name, lists] = AttributeIndex(of, having)
    return found


def _list_values(value: Any, *, lists: bool) -> Values:
    if value is None or (isinstance(value, list) and not lists):
        return NO_VALUES
    every = value if isinstance(value, list) else [value]
    return frozenset((type(each).__name__, each) for each in every)


class SearchPlan:
    """The requirements of claims, translated once for all machines of a kind."""

    def __init__(self, kind: ViewKind, claims: tuple[ClaimSpec, ...], selectors: DeviceSelectors) -> None:
        self.claims = claims
        options = [o for claim in claims for request in claim.requests for o in request.options]
        self.candidates: dict[Option, Candidates] = {
            option: selectors.find_candidates(kind, option) for option in options
        }
        self.attributes = [
            [index_attribute(kind, each.attribute, lists=each.lists) for each in claim.constraints]
            for claim in claims
        ]
        self.has_admin = any(option.admin for option in options)
        self.shared = sum(1 << place for place, seen in enumerate(kind.devices) if seen.device.shared)
        self.signature = self._number_alike_devices(kind, options)
        groups: dict[int, int] = {}
        for place, sign in enumerate(self.signature):
            groups[sign] = groups.get(sign, 0) | 1 << place
        self.groups = tuple(groups.values())
        self.needs = self._add_up()

    def _number_alike_devices(self, kind: ViewKind, options: Sequence[Option]) -> tuple[int, ...]:
        """Return a number for each device; devices with equal numbers are interchangeable for the claims."""
        known: dict[Any, int] = {}
        constrained = [attribute for each in self.attributes for attribute in each]
        masks = [(each.mask, each.blocked) for each in self.candidates.values()]
        consumed = [option for option in options if self.shared]
        signs = []
        for place, seen in enumerate(kind.devices):
            device = seen.device
            sign = (
                tuple((mask >> place & 1, blocked >> place & 1) for mask, blocked in masks),
                tuple(attribute.by_device[place] for attribute in constrained),
                (seen.pool, device.takes) if device.takes else None,
                tuple(find_consumption(option, seen) for option in consumed) if device.shared else None,
                tuple((n, c.amount) for n, c in device.capacity.items()) if device.shared else None,
                tuple(place in each.faults for each in self.candidates.values()),
            )
            signs.append(known.setdefault(sign, len(known)))
        return tuple(signs)

    def _add_up(self) -> dict[tuple[int, int], tuple[tuple[int, int], ...]]:
        """Return, by (claim, request), the devices (bits) that this request and all later ones need, and how many."""
        single = []
        for number, claim in enumerate(self.claims):
            for place, request in enumerate(claim.requests):
                option = request.options[0]
                found = self.candidates[option]
                plain = len(request.options) == 1 and not option.admin and not found.faults
                if plain and option.count and not found.mask & self.shared:
                    single.append((number, place, found.mask, option.count))
        masks = sorted({mask for _, _, mask, _ in single})
        needs = {}
        for number, claim in enumerate(self.claims):
            for place in range(len(claim.requests)):
                rest = [(mask, count) for c, r, mask, count in single if (c, r) >= (number, place)]
                sums = [(mask, sum(n for each, n in rest if each & ~mask == 0)) for mask in masks]
                needs[number, place] = tuple((mask, need) for mask, need in sums if need)
        return needs
