"""Reads the longest run times of pods, from a deadline or an annotation, and when pods ended."""

from __future__ import annotations

from poseidon.kube.api.metadata import seconds
from poseidon.kube.api.pods import Pod

RUN_SECONDS = "firmament.io/run-seconds"
"""Annotation by which a pod promises to end within this many seconds after it got its node."""

GRACE_SECONDS = 30
"""Seconds that a deleted pod may take to end, unless its spec states another number."""

MOST_SECONDS = 10**9
"""Longest run time in seconds that counts; longer run times count as unlimited."""


def find_run_seconds(pod: Pod) -> int:
    """Return the seconds that a pod may run at most; 0 if it does not state a limit.

    Run times are rounded up, by an eighth at most, so that pods with nearly equal limits share a class.
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
    """Return when the last of a pod's containers ended, in seconds since the epoch; None if its status lacks that."""
    ended = (each.state.terminated for each in pod.status.container_statuses)
    ends = (seconds(each.finished_at) for each in ended if each is not None)
    return max((end for end in ends if end), default=None)
