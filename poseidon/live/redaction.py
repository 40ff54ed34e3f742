"""Removes free texts from objects for a support bundle, except the texts that placement reads.

Labels are kept, because selectors of any object may refer to them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

from poseidon.app_network.last_good_specs import LAST_GOOD as LAST_GOOD_SPEC
from poseidon.devices.sharing.systems import ANNOTATIONS as SHARING_ANNOTATIONS
from poseidon.group_trees.spec.groups import GROUP_KEYS
from poseidon.group_trees.spec.keys import CONSTRAINTS_ANNOTATION, LAST_GOOD
from poseidon.kube.api.storage import (
    BIND_COMPLETED,
    DEFAULT_CLASS,
    LEGACY_CLASS,
    LEGACY_DEFAULT_CLASS,
    SELECTED_NODE,
)
from poseidon.lifecycle.refused_pods import RECREATIONS
from poseidon.manifests.controllers.volumes import PROVISIONED_BY
from poseidon.offline.evictability import REFUSALS, SAFE_VOLUMES
from poseidon.pod_groups.demands import MIN_PARALLELISM
from poseidon.pod_groups.group_names import (
    FOREIGN_GANG_ANNOTATIONS,
    GANG_ANNOTATION,
    KUEUE_GROUP_SIZE,
    MIRROR_ANNOTATION,
)
from poseidon.pod_groups.readers.exclusive_topology import ANNOTATIONS as EXCLUSIVE_ANNOTATIONS
from poseidon.pod_groups.topology_annotations import TOPOLOGY_ANNOTATIONS
from poseidon.pods.koordinator_priority import NODE_ANNOTATIONS, POD_ANNOTATIONS
from poseidon.pods.requests_and_limits import BANDWIDTH_ANNOTATIONS
from poseidon.pods.templates import KAI_GPU_PARTS
from poseidon.pods.visibility import ANNOTATION_PREFIX
from poseidon.queues.elastic_quotas import NAMESPACES, WEIGHT
from poseidon.queues.queue_names import KUEUE_QUEUE, VOLCANO_QUEUES

ANNOTATIONS: frozenset[str] = frozenset(
    {
        BIND_COMPLETED,
        CONSTRAINTS_ANNOTATION,
        DEFAULT_CLASS,
        GANG_ANNOTATION,
        KUEUE_GROUP_SIZE,
        KUEUE_QUEUE,
        LAST_GOOD,
        LAST_GOOD_SPEC,
        LEGACY_CLASS,
        LEGACY_DEFAULT_CLASS,
        MIN_PARALLELISM,
        MIRROR_ANNOTATION,
        NAMESPACES,
        PROVISIONED_BY,
        RECREATIONS,
        SAFE_VOLUMES,
        SELECTED_NODE,
        WEIGHT,
        *BANDWIDTH_ANNOTATIONS,
        *EXCLUSIVE_ANNOTATIONS,
        *KAI_GPU_PARTS,
        *FOREIGN_GANG_ANNOTATIONS,
        *SHARING_ANNOTATIONS,
        *NODE_ANNOTATIONS,
        *POD_ANNOTATIONS,
        *REFUSALS,
        *TOPOLOGY_ANNOTATIONS,
        *VOLCANO_QUEUES,
    }
)
"""Annotations that placement reads, besides those for cost models, which begin with ``ANNOTATION_PREFIX``."""

_SPOKEN_FOR = frozenset({"PodScheduled"})
"""Types of conditions whose messages are kept, because schedulers write them from what placement reads."""

_NAMES_OF_CUSTOM_OBJECTS = frozenset(
    {
        "apiVersion",
        "bandwidthAllocatable",
        "bandwidthAllocated",
        "bandwidthCapacity",
        "conditions",
        "configMapName",
        "configmapName",
        "costList",
        "costs",
        "dependencies",
        "destination",
        "index",
        "kind",
        "lastTransitionTime",
        "maxNetworkCost",
        "minBandwidth",
        "name",
        "namespace",
        "networkCost",
        "nodeCount",
        "numMembers",
        "origin",
        "originCosts",
        "originList",
        "reason",
        "runningWorkloads",
        "scheduleStartTime",
        "selector",
        "status",
        "topologyCalculationTime",
        "topologyIndex",
        "topologyKey",
        "topologyList",
        "topologyOrder",
        "topologySortingAlgorithm",
        "type",
        "weightCalculationTime",
        "weights",
        "workload",
        "workloads",
    }
)
"""Fields of AppGroup and NetworkTopology; the specs of these objects are read as they were written."""


def redact_object(kind: str, cut: dict[str, Any], annotations: Collection[str] = ()) -> dict[str, Any]:
    """Return a decoded object as a bundle contains it; ``annotations`` has the keys of further annotations to keep."""
    _drop_annotations(cut, annotations)
    if kind in _BY_KIND:
        cut = _BY_KIND[kind](cut)
    if isinstance(cut.get("status"), dict):
        _drop_messages(cut["status"])
    return cut


def is_kept(annotation: str) -> bool:
    """Return whether placement reads an annotation."""
    return annotation in ANNOTATIONS or annotation.startswith(ANNOTATION_PREFIX)


def _drop_annotations(value: Any, more: Collection[str]) -> None:
    """Remove annotations of an object and its templates, except those that placement reads and those in ``more``."""
    if isinstance(value, list | tuple):
        for each in value:
            _drop_annotations(each, more)
    elif isinstance(value, dict):
        metadata = value.get("metadata")
        if isinstance(metadata, dict) and isinstance(metadata.get("annotations"), dict):
            given = metadata.pop("annotations")
            kept = {key: text for key, text in given.items() if is_kept(key) or key in more}
            if kept:
                metadata["annotations"] = kept
        for each in value.values():
            _drop_annotations(each, more)


def _drop_messages(status: dict[str, Any]) -> None:
    status.pop("message", None)
    for each in status.get("conditions", ()):
        if isinstance(each, dict) and each.get("type") not in _SPOKEN_FOR:
            each.pop("message", None)


def _of_group_map(cut: dict[str, Any]) -> dict[str, Any]:
    data = {key: value for key, value in cut.get("data", {}).items() if key in GROUP_KEYS}
    return {**cut, "data": data}


def _of_custom_object(cut: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _keep_known_fields(value) if key in ("spec", "status") else value for key, value in cut.items()
    }


def _keep_known_fields(value: Any) -> Any:
    """Return a value without the fields that placement does not know."""
    if isinstance(value, dict):
        return {
            key: _keep_known_fields(each) for key, each in value.items() if key in _NAMES_OF_CUSTOM_OBJECTS
        }
    return [_keep_known_fields(each) for each in value] if isinstance(value, list) else value


def _of_device_object(cut: dict[str, Any]) -> dict[str, Any]:
    """Return an object of dynamic resource allocation without drivers' parameters, which no scheduler reads."""
    for each in cut.get("status", {}).get("devices", ()):
        _drop_messages(each)
    return {key: _drop_parameters(value) for key, value in cut.items()}


def _drop_parameters(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _drop_parameters(each) for key, each in value.items() if key != "config"}
    return [_drop_parameters(each) for each in value] if isinstance(value, list | tuple) else value


_BY_KIND: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = MappingProxyType(
    {
        "ConfigMap": _of_group_map,
        "AppGroup": _of_custom_object,
        "NetworkTopology": _of_custom_object,
        **dict.fromkeys(("Device", "DeviceClass", "ResourceClaim", "ResourceSlice"), _of_device_object),
    }
)
