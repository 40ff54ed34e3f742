"""What the events and conditions are called that this program writes. ``docs/operations.md`` lists them for people."""

from __future__ import annotations

from enum import StrEnum


class EventReason(StrEnum):
    """The reasons of all events."""

    SCHEDULED = "Scheduled"
    FAILED_SCHEDULING = "FailedScheduling"
    REFUSED = "Refused"
    """A kubelet refused a pod; the message says what becomes of it."""
    PREEMPTED = "Preempted"
    """A pod has been evicted for the sake of others."""
    MOVED = "Moved"
    """A pod leaves its node to come up elsewhere, or is the one that has."""
    GANG_FAILED = "GangFailed"
    INVALID_GROUP = "InvalidGroup"
    INVALID_TOPOLOGY = "InvalidTopology"
    NOT_HONOURED = "NotHonoured"
    INVALID_SPEC = "InvalidSpec"
    """What follows are defects of the kinds of the application network."""
    DEPENDENCY_CYCLE = "DependencyCycle"
    UNKNOWN_ALGORITHM = "UnknownAlgorithm"
    INVALID_MEASUREMENTS = "InvalidMeasurements"


class ConditionType(StrEnum):
    """The types of all conditions."""

    POD_SCHEDULED = "PodScheduled"
    DISRUPTION_TARGET = "DisruptionTarget"
    POD_GROUP_SCHEDULED = "PodGroupScheduled"
    VALID = "Valid"
    """What follows are conditions of the kinds of the application network."""
    ORDERED = "Ordered"
    MEASURED = "Measured"
