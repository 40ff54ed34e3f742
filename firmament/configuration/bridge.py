"""The sections of the configuration that only the bridge heeds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StrictBool, StrictInt

from firmament.configuration.sections import Duration, PositiveDuration, Section, parse_duration


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


class RecoverySection(Section):
    """What is done about pods that a kubelet refused after they had been bound.

    ``recreate_bare_pods`` (false): pods without a controller are created again under their names, at most
    ``max_recreations`` (5) times. Whoever may do that may create any pod, so it is off unless asked for.
    ``delete_replaced_pods`` (false): the failed pods that ReplicaSets, ReplicationControllers and Jobs leave behind are
    deleted.
    """

    recreate_bare_pods: StrictBool = False
    max_recreations: Annotated[StrictInt, Field(ge=1, le=1000)] = 5
    delete_replaced_pods: StrictBool = False


class AnnouncementSection(Section):
    """What is said of pods that stay pending.

    ``counts_after`` (60 s): how long the counts in it may be out of date; reasons are told at once.
    """

    counts_after: Duration = 60.0


class StreamSection(Section):
    """When a stream is given up.

    ``silence_timeout`` (60 s): how long the oldest batch of events may go unacknowledged before the solver is taken to
    hang, and the stream is replaced by a new one with a full snapshot. At least 1 s, as opening a large round takes a
    part of that.
    """

    silence_timeout: Annotated[
        float, BeforeValidator(parse_duration), Field(ge=1, le=3600, allow_inf_nan=False)
    ] = 60.0


class VolumeSection(Section):
    """How claims are bound.

    ``bind_timeout`` (10 m): how long the claims of a pod may take to be bound before it goes back to the queue.
    """

    bind_timeout: PositiveDuration = 600.0
