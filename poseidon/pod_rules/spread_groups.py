"""Which pods default topology spread keeps apart: those of one owner, or of the same services.

kube-scheduler gives pods that state no topologySpreadConstraints default ones. Their selector is that of the services
that select the pod and of the ReplicaSet, StatefulSet or ReplicationController that controls it, put together
(``helper.DefaultSelector``). The pods that such a selector finds are those of that owner: its own selector finds no
others, and its pods are copies of one template. So the owner stands for the selector, and nothing has to be known of
it. For pods without such an owner it is the labels that the services ask for together; the pods of one group are those
for which that comes to the same.
"""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poseidon.kube.api.core import Pod, Service

_OWNERS = {
    "ReplicaSet": "apps/",
    "StatefulSet": "apps/",
    "ReplicationController": "v1",
    "Deployment": "apps/",
}
"""Owners by kind whose pods are spread, and how their apiVersion begins. A Deployment is that of pods which a plan
makes before there is a ReplicaSet.
"""


def may_spread(pod: Pod) -> bool:
    """Whether a pod gets default constraints, or counts for those of others: it states none, and is not going."""
    return not pod.spec.topology_spread_constraints and pod.metadata.deletion_timestamp is None


def owner_group(pod: Pod) -> str:
    """Return the group of a pod by its controller, "" if that is none whose pods are spread."""
    owner = pod.metadata.controller()
    if owner is None or owner.kind not in _OWNERS:
        return ""
    if owner.api_version and not owner.api_version.startswith(_OWNERS[owner.kind]):
        return ""
    return intern(f"{pod.metadata.namespace or 'default'}/{owner.kind}/{owner.name}")


class ServiceSelectors:
    """Selectors of services by namespace."""

    def __init__(self) -> None:
        self._selectors: dict[str, dict[str, dict[str, str]]] = {}
        self._namespace_of: dict[str, str] = {}

    def put(self, uid: str, service: Service) -> str:
        """Take a service as it is now. Returns its namespace if that may change groups, else ""."""
        namespace = service.metadata.namespace or "default"
        known = self._selectors.get(namespace, {}).get(uid, {})
        selector = dict(service.spec.selector)
        if selector == known:
            return ""
        self.remove(uid)
        if selector:
            self._namespace_of[uid] = namespace
            self._selectors.setdefault(namespace, {})[uid] = selector
        return namespace

    def remove(self, uid: str) -> str:
        """Forget a service. Returns its namespace if that may change groups, else ""."""
        namespace = self._namespace_of.pop(uid, "")
        if namespace:
            there = self._selectors[namespace]
            del there[uid]
            if not there:
                del self._selectors[namespace]
        return namespace

    def group(self, namespace: str, labels: Mapping[str, str]) -> str:
        """Return the group of pods with such labels, "" if no service selects them."""
        merged: dict[str, str] = {}
        for selector in self._selectors.get(namespace, {}).values():
            if selector.items() <= labels.items():
                merged |= selector
        if not merged:
            return ""
        return intern(f"{namespace}/Service/" + ",".join(f"{key}={merged[key]}" for key in sorted(merged)))
