"""Facts about a pod for models that estimate its use, besides its requests: limits, Koordinator's priority
class, its owner.

The rules are those of ``koordinator-sh/koordinator`` (``apis/extension``): a label decides, else the number
of the priority, else the quality of service.
"""

from __future__ import annotations

from poseidon.kube.api.pods import Pod
from poseidon.pods.requests_and_limits import BEST_EFFORT, quality_of_service

PRIORITY_CLASS_LABEL = "koordinator.sh/priority-class"
QUALITY_LABEL = "koordinator.sh/qosClass"

POD_ANNOTATIONS = frozenset(
    {
        "scheduling.koordinator.sh/load-estimated-scaling-factors",
        "scheduling.koordinator.sh/load-estimated-seconds-after-pod-scheduled",
        "scheduling.koordinator.sh/load-estimated-seconds-after-initialized",
        "scheduling.koordinator.sh/reserve-pod",
    }
)
"""Annotations of pods by which Koordinator's estimates are changed."""

NODE_ANNOTATIONS = frozenset(
    {"scheduling.koordinator.sh/usage-thresholds", "node.koordinator.sh/raw-allocatable"}
)
"""Annotations of nodes by which thresholds, and what they are a share of, are changed."""

PROD, MID, BATCH, FREE = "koord-prod", "koord-mid", "koord-batch", "koord-free"

_RANGES = {9: PROD, 7: MID, 5: BATCH, 3: FREE}
"""By thousands of ``spec.priority``."""

_QUALITIES = frozenset({"LSE", "LSR", "LS", "BE", "SYSTEM"})


def service_class(pod: Pod, priority: int | None) -> str:
    """Return a pod's service class: koord-prod, koord-mid, koord-batch or koord-free.

    A label that names none of them hides the number of the priority, and leaves the quality of service to decide.
    ``priority`` is the pod's own, with the name of its class resolved; None: not known.
    """
    labels = pod.metadata.labels
    label = labels.get(PRIORITY_CLASS_LABEL)
    if label is not None and label in _RANGES.values():
        return label
    if label is None and priority is not None and priority // 1000 in _RANGES:
        return _RANGES[priority // 1000]
    quality = labels.get(QUALITY_LABEL)
    if quality in _QUALITIES:
        return BATCH if quality == "BE" else PROD
    return BATCH if quality_of_service(pod.spec) == BEST_EFFORT else PROD
