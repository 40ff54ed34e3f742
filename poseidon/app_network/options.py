"""What the configuration says about applications and networks."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pydantic import ConfigDict, StrictBool, StrictStr

from poseidon.app_network.spec.keys import APPLICATION_RECORDS
from protos.conventions.configuration import Section


class NetworkOptions(Section):
    """The section ``network``.

    ``controllers`` (auto): whether the bridge writes the status of AppGroup and NetworkTopology objects: if some model
    reads them, always, or never. ``percentile`` (p90): which of the measured latencies become costs, unless the
    overlay's argument of that name says so. ``bandwidth_annotations`` (false): the larger of a pod's ingress and egress
    bandwidth annotations counts as a request of network.aware.com/bandwidth.
    """

    controllers: Literal["auto", "always", "never"] = "auto"
    percentile: Literal["p50", "p90", "p99"] = "p90"
    bandwidth_annotations: StrictBool = False

    def writes(self, records: Collection[str]) -> bool:
        """Return whether status is written where models read these kinds of records."""
        return self.controllers == "always" or (self.controllers == "auto" and are_read(records))

    def follows(self, records: Collection[str]) -> bool:
        """Return whether the objects are looked at at all where models read these kinds of records."""
        return are_read(records) or self.writes(records)

    def percentile_by(self, arguments: NetworkArguments) -> str:
        """Return which of the measured latencies become costs."""
        return arguments.percentile or self.percentile


class NetworkArguments(Section):
    """The arguments of the overlay ``network_overhead`` that the bridge uses.

    ``namespaces``: where to look for the AppGroups that pods' labels name; the first hit counts.
    ``percentile``: that of the section if empty.
    """

    model_config = ConfigDict(extra="ignore")
    namespaces: tuple[StrictStr, ...] = ("default",)
    percentile: StrictStr = ""


def are_read(records: Collection[str]) -> bool:
    """Return whether applications and networks are among these kinds of records."""
    return not APPLICATION_RECORDS.isdisjoint(records)
