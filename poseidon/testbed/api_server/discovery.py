"""Serves the discovery documents: API versions and groups, their resources, and a minimal OpenAPI v3 document.

The OpenAPI document says only what kubectl looks for: writes have the parameter ``fieldValidation``. Seeing this
parameter, ``kubectl apply`` leaves validation to the server.
"""

from __future__ import annotations

from typing import Any

from poseidon.testbed.objects.resources import ResourceRegistry, ResourceType

Object = dict[str, Any]

_IDENTITY = ("group", "version", "kind")


VERSION = {
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


def document(registry: ResourceRegistry, parts: list[str], host: str) -> Object | None:
    """Return the discovery document at a path, given in parts, or None if there is none.

    ``host`` is the server's address.
    """
    found: Object | None = None
    match parts:
        case ["version"]:
            found = dict(VERSION)
        case ["api"]:
            addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": host}]
            found = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}
        case ["apis"]:
            groups = [_group(name, versions) for name, versions in registry.groups().items()]
            found = {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["apis", group]:
            versions = registry.groups().get(group)
            found = {"kind": "APIGroup", "apiVersion": "v1", **_group(group, versions)} if versions else None
        case ["openapi", "v3"]:
            paths = ["api/v1", *(f"apis/{g}/{v}" for g, known in registry.groups().items() for v in known)]
            found = {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in paths}}
        case ["api", version] | ["openapi", "v3", "api", version]:
            found = _of_version(registry, "", version, openapi=parts[0] == "openapi")
        case ["apis", group, version] | ["openapi", "v3", "apis", group, version]:
            found = _of_version(registry, group, version, openapi=parts[0] == "openapi")
    return found


def _entry(name: str, kind: str, verbs: list[str], *, namespaced: bool) -> Object:
    return {"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": verbs}


def _of_version(registry: ResourceRegistry, group: str, version: str, *, openapi: bool) -> Object | None:
    """Return the OpenAPI document of an API version, or its list of resources; None if the version is not served."""
    resources = registry.of_version(group, version)
    if not resources:
        return None
    if openapi:
        return _openapi(f"/apis/{group}/{version}" if group else f"/api/{version}", resources)
    entries = [each for resource in sorted(resources, key=lambda r: r.plural) for each in _entries(resource)]
    if not group:
        entries.append(_entry("bindings", "Binding", ["create"], namespaced=True))
    kind = {"kind": "APIResourceList", "apiVersion": "v1"}
    return {**kind, "groupVersion": resources[0].api_version, "resources": entries}


def _openapi(base: str, resources: list[ResourceType]) -> Object:
    paths = {}
    for resource in resources:
        if "create" not in resource.verbs:
            continue
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
    namespaced = resource.namespaced
    main = _entry(resource.plural, resource.kind, list(resource.verbs), namespaced=namespaced)
    main["singularName"] = resource.singular
    if resource.short_names:
        main["shortNames"] = list(resource.short_names)
    if resource.categories:
        main["categories"] = list(resource.categories)
    entries = [main]
    if resource.has_status:
        status, verbs = f"{resource.plural}/status", ["get", "patch", "update"]
        entries.append(_entry(status, resource.kind, verbs, namespaced=namespaced))
    for action, kind in resource.actions:
        name, verb = f"{resource.plural}/{action}", "create" if kind else "update"
        found = _entry(name, kind or resource.kind, [verb], namespaced=namespaced)
        # Before kubectl drains a node, it looks in this list for the API version of evictions.
        entries.append({**found, "group": "policy", "version": "v1"} if kind == "Eviction" else found)
    return entries


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
        "x-kubernetes-group-version-kind": {field: getattr(resource, field) for field in _IDENTITY},
    }
