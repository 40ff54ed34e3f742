"""Whether a move that was planned a while ago can still be made: of pod and target as they are now."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from poseidon.pods.moves import announced_move
from poseidon.pods.resources import amounts, effective_requests

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poseidon.kube.api.core import Node, Pod
    from poseidon.rescheduling.move import PlannedMove


def changed(pod: Pod, move: PlannedMove, now: float) -> str:
    """Return what is otherwise with a pod than planned, "" for nothing; ``now``: seconds since the epoch."""
    owner = pod.metadata.controller()
    if pod.terminal or pod.metadata.deletion_timestamp is not None:
        return "the pod is ending"
    if pod.spec.node_name != move.source:
        return f"the pod is on {pod.spec.node_name or 'no node'} now"
    if owner is None or (pod.metadata.namespace, owner.kind, owner.name) != move.controller:
        return "the pod has another controller now"
    if announced_move(pod, now)[0]:
        return "the pod is being moved already"
    return ""


def refusal_of(node: Node, there: Iterable[Pod], pod: Pod) -> str:
    """Return why a node does not take a pod beside those that are ``there``, or coming; "" if it does.

    Of resources and what is said of the node as a whole; all else is for the scheduler, which places the replacement.
    """
    name = node.metadata.name
    if node.spec.unschedulable:
        return f"node {name} is cordoned"
    if not any(each.type == "Ready" and each.status == "True" for each in node.status.conditions):
        return f"node {name} is not ready"
    free = Counter(amounts(node.status.allocatable or {}, "", [], down=True))
    for each in there:
        if not each.terminal:
            free.subtract(_requests(each))
    lacking = sorted(key for key, amount in _requests(pod).items() if free[key] < amount)
    return f"node {name} has not enough {lacking[0]} now" if lacking else ""


def _requests(pod: Pod) -> Counter[str]:
    return Counter({**effective_requests(pod.spec, []), "pods": 1})
