"""Completes objects as an API server would: keeps one version of each, in a served API version, with defaults.

People write objects with ``generateName``, nodes without ``allocatable``, and old API versions. Dumps of a cluster
may have several parts, and objects may have changed between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from poseidon.manifests.documents import Document

_SERVED_AS = {
    "extensions": {"Deployment": "apps/v1", "DaemonSet": "apps/v1", "ReplicaSet": "apps/v1"},
    "apps": dict.fromkeys(("Deployment", "DaemonSet", "ReplicaSet", "StatefulSet"), "apps/v1"),
    "batch": {"CronJob": "batch/v1"},
    "node.k8s.io": {"RuntimeClass": "node.k8s.io/v1"},
    "policy": {"PodDisruptionBudget": "policy/v1"},
    "scheduling.k8s.io": {"PriorityClass": "scheduling.k8s.io/v1"},
    "storage.k8s.io": dict.fromkeys(
        ("CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment"),
        "storage.k8s.io/v1",
    ),
}
"""Kinds that were served under earlier API versions, with the same meaning for scheduling."""

Key = tuple[str, str, str, str]
"""API group, kind, namespace and name."""


def complete_documents(documents: Iterable[Document]) -> list[Document]:
    """Return the documents as an API server would store them, in order.

    If an object was dumped several times (with the same uid), its latest version is kept. An object that has only a
    ``generateName`` is named by this prefix and the first free number. A malformed value stays as it is, because the
    conversion reports it.
    """
    found = _latest([_apply_defaults(each) for each in documents])
    taken = {key for each in found if (key := _key(each))[-1]}
    return [_set_name(each, taken) for each in found]


def _apply_defaults(document: Document) -> Document:
    group, kind, value = document.api_version.rpartition("/")[0], document.kind, document.value
    version = _SERVED_AS.get(group, {}).get(kind, document.api_version)
    if version != document.api_version:
        value = {**value, "apiVersion": version}
    given = value.get("status") if (group, kind) == ("", "Node") else None
    status: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    if status.get("capacity") and status.get("allocatable") is None:
        # core/v1 SetDefaults_NodeStatus
        value = {**value, "status": {**status, "allocatable": status["capacity"]}}
    return document if value is document.value else replace(document, api_version=version, value=value)


def _latest(documents: list[Document]) -> list[Document]:
    """Return the documents with one version of each dumped object: the one with the highest resource version."""
    latest: dict[tuple[Key, str], Document] = {}
    kept: list[tuple[tuple[Key, str] | None, Document]] = []
    for each in documents:
        uid = _metadata(each).get("uid")
        key = (_key(each), uid) if isinstance(uid, str) and uid else None
        kept.append((key, each))
        if key is not None and (key not in latest or _version(each) > _version(latest[key])):
            latest[key] = each
    return [each for key, each in kept if key is None or latest[key] is each]


def _version(document: Document) -> int:
    """Return the resource version as a number.

    Kubernetes documents that a resource version is a number since 1.35; before, it was one in practice.
    """
    version = _metadata(document).get("resourceVersion")
    text = version if isinstance(version, str) else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 40 else -1


def _set_name(document: Document, taken: set[Key]) -> Document:
    metadata = _metadata(document)
    prefix = metadata.get("generateName")
    if metadata.get("name") or not isinstance(prefix, str) or not prefix:
        return document
    for number in count():
        named = {**document.value, "metadata": {**metadata, "name": f"{prefix}{number}"}}
        found = replace(document, value=named)
        if _key(found) not in taken:
            taken.add(_key(found))
            return found
    raise AssertionError("unreachable")


def _key(document: Document) -> Key:
    metadata = _metadata(document)
    group = document.api_version.rpartition("/")[0]
    namespace = str(metadata.get("namespace") or "default")
    return group, document.kind, namespace, str(metadata.get("name") or "")


def _metadata(document: Document) -> Mapping[str, Any]:
    metadata = document.value.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}
