"""Names of the events and conditions that this program writes. ``docs/operations.md`` lists them for people."""

from __future__ import annotations

from enum import StrEnum


class EventReason(StrEnum):
    """The reasons of all events."""

    SCHEDULED = "Scheduled"
    FAILED_SCHEDULING = "FailedScheduling"
    REFUSED = "Refused"
    """A kubelet refused a pod; the message says what happens next."""
    PREEMPTED = "Preempted"
    """A pod has been evicted to make room for others."""
    MOVED = "Moved"
    """A pod leaves its node to be started elsewhere, or is the pod that was."""
    GANG_FAILED = "GangFailed"
    INVALID_GROUP = "InvalidGroup"
    INVALID_TOPOLOGY = "InvalidTopology"
    NOT_HONOURED = "NotHonoured"
    INVALID_SPEC = "InvalidSpec"
    """From here on: faults in objects of the application network."""
    DEPENDENCY_CYCLE = "DependencyCycle"
    UNKNOWN_ALGORITHM = "UnknownAlgorithm"
    INVALID_MEASUREMENTS = "InvalidMeasurements"


class ConditionType(StrEnum):
    """The types of all conditions."""

    POD_SCHEDULED = "PodScheduled"
    DISRUPTION_TARGET = "DisruptionTarget"
    POD_GROUP_SCHEDULED = "PodGroupScheduled"
    COMPOSITE_POD_GROUP_SCHEDULED = "CompositePodGroupInitiallyScheduled"
    VALID = "Valid"
    """From here on: conditions of objects of the application network."""
    ORDERED = "Ordered"
    MEASURED = "Measured"


PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"
"""The reason of a pod's condition ``DisruptionTarget`` if a scheduler has deleted it for another pod."""
