"""Which cures can be carried out: rounds know amounts and labels, and not what stands behind them in Kubernetes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from poseidon.kube.api.storage import CsiStorageCapacity, PersistentVolume, StorageClass
from poseidon.pods.resources import amounts
from poseidon.volumes.claims import claims_of

if TYPE_CHECKING:
    from poseidon.kube.api.metadata import KubeStruct
    from poseidon.kube.api.pods import Pod
    from poseidon.offline.audit.findings import Cure, CureStep

_OF_THE_KUBELET = frozenset(
    f"{prefix}kubernetes.io/{name}" for prefix in ("", "beta.") for name in ("arch", "hostname", "os")
)
"""Labels that a node's kubelet sets again whatever others make of them."""


def doable(cures: Iterable[Cure], pods: Mapping[str, Pod], storage: Iterable[KubeStruct]) -> tuple[Cure, ...]:
    """Return the cures that people can carry out; ``pods`` by uid, ``storage`` of the cluster.

    No request can be lower than the overhead of the pod's runtime class. Where a pod's volumes can be reached or made
    hangs on labels of nodes, so that these cannot be changed for its sake alone.
    """
    bound_to_storage = frozenset(_labels_of(storage))
    return tuple(
        cure
        for cure in cures
        if not any(_is_ruled_out(step, pods.get(cure.pod), bound_to_storage) for step in cure.changes)
    )


def _is_ruled_out(step: CureStep, pod: Pod | None, bound_to_storage: frozenset[str]) -> bool:
    if step.kind == "label-node":
        moves_volumes = step.subject in bound_to_storage and pod is not None and bool(claims_of(pod))
        return step.subject in _OF_THE_KUBELET or moves_volumes
    if step.kind == "lower-request" and pod is not None:
        overhead = amounts(pod.spec.overhead, "spec.overhead", []).get(step.subject, 0)
        return int(step.after or 0) <= overhead > 0
    return False


def _labels_of(storage: Iterable[KubeStruct]) -> Iterator[str]:
    """Yield the labels by which volumes say which nodes reach them, or where they can be made."""
    for each in storage:
        match each:
            case PersistentVolume(spec=spec) if spec.node_affinity and spec.node_affinity.required:
                for term in spec.node_affinity.required.node_selector_terms:
                    yield from (expression.key for expression in term.match_expressions)
            case StorageClass(allowed_topologies=topologies):
                for topology in topologies:
                    yield from (expression.key for expression in topology.match_label_expressions)
            case CsiStorageCapacity(node_topology=selector) if selector is not None:
                yield from selector.match_labels
                yield from (expression.key for expression in selector.match_expressions)
