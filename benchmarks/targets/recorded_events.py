"""Records the events of a workload, so that one burst can be measured many times on a cluster built once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.declarative.templates import Manifest
from benchmarks.targets.base import Figures, TargetError
from benchmarks.targets.bridge_translation import ManifestBridge
from firmament.core.configuration import CoreConfiguration
from firmament.core.events import Event
from firmament.wire.events import events_from_proto
from poseidon.demo.binding_latency import PodName


class RecordedEvents:
    """Records manifests as events, through the bridge's translation; nothing is scheduled.

    ``cluster``: the events before the first ``measure`` op; ``burst``: those within it.
    """

    stage = "told"

    def __init__(self, configuration: CoreConfiguration) -> None:
        self._bridge = ManifestBridge(configuration.words)
        self.cluster: list[Event] = []
        self.burst: list[Event] = []
        self._taken = self.cluster

    async def create(self, objects: Sequence[Manifest]) -> None:
        """Translate objects and record the events."""
        self._bridge.create(objects)
        self._taken += events_from_proto(self._bridge.take_events())

    async def delete(self, pods: Iterable[PodName]) -> None:  # noqa: ARG002 - interface
        """Refuse deletion, because the pods to delete depend on what was scheduled before."""
        raise TargetError("pods are deleted; only workloads that create everything can be told in advance")

    async def advance(self, seconds: float) -> None:
        """Do nothing: no time passes."""

    async def settle(self) -> None:
        """Do nothing: nothing is scheduled."""

    def begin(self) -> None:
        """Record events as part of the burst from now on."""
        self._taken = self.burst

    def end(self) -> Figures:
        """Return empty figures, as nothing was measured."""
        return Figures()
