"""The verbs of the API on objects, without I/O: create, get, update, patch, delete, deletecollection.

An object is deleted at once, unless it has finalizers. If pods are to end gracefully, a deleted pod on a node also
stays until its kubelet has removed it. Deleting a namespace deletes all objects in it. Dependents of a deleted owner
stay, because no garbage collector runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from poseidon.testbed.controllers.disruption import DisruptionController
from poseidon.testbed.objects import custom_resources, errors, patches, pods, strategies
from poseidon.testbed.objects.collection import Collection
from poseidon.testbed.objects.history import Record, Saved
from poseidon.testbed.objects.resources import (
    BUILTIN,
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    PODS,
    PRIORITY_CLASSES,
    ResourceRegistry,
    ResourceType,
    collection_spec,
    convert_from_storage,
    to_storage,
)
from poseidon.testbed.objects.selectors import Selection
from poseidon.testbed.objects.store import Preconditions, Store, decode

Object = dict[str, Any]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"

_PATCHES: dict[str, Callable[[Any, Any], Any]] = {
    JSON_PATCH: patches.json_patch,
    MERGE_PATCH: patches.merge_patch,
    STRATEGIC_MERGE_PATCH: patches.strategic_merge_patch,
}
_OTHER_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"


class Operations:
    """Carries out the API's verbs on a store.

    A new store holds the system namespaces and priority classes, or the ``saved`` state.

    If ``graceful``, deleted pods on nodes have their grace period; a simulated kubelet must end these pods, or else
    they stay for ever.
    """

    def __init__(self, store: Store, *, graceful: bool = False, saved: Saved | None = None) -> None:
        self.store = store
        self._graceful = graceful
        self.registry = ResourceRegistry(BUILTIN)
        for resource in BUILTIN:
            if resource.is_storage_version:
                store.add_collection(collection_spec(resource))
        self.disruptions = DisruptionController(store)
        if saved is not None and saved.objects:
            self._restore(saved)
        else:
            self._begin()

    def _restore(self, saved: Saved) -> None:
        """Load a saved state; definitions of custom resources come first, because they define the other kinds."""
        definitions = CUSTOM_RESOURCE_DEFINITIONS.collection
        for (name, _), raw in sorted(saved.objects.items(), key=lambda item: item[0][0] != definitions):
            record = self.store.restore(self.store.collection(name), raw)
            if name == definitions:
                self._serve(record)
        self.store.go_on_after(saved.revision)

    def _begin(self) -> None:
        for name in ("default", "kube-system", "kube-node-lease"):
            self.create(NAMESPACES, "", {"metadata": {"name": name}})
        for name, value in ("cluster", 2_000_000_000), ("node", 2_000_001_000):
            body = {"metadata": {"name": f"system-{name}-critical"}, "value": value}
            self.create(PRIORITY_CLASSES, "", body)

    def create(
        self,
        resource: ResourceType,
        namespace: str,
        body: Any,
        *,
        dry_run: bool = False,
        keep_status: bool = False,
    ) -> Record:
        """Create an object and return its record. Raises ``ApiError`` 400, 403, 404 (no such namespace), 409 or 422."""
        obj = to_storage(resource, strategies.check_shape(resource, body))
        metadata = obj["metadata"]
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = self.store.generate_name(metadata["generateName"])
        if resource.namespaced:
            self._settle_namespace(metadata, namespace)
        else:
            metadata.pop("namespace", None)
        strategies.prepare_create(resource, obj, self.store, keep_status=keep_status)
        collection = self.store.collection(resource.collection)
        record = self.store.create(collection, obj, dry_run=dry_run)
        if resource is CUSTOM_RESOURCE_DEFINITIONS and not dry_run:
            self._serve(record)
        return record

    def get(self, resource: ResourceType, namespace: str, name: str) -> Record:
        """Return the record of an object. Raises ``ApiError`` 404 if the object does not exist."""
        return self.store.get(self.store.collection(resource.collection), namespace, name)

    def update(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        body: Any,
        *,
        status: bool = False,
        dry_run: bool = False,
    ) -> Record:
        """Replace an object, or its status. Raises ``ApiError`` 400, 404, 409 (stale resourceVersion) or 422."""
        current = self.get(resource, namespace, name)
        obj = to_storage(resource, strategies.check_shape(resource, body))
        metadata = obj["metadata"]
        if metadata.setdefault("name", name) != name:
            raise errors.bad_request(
                f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
            )
        if resource.custom and not metadata.get("resourceVersion"):
            why = "must be specified for an update"
            cause = errors.invalid_value("metadata.resourceVersion", "0x0", why)
            raise errors.invalid(resource.kind, resource.group, name, [cause])
        return self._write(resource, current, obj, status=status, dry_run=dry_run)

    def patch(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        media_type: str,
        body: Any,
        *,
        status: bool = False,
        dry_run: bool = False,
    ) -> Record:
        """Change an object, or its status, by a patch. Raises ``ApiError`` 400, 404, 409, 415 or 422.

        If the patch has a resourceVersion, it must be the current version; otherwise the patch applies to any
        version.
        """
        accepted = [m for m in _PATCHES if not (resource.custom and m == STRATEGIC_MERGE_PATCH)]
        if media_type not in accepted:
            raise errors.media_type_error(media_type, accepted)
        current = self.get(resource, namespace, name)
        # A patch applies to the object in the API version of the request's URL, not in the stored version.
        collection = self.store.collection(resource.collection)
        target = msgspec.json.decode(convert_from_storage(resource, collection, current))
        patched = strategies.check_patched(resource, _PATCHES[media_type](target, body))
        return self._write(resource, current, to_storage(resource, patched), status=status, dry_run=dry_run)

    def delete(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        preconditions: Preconditions | None = None,
        *,
        grace: int | None = None,
        dry_run: bool = False,
    ) -> Record:
        """Delete an object, or mark it as being deleted; return its last state. Raises ``ApiError`` 404 or 409.

        ``grace`` is how many seconds a pod may take to end, None for what its spec says.
        """
        current = self.get(resource, namespace, name)
        if preconditions is not None:
            preconditions.check(resource.qualified, current)
        if dry_run:
            return current
        obj = decode(current)
        seconds = pods.grace_period(obj, grace) if self._graceful and resource is PODS else 0
        if not seconds and not obj["metadata"].get("finalizers"):
            return self._remove(resource, current)
        if not pods.begin_to_end(obj, seconds, self.store.time()):
            return current
        return self.store.replace(self.store.collection(resource.collection), current, obj)

    def delete_collection(
        self, resource: ResourceType, selection: Selection, *, dry_run: bool = False
    ) -> list[Record]:
        """Delete all selected objects and return their last states, in key order."""
        collection = self.store.collection(resource.collection)
        return [
            self.delete(resource, record.namespace, record.name, dry_run=dry_run)
            for record in collection.records(selection.namespace)
            if selection.matches(record)
        ]

    def _settle_namespace(self, metadata: Object, namespace: str) -> None:
        """Set the object's namespace to that of the URL; refuse another namespace, or one that does not exist."""
        given = metadata.get("namespace") or namespace or "default"
        if namespace and given != namespace:
            raise errors.bad_request(_OTHER_NAMESPACE)
        metadata["namespace"] = given
        self.store.get(self.store.collection(NAMESPACES.collection), "", given)

    def _write(
        self, resource: ResourceType, current: Record, obj: Object, *, status: bool, dry_run: bool
    ) -> Record:
        metadata = obj["metadata"]
        if metadata.get("namespace") not in (None, "", current.namespace):
            raise errors.bad_request(_OTHER_NAMESPACE)
        wanted = Preconditions(metadata.get("uid"), metadata.get("resourceVersion"))
        wanted.check(resource.qualified, current)
        before = decode(current)
        if status:
            obj = strategies.prepare_status_update(resource, obj, before)
        else:
            strategies.prepare_update(resource, obj, before)
        collection = self.store.collection(resource.collection)
        record = self.store.replace(collection, current, obj, dry_run=dry_run)
        if dry_run:
            return record
        if pods.is_over(obj):
            return self._remove(resource, record)
        if resource is CUSTOM_RESOURCE_DEFINITIONS:
            self._serve(record)
        return record

    def _remove(self, resource: ResourceType, record: Record) -> Record:
        if resource is NAMESPACES:
            for collection in self.store.collections():
                if collection.spec.namespaced:
                    self._empty(collection, record.name)
        elif resource is CUSTOM_RESOURCE_DEFINITIONS:
            self.registry.remove_collection(record.name)
            self._empty(self.store.collection(record.name))
            self.store.drop_collection(record.name)
        return self.store.delete(self.store.collection(resource.collection), record)

    def _empty(self, collection: Collection, namespace: str = "") -> None:
        """Delete the objects of one namespace, or of all namespaces, in spite of finalizers."""
        for record in collection.records(namespace):
            self.store.delete(collection, record)

    def _serve(self, definition: Record) -> None:
        """Serve the resources that a definition defines now, instead of those that it defined before."""
        self.registry.remove_collection(definition.name)
        resources = custom_resources.resources_of(decode(definition))
        for resource in resources:
            self.registry.add(resource)
        known = {collection.spec.name for collection in self.store.collections()}
        if resources and definition.name not in known:
            self.store.add_collection(collection_spec(resources[0]))
