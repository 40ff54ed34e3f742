"""Keeps the pods of applications, and sums the bandwidth that the pods use between zones and regions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from poseidon.app_network.spec.keys import REGION, ZONE, Domain, domain_of
from poseidon.app_network.spec.topologies import Levels
from poseidon.kube.api.pods import Pod
from poseidon.pods.visibility import APP_GROUP_LABEL, WORKLOAD_LABEL

_Link = tuple[str, str, str]
"""A link: its level, origin and destination."""


class Demand(NamedTuple):
    """The bits per second from each pod of ``workload`` to each pod of ``dependency``, both given by selector."""

    workload: str
    dependency: str
    bandwidth: int


class Member(NamedTuple):
    """A pod that has a node: its application and workload by its labels, and its node's region and zone."""

    app_group: str
    workload: str
    domain: Domain


class BandwidthLedger:
    """The numbers of pods by workload and domain, and the bandwidth used on links, whatever the order of changes.

    The demand of a pair of pods counts on the link between their regions if the regions differ, else on the link
    between their zones. The demand does not count within a zone, or if a label is missing. Only applications that have
    changed are counted again.
    """

    def __init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._counts: dict[str, dict[str, Counter[Domain]]] = {}
        self._demands: dict[str, tuple[Demand, ...]] = {}
        self._shares: dict[str, Counter[_Link]] = {}
        self._total: Counter[_Link] = Counter()
        self._changed: set[str] = set()

    def set_demands(self, app_group: str, demands: tuple[Demand, ...]) -> None:
        """Set the bandwidth that the workloads of an application need between each other, () for none."""
        if self._demands.get(app_group, ()) == demands:
            return
        if demands:
            self._demands[app_group] = demands
        else:
            del self._demands[app_group]
        self._changed.add(app_group)

    def put(self, uid: str, member: Member) -> None:
        """Add a pod that has a node, or update its workload or domain."""
        if self._members.get(uid) == member:
            return
        self.remove(uid)
        self._members[uid] = member
        group = self._counts.setdefault(member.app_group, {})
        group.setdefault(member.workload, Counter())[member.domain] += 1
        self._changed.add(member.app_group)

    def remove(self, uid: str) -> None:
        """Remove a pod that has no node any more."""
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

    def sum_allocated(self) -> Levels:
        """Return the bits per second that are used from one domain to another, by level, origin and destination."""
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
        self._total += Counter()  # Adding an empty Counter drops links without use.
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


@dataclass(frozen=True, slots=True)
class _Pod:
    app_group: str
    workload: str
    node: str
    running: bool


class Members:
    """The pods of each AppGroup, by the AppGroup's name over all namespaces, as scheduler-plugins counts them.

    ``take_changed`` and ``take_moved`` return the changes since their last calls. ``version`` counts the changes of
    nodes' regions and zones.
    """

    def __init__(self) -> None:
        self.domains: dict[str, Domain] = {}
        """The region and zone of each node."""
        self.version = 0
        self._pods: dict[str, _Pod] = {}
        self._on_node: dict[str, set[str]] = {}
        self._running: Counter[str] = Counter()
        self._present: Counter[str] = Counter()
        self._ledger = BandwidthLedger()
        self._changed: set[str] = set()
        self._moved = False

    def node_changed(self, name: str, labels: Mapping[str, str]) -> None:
        """Add or update a node."""
        domain = domain_of(labels)
        if self.domains.get(name) == domain:
            return
        self.domains[name] = domain
        self._node_moved(name)

    def node_gone(self, name: str) -> None:
        """Remove a node that does not exist any more."""
        if self.domains.pop(name, None) is not None:
            self._node_moved(name)

    def pod_changed(self, uid: str, found: Pod) -> None:
        """Add or update a pod of any scheduler."""
        labels, node = found.metadata.labels, found.spec.node_name
        app_group = "" if found.terminal else labels.get(APP_GROUP_LABEL, "")
        if not app_group:
            self.pod_gone(uid)
            return
        running = found.status.phase == "Running"
        pod = _Pod(app_group, labels.get(WORKLOAD_LABEL, ""), node, running)
        if self._pods.get(uid) == pod:
            return
        self.pod_gone(uid)
        self._pods[uid] = pod
        self._present[app_group] += 1
        self._running[app_group] += running
        self._changed.add(app_group)
        if node:
            self._on_node.setdefault(node, set()).add(uid)
            self._place(uid, pod)

    def pod_gone(self, uid: str) -> None:
        """Remove a pod that has ended or does not exist any more."""
        pod = self._pods.pop(uid, None)
        if pod is None:
            return
        self._present[pod.app_group] -= 1
        self._running[pod.app_group] -= pod.running
        if not self._present[pod.app_group]:
            del self._present[pod.app_group], self._running[pod.app_group]
        self._changed.add(pod.app_group)
        if pod.node:
            self._on_node[pod.node].discard(uid)
            if not self._on_node[pod.node]:
                del self._on_node[pod.node]
            self._ledger.remove(uid)
            self._moved = True

    def set_demands(self, app_group: str, demands: tuple[Demand, ...]) -> None:
        """Set the bandwidth demands between an application's workloads, () for none."""
        self._ledger.set_demands(app_group, demands)
        self._moved = True

    def running(self, app_group: str) -> int:
        """Return the number of pods of an application that are in the phase Running."""
        return self._running[app_group]

    def has_pods(self, app_group: str) -> bool:
        """Return whether an application has a pod that has not ended."""
        return app_group in self._present

    def sum_allocated(self) -> Levels:
        """Return the bits per second that are used between regions and between zones."""
        return self._ledger.sum_allocated()

    def take_changed(self) -> set[str]:
        """Return the applications whose pods have changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def take_moved(self) -> bool:
        """Return whether nodes, pods on nodes or demands have changed since the last call."""
        moved, self._moved = self._moved, False
        return moved

    def _node_moved(self, name: str) -> None:
        self.version += 1
        self._moved = True
        for uid in self._on_node.get(name, ()):
            self._place(uid, self._pods[uid])

    def _place(self, uid: str, pod: _Pod) -> None:
        member = Member(pod.app_group, pod.workload, self.domains.get(pod.node, Domain()))
        self._ledger.put(uid, member)
        self._moved = True
