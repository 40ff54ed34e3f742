"""Keeps existing unbound volumes: the machines that reach them, and the claims they are reserved for.

Local volumes are made by hand or by an operator, one per disk. A claim can be bound only on a machine that reaches
such a volume, and a volume can be bound to one claim only. Each profile of claims (class, size, ...) therefore
becomes a resource. A machine offers one unit of the resource for each suitable volume that it reaches. A claim uses a
unit of its own profile, and a unit of each profile that accepts the same volumes and more: two small claims and a
large one need three volumes, one of them large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from poseidon.volumes.matching import HOSTNAME, Rules, implies, list_hosts, reaches, suits
from poseidon.volumes.reach import ANYWHERE, Pair, Reach
from poseidon.volumes.records import Profile, Volume
from poseidon.volumes.requirements import NO_LIMIT


@dataclass(eq=False, slots=True)
class _Group:
    """Volumes that the same machines reach.

    ``shown``: for a group that is not local, the profiles that at least one volume suited at the last check.
    """

    rules: Rules
    pairs: tuple[Pair, ...]
    nodes: set[str] = field(default_factory=set)
    volumes: dict[str, Volume] = field(default_factory=dict)
    shown: set[Profile] = field(default_factory=set)

    @property
    def local(self) -> bool:
        """Whether the rules restrict the volumes to machines named by host name."""
        return self.pairs != (ANYWHERE,)

    def admits(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether a machine reaches the volumes."""
        return reaches(self.rules, name, labels)


@dataclass(frozen=True, slots=True)
class _Reservation:
    volume: str
    profile: Profile


