"""How long pods run at most, as far as they say: by a deadline, or by an annotation of who knows it."""

from __future__ import annotations

from poseidon.kube.api.pods import Pod

RUN_SECONDS = "firmament.io/run-seconds"
"""Annotation by which a pod promises to end within so many seconds of getting its node."""

GRACE_SECONDS = 30
"""What a pod may take to end once it is told to, unless it says otherwise."""

MOST_SECONDS = 10**9
"""Longer runs than this are as good as endless."""


def find_run_seconds(pod: Pod) -> int:
    """Return after how many seconds a pod has ended at the latest; 0 if it does not say.

    Rounded up, by an eighth at most, so that pods of nearly equal runs are alike.
    """
    spec, stated = pod.spec, pod.metadata.annotations.get(RUN_SECONDS, "")
    found = []
    if spec.active_deadline_seconds is not None and spec.active_deadline_seconds > 0:
        grace = spec.termination_grace_period_seconds
        found.append(spec.active_deadline_seconds + (GRACE_SECONDS if grace is None else max(0, grace)))
    if len(stated) <= len(str(MOST_SECONDS)) and stated.isascii() and stated.isdecimal() and int(stated) > 0:
        found.append(int(stated))
    seconds = min(found, default=0)
    if not 0 < seconds <= MOST_SECONDS:
        return 0
    step = 1 << max(0, seconds.bit_length() - 4)
    return -(-seconds // step) * step
