"""Decides which pods the default topology spread distributes: those of one owner, or of the same Services.

kube-scheduler gives default constraints to pods without topologySpreadConstraints. Their selector joins those of the
services that select the pod and of the ReplicaSet, StatefulSet or ReplicationController that controls it
(``helper.DefaultSelector``). Such a selector matches exactly the pods of that owner, because they are copies of one
template. This module therefore uses the owner instead of the selector. For pods without such an owner, this module
uses the labels that all their Services require together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sys import intern

from poseidon.kube.api.nodes import Service
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change

_OWNERS = {
    "ReplicaSet": "apps/",
    "StatefulSet": "apps/",
    "ReplicationController": "v1",
    "Deployment": "apps/",
}
"""Kinds of owners whose pods are spread, and how their apiVersion begins.

Only pods that ``poseidon plan`` makes have a Deployment as owner.
"""


class Spreading:
    """The groups of pods that the default topology spread distributes; none unless ``enabled``.

    Pods without one of these owners are remembered with their labels, because changing Services decide about them.
    """

    def __init__(self, *, enabled: bool) -> None:
        self.enabled = enabled
        self._selectors = _LabelsByNamespace()
        self._loose = _LabelsByNamespace()

    def group(self, uid: str, pod: Pod) -> str:
        """Add or replace a pod; return its group, "" for none.

        A pod that states constraints of its own, or is being deleted, gets no default constraints, and is in no
        group.
        """
        self.forget_pod(uid)
        metadata = pod.metadata
        if (
            not self.enabled
            or pod.spec.topology_spread_constraints
            or metadata.deletion_timestamp is not None
        ):
            return ""
        namespace = metadata.namespace or "default"
        owner = metadata.controller()
        begins = _OWNERS.get(owner.kind) if owner is not None else None
        if owner is not None and begins and (owner.api_version or begins).startswith(begins):
            return intern(f"{namespace}/{owner.kind}/{owner.name}")
        if not metadata.labels:
            return ""
        self._loose.put(uid, namespace, metadata.labels)
        return self._of_services(namespace, metadata.labels)

    def forget_pod(self, uid: str) -> None:
        """Remove a pod, if it is known."""
        self._loose.remove(uid)

    def take_services(self, changes: Sequence[Change[Service]]) -> dict[str, str]:
        """Store changed Services; return, by uid, the group of each pod whose group may have changed."""
        touched = set()
        for uid, service in changes:
            namespace, selector = "", {}
            if service is not None:
                namespace, selector = service.metadata.namespace or "default", dict(service.spec.selector)
                if self._selectors.get_labels(namespace).get(uid, {}) == selector:
                    continue
            touched |= {namespace, self._selectors.remove(uid)}
            if selector:
                self._selectors.put(uid, namespace, selector)
        return {
            uid: self._of_services(namespace, labels)
            for namespace in touched
            for uid, labels in self._loose.get_labels(namespace).items()
        }

    def _of_services(self, namespace: str, labels: Mapping[str, str]) -> str:
        """Return the group of pods with these labels, "" if no Service selects them."""
        merged: dict[str, str] = {}
        for selector in self._selectors.get_labels(namespace).values():
            if selector.items() <= labels.items():
                merged |= selector
        if not merged:
            return ""
        return intern(f"{namespace}/Service/" + ",".join(f"{key}={merged[key]}" for key in sorted(merged)))


class _LabelsByNamespace:
    """Labels by namespace and uid."""

    def __init__(self) -> None:
        self._labels: dict[str, dict[str, dict[str, str]]] = {}
        self._namespace_of: dict[str, str] = {}

    def get_labels(self, namespace: str) -> Mapping[str, dict[str, str]]:
        """Return the known labels in a namespace, by uid."""
        return self._labels.get(namespace, {})

    def put(self, uid: str, namespace: str, labels: dict[str, str]) -> None:
        """Add the labels of an object that is not known yet."""
        self._namespace_of[uid] = namespace
        self._labels.setdefault(namespace, {})[uid] = labels

    def remove(self, uid: str) -> str:
        """Remove an object. Returns the namespace of the removed Service, "" if it is unknown."""
        namespace = self._namespace_of.pop(uid, "")
        if namespace:
            there = self._labels[namespace]
            del there[uid]
            if not there:
                del self._labels[namespace]
        return namespace
