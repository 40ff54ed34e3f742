"""Which group of pods each pod is to be kept apart from by default, while services come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.pod_rules.spread_groups import ServiceSelectors, may_spread, owner_group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poseidon.kube.api.core import Pod, Service
    from poseidon.kube.watch.changes import Change


class Spreading:
    """Groups of pods; see ``translate.spread_groups``. Without ``enabled`` there are none.

    Pods without an owner that says it are remembered with their labels, as services decide about them.
    """

    def __init__(self, *, enabled: bool) -> None:
        self.enabled = enabled
        self._services = ServiceSelectors()
        self._loose: dict[str, dict[str, dict[str, str]]] = {}
        self._namespace_of: dict[str, str] = {}

    def group(self, uid: str, pod: Pod) -> str:
        """Take a pod as it is now; returns its group, "" for none."""
        self.gone(uid)
        if not self.enabled or not may_spread(pod):
            return ""
        group = owner_group(pod)
        if group:
            return group
        namespace, labels = pod.metadata.namespace or "default", pod.metadata.labels
        if not labels:
            return ""
        self._namespace_of[uid] = namespace
        self._loose.setdefault(namespace, {})[uid] = labels
        return self._services.group(namespace, labels)

    def gone(self, uid: str) -> None:
        """Forget a pod, if it is known."""
        namespace = self._namespace_of.pop(uid, "")
        if namespace:
            there = self._loose[namespace]
            del there[uid]
            if not there:
                del self._loose[namespace]

    def take_services(self, changes: Sequence[Change[Service]]) -> dict[str, str]:
        """Take services as they are now; returns the groups of the pods, by uid, that this may have changed."""
        touched = {
            self._services.remove(change.uid)
            if change.object is None
            else self._services.put(change.uid, change.object)
            for change in changes
        }
        return {
            uid: self._services.group(namespace, labels)
            for namespace in touched
            for uid, labels in self._loose.get(namespace, {}).items()
        }
