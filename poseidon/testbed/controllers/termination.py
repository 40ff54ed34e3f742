"""How pods end: with a grace period that their kubelet keeps, or at once.

Rules follow ``CheckGracefulDelete`` in ``pkg/registry/core/pod`` and ``ShouldDeleteDuringUpdate`` in the generic
registry: a pod that never got a node, or that has ended, goes at once.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

Object = dict[str, Any]

_DEFAULT_SECONDS = 30


def grace_of(pod: Object, wanted: int | None) -> int:
    """Return for how many seconds a pod stays when it is deleted now; ``wanted`` is what the request asks for."""
    if not pod["spec"].get("nodeName") or pod["status"].get("phase") in ("Succeeded", "Failed"):
        return 0
    usual = pod["spec"].get("terminationGracePeriodSeconds")
    return wanted if wanted is not None else _DEFAULT_SECONDS if usual is None else int(usual)


def begin(obj: Object, seconds: int, now: float) -> bool:
    """Mark an object as being deleted in ``seconds``; returns whether that changes anything.

    A second request may shorten the time that is left, and never lengthens it.
    """
    metadata = obj["metadata"]
    if metadata.get("deletionTimestamp") and metadata.get("deletionGracePeriodSeconds", 0) <= seconds:
        return False
    metadata["deletionTimestamp"] = datetime.fromtimestamp(int(now + seconds), UTC).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )
    metadata["deletionGracePeriodSeconds"] = seconds
    return True


def is_over(obj: Object) -> bool:
    """Return whether nothing holds an object back that is being deleted: neither time nor finalizers."""
    metadata = obj["metadata"]
    return (
        bool(metadata.get("deletionTimestamp"))
        and not metadata.get("deletionGracePeriodSeconds")
        and not metadata.get("finalizers")
    )
