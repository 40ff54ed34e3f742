"""Between the stored version of an object and the version that a client asked for.

Versions of a custom resource differ in ``apiVersion`` only (conversion strategy None). Events are stored in the core
group's shape and translated for ``events.k8s.io/v1``, with the field names of ``k8s.io/api/events/v1``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from poseidon.testbed.objects.collection import Collection
    from poseidon.testbed.objects.history import Record
    from poseidon.testbed.objects.resources import ResourceType

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
    """Return ``obj``, given in the version of ``resource``, in the stored version."""
    if resource.is_storage_version:
        return obj
    if resource.collection == "events":
        obj = {_CORE_NAMES.get(name, name): value for name, value in obj.items()}
    obj["apiVersion"] = resource.storage_version
    return obj


def from_storage(resource: ResourceType, collection: Collection, record: Record) -> bytes:
    """Return the JSON text of ``record`` in the version of ``resource``."""
    if resource.is_storage_version:
        return record.raw
    if resource.collection == "events":
        obj = msgspec.json.decode(record.raw)
        obj = {_EVENTS_NAMES.get(name, name): value for name, value in obj.items()}
        obj["apiVersion"] = resource.api_version
        return msgspec.json.encode(obj)
    header = f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}"'.encode()
    return header + record.raw[len(collection.header) :]


def list_item(resource: ResourceType, collection: Collection, record: Record) -> bytes:
    """Return ``record`` as an item of a list: built-in kinds leave out kind and apiVersion, as the real server does."""
    raw = from_storage(resource, collection, record)
    if resource.custom:
        return raw
    if not resource.is_storage_version:
        header = f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}"'
        return b"{" + raw[len(header) + 1 :]
    return b"{" + raw[len(collection.header) + 1 :]
