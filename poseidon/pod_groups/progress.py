"""How far the pods of a group have come."""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING

from poseidon.kube.parsing.times import seconds

if TYPE_CHECKING:
    from poseidon.kube.api.core import Pod


class Progress(Enum):
    """How far a member has come."""

    WAITING = "waiting"  # has no node
    PLACED = "placed"  # has a node, does not run yet
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


def placed_since(pod: Pod) -> float:
    """Return since when a pod has had its node, in seconds since the epoch; infinite if it does not say."""
    condition = pod.condition("PodScheduled")
    if condition is None or condition.status != "True":
        return math.inf
    since = seconds(condition.last_transition_time)
    return math.inf if since is None else since


def progress_of(pod: Pod) -> Progress:
    """Return how far a pod has come."""
    phase = pod.status.phase
    if phase in ("Succeeded", "Failed"):
        return Progress.SUCCEEDED if phase == "Succeeded" else Progress.FAILED
    if not pod.spec.node_name:
        return Progress.WAITING
    return Progress.RUNNING if phase == "Running" else Progress.PLACED