class AvailableVolumes:
    """Available volumes by the machines that reach them, with their reservations for claims.

    A reserved volume counts only for profiles that its claim's profile implies, until the reservation ends, because
    the claim's pod still requests units of these profiles. The number of volumes that are not local is not offered,
    because each binding would change thousands of machines. If none is left, ``reserve`` returns None.
    """

    def __init__(self) -> None:
        self._reach: Reach[_Group] = Reach()
        self.machines: Mapping[str, Mapping[str, str]] = self._reach.labels
        """Labels of all machines, by name."""
        self._groups: dict[Rules, _Group] = {}
        self._group_of: dict[str, _Group] = {}
        self._wanted: dict[str, dict[Profile, None]] = {}
        self._reserved: dict[str, _Reservation] = {}
        self._holders: dict[str, str] = {}
        self._changed: set[str] = set()

    # --- machines ------------------------------------------------------------------------------------------

    def put_node(self, name: str, labels: Mapping[str, str]) -> None:
        """Add or update a machine."""
        if self.machines.get(name) != labels:
            self._reach.put_node(name, labels)
            self._changed.add(name)

    def remove_node(self, name: str) -> None:
        """Remove a machine that has been removed."""
        self._reach.remove_node(name)
        self._changed.discard(name)

    # --- volumes -------------------------------------------------------------------------------------------

    def put(self, volume: Volume) -> None:
        """Add or update a volume; a volume that is not available is kept only while it is reserved."""
        group = self._group_of.get(volume.name)
        if group is not None and group.rules != volume.rules:
            self.remove(volume.name)
            group = None
        if volume.unclaimed is None and volume.name not in self._holders:
            if group is not None:
                self.remove(volume.name)
            return
        if group is None:
            group = self._group(volume.rules)
            self._group_of[volume.name] = group
        group.volumes[volume.name] = volume
        self._mark(group)

    def remove(self, name: str) -> None:
        """Remove a volume that was deleted, or is not available any more."""
        group = self._group_of.pop(name, None)
        if group is None:
            return
        holder = self._holders.pop(name, None)
        if holder is not None:
            del self._reserved[holder]
        del group.volumes[name]
        self._mark(group)
        if not group.volumes:
            self._drop(group)

    # --- claims --------------------------------------------------------------------------------------------

    def want(self, profile: Profile) -> bool:
        """Offer volumes for a claim's profile on machines from now on; return whether the profile is new.

        Profiles are never removed, because later claims are likely to have them again.
        """
        of_class = self._wanted.setdefault(profile.storage_class, {})
        if profile not in of_class:
            of_class[profile] = None
            for group in self._groups.values():
                self._mark(group)
            return True
        return False

    def list_implied(self, profile: Profile) -> list[Profile]:
        """Return the wanted profiles whose offers a claim with this profile reduces, including its own."""
        return [each for each in self._wanted.get(profile.storage_class, ()) if implies(profile, each)]

    def reserve(self, claim: str, profile: Profile, node: str) -> Volume | None:
        """Reserve for a claim the smallest suitable volume that the machine reaches.

        Return the volume, None if no volume suits.

        If a volume is reserved for the claim already, return that volume if the machine reaches it, else None.
        """
        held = self._reserved.get(claim)
        if held is not None:
            volume = self._group_of[held.volume].volumes[held.volume]
            return volume if node in self._group_of[held.volume].nodes else None
        found = [
            volume
            for group in self._reach.list_groups(node)
            for volume in group.volumes.values()
            if volume.name not in self._holders
            and volume.unclaimed is not None
            and suits(volume.unclaimed, profile)
        ]
        if not found:
            return None
        best = min(found, key=lambda volume: (volume.unclaimed.size if volume.unclaimed else 0, volume.name))
        self._reserved[claim] = _Reservation(best.name, profile)
        self._holders[best.name] = claim
        self._mark(self._group_of[best.name])
        return best

    def release(self, claim: str) -> str:
        """End the reservation of a claim; return the volume's name, "" if the claim had none."""
        held = self._reserved.pop(claim, None)
        if held is None:
            return ""
        del self._holders[held.volume]
        group = self._group_of[held.volume]
        self._mark(group)
        if group.volumes[held.volume].unclaimed is None:
            self.remove(held.volume)
        return held.volume

    # --- what machines offer -------------------------------------------------------------------------------

    def amounts(self, node: str) -> Iterator[tuple[str, int]]:
        """Yield the resource and the number of volumes for each profile that a volume reached by the machine suits."""
        found: dict[Profile, int] = {}
        for group in self._reach.list_groups(node):
            for profile in self._profiles(group):
                count = sum(self._counts(volume, profile) for volume in group.volumes.values())
                if count:
                    found[profile] = found.get(profile, 0) + (count if group.local else NO_LIMIT)
        for profile, count in found.items():
            yield profile.resource, min(count, NO_LIMIT)

    @property
    def has_changed(self) -> bool:
        """Whether the offers of some machine may have changed."""
        return bool(self._changed)

    def take_changed(self) -> set[str]:
        """Return the machines whose offers may have changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    # --- private steps -------------------------------------------------------------------------------------

    def _counts(self, volume: Volume, profile: Profile) -> bool:
        holder = self._holders.get(volume.name)
        if holder is not None:
            return implies(self._reserved[holder].profile, profile)
        return volume.unclaimed is not None and suits(volume.unclaimed, profile)

    def _profiles(self, group: _Group) -> Iterable[Profile]:
        classes = {
            volume.unclaimed.storage_class
            for volume in group.volumes.values()
            if volume.unclaimed is not None
        }
        held = (
            self._reserved[self._holders[name]].profile for name in group.volumes if name in self._holders
        )
        classes.update(profile.storage_class for profile in held)
        return [profile for name in sorted(classes) for profile in self._wanted.get(name, ())]

    def _mark(self, group: _Group) -> None:
        """Mark the machines of a group, because their offers may have changed.

        The machines of a group that is not local are marked only if the last volume for some profile was taken, or the
        first one came back.
        """
        if not group.local:
            shown = {
                profile
                for wanted in self._wanted.values()
                for profile in wanted
                if any(self._counts(volume, profile) for volume in group.volumes.values())
            }
            if shown == group.shown:
                return
            group.shown = shown
        self._changed |= group.nodes

    def _group(self, rules: Rules) -> _Group:
        group = self._groups.get(rules)
        if group is None:
            values = list_hosts(rules)
            pairs = (ANYWHERE,) if values is None else tuple((HOSTNAME, value) for value in values)
            group = self._groups[rules] = _Group(rules, pairs)
            self._reach.add(group)
        return group

    def _drop(self, group: _Group) -> None:
        del self._groups[group.rules]
        self._reach.remove(group)
