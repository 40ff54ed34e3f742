"""Maps reasons of pending pods to kube-scheduler's plugins, so that metrics need only a few names."""

from __future__ import annotations

from functools import lru_cache

_PREEMPTION = " preemption: "
"""Text that ends the reasons of nodes in a message; the text after it is about preemption."""

PHRASES: tuple[tuple[str, str], ...] = (
    ("Insufficient ", "NodeResourcesFit"),
    ("Too many pods", "NodeResourcesFit"),
    ("node(s) were unschedulable", "NodeUnschedulable"),
    ("untolerated taint(s)", "TaintToleration"),
    ("node(s) were not ready", "TaintToleration"),
    ("the requested node name", "NodeName"),
    ("Pod's node affinity/selector", "NodeAffinity"),
    ("plugin(s) [NodeAffinity]", "NodeAffinity"),
    ("Pod's required features", "NodeDeclaredFeatures"),
    ("free ports for the requested pod ports", "NodePorts"),
    ("pod topology spread constraints", "PodTopologySpread"),
    ("pod affinity rules", "InterPodAffinity"),
    ("pod anti-affinity rules", "InterPodAffinity"),
    ("existing pods anti-affinity rules", "InterPodAffinity"),
    ("node(s) exceed max volume count", "NodeVolumeLimits"),
    ("PersistentVolume's node affinity", "VolumeBinding"),
    ("available persistent volumes to bind", "VolumeBinding"),
    ("node(s) did not have enough free storage", "VolumeBinding"),
    ("non-existent pv(s)", "VolumeBinding"),
    ("no available volume zone", "VolumeZone"),
    ("ReadWriteOncePod access mode", "VolumeRestrictions"),
    ("node(s) had no available disk", "VolumeRestrictions"),
    ("cannot allocate all claims", "DynamicResources"),
    ("resourceclaim", "DynamicResources"),
    ("ResourceClaim", "DynamicResources"),
    ("reserved for a pod that has waited longer", "Reservation"),
    ("room for some of them, but not for all at once", "Coscheduling"),
    ("quota: ", "Quota"),
    ("because of the quota of ", "Quota"),
    ("refused by rules or cost models", "CostModel"),
    ("usage exceed threshold", "LoadAwareScheduling"),
    ("node(s) nodeMetric ", "LoadAwareScheduling"),
    ("nodes available to schedule pods", "NoNodes"),
)
"""Phrases in messages, and the plugin that each belongs to; the last plugins are not kube-scheduler's."""

OTHER = "Other"
PLUGINS: tuple[str, ...] = (*dict.fromkeys(plugin for _, plugin in PHRASES), OTHER)
"""All names of plugins."""


@lru_cache(maxsize=4096)  # Pods of a workload have the same message.
def plugins_of(message: str) -> tuple[str, ...]:
    """Return the plugins whose reasons occur in a pending pod's message, each once; ``OTHER`` if none occur."""
    reasons = message.partition(_PREEMPTION)[0]
    found = dict.fromkeys(plugin for phrase, plugin in PHRASES if phrase in reasons)
    return tuple(found) or (OTHER,)
