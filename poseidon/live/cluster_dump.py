"""What a cluster has that placement looks at, and nothing else of it: objects as ``poseidon plan`` reads them.

Each object is cut down to the fields that the bridge decodes: containers' environments, commands and probes, parameters
of storage classes, and whatever else may hold secrets, are left behind. Annotations stay that schedulers define.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from poseidon.kube.api import collections
from poseidon.kube.api.decoding import MalformedObjectError, decode_object
from poseidon.kube.client.errors import ApiError
from poseidon.metrics_sources.koordinator import NODE_METRICS

if TYPE_CHECKING:
    from poseidon.kube.api.core import KubeStruct
    from poseidon.kube.api.resource import Resource
    from poseidon.kube.client.transport import Transport

COLLECTIONS: tuple[Resource[Any], ...] = (
    collections.NODES,
    collections.NAMESPACES,
    collections.PRIORITY_CLASSES,
    collections.SERVICES,
    collections.STORAGE_CLASSES,
    collections.CSI_NODES,
    collections.CSI_DRIVERS,
    collections.STORAGE_CAPACITIES,
    collections.VOLUMES,
    collections.CLAIMS,
    collections.BUDGETS,
    collections.POD_GROUPS,
    collections.WORKLOADS,
    collections.NATIVE_POD_GROUPS,
    collections.GROUP_MAPS,
    collections.APP_GROUPS,
    collections.NETWORK_TOPOLOGIES,
    collections.NODE_TOPOLOGIES,
    NODE_METRICS,
    collections.PODS,
)

_DOMAINS = ("kubernetes.io", "k8s.io", "karpenter.sh", "koordinator.sh", "firmament.io", "network.aware.com")
_KEYS = ("firmament-gang-scheduling", "sakkara.group.constraints")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""Holds all that the object has, secrets included."""

_PAGE = 500


class _Page(msgspec.Struct):
    items: list[msgspec.Raw] = msgspec.field(default_factory=list)
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    apiVersion: str = ""  # noqa: N815 - the API's name
    kind: str = ""


async def objects_of(
    transport: Transport, resource: Resource[Any], annotations: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return the objects of a collection in the first version that is served, none if none is.

    ``annotations``: keys that stay beside those of schedulers. Raises ``KubeError`` and ``msgspec.DecodeError``.
    """
    for version in resource.versions():
        try:
            return await _pages(transport, version, frozenset(annotations))
        except ApiError as error:
            if not error.not_found:
                raise
    return []


async def _pages(
    transport: Transport, resource: Resource[Any], annotations: frozenset[str]
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    more = {"limit": str(_PAGE)}
    while True:
        page = msgspec.json.decode(await transport.get(resource.path, resource.query(**more)), type=_Page)
        kind = page.kind.removesuffix("List")
        for raw in page.items:
            cut = _cut(raw, resource.kind, annotations)
            if cut is not None:
                found.append({"apiVersion": page.apiVersion, "kind": kind, **cut})
        token = page.metadata.get("continue")
        if not token:
            return found
        more["continue"] = token


def _cut(raw: msgspec.Raw, kind: type[KubeStruct], annotations: frozenset[str]) -> dict[str, Any] | None:
    try:
        cut: dict[str, Any] = msgspec.to_builtins(decode_object(raw, kind))
    except MalformedObjectError:
        return None  # the bridge sets it aside as well
    metadata = cut.get("metadata", {})
    kept = {
        key: value
        for key, value in metadata.pop("annotations", {}).items()
        if key in annotations or _is_known(key)
    }
    if kept:
        metadata["annotations"] = kept
    return cut


def _is_known(key: str) -> bool:
    domain = key.partition("/")[0]
    known = key in _KEYS or any(domain == each or domain.endswith(f".{each}") for each in _DOMAINS)
    return known and key != _LAST_APPLIED
