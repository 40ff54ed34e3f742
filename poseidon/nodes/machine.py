"""A Node becomes a Machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.quantities import MAX_AMOUNT
from poseidon.pod_rules.node_affinity import EFFECTS
from poseidon.pod_rules.node_features import feature_labels
from poseidon.pods.requests.resources import amounts
from poseidon.pods.visibility import prefixed
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from poseidon.kube.api.core import Node, Taint

_MOST = MAX_AMOUNT - 1
"""What a node offers at most: less than requests that are not counted exactly, which hence fit nowhere."""

_NO_ALLOCATABLE = "missing, so nothing fits on the node; give cpu, memory and pods"


def machine(node: Node, annotations: frozenset[str] = frozenset()) -> tuple[pb.Machine, tuple[Defect, ...]]:
    """Return the machine and what is wrong with the node.

    The message is always one that the solver accepts: amounts and taints that make no sense are left out, and
    a node that reports no allocatable resources offers none. Annotations meant for models travel, and those
    that ``annotations`` names.
    """
    defects: list[Defect] = []
    if not node.metadata.name:
        defects.append(Defect("metadata.name", "missing; give the node a name"))
    allocatable = node.status.allocatable
    if not allocatable:
        defects.append(Defect("status.allocatable", _NO_ALLOCATABLE))
    offered = {
        name: min(amount, _MOST)
        for name, amount in amounts(allocatable or {}, "status.allocatable", defects, down=True).items()
    }
    ignored: list[
        Defect
    ] = []  # what the kubelet gives away is stated by allocatable; the rest is for models alone
    hardware = amounts(node.status.capacity, "status.capacity", ignored, down=True)
    taints = [
        pb.Taint(key=taint.key, value=taint.value, effect=taint.effect)
        for index, taint in enumerate(node.spec.taints)
        if _is_sound(taint, f"spec.taints[{index}]", defects)
    ]
    found = node.metadata.annotations
    message = pb.Machine(
        name=node.metadata.name,
        labels=node.metadata.labels | feature_labels(node.status.declared_features),
        taints=taints,
        allocatable=[pb.Quantity(resource=name, amount=offered[name]) for name in sorted(offered)],
        total=[
            pb.Quantity(resource=name, amount=hardware[name])
            for name in sorted(hardware)
            if hardware[name] != offered.get(name)
        ],
        unschedulable=node.spec.unschedulable,
        not_ready=not is_ready(node),
        annotations=prefixed(found) | {key: found[key] for key in annotations if key in found},
        images=[
            pb.Image(names=sorted(set(image.names)), size=min(max(image.size_bytes, 0), MAX_AMOUNT))
            for image in node.status.images
            if image.names
        ],
    )
    return message, tuple(defects)


def is_ready(node: Node) -> bool:
    """Whether the node's Ready condition is True; a node without one, as people write them, is ready."""
    return all(
        condition.status == "True" for condition in node.status.conditions if condition.type == "Ready"
    )


def _is_sound(taint: Taint, path: str, defects: list[Defect]) -> bool:
    if not taint.key:
        defects.append(Defect(f"{path}.key", "missing; name the taint"))
        return False
    if taint.effect not in EFFECTS:
        problem = f"unknown effect {taint.effect!r}; use {', '.join(EFFECTS[:-1])} or {EFFECTS[-1]}"
        defects.append(Defect(f"{path}.effect", problem))
        return False
    return True
