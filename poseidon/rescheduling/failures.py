"""Records which nodes could not be freed, so that they are not tried again until something changes.

An annotation of a node that could not be freed contains a digest of the cluster's state. Pods count by their
controllers, so the digest stays the same if a pod is evicted and comes back.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod
from poseidon.manifests.loader import Manifests
from poseidon.pods.tasks import Disposition, classify_pod
from poseidon.rescheduling.cluster_access import FREED, NOT_FREED

_CORDON = "node.kubernetes.io/unschedulable"


def state_digest(manifests: Manifests) -> str:
    """Return a digest of the cluster's state; every change that matters for freeing nodes changes it."""
    budgets = sorted(
        (
            each.metadata.namespace,
            each.metadata.name,
            each.metadata.generation,
            each.status.disruptions_allowed if each.status is not None else -1,
        )
        for each in manifests.budgets
    )
    state = sorted(map(_node_state, manifests.nodes)), sorted(_pod_states(manifests.pods)), budgets
    return hashlib.sha256(msgspec.json.encode(state)).hexdigest()[:16]


def list_failed(nodes: Iterable[Node], state: str) -> set[str]:
    """Return the names of nodes that could not be freed when the cluster was in the same state (a digest)."""
    return {each.metadata.name for each in nodes if each.metadata.annotations.get(NOT_FREED) == state}


def _node_state(node: Node) -> tuple[object, ...]:
    """Return the fields of a node that matter for freeing nodes, without a cordon that was set to free the node."""
    spec, metadata = node.spec, node.metadata
    return (
        metadata.name,
        sorted(metadata.labels.items()),
        sorted((each.key, each.value, each.effect) for each in spec.taints if each.key != _CORDON),
        spec.unschedulable and FREED not in metadata.annotations,
        sorted((key, str(amount)) for key, amount in (node.status.allocatable or {}).items()),
    )


def _pod_states(pods: Iterable[Pod]) -> Iterator[tuple[str, str, str, int]]:
    """Yield (namespace, controller or pod name, node, number of running pods with these three values)."""
    counted: Counter[tuple[str, str, str]] = Counter()
    for pod in pods:
        if classify_pod(pod) is Disposition.BOUND and pod.metadata.deletion_timestamp is None:
            owner = pod.metadata.controller()
            whose = f"{owner.kind}/{owner.name}" if owner is not None else pod.metadata.name
            counted[pod.metadata.namespace, whose, pod.spec.node_name] += 1
    for key, count in counted.items():
        yield (*key, count)
