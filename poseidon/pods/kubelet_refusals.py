"""Pods that a kubelet refused to run after they had been bound to its node."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poseidon.kube.api.core import ContainerStatus, Pod

INSUFFICIENT_PREFIX = "OutOf"
"""Reasons that begin so name a resource: ``OutOfcpu``, ``OutOfpods``, ``OutOfnvidia.com/gpu``."""

REASONS = frozenset(
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
``pkg/kubelet/lifecycle`` and ``pkg/kubelet/cm/topologymanager``). Those that would be the same on every node,
such as an unsupported feature, are left out, and so are evictions: an evicted pod has run."""


def refused(pod: Pod) -> bool:
    """Whether the kubelet of its node refused the pod for a reason that another node may cure."""
    status = pod.status
    return (
        status.phase == "Failed"
        and bool(pod.spec.node_name)
        and (status.reason.startswith(INSUFFICIENT_PREFIX) or status.reason in REASONS)
    )


def may_have_run(pod: Pod) -> bool:
    """Whether anything of the pod may ever have run: a kubelet that restarts also refuses pods that did."""
    status = pod.status
    initialized = pod.condition("Initialized")
    return (initialized is not None and initialized.status == "True") or any(
        _started(each) for each in (*status.container_statuses, *status.init_container_statuses)
    )


def _started(container: ContainerStatus) -> bool:
    state = container.state
    return container.restart_count > 0 or state.terminated is not None or state.running is not None
