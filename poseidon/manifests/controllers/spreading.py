"""Which pods of manifests default spread keeps apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.pod_rules.spread_groups import ServiceSelectors, may_spread, planned_group

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poseidon.kube.api.core import Pod, Service


class PlannedSpreading:
    """Groups of pods by owners and by the ``services`` of the input. Without ``enabled`` there are none."""

    def __init__(self, services: Iterable[Service], *, enabled: bool) -> None:
        self._enabled = enabled
        self._services = ServiceSelectors()
        for index, service in enumerate(services):
            self._services.put(str(index), service)

    def group(self, pod: Pod) -> str:
        """Return the group of a pod, "" for none."""
        if not self._enabled or not may_spread(pod):
            return ""
        metadata = pod.metadata
        return planned_group(pod) or self._services.group(metadata.namespace or "default", metadata.labels)
