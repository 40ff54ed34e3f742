"""The discovery documents: versions, groups, the resources of each, and a minimal OpenAPI v3.

OpenAPI says only what kubectl asks of it: that writes take the ``fieldValidation`` parameter, so that ``kubectl
apply`` leaves validation to the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poseidon.testbed.objects.resources import ResourceRegistry, ResourceType

Object = dict[str, Any]

_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


def version() -> Object:
    """Return the document of ``/version``."""
    return {
        "major": "1",
        "minor": "36",
        "gitVersion": "v1.36.0-simulated",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "2026-04-22T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "simulated",
    }


def api_versions(host: str) -> Object:
    """Return the document of ``/api``."""
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": host}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def api_group_list(registry: ResourceRegistry) -> Object:
    """Return the document of ``/apis``."""
    groups = [_group(name, versions) for name, versions in registry.groups().items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(registry: ResourceRegistry, group: str) -> Object | None:
    """Return the document of ``/apis/GROUP``, or None when the group is not served."""
    versions = registry.groups().get(group)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(group, versions)} if versions else None


def api_resource_list(registry: ResourceRegistry, group: str, version: str) -> Object | None:
    """Return the document of ``/api/v1`` or ``/apis/GROUP/VERSION``, or None when it is not served."""
    resources = registry.of_version(group, version)
    if not resources:
        return None
    entries = [
        entry for resource in sorted(resources, key=lambda r: r.plural) for entry in _entries(resource)
    ]
    if not group:
        entries.append(_entry("bindings", "Binding", ["create"], namespaced=True))
    group_version = f"{group}/{version}" if group else version
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": entries,
    }


def openapi_index(registry: ResourceRegistry) -> Object:
    """Return the document of ``/openapi/v3``: where the description of each version is."""
    paths = ["api/v1", *(f"apis/{g}/{v}" for g, versions in registry.groups().items() for v in versions)]
    return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in paths}}


def openapi_document(registry: ResourceRegistry, group: str, version: str) -> Object | None:
    """Return the OpenAPI v3 document of one version, or None when it is not served."""
    resources = registry.of_version(group, version)
    if not resources:
        return None
    base = f"/apis/{group}/{version}" if group else f"/api/{version}"
    paths = {}
    for resource in resources:
        namespace = "/namespaces/{namespace}" if resource.namespaced else ""
        path = f"{base}{namespace}/{resource.plural}"
        paths[path] = {"post": _operation(resource, "post")}
        paths[path + "/{name}"] = {verb: _operation(resource, verb) for verb in ("put", "patch")}
    info = {"title": "Kubernetes, simulated", "version": "v1.36.0"}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": {}}}


def _group(name: str, versions: list[str]) -> Object:
    entries = [{"groupVersion": f"{name}/{v}", "version": v} for v in versions]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def _entries(resource: ResourceType) -> list[Object]:
    main = _entry(resource.plural, resource.kind, _VERBS, namespaced=resource.namespaced)
    main["singularName"] = resource.singular
    if resource.short_names:
        main["shortNames"] = list(resource.short_names)
    if resource.categories:
        main["categories"] = list(resource.categories)
    entries = [main]
    if resource.has_status:
        verbs = ["get", "patch", "update"]
        name = f"{resource.plural}/status"
        entries.append(_entry(name, resource.kind, verbs, namespaced=resource.namespaced))
    for action, kind in resource.actions:
        name, verb = f"{resource.plural}/{action}", "create" if kind else "update"
        entry = _entry(name, kind or resource.kind, [verb], namespaced=resource.namespaced)
        # kubectl looks for the version of evictions here before it drains a node.
        entries.append({**entry, "group": "policy", "version": "v1"} if kind == "Eviction" else entry)
    return entries


def _entry(name: str, kind: str, verbs: list[str], *, namespaced: bool) -> Object:
    return {"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": verbs}


def _operation(resource: ResourceType, verb: str) -> Object:
    parameters = [
        {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
        for name in ("dryRun", "fieldManager", "fieldValidation")
    ]
    return {
        "operationId": f"{verb}{resource.kind}",
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": verb,
        "x-kubernetes-group-version-kind": {
            "group": resource.group,
            "version": resource.version,
            "kind": resource.kind,
        },
    }
