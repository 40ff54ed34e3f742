"""Reads a pod's annotations that announce a move: it will be evicted, and replaced on another node."""

from __future__ import annotations

from poseidon.kube.api.metadata import seconds
from poseidon.kube.api.pods import Pod

MOVE_TO = "firmament.io/move-to"
"""Annotation of a pod that runs: the node that its replacement is meant for."""

MOVE_UNTIL = "firmament.io/move-until"
"""Annotation: until when, as RFC 3339 text, a place is kept there."""

MOVE_ANNOTATIONS = (MOVE_TO, MOVE_UNTIL)


def parse_announced_move(pod: Pod, now: float) -> tuple[str, float]:
    """Return the node for which a pod's replacement is meant, and until when (seconds since the epoch); ("", 0) for no
    move, or one whose time has run out.
    """
    annotations = pod.metadata.annotations
    node = annotations.get(MOVE_TO, "")
    until = seconds(annotations.get(MOVE_UNTIL)) if node else None
    return (node, until) if until is not None and until > now else ("", 0.0)
