"""Reads how long pods will run at most, from a deadline or an annotation, and when they ended."""

from __future__ import annotations

from poseidon.kube.api.metadata import seconds
from poseidon.kube.api.pods import Pod

RUN_SECONDS = "firmament.io/run-seconds"
"""Annotation by which a pod promises to end within so many seconds of getting its node."""

GRACE_SECONDS = 30
"""How long a pod may take to end once it is deleted, unless it says otherwise."""

MOST_SECONDS = 10**9
"""Longer runs than this are as good as endless."""


def find_run_seconds(pod: Pod) -> int:
    """Return for how many seconds a pod may run at most; 0 if it does not say.

    Rounded up, by an eighth at most, so that pods of nearly equal runs are alike.
    """
    spec, stated = pod.spec, pod.metadata.annotations.get(RUN_SECONDS, "")
    found = []
    if spec.active_deadline_seconds is not None and spec.active_deadline_seconds > 0:
        grace = spec.termination_grace_period_seconds
        found.append(spec.active_deadline_seconds + (GRACE_SECONDS if grace is None else max(0, grace)))
    if len(stated) <= len(str(MOST_SECONDS)) and stated.isascii() and stated.isdecimal() and int(stated) > 0:
        found.append(int(stated))
    least = min(found, default=0)
    if not 0 < least <= MOST_SECONDS:
        return 0
    step = 1 << max(0, least.bit_length() - 4)
    return -(-least // step) * step


def find_last_end(pod: Pod) -> float | None:
    """Return when the last of a pod's containers ended, in seconds since the epoch; None if its status does not say."""
    ended = (each.state.terminated for each in pod.status.container_statuses)
    ends = (seconds(each.finished_at) for each in ended if each is not None)
    return max((end for end in ends if end), default=None)
