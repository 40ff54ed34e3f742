"""Reads the quotas that ClusterQueues and Cohorts state by group, flavor and resource."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from poseidon.kube.api.metadata import Number
from poseidon.kube.api.other_projects.queues import FairSharing, FlavorQuotas, ResourceGroup
from poseidon.kube.parsing.defects import Defect, shorten
from poseidon.kube.parsing.quantities import QuantityError, amount, milli_units
from poseidon.queues.model import CoveredResources

MOST_GROUPS, MOST_FLAVORS, MOST_RESOURCES = 16, 64, 64
"""The limits of Kueue's API for groups of an object, flavors of a group and resources of a flavor."""

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)

MOST_WEIGHT = 1e9
"""The largest weight that is accepted: shares are divided by weights, and a larger weight must be a mistake."""


@dataclass(slots=True)
class ReadQuotas:
    """The quotas of an object by flavor and resource, and the defects of the object's resource groups."""

    covered: list[CoveredResources] = field(default_factory=list)
    nominal: dict[str, dict[str, int]] = field(default_factory=dict)
    borrowing: dict[str, dict[str, int]] = field(default_factory=dict)
    lending: dict[str, dict[str, int]] = field(default_factory=dict)
    defects: list[Defect] = field(default_factory=list)

    @property
    def flavors(self) -> list[str]:
        """The names of all flavors of the groups, each once."""
        return list(dict.fromkeys(name for group in self.covered for name in group.flavors))


def read_reference(name: str, path: str, defects: list[Defect]) -> str:
    """Return the name by which a field refers to an object; "" and a defect if it is not a valid name."""
    if name and not _NAME.fullmatch(name):
        defects.append(Defect(path, f"{shorten(repr(name))} is no name of an object; correct or remove it"))
        return ""
    return name


def read_groups(groups: Sequence[ResourceGroup], *, shared: bool) -> ReadQuotas:
    """Return the quotas of resource groups.

    ``shared``: whether the object of the quotas has a parent from which it can borrow.
    """
    found = ReadQuotas()
    if len(groups) > MOST_GROUPS:
        found.defects.append(
            Defect("spec.resourceGroups", f"has {len(groups)} groups; at most {MOST_GROUPS} are possible")
        )
        return found
    for index, group in enumerate(groups):
        _read_group(group, f"spec.resourceGroups[{index}]", found, shared=shared)
    _refuse_repeated(found)
    return found


def _read_group(group: ResourceGroup, path: str, found: ReadQuotas, *, shared: bool) -> None:
    for what, many, most in (
        ("flavors", len(group.flavors), MOST_FLAVORS),
        ("coveredResources", len(group.covered_resources), MOST_RESOURCES),
    ):
        if not 1 <= many <= most:
            found.defects.append(Defect(f"{path}.{what}", f"has {many} entries; give 1 to {most}"))
            return
    for index, flavor in enumerate(group.flavors):
        where = f"{path}.flavors[{index}]"
        if not flavor.name:
            found.defects.append(Defect(f"{where}.name", "missing; name a ResourceFlavor"))
        elif sorted(each.name for each in flavor.resources) != sorted(group.covered_resources):
            problem = "are not those of coveredResources; give each of these once"
            found.defects.append(Defect(f"{where}.resources", problem))
        else:
            _read_flavor(flavor, where, found, shared=shared)
    names = tuple(dict.fromkeys(each.name for each in group.flavors))
    found.covered.append(CoveredResources(tuple(group.covered_resources), names))


def _read_flavor(flavor: FlavorQuotas, path: str, found: ReadQuotas, *, shared: bool) -> None:
    for index, each in enumerate(flavor.resources):
        where = f"{path}.resources[{index}]"
        for into, name, given in (
            (found.nominal, "nominalQuota", each.nominal_quota),
            (found.borrowing, "borrowingLimit", each.borrowing_limit),
            (found.lending, "lendingLimit", each.lending_limit),
        ):
            if given is None:
                continue
            if name != "nominalQuota" and not shared:
                problem = "there is no cohort to share with; name one, or remove the limit"
                found.defects.append(Defect(f"{where}.{name}", problem))
                continue
            value = _read_amount(each.name, given, f"{where}.{name}", found.defects)
            if value is not None:
                into.setdefault(flavor.name, {})[each.name] = value


def _read_amount(resource: str, given: Number, path: str, defects: list[Defect]) -> int | None:
    try:
        return amount(resource, given)
    except QuantityError as error:
        defects.append(Defect(path, str(error)))
        return None


def _refuse_repeated(found: ReadQuotas) -> None:
    """Add a defect for each resource and each flavor that is in several groups, as only one group can count."""
    for what, names in (
        ("resource", (name for group in found.covered for name in group.resources)),
        ("flavor", (name for group in found.covered for name in group.flavors)),
    ):
        for name, many in Counter(names).items():
            if many > 1:
                problem = f"{what} {shorten(repr(name))} is in {many} groups; leave it in one"
                found.defects.append(Defect("spec.resourceGroups", problem))


def read_weight(sharing: FairSharing | None, defects: list[Defect]) -> float:
    """Return an object's weight among its siblings, 1 if the object states no weight or a malformed one."""
    if sharing is None or sharing.weight is None:
        return 1.0
    path = "spec.fairSharing.weight"
    try:
        weight = milli_units(sharing.weight) / 1000
    except QuantityError as error:
        defects.append(Defect(path, str(error)))
        return 1.0
    if not 0 <= weight <= MOST_WEIGHT:
        defects.append(Defect(path, f"{sharing.weight!r} is out of range; give 0 or more"))
        return 1.0
    return weight


def find_cycles(parents: Mapping[str, str]) -> Iterator[str]:
    """Yield the names whose chain of parents ends in a circle.

    ``parents`` contains the parent of each name, "" for a root.
    """
    reaches_root: dict[str, bool] = {"": True}
    for start in parents:
        way: list[str] = []
        seen: set[str] = set()
        at = start
        while at not in reaches_root and at not in seen:
            seen.add(at)
            way.append(at)
            at = parents.get(at, "")
        reaches_root.update(dict.fromkeys(way, reaches_root.get(at, False)))
    yield from (name for name in parents if not reaches_root[name])
