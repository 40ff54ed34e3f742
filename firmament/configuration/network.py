"""The section of the configuration about network-aware scheduling; the bridge heeds it."""

from __future__ import annotations

from typing import Literal

from pydantic import StrictBool

from firmament.configuration.sections import Section


class NetworkSection(Section):
    """How AppGroup and NetworkTopology objects are looked after, and what of pods counts as bandwidth.

    ``controllers`` (auto): whether the bridge writes their status: with the overlay ``network_overhead``, always, or
    never. ``percentile`` (p90): which of the measured latencies become costs, unless the overlay's argument of that
    name says so. ``bandwidth_annotations`` (false): the
    larger of a pod's ingress and egress bandwidth annotations counts as a request of network.aware.com/bandwidth.
    """

    controllers: Literal["auto", "always", "never"] = "auto"
    percentile: Literal["p50", "p90", "p99"] = "p90"
    bandwidth_annotations: StrictBool = False
