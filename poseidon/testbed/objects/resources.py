"""The resources that the API serves, and their versions: a table of built-in ones, and custom resources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from poseidon.testbed.objects.collection import Collection, CollectionSpec
from poseidon.testbed.objects.history import Record
from poseidon.testbed.objects.selectors import selectable_fields

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class ResourceType:
    """One resource in one API version."""

    group: str
    """API group of the resource, "" for the core group."""
    version: str
    """API version of the resource."""
    plural: str
    """Name of the resource in paths."""
    kind: str
    """Kind of the objects."""
    namespaced: bool
    """Whether the objects belong to namespaces."""
    collection: str
    """Name of the collection that holds the objects; versions of a resource share one collection."""
    storage_version: str
    """The ``apiVersion`` in which objects are stored."""
    singular: str
    """Singular name of the resource, for discovery."""
    short_names: tuple[str, ...] = ()
    """Short names of the resource, for discovery."""
    categories: tuple[str, ...] = ()
    """Categories of the resource, for discovery."""
    has_status: bool = False
    """Whether the resource has a status subresource."""
    actions: tuple[tuple[str, str], ...] = ()
    """Further subresources, with the kinds of their bodies."""
    custom: bool = False
    """Whether a CustomResourceDefinition defines the resource."""
    returns_deleted: bool = False
    """Whether the answer to a delete is the object instead of a ``Status``."""
    verbs: tuple[str, ...] = ALL_VERBS
    """Verbs that the resource supports."""

    @property
    def api_version(self) -> str:
        """Return ``group/version``, or only the version for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """Return ``plural.group`` (``plural`` in the core group), as error messages name the resource."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def header(self) -> bytes:
        """Return the fixed text with which the JSON of each object begins."""
        return f'{{"kind":"{self.kind}","apiVersion":"{self.api_version}"'.encode()

    @property
    def is_storage_version(self) -> bool:
        """Whether stored bytes can be served without a conversion."""
        return self.api_version == self.storage_version


def builtin(
    group_version: str,
    plural: str,
    kind: str,
    short: str = "",
    traits: str = "",
    actions: tuple[tuple[str, str], ...] = (),
) -> ResourceType:
    """Return a resource that Kubernetes itself defines.

    ``actions`` has its subresources, each with the kind of its body, "" for none. ``traits`` is a text of words that
    say how the resource is unusual. ``cluster``: whether objects of the resource are in no namespace; ``status``:
    whether it has a status subresource; ``every``: whether it is in the category "all"; ``returned``: whether a
    delete answers with the object.
    """
    group, _, version = group_version.rpartition("/")
    return ResourceType(
        group=group,
        version=version,
        plural=plural,
        kind=kind,
        namespaced="cluster" not in traits,
        collection=f"{plural}.{group}" if group else plural,
        storage_version=group_version,
        singular=kind.lower(),
        short_names=tuple(short.split()),
        categories=("all",) if "every" in traits else (),
        has_status="status" in traits,
        actions=actions,
        returns_deleted="returned" in traits,
    )


_RBAC = "rbac.authorization.k8s.io/v1"
_DEVICES = "resource.k8s.io/v1"

NAMESPACES = builtin("v1", "namespaces", "Namespace", "ns", "cluster status", (("finalize", ""),))
NODES = builtin("v1", "nodes", "Node", "no", "cluster status")
_POD_ACTIONS = (("binding", "Binding"), ("eviction", "Eviction"))
PODS = builtin("v1", "pods", "Pod", "po", "status every returned", _POD_ACTIONS)
EVENTS = builtin("v1", "events", "Event", "ev")
PRIORITY_CLASSES = builtin("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", "pc", "cluster")
CUSTOM_RESOURCE_DEFINITIONS = builtin(
    "apiextensions.k8s.io/v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    "crd crds",
    "cluster status",
)

BUILTIN: tuple[ResourceType, ...] = (
    NAMESPACES,
    NODES,
    PODS,
    EVENTS,
    builtin("v1", "configmaps", "ConfigMap", "cm"),
    builtin("v1", "secrets", "Secret"),
    builtin("v1", "serviceaccounts", "ServiceAccount", "sa", "returned", (("token", "TokenRequest"),)),
    builtin("v1", "services", "Service", "svc", "status every returned"),
    builtin("v1", "persistentvolumes", "PersistentVolume", "pv", "cluster status returned"),
    builtin("v1", "persistentvolumeclaims", "PersistentVolumeClaim", "pvc", "status returned"),
    builtin("v1", "limitranges", "LimitRange", "limits"),
    builtin("v1", "replicationcontrollers", "ReplicationController", "rc", "status every"),
    builtin("apps/v1", "deployments", "Deployment", "deploy", "status every"),
    builtin("apps/v1", "replicasets", "ReplicaSet", "rs", "status every"),
    builtin("apps/v1", "statefulsets", "StatefulSet", "sts", "status every"),
    builtin("apps/v1", "daemonsets", "DaemonSet", "ds", "status every"),
    builtin("batch/v1", "jobs", "Job", "", "status every"),
    PRIORITY_CLASSES,
    builtin("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", "pdb", "status"),
    builtin("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy", "netpol"),
    builtin(_RBAC, "roles", "Role"),
    builtin(_RBAC, "rolebindings", "RoleBinding"),
    builtin(_RBAC, "clusterroles", "ClusterRole", "", "cluster"),
    builtin(_RBAC, "clusterrolebindings", "ClusterRoleBinding", "", "cluster"),
    builtin("coordination.k8s.io/v1", "leases", "Lease"),
    builtin("storage.k8s.io/v1", "storageclasses", "StorageClass", "sc", "cluster"),
    builtin("storage.k8s.io/v1", "csinodes", "CSINode", "", "cluster"),
    builtin("storage.k8s.io/v1", "csidrivers", "CSIDriver", "", "cluster"),
    builtin("storage.k8s.io/v1", "csistoragecapacities", "CSIStorageCapacity"),
    builtin("storage.k8s.io/v1", "volumeattachments", "VolumeAttachment", "", "cluster"),
    builtin(_DEVICES, "deviceclasses", "DeviceClass", "", "cluster"),
    builtin(_DEVICES, "resourceslices", "ResourceSlice", "", "cluster"),
    builtin(_DEVICES, "resourceclaims", "ResourceClaim", "", "status"),
    builtin(_DEVICES, "resourceclaimtemplates", "ResourceClaimTemplate"),
    CUSTOM_RESOURCE_DEFINITIONS,
    # The events of ``events.k8s.io`` are those of the core group in another form.
    replace(EVENTS, group="events.k8s.io"),
)


class ResourceRegistry:
    """The resources that are served now, by group, version and plural name."""

    def __init__(self, resources: Iterable[ResourceType]) -> None:
        self._resources = {(r.group, r.version, r.plural): r for r in resources}

    def find(self, group: str, version: str, plural: str) -> ResourceType | None:
        """Return the resource, or None if it is not served."""
        return self._resources.get((group, version, plural))

    def of_kind(self, api_version: str, kind: str) -> ResourceType | None:
        """Return the resource whose objects have ``apiVersion`` and ``kind`` and can be created, or None."""
        asked = (api_version, kind)
        found = (
            r for r in self._resources.values() if (r.api_version, r.kind) == asked and "create" in r.verbs
        )
        return next(found, None)

    def add(self, resource: ResourceType) -> None:
        """Serve ``resource`` from now on, in place of any resource with the same name."""
        self._resources[resource.group, resource.version, resource.plural] = resource

    def remove_collection(self, collection: str) -> None:
        """Stop serving all versions of the objects in ``collection``."""
        self._resources = {k: r for k, r in self._resources.items() if r.collection != collection}

    def groups(self) -> dict[str, list[str]]:
        """Return the API groups with their versions, in order of registration, without the core group."""
        groups: dict[str, list[str]] = {}
        for resource in self._resources.values():
            versions = groups.setdefault(resource.group, [])
            if resource.version not in versions:
                versions.append(resource.version)
        groups.pop("", None)
        return groups

    def of_version(self, group: str, version: str) -> list[ResourceType]:
        """Return the resources of one version of a group, or none if it is not served."""
        return [r for r in self._resources.values() if (r.group, r.version) == (group, version)]


def collection_spec(resource: ResourceType) -> CollectionSpec:
    """Return what the store needs to know to hold the objects of ``resource``."""
    readers = selectable_fields(resource.collection, namespaced=resource.namespaced)
    return CollectionSpec(
        resource.collection, resource.kind, resource.storage_version, resource.namespaced, readers
    )


# --- between versions ---------------------------------------------------------------------------------------
# Versions of a custom resource differ only in ``apiVersion`` (conversion strategy None). Events are stored in the
# core group's shape and translated for ``events.k8s.io/v1``, with the field names of ``k8s.io/api/events/v1``.

_CORE_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_EVENTS_NAMES = {core: name for name, core in _CORE_NAMES.items()}


def to_storage(resource: ResourceType, obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object, which is in the version of ``resource``, in the stored version."""
    if resource.is_storage_version:
        return obj
    if resource.collection == "events":
        obj = {_CORE_NAMES.get(name, name): value for name, value in obj.items()}
    obj["apiVersion"] = resource.storage_version
    return obj


def convert_from_storage(resource: ResourceType, collection: Collection, record: Record) -> bytes:
    """Return the JSON text of ``record`` in the version of ``resource``."""
    if resource.is_storage_version:
        return record.raw
    if resource.collection == "events":
        obj = msgspec.json.decode(record.raw)
        obj = {_EVENTS_NAMES.get(name, name): value for name, value in obj.items()}
        obj["apiVersion"] = resource.api_version
        return msgspec.json.encode(obj)
    return resource.header + record.raw[len(collection.header) :]


def list_item(resource: ResourceType, collection: Collection, record: Record) -> bytes:
    """Return ``record`` as an item of a list.

    Items of built-in kinds lack kind and apiVersion, as on the real server.
    """
    raw = convert_from_storage(resource, collection, record)
    if resource.custom:
        return raw
    return b"{" + raw[len(resource.header) + 1 :]
