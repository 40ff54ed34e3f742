"""Reads a pod's annotations that announce a move: it will be evicted, and replaced on another node."""

from __future__ import annotations

from poseidon.kube.api.metadata import seconds
from poseidon.kube.api.pods import Pod

MOVE_TO = "firmament.io/move-to"
"""Annotation of a running pod: the node for its replacement."""

MOVE_UNTIL = "firmament.io/move-until"
"""Annotation of a running pod: until when capacity is reserved on that node, as RFC 3339 text."""

MOVE_ANNOTATIONS = (MOVE_TO, MOVE_UNTIL)


def parse_announced_move(pod: Pod, now: float) -> tuple[str, float]:
    """Return the node for a pod's replacement, and until when it is reserved, in seconds since the epoch.

    The result is ("", 0) if no move is announced, or if its time is over.
    """
    annotations = pod.metadata.annotations
    node = annotations.get(MOVE_TO, "")
    until = seconds(annotations.get(MOVE_UNTIL)) if node else None
    return (node, until) if until is not None and until > now else ("", 0.0)
