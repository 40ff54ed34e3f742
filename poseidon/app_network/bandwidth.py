"""Bandwidth that the pods of applications take between zones and between regions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from poseidon.app_network.spec.keys import REGION, ZONE, Domain
from poseidon.app_network.spec.topologies import Levels


class Demand(NamedTuple):
    """Bits per second from each pod of one workload to each pod of another, both by selector."""

    workload: str
    dependency: str
    bandwidth: int


class Member(NamedTuple):
    """A pod that runs: application and workload by its labels, and where it is."""

    app_group: str
    workload: str
    domain: Domain


_Link = tuple[str, str, str]
"""Level, origin, destination."""


class BandwidthLedger:
    """Pods by workload and domain, and what follows for links; exact, whatever comes and goes in which order.

    For each pair of a pod and a pod that it depends on, the demand counts from the former's region to the latter's if
    these differ, else from zone to zone; within a zone, and where a label is missing, nothing counts. Only
    applications that have changed are counted again.
    """

    def __init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._counts: dict[str, dict[str, Counter[Domain]]] = {}
        self._demands: dict[str, tuple[Demand, ...]] = {}
        self._shares: dict[str, Counter[_Link]] = {}
        self._total: Counter[_Link] = Counter()
        self._changed: set[str] = set()

    def set_demands(self, app_group: str, demands: tuple[Demand, ...]) -> None:
        """Say what the workloads of an application ask for; () when it is gone."""
        if self._demands.get(app_group, ()) == demands:
            return
        if demands:
            self._demands[app_group] = demands
        else:
            del self._demands[app_group]
        self._changed.add(app_group)

    def put(self, uid: str, member: Member) -> None:
        """A pod runs, or has been found to be of another workload or elsewhere."""
        if self._members.get(uid) == member:
            return
        self.remove(uid)
        self._members[uid] = member
        group = self._counts.setdefault(member.app_group, {})
        group.setdefault(member.workload, Counter())[member.domain] += 1
        self._changed.add(member.app_group)

    def remove(self, uid: str) -> None:
        """A pod runs no longer."""
        member = self._members.pop(uid, None)
        if member is None:
            return
        counts = self._counts[member.app_group][member.workload]
        counts[member.domain] -= 1
        if not counts[member.domain]:
            del counts[member.domain]
        if not counts:
            del self._counts[member.app_group][member.workload]
        if not self._counts[member.app_group]:
            del self._counts[member.app_group]
        self._changed.add(member.app_group)

    def allocated(self) -> Levels:
        """Return the bits per second that are taken from each domain to each other one."""
        for app_group in self._changed:
            share = Counter[_Link]()
            for link, bandwidth in self._links(app_group):
                share[link] += bandwidth
            self._total.subtract(self._shares.pop(app_group, Counter()))
            self._total.update(share)
            if share:
                self._shares[app_group] = share
        self._changed.clear()
        found: dict[str, dict[str, dict[str, int]]] = {REGION: defaultdict(dict), ZONE: defaultdict(dict)}
        for (level, origin, destination), bandwidth in sorted(self._total.items()):
            if bandwidth:
                found[level][origin][destination] = bandwidth
        self._total += Counter()  # drops what is back at 0
        return {level: dict(pairs) for level, pairs in found.items()}

    def _links(self, app_group: str) -> Iterator[tuple[_Link, int]]:
        workloads = self._counts.get(app_group, {})
        for demand in self._demands.get(app_group, ()):
            for here, many in workloads.get(demand.workload, {}).items():
                for there, more in workloads.get(demand.dependency, {}).items():
                    link = _link(here, there)
                    if link is not None:
                        yield link, many * more * demand.bandwidth


def _link(here: Domain, there: Domain) -> _Link | None:
    if here.region != there.region:
        return (REGION, here.region, there.region) if here.region and there.region else None
    if here.zone != there.zone:
        return (ZONE, here.zone, there.zone) if here.zone and there.zone else None
    return None
