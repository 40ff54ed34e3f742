"""Searches for changes that would give a waiting pod a node, as ``poseidon audit`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poseidon.offline.audit.make_audit import find_cures_of_pods
from poseidon.offline.evictability import list_running_pods
from poseidon.offline.plan import schedule_pods
from poseidon.ui.work.inputs import ClusterInput, UnreadableInputError, build_cluster, read

if TYPE_CHECKING:
    from poseidon.offline.audit.findings import Cure
    from poseidon.offline.plan import Plan


def propose_cures(given: ClusterInput, pod: str) -> dict[str, Any]:
    """Return the cures of the pod ``namespace/name``, a note about it, and the time of the input (``asOf``).

    Raises ``UnreadableInputError`` if the input cannot be used.
    """
    found = read(given)
    cluster = build_cluster(found)
    if pod not in cluster.pods:
        raise UnreadableInputError(f"pod {pod} is not in the cluster any more")
    known = tuple(cluster.state.snapshot())
    plan = schedule_pods(cluster, found.manifests)
    waits = [each.pod for each in plan.pending if each.pod == pod]
    running = list_running_pods(cluster, found.manifests)
    cures = find_cures_of_pods(found.manifests, found.configuration, found.now, known, running, plan, waits)
    return {
        "asOf": found.now,
        "cures": [_as_json(each) for each in cures],
        "note": found.note if waits else _place(plan, pod),
    }


def _place(plan: Plan, pod: str) -> str:
    """Return a line that names the node that a pod gets, if a round places it."""
    node = next((each.node for each in plan.bindings if each.pod == pod), "")
    return f"A round now gives it node {node}." if node else "The pod does not wait any more."


def _as_json(cure: Cure) -> dict[str, Any]:
    return {
        "text": cure.text,
        "kind": cure.kind,
        "node": cure.node,
        "changes": [each.as_json() for each in cure.changes],
        "moves": [{"pod": each.pod, "from": each.source, "to": each.target} for each in cure.moves],
        "others": _others(cure),
    }


def _others(cure: Cure) -> str:
    """Return a line that says what a cure does to running pods, or which waiting pod would get the place first."""
    if cure.rival:
        return f"{cure.rival} waits, too, and would get this node first"
    if not cure.moves:
        return "no running pod is moved"
    count = len(cure.moves)
    return f"{count} {'pod that runs is' if count == 1 else 'pods that run are'} moved to other nodes"
