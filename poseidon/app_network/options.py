"""What the configuration says about applications and networks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Self

from poseidon.app_network.spec.keys import APPLICATION_RECORDS
from poseidon.app_network.spec.netperf import DEFAULT_PERCENTILE


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """``overlay``: some model reads records of applications. ``controllers``: the bridge writes the status of objects;
    None: if some model reads them.

    ``namespaces``: where AppGroups are looked for by the names in pods' labels, the first hit counts.
    ``percentile``: which measurements become costs. ``annotations``: bandwidth annotations of pods are requests.
    """

    overlay: bool = False
    controllers: bool | None = False
    namespaces: tuple[str, ...] = ("default",)
    percentile: str = DEFAULT_PERCENTILE
    annotations: bool = False

    @property
    def follows(self) -> bool:
        """Whether the objects are looked at at all."""
        return self.overlay or bool(self.controllers)

    def with_records(self, needed: Collection[str]) -> Self:
        """Return the same where these kinds of records are needed."""
        overlay = not APPLICATION_RECORDS.isdisjoint(needed)
        return replace(
            self, overlay=overlay, controllers=overlay if self.controllers is None else self.controllers
        )
