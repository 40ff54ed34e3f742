"""Defines Kueue's annotations about topology, and finds which pod set of its owner a pod is in."""

from __future__ import annotations

from collections.abc import Mapping

from poseidon.pods.templates import POD_SET_GROUP

_PREFIX = "kueue.x-k8s.io/podset"
REQUIRED, PREFERRED = f"{_PREFIX}-required-topology", f"{_PREFIX}-preferred-topology"
UNCONSTRAINED = f"{_PREFIX}-unconstrained-topology"
SLICE_LEVEL, SLICE_SIZE = f"{_PREFIX}-slice-required-topology", f"{_PREFIX}-slice-size"
SLICE_LAYERS = f"{_PREFIX}-slice-required-topology-constraints"
"""Kueue's annotations about topology, on pods or on the template of a pod set."""
ASKING = (REQUIRED, PREFERRED, UNCONSTRAINED, SLICE_LEVEL, SLICE_LAYERS)
"""The annotations with which a pod set requests a topology."""
TOPOLOGY_ANNOTATIONS = (*ASKING, SLICE_SIZE, POD_SET_GROUP)
"""All of Kueue's annotations about topology."""

_ROLES = (
    "jobset.sigs.k8s.io/replicatedjob-name",
    "training.kubeflow.org/replica-type",
    "ray.io/group",
    "spark-role",
)
"""Labels that distinguish the pods of an owner's pod sets."""
_WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"


def pick_topology(annotations: Mapping[str, str]) -> dict[str, str]:
    """Return those of the annotations that are about topology."""
    return {key: annotations[key] for key in TOPOLOGY_ANNOTATIONS if key in annotations}


def find_role(labels: Mapping[str, str]) -> str:
    """Return the name of the pod set that a pod's labels state, "" for none."""
    index = labels.get(_WORKER_INDEX)
    if index is not None:
        return "leader" if index == "0" else "workers"
    return next((labels[key] for key in _ROLES if labels.get(key)), "")
