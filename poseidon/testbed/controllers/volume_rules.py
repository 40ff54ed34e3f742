"""What claims and volumes are to each other, judged from their JSON, apart from the scheduler's own rules."""

from __future__ import annotations

from typing import Any

from poseidon.testbed.controllers.node_rules import holds, suits
from poseidon.testbed.controllers.requested import amount

Object = dict[str, Any]

SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
NO_PROVISIONER = "kubernetes.io/no-provisioner"


def annotations_of(obj: Object) -> dict[str, str]:
    """Return the annotations of an object."""
    found: dict[str, str] = obj["metadata"].get("annotations") or {}
    return found


def is_bound(claim: Object) -> bool:
    """Whether a claim has been bound for good."""
    return bool(claim["spec"].get("volumeName")) and BIND_COMPLETED in annotations_of(claim)


def is_for(volume: Object, claim: Object) -> bool:
    """Whether a volume is given to a claim, by name and, where it says so, by uid."""
    given = volume["spec"].get("claimRef") or {}
    metadata = claim["metadata"]
    return (
        given.get("name") == metadata["name"]
        and given.get("namespace", "default") == metadata["namespace"]
        and given.get("uid", metadata["uid"]) == metadata["uid"]
    )


def is_fit(volume: Object, claim: Object) -> bool:
    """Whether a volume is free and what a claim asks for."""
    offered, asked = volume["spec"], claim["spec"]
    selector = asked.get("selector") or {}
    labels = volume["metadata"].get("labels") or {}
    return (
        not offered.get("claimRef")
        and offered.get("storageClassName", "") == (asked.get("storageClassName") or "")
        and (offered.get("volumeAttributesClassName") or "") == (asked.get("volumeAttributesClassName") or "")
        and set(asked.get("accessModes") or ()) <= set(offered.get("accessModes") or ())
        and (offered.get("volumeMode") or "Filesystem") == (asked.get("volumeMode") or "Filesystem")
        and size(volume) >= _storage((asked.get("resources") or {}).get("requests"))
        and all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
        and all(holds(each, labels) for each in selector.get("matchExpressions") or ())
    )


def size(volume: Object) -> int:
    """Return the bytes that a volume holds."""
    return _storage(volume["spec"].get("capacity"))


def is_reached(volume: Object, node: Object) -> bool:
    """Whether a node satisfies a volume's node affinity."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    if not required:
        return True
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    return suits({"affinity": {"nodeAffinity": rule}}, node)


def claim_names(pod: Object) -> list[str]:
    """Return the names of the claims that a pod uses."""
    found = []
    for volume in pod["spec"].get("volumes") or ():
        if source := volume.get("persistentVolumeClaim"):
            found.append(source["claimName"])
        elif volume.get("ephemeral"):
            found.append(f"{pod['metadata']['name']}-{volume['name']}")
    return found


def _storage(amounts: Object | None) -> int:
    return amount("storage", str((amounts or {}).get("storage", 0)))
