"""Why machines are refused, in kube-scheduler's words, and the message that sums them up."""

from __future__ import annotations

from collections.abc import Sequence

from firmament.core.model import PODS, Taint

CORDONED = "node(s) were unschedulable"
UNTOLERATED = "node(s) had untolerated taint(s)"
NOT_READY = "node(s) were not ready"
WRONG_NAME = "node(s) didn't match the requested node name"
NOT_NAMED = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
WRONG_LABELS = "node(s) didn't match Pod's node affinity/selector"
WRONG_VOLUMES = "node(s) didn't match PersistentVolume's node affinity"
RESERVED = "node(s) were reserved for a pod that has waited longer"
TOO_MANY = "Too many pods"
TOO_MANY_VOLUMES = "node(s) exceed max volume count"
NO_VOLUME_LEFT = "node(s) didn't find available persistent volumes to bind"
NO_STORAGE = "node(s) did not have enough free storage"
WRONG_FEATURES = "node(s) didn't match Pod's required features"
TOO_FEW_PLACES = "node(s) had room for some of them, but not for all at once"
NO_MACHINES = "no nodes available to schedule pods"


def described(taint: Taint) -> str:
    """A taint for people: ``{key: value}``."""
    return f"{{{taint.key}: {taint.value}}}"


def insufficient(resource: str) -> str:
    """Reason for a lack of a resource. Attached and unclaimed volumes are told by how their resources begin."""
    if resource == PODS:
        return TOO_MANY
    if resource.startswith("attachable-volumes-"):
        return TOO_MANY_VOLUMES
    if resource.startswith("available-volumes-"):
        return NO_VOLUME_LEFT
    return f"Insufficient {resource}"


def too_few_places(constraints: str) -> str:
    """Reason for a gang with too few places; ``constraints``: those without which it had enough, "" if not known."""
    return f"{TOO_FEW_PLACES} (because of {constraints})" if constraints else TOO_FEW_PLACES


def summarise(machines: int, counts: Sequence[tuple[str, int]]) -> str:
    """``0/4 nodes are available: 1 node(s) were unschedulable, 3 Insufficient cpu.``

    ``counts`` are (reason, machines) pairs, told in kube-scheduler's order: that of their text, figures first.
    """
    if machines == 0:
        return f"0/0 nodes are available: {NO_MACHINES}."
    if not counts:
        return f"0/{machines} nodes are available."
    listed = ", ".join(f"{count} {reason}" for reason, count in ordered(counts))
    return f"0/{machines} nodes are available: {listed}."


def ordered(counts: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Reasons as kube-scheduler sorts them: as text that begins with the figure, so that 10 comes before 2."""
    return sorted(counts, key=lambda item: f"{item[1]} {item[0]}")
