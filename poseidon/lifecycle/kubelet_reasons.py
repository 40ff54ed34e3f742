"""Why kubelets refuse pods that were bound: ``status.reason`` of these pods, read here alone."""

from __future__ import annotations

_LACK_OF_A_RESOURCE = "OutOf"
"""Reasons that begin so name a resource: ``OutOfcpu``, ``OutOfpods``, ``OutOfnvidia.com/gpu``."""

_CURABLE = frozenset(
    {
        "NodeAffinity",
        "NodeName",
        "NodePorts",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
        "VolumeAttachmentLimitExceeded",
        "node(s) had taints that the pod didn't tolerate",
    }
)
"""Reasons, beside lack of a resource, that another node may cure. Kubelets give them at admission (their
``pkg/kubelet/lifecycle`` and ``pkg/kubelet/cm/topologymanager``). Reasons that hold on every node, such as an
unsupported feature, are left out, and so are evictions: an evicted pod has run."""


def another_node_may_cure(reason: str) -> bool:
    """Return whether a pod that its kubelet refused for ``reason`` may run on another node."""
    return reason.startswith(_LACK_OF_A_RESOURCE) or reason in _CURABLE
