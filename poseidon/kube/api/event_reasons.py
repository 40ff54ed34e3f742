"""Names the events and conditions that this program writes. ``docs/operations.md`` lists all of them for people."""

from __future__ import annotations

from enum import StrEnum


class EventReason(StrEnum):
    """The reasons of all events that this program writes."""

    SCHEDULED = "Scheduled"
    FAILED_SCHEDULING = "FailedScheduling"
    REFUSED = "Refused"
    """A kubelet refused a pod; the message says what happens next."""
    PREEMPTED = "Preempted"
    """A pod has been evicted so that other pods fit."""
    MOVED = "Moved"
    """A pod leaves its node to be started on another node, or has been started there."""
    GANG_FAILED = "GangFailed"
    INVALID_GROUP = "InvalidGroup"
    INVALID_TOPOLOGY = "InvalidTopology"
    NOT_HONOURED = "NotHonoured"
    INVALID_SPEC = "InvalidSpec"
    """A fault in an AppGroup or NetworkTopology, as are the reasons after this one."""
    DEPENDENCY_CYCLE = "DependencyCycle"
    UNKNOWN_ALGORITHM = "UnknownAlgorithm"
    INVALID_MEASUREMENTS = "InvalidMeasurements"


class ConditionType(StrEnum):
    """The types of all conditions that this program writes."""

    POD_SCHEDULED = "PodScheduled"
    DISRUPTION_TARGET = "DisruptionTarget"
    POD_GROUP_SCHEDULED = "PodGroupScheduled"
    COMPOSITE_POD_GROUP_SCHEDULED = "CompositePodGroupInitiallyScheduled"
    VALID = "Valid"
    """A condition of an AppGroup or NetworkTopology, as are the types after this one."""
    ORDERED = "Ordered"
    MEASURED = "Measured"


PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"
"""The reason of a pod's condition ``DisruptionTarget`` if a scheduler has deleted it for another pod."""
