"""Defines the section ``network`` of the configuration, and the arguments of the overlay ``network_overhead``."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pydantic import ConfigDict, StrictBool, StrictStr

from poseidon.app_network.spec.keys import APPLICATION_RECORDS
from protos.configuration.sections import Section


class NetworkOptions(Section):
    """The section ``network``: whether the bridge writes AppGroups and NetworkTopologies, and how it computes costs.

    ``controllers`` (auto): whether the bridge writes the statuses of AppGroups and NetworkTopologies if a model reads
    them (auto), always, or never. ``percentile`` (p90): the percentile of measured latencies that becomes the costs,
    unless the overlay's argument ``percentile`` names another one. ``bandwidth_annotations`` (false): whether the
    larger of a pod's ingress and egress bandwidth annotations counts as a request of network.aware.com/bandwidth.
    """

    controllers: Literal["auto", "always", "never"] = "auto"
    percentile: Literal["p50", "p90", "p99"] = "p90"
    bandwidth_annotations: StrictBool = False

    def writes(self, records: Collection[str]) -> bool:
        """Return whether the bridge writes statuses if models read these kinds of records."""
        return self.controllers == "always" or (self.controllers == "auto" and are_read(records))

    def follows(self, records: Collection[str]) -> bool:
        """Return whether the bridge watches the objects if models read these kinds of records."""
        return are_read(records) or self.writes(records)

    def percentile_by(self, arguments: NetworkArguments) -> str:
        """Return the percentile of measured latencies that becomes the costs."""
        return arguments.percentile or self.percentile


class NetworkArguments(Section):
    """The arguments of the overlay ``network_overhead`` that the bridge uses.

    ``namespaces``: the namespaces in which to look for the AppGroup that a pod's label names; the first namespace
    that has it counts. ``percentile``: the percentile of measured latencies, that of the section ``network`` if
    empty.
    """

    model_config = ConfigDict(extra="ignore")
    namespaces: tuple[StrictStr, ...] = ("default",)
    percentile: StrictStr = ""


def are_read(records: Collection[str]) -> bool:
    """Return whether AppGroups or NetworkTopologies are among ``records``, the kinds of records that models read."""
    return not APPLICATION_RECORDS.isdisjoint(records)
