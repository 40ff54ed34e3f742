"""Says which waiting tasks may evict others: Kubernetes' ``preemptionPolicy`` of a pod."""

from __future__ import annotations

from firmament.core.model import TaskClass


def may_evict(content: TaskClass) -> bool:
    """Return whether waiting tasks of a class may evict less important tasks.

    Tasks with the policy ``Never`` may not, nor tasks that no machine can take because their class is invalid.
    """
    return not content.never_preempts and not content.invalid
