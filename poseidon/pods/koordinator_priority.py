"""Finds Koordinator's priority class of a pod, for cost models that estimate the pod's use.

The rules are those of ``koordinator-sh/koordinator`` (``apis/extension``): a label decides, else the number of the
priority, else the QoS class.
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
"""Annotations of pods that change Koordinator's estimates of their use."""

NODE_ANNOTATIONS = frozenset(
    {"scheduling.koordinator.sh/usage-thresholds", "node.koordinator.sh/raw-allocatable"}
)
"""Annotations of nodes that change usage thresholds, or the amounts to which the thresholds apply."""

PROD, MID, BATCH, FREE = "koord-prod", "koord-mid", "koord-batch", "koord-free"

_RANGES = {9: PROD, 7: MID, 5: BATCH, 3: FREE}
"""Service classes by thousands of ``spec.priority``."""

_QUALITIES = frozenset({"LSE", "LSR", "LS", "BE", "SYSTEM"})


def service_class(pod: Pod, priority: int | None) -> str:
    """Return a pod's service class: koord-prod, koord-mid, koord-batch or koord-free.

    If a label names none of these classes, the priority is ignored and the QoS class decides. ``priority`` is the
    pod's own, with the name of its class resolved; None if it is not known.
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
