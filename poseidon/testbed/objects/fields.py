"""The fields that field selectors may name, per kind, as the API server's registries define them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poseidon.testbed.objects.collection import FieldReader


def _path(*names: str, default: str = "") -> FieldReader:
    def read(obj: dict[str, Any]) -> str:
        value: Any = obj
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        if value is None:
            return default
        return ("true" if value else "false") if isinstance(value, bool) else str(value)

    return read


def _name(obj: dict[str, Any]) -> str:
    name: str = obj["metadata"]["name"]
    return name


def _namespace(obj: dict[str, Any]) -> str:
    namespace: str = obj["metadata"].get("namespace", "")
    return namespace


def _first(*readers: FieldReader) -> FieldReader:
    def read(obj: dict[str, Any]) -> str:
        return next((value for reader in readers if (value := reader(obj))), "")

    return read


_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

_SPECIFIC: dict[str, dict[str, FieldReader]] = {
    "pods": {
        "spec.nodeName": _path("spec", "nodeName"),
        "spec.schedulerName": _path("spec", "schedulerName"),
        "spec.restartPolicy": _path("spec", "restartPolicy"),
        "spec.serviceAccountName": _path("spec", "serviceAccountName"),
        "spec.hostNetwork": _path("spec", "hostNetwork", default="false"),
        "status.phase": _path("status", "phase"),
        "status.podIP": _path("status", "podIP"),
        "status.nominatedNodeName": _path("status", "nominatedNodeName"),
    },
    "nodes": {"spec.unschedulable": _path("spec", "unschedulable", default="false")},
    "namespaces": {"status.phase": _path("status", "phase")},
    "secrets": {"type": _path("type")},
    "events": {
        **{f"involvedObject.{name}": _path("involvedObject", name) for name in _INVOLVED},
        "reason": _path("reason"),
        "reportingComponent": _path("reportingComponent"),
        "source": _first(_path("source", "component"), _path("reportingComponent")),
        "type": _path("type"),
    },
    "replicationcontrollers": {"status.replicas": _path("status", "replicas", default="0")},
    "replicasets.apps": {"status.replicas": _path("status", "replicas", default="0")},
    "jobs.batch": {"status.successful": _path("status", "succeeded", default="0")},
}


def selectable_fields(collection: str, *, namespaced: bool) -> dict[str, FieldReader]:
    """Return the readers for the collection ``plural`` or ``plural.group``; metadata.name is known everywhere."""
    readers: dict[str, FieldReader] = {"metadata.name": _name}
    if namespaced:
        readers["metadata.namespace"] = _namespace
    readers.update(_SPECIFIC.get(collection, {}))
    return readers
