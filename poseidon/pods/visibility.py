"""Which of an object's metadata travels to models, whatever selectors look at (see ``onlookers``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poseidon.pods.programs import PROGRAM, program
from poseidon.pods.requests.bandwidth import BANDWIDTH_ANNOTATIONS
from poseidon.pods.requests.estimates import NODE_ANNOTATIONS, POD_ANNOTATIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from poseidon.kube.api.core import Pod

ANNOTATION_PREFIX = "firmament.io/"
"""Annotations of pods and nodes that begin like this are meant for models."""

MODEL_LABELS = frozenset({"networkRequirement", "taskType"})
"""Pod labels that models look at, by the names that the original gave them."""

PROGRAM_POLICIES = frozenset({"sjf", "whare_map"})
"""Base policies that look at what a task runs."""

LOAD_MODELS = frozenset({"load_threshold"})
"""Models that estimate what a task will use: by limits, priority class and owner, and container by container."""

USE_POLICIES = frozenset({"cpu_mem"})
"""Base policies that go by measured use, and must know which pods came too late to be in it."""

NUMA_MODELS = frozenset({"numa_fit"})
"""Models that align containers with NUMA zones, and must know which came after a node was measured."""

NETWORK_MODELS = frozenset({"network_overhead"})
"""Models that look at which workload of which application a pod belongs to, and order by quality of service."""

APP_GROUP_LABEL = "appgroup.diktyo.x-k8s.io"
"""Pod label: the name of its AppGroup, without a namespace."""

WORKLOAD_LABEL = "appgroup.diktyo.x-k8s.io.workload"
"""Pod label: the selector of its workload."""


@dataclass(frozen=True, slots=True)
class Visibility:
    """Which of a pod's metadata models look at; the rest splits a class only if some selector looks at it.

    ``labels`` and ``annotations`` by name, further annotations by ``prefix`` ("": none). ``programs``: a pod
    that does not name its program is given that of its owner, so that pods of different jobs differ.
    ``estimates``: limits, Koordinator's priority class and whether a DaemonSet owns the pod. ``containers``: what
    each container asks for, and its QoS class. ``timed``: when pods were scheduled and initialized. ``topologies``:
    NodeResourceTopology objects. ``qualities``: the QoS class of the pod. ``bandwidth``: bandwidth annotations count as
    requests. ``applications``: AppGroup and NetworkTopology objects.
    ``node_annotations``: those of nodes, besides those meant for models.
    """

    labels: frozenset[str] = frozenset()
    annotations: frozenset[str] = frozenset()
    namespaces: bool = False
    prefix: str = ""
    programs: bool = False
    estimates: bool = False
    containers: bool = False
    timed: bool = False
    topologies: bool = False
    qualities: bool = False
    bandwidth: bool = False
    applications: bool = False
    node_annotations: frozenset[str] = frozenset()

    def annotations_of(self, pod: Pod) -> dict[str, str]:
        """Return the annotations that count, with the program among them if wanted and known."""
        found = pod.metadata.annotations
        chosen = _chosen(found, self.annotations)
        if self.prefix and found:
            chosen.update(prefixed(found, self.prefix))
        if self.programs:
            name = program(pod)
            if name:
                chosen[PROGRAM] = name
        return chosen


def visible_to(
    policy: str, overlays: Collection[str] = (), *, bandwidth: bool = False, namespaces: bool = False
) -> Visibility:
    """Return what a base policy and overlays look at, by their names.

    ``bandwidth``: annotations are requests. ``namespaces``: the cluster is divided between them.
    """
    estimates = not LOAD_MODELS.isdisjoint(overlays)
    aligned = not NUMA_MODELS.isdisjoint(overlays)
    applications = not NETWORK_MODELS.isdisjoint(overlays)
    annotations = (POD_ANNOTATIONS if estimates else frozenset()) | (
        BANDWIDTH_ANNOTATIONS if bandwidth else frozenset()
    )
    return Visibility(
        labels=MODEL_LABELS | {APP_GROUP_LABEL, WORKLOAD_LABEL} if applications else MODEL_LABELS,
        annotations=annotations,
        namespaces=namespaces,
        prefix=ANNOTATION_PREFIX,
        programs=policy in PROGRAM_POLICIES,
        estimates=estimates,
        containers=estimates or aligned,
        timed=estimates or aligned or policy in USE_POLICIES,
        topologies=aligned,
        qualities=applications,
        bandwidth=bandwidth,
        applications=applications,
        node_annotations=NODE_ANNOTATIONS if estimates else frozenset(),
    )


def prefixed(annotations: Mapping[str, str], prefix: str = ANNOTATION_PREFIX) -> dict[str, str]:
    """Return the annotations whose names begin with ``prefix``."""
    return {key: value for key, value in annotations.items() if key.startswith(prefix)}


def _chosen(given: Mapping[str, str], keys: frozenset[str]) -> dict[str, str]:
    return {key: given[key] for key in keys if key in given} if keys and given else {}
