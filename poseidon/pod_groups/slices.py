"""Finds slices of DisaggregatedSets whose pods share a domain of nodes (``placementPolicy``).

A slice has a LeaderWorkerSet for each role. The controller of a slice gives all pods of the slice an affinity to each
other. A scheduler that places one pod after another may put the first pod into a domain where the others never fit.
"""

from __future__ import annotations

from poseidon.kube.api.pods import Pod

SET, SLICE = "disaggregatedset.x-k8s.io/name", "disaggregatedset.x-k8s.io/slice"
"""Labels of a DisaggregatedSet's pods: the name of the set, and the number of the slice."""


def find_slice_topology(pod: Pod) -> str:
    """Return the node label whose value all pods of a slice share, by the pod's affinity; "" for none."""
    labels = pod.metadata.labels
    if SET not in labels or SLICE not in labels:
        return ""
    affinity = pod.spec.affinity
    rules = affinity.pod_affinity if affinity is not None else None
    own = {(key, "In", (labels[key],)) for key in (SET, SLICE)}
    for term in rules.required if rules is not None else ():
        selector = term.label_selector
        if (
            selector is None
            or selector.match_labels
            or term.namespaces
            or term.namespace_selector is not None
        ):
            continue
        if {(each.key, each.operator, tuple(each.values)) for each in selector.match_expressions} == own:
            return term.topology_key
    return ""


def name_slice(pod: Pod) -> str:
    """Return the name of a pod's slice: the name of its set and the slice's number."""
    labels = pod.metadata.labels
    return f"{labels.get(SET, '')}-{labels.get(SLICE, '')}"
