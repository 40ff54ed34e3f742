"""Simulates admission by kubelets: a pod that is bound to a node is admitted by the node's kubelet, or fails for good.

Rules and messages follow ``pkg/kubelet/lifecycle/predicate.go``: the node needs room for every requested resource,
and must fulfil the pod's node selector and affinity. Cordons and taints do not matter, because they do not apply to a
bound pod.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from poseidon.testbed.controllers.node_rules import Amounts, amounts, suits, sum_requests
from poseidon.testbed.objects.store import Store, decode

Object = dict[str, Any]

_ORDER = ("pods", "cpu", "memory", "ephemeral-storage")


class Refusal(NamedTuple):
    """Why a kubelet refuses a pod, as ``status.reason`` and ``status.message`` say it."""

    reason: str
    message: str


class _Node(NamedTuple):
    revision: int
    object: Object
    allocatable: Amounts | None


class KubeletAdmission:
    """The pods that each node has admitted, and the sums of their requests."""

    def __init__(self, store: Store) -> None:
        self._nodes = store.collection("nodes")
        self._known: dict[str, _Node] = {}
        self._charged: dict[str, tuple[str, Amounts]] = {}
        self._used: dict[str, Amounts] = {}

    def arrive(self, uid: str, pod: Object, *, runs: bool = False) -> Refusal | None:
        """Admit a pod and return None, or return why the kubelet refuses it.

        A pod that already runs (``runs``) is always admitted.

        A node without an object or without ``allocatable`` admits every pod.
        """
        if uid in self._charged:
            return None
        spec = pod["spec"]
        name = spec["nodeName"]
        needs = sum_requests(spec)
        node = self._node(name)
        refusal = None if runs or node is None else self._judge(name, node, spec, needs)
        if refusal is None:
            self._charged[uid] = (name, needs)
            used = self._used.setdefault(name, {})
            for resource, value in needs.items():
                used[resource] = used.get(resource, 0) + value
        return refusal

    def leave(self, uid: str) -> None:
        """Remove a pod that has ended or no longer exists."""
        name, needs = self._charged.pop(uid, ("", {}))
        for resource, value in needs.items():
            self._used[name][resource] -= value

    def retain(self, uids: set[str]) -> None:
        """Remove all pods except ``uids``."""
        for uid in self._charged.keys() - uids:
            self.leave(uid)

    def _node(self, name: str) -> _Node | None:
        record = self._nodes.get(name)
        if record is None:
            return None
        known = self._known.get(name)
        if known is None or known.revision != record.revision:
            node = decode(record)
            offered = (node.get("status") or {}).get("allocatable")
            known = _Node(record.revision, node, None if offered is None else amounts(offered))
            self._known[name] = known
        return known

    def _judge(self, name: str, node: _Node, spec: Object, needs: Amounts) -> Refusal | None:
        used = self._used.get(name, {})
        if node.allocatable is not None:
            for resource in sorted(needs, key=_rank):
                there, capacity = used.get(resource, 0), node.allocatable.get(resource, 0)
                if there + needs[resource] > capacity:
                    return Refusal(
                        f"OutOf{resource}",
                        f"Pod was rejected: Node didn't have enough resource: {resource}, "
                        f"requested: {needs[resource]}, used: {there}, capacity: {capacity}",
                    )
        if not suits(spec, node.object):
            return Refusal("NodeAffinity", "Pod was rejected: Predicate NodeAffinity failed")
        return None


def _rank(resource: str) -> tuple[int, str]:
    return (_ORDER.index(resource) if resource in _ORDER else len(_ORDER), resource)
