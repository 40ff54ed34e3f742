"""What the configuration says about applications and networks."""

from __future__ import annotations

from dataclasses import dataclass

from poseidon.app_network.spec.netperf import DEFAULT_PERCENTILE


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """``overlay``: solvers look at applications. ``controllers``: the bridge writes the status of objects.

    ``namespaces``: where AppGroups are looked for by the names in pods' labels, the first hit counts.
    ``percentile``: which measurements become costs. ``annotations``: bandwidth annotations of pods are requests.
    """

    overlay: bool = False
    controllers: bool = False
    namespaces: tuple[str, ...] = ("default",)
    percentile: str = DEFAULT_PERCENTILE
    annotations: bool = False

    @property
    def follows(self) -> bool:
        """Whether the objects are looked at at all."""
        return self.overlay or self.controllers
