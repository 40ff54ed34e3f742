"""Pods of applications and the nodes that they are on, and what follows for links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from poseidon.app_network.bandwidth import BandwidthLedger, Demand, Member
from poseidon.app_network.spec.keys import Domain, domain_of
from poseidon.app_network.spec.topologies import Levels
from poseidon.pods.visibility import APP_GROUP_LABEL, WORKLOAD_LABEL


@dataclass(frozen=True, slots=True)
class _Pod:
    app_group: str
    workload: str
    node: str
    running: bool


class Members:
    """Pods by the names of their AppGroups, in all namespaces, as upstream counts them.

    ``take_changed`` and ``take_moved`` say what has changed since they were last asked; ``version`` counts changes of
    where nodes are.
    """

    def __init__(self) -> None:
        self.domains: dict[str, Domain] = {}
        """Where each node is."""
        self.version = 0
        self._pods: dict[str, _Pod] = {}
        self._on_node: dict[str, set[str]] = {}
        self._running: Counter[str] = Counter()
        self._present: Counter[str] = Counter()
        self._ledger = BandwidthLedger()
        self._changed: set[str] = set()
        self._moved = False

    def node_changed(self, name: str, labels: Mapping[str, str]) -> None:
        """Take a node as it is now."""
        domain = domain_of(labels)
        if self.domains.get(name) == domain:
            return
        self.domains[name] = domain
        self.version += 1
        self._moved = True
        for uid in self._on_node.get(name, ()):
            self._place(uid, self._pods[uid])

    def node_gone(self, name: str) -> None:
        """A node exists no longer."""
        if self.domains.pop(name, None) is not None:
            self.version += 1
            self._moved = True
            for uid in self._on_node.get(name, ()):
                self._place(uid, self._pods[uid])

    def pod_changed(self, uid: str, labels: Mapping[str, str], node: str, *, running: bool) -> None:
        """Take a pod that has not ended; ``node``: where it is, "" for nowhere."""
        app_group = labels.get(APP_GROUP_LABEL, "")
        if not app_group:
            self.pod_gone(uid)
            return
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
        """A pod has ended, or exists no longer."""
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
        """Say what an application's workloads ask for."""
        self._ledger.set_demands(app_group, demands)
        self._moved = True

    def running(self, app_group: str) -> int:
        """Return how many pods of an application are Running."""
        return self._running[app_group]

    def has_pods(self, app_group: str) -> bool:
        """Whether an application has a pod that has not ended."""
        return app_group in self._present

    def allocated(self) -> Levels:
        """Return the bandwidth that is taken between regions and between zones."""
        return self._ledger.allocated()

    def take_changed(self) -> set[str]:
        """Return the applications whose pods have changed."""
        changed, self._changed = self._changed, set()
        return changed

    def take_moved(self) -> bool:
        """Whether nodes, or pods on nodes, have changed."""
        moved, self._moved = self._moved, False
        return moved

    def _place(self, uid: str, pod: _Pod) -> None:
        member = Member(pod.app_group, pod.workload, self.domains.get(pod.node, Domain()))
        self._ledger.put(uid, member)
        self._moved = True
