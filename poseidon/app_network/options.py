"""The section ``network`` of the configuration, and the arguments of its overlay."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pydantic import ConfigDict, StrictBool, StrictStr

from poseidon.app_network.spec.keys import APPLICATION_RECORDS
from protos.conventions.configuration import Section


class NetworkOptions(Section):
    """The section ``network``.

    ``controllers`` (auto): when the bridge writes the status of AppGroup and NetworkTopology objects: if some model
    reads these (auto), always, or never. ``percentile`` (p90): which of the measured latencies become costs, unless
    the overlay's argument ``percentile`` says so. ``bandwidth_annotations`` (false): the larger of a pod's ingress
    and egress bandwidth annotations counts as a request of network.aware.com/bandwidth.
    """

    controllers: Literal["auto", "always", "never"] = "auto"
    percentile: Literal["p50", "p90", "p99"] = "p90"
    bandwidth_annotations: StrictBool = False

    def writes(self, records: Collection[str]) -> bool:
        """Return whether the bridge writes statuses, given the kinds of records that models read."""
        return self.controllers == "always" or (self.controllers == "auto" and are_read(records))

    def follows(self, records: Collection[str]) -> bool:
        """Return whether the bridge follows the objects, given the kinds of records that models read."""
        return are_read(records) or self.writes(records)

    def percentile_by(self, arguments: NetworkArguments) -> str:
        """Return the percentile of measured latencies that becomes the costs."""
        return arguments.percentile or self.percentile


class NetworkArguments(Section):
    """The arguments of the overlay ``network_overhead`` that the bridge uses.

    ``namespaces``: where to look for the AppGroups that pods' labels name; the first that has one counts.
    ``percentile``: if empty, the section's percentile.
    """

    model_config = ConfigDict(extra="ignore")
    namespaces: tuple[StrictStr, ...] = ("default",)
    percentile: StrictStr = ""


def are_read(records: Collection[str]) -> bool:
    """Return whether ``records``, the kinds that models read, include AppGroups or NetworkTopologies."""
    return not APPLICATION_RECORDS.isdisjoint(records)
