"""Which resources are served: the built-in table, and a registry that custom resources join and leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poseidon.testbed.objects.collection import CollectionSpec
from poseidon.testbed.objects.fields import selectable_fields

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class ResourceType:
    """One resource under one API version.

    ``collection`` names where its objects are stored: resources that are the same objects in different versions share
    one. ``storage_version`` is the ``apiVersion`` of the stored form. ``returns_deleted``: a delete answers with the
    object rather than with a ``Status``.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    collection: str
    storage_version: str
    singular: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    has_status: bool = False
    actions: tuple[tuple[str, str], ...] = ()
    custom: bool = False
    returns_deleted: bool = False

    @property
    def api_version(self) -> str:
        """Return ``group/version``, or only the version in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """Return ``plural.group`` (``plural`` in the core group), as error messages name the resource."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def is_storage_version(self) -> bool:
        """Whether stored bytes can be served as they are."""
        return self.api_version == self.storage_version


def _builtin(
    group_version: str,
    plural: str,
    kind: str,
    *,
    short: str = "",
    cluster: bool = False,
    status: bool = True,
    every: bool = False,
    actions: tuple[tuple[str, str], ...] = (),
    returns_deleted: bool = False,
) -> ResourceType:
    group, _, version = group_version.rpartition("/")
    return ResourceType(
        group=group,
        version=version,
        plural=plural,
        kind=kind,
        namespaced=not cluster,
        collection=f"{plural}.{group}" if group else plural,
        storage_version=group_version,
        singular=kind.lower(),
        short_names=tuple(short.split()),
        categories=("all",) if every else (),
        has_status=status,
        actions=actions,
        returns_deleted=returns_deleted,
    )


EVENTS = _builtin("v1", "events", "Event", short="ev", status=False)
NAMESPACES = _builtin("v1", "namespaces", "Namespace", short="ns", cluster=True, actions=(("finalize", ""),))
PODS = _builtin(
    "v1",
    "pods",
    "Pod",
    short="po",
    every=True,
    actions=(("binding", "Binding"), ("eviction", "Eviction")),
    returns_deleted=True,
)
NODES = _builtin("v1", "nodes", "Node", short="no", cluster=True)
PRIORITY_CLASSES = _builtin(
    "scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", short="pc", cluster=True, status=False
)
CUSTOM_RESOURCE_DEFINITIONS = _builtin(
    "apiextensions.k8s.io/v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    short="crd crds",
    cluster=True,
)

BUILTIN: tuple[ResourceType, ...] = (
    NAMESPACES,
    NODES,
    PODS,
    EVENTS,
    _builtin("v1", "configmaps", "ConfigMap", short="cm", status=False),
    _builtin("v1", "secrets", "Secret", status=False),
    _builtin(
        "v1",
        "serviceaccounts",
        "ServiceAccount",
        short="sa",
        status=False,
        actions=(("token", "TokenRequest"),),
        returns_deleted=True,
    ),
    _builtin("v1", "services", "Service", short="svc", every=True, returns_deleted=True),
    _builtin("v1", "persistentvolumes", "PersistentVolume", short="pv", cluster=True, returns_deleted=True),
    _builtin("v1", "persistentvolumeclaims", "PersistentVolumeClaim", short="pvc", returns_deleted=True),
    _builtin("v1", "replicationcontrollers", "ReplicationController", short="rc", every=True),
    _builtin("apps/v1", "deployments", "Deployment", short="deploy", every=True),
    _builtin("apps/v1", "replicasets", "ReplicaSet", short="rs", every=True),
    _builtin("apps/v1", "statefulsets", "StatefulSet", short="sts", every=True),
    _builtin("apps/v1", "daemonsets", "DaemonSet", short="ds", every=True),
    _builtin("batch/v1", "jobs", "Job", every=True),
    PRIORITY_CLASSES,
    _builtin("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", short="pdb"),
    _builtin("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy", short="netpol", status=False),
    _builtin("rbac.authorization.k8s.io/v1", "roles", "Role", status=False),
    _builtin("rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding", status=False),
    _builtin("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", cluster=True, status=False),
    _builtin(
        "rbac.authorization.k8s.io/v1",
        "clusterrolebindings",
        "ClusterRoleBinding",
        cluster=True,
        status=False,
    ),
    _builtin("coordination.k8s.io/v1", "leases", "Lease", status=False),
    _builtin("storage.k8s.io/v1", "storageclasses", "StorageClass", short="sc", cluster=True, status=False),
    _builtin("storage.k8s.io/v1", "csinodes", "CSINode", cluster=True, status=False),
    _builtin("storage.k8s.io/v1", "csidrivers", "CSIDriver", cluster=True, status=False),
    _builtin("storage.k8s.io/v1", "csistoragecapacities", "CSIStorageCapacity", status=False),
    CUSTOM_RESOURCE_DEFINITIONS,
    # The same objects as the core group's events, in another shape.
    ResourceType(
        group="events.k8s.io",
        version="v1",
        plural="events",
        kind="Event",
        namespaced=True,
        collection="events",
        storage_version="v1",
        singular="event",
        short_names=("ev",),
    ),
)


class ResourceRegistry:
    """The resources being served now, by group, version and plural name."""

    def __init__(self, resources: Iterable[ResourceType]) -> None:
        self._resources = {(r.group, r.version, r.plural): r for r in resources}

    def find(self, group: str, version: str, plural: str) -> ResourceType | None:
        """Return the resource, or None when it is not served."""
        return self._resources.get((group, version, plural))

    def of_kind(self, api_version: str, kind: str) -> ResourceType | None:
        """Return the resource whose objects carry ``apiVersion`` and ``kind``, or None."""
        found = (r for r in self._resources.values() if r.kind == kind and r.api_version == api_version)
        return next(found, None)

    def add(self, resource: ResourceType) -> None:
        """Begin to serve ``resource``, in place of one of the same name."""
        self._resources[resource.group, resource.version, resource.plural] = resource

    def remove_collection(self, collection: str) -> None:
        """Stop to serve all versions of the objects in ``collection``."""
        self._resources = {k: r for k, r in self._resources.items() if r.collection != collection}

    def groups(self) -> dict[str, list[str]]:
        """Return the named groups with their versions, in the order of registration; the core group is left out."""
        groups: dict[str, list[str]] = {}
        for resource in self._resources.values():
            versions = groups.setdefault(resource.group, [])
            if resource.version not in versions:
                versions.append(resource.version)
        groups.pop("", None)
        return groups

    def of_version(self, group: str, version: str) -> list[ResourceType]:
        """Return the resources of one group and version; empty when it is not served."""
        return [r for r in self._resources.values() if (r.group, r.version) == (group, version)]


def collection_spec(resource: ResourceType) -> CollectionSpec:
    """Return what the store must know to hold the objects of ``resource``."""
    readers = selectable_fields(resource.collection, namespaced=resource.namespaced)
    return CollectionSpec(
        resource.collection, resource.kind, resource.storage_version, resource.namespaced, readers
    )
