"""Interprets ``status.reason`` of pods that kubelets refused after they had been bound."""

from __future__ import annotations

_LACK_OF_A_RESOURCE = "OutOf"
"""Prefix of reasons that name a lacking resource: ``OutOfcpu``, ``OutOfpods``, ``OutOfnvidia.com/gpu``."""

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
"""Further reasons for which another node may accept the pod.

Kubelets state these reasons when they admit pods (see their ``pkg/kubelet/lifecycle`` and
``pkg/kubelet/cm/topologymanager``). The list leaves out two kinds of reasons: those that hold on every node, such as
an unsupported feature, and evictions, because an evicted pod has run.
"""


def another_node_may_cure(reason: str) -> bool:
    """Return whether a pod that its kubelet refused for ``reason`` may run on another node."""
    return reason.startswith(_LACK_OF_A_RESOURCE) or reason in _CURABLE
