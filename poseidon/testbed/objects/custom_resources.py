"""Checks CustomResourceDefinitions, and finds the resources that they define."""

from __future__ import annotations

from typing import Any

from poseidon.testbed.objects import errors
from poseidon.testbed.objects.resources import ResourceType

Object = dict[str, Any]


def definition(
    group: str,
    version: str,
    plural: str,
    kind: str,
    *,
    scope: str = "Namespaced",
    short: str = "",
    **more: Any,
) -> Object:
    """Return a CustomResourceDefinition without a schema.

    ``more`` has further fields of its version, such as subresources.
    """
    names: Object = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    if short:
        names["shortNames"] = [short]
    versions = [{"name": version, "served": True, "storage": True, **more}]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": versions},
    }


def validate(definition: Object) -> None:
    """Check the fields of a definition on which serving its resources depends.

    Raises ``ApiError`` 422 if a field is invalid.
    """
    metadata, spec = definition["metadata"], definition.get("spec") or {}
    names, versions = spec.get("names"), spec.get("versions")
    names = names if isinstance(names, dict) else {}
    causes = [
        errors.make_required_cause(f"spec.{field}") for field in ("group", "scope") if not spec.get(field)
    ]
    causes += [
        errors.make_required_cause(f"spec.names.{field}")
        for field in ("plural", "kind")
        if not names.get(field)
    ]
    if not isinstance(versions, list) or not versions or not all(map(_is_named, versions)):
        causes.append(errors.make_required_cause("spec.versions"))
    elif sum(bool(version.get("storage")) for version in versions) != 1:
        why = "must have exactly one version marked as storage version"
        causes.append(errors.invalid_value("spec.versions", "", why))
    name, scope = metadata["name"], spec.get("scope")
    if not causes and name != f"{names['plural']}.{spec['group']}":
        why = 'must be spec.names.plural+"."+spec.group'
        causes.append(errors.invalid_value("metadata.name", name, why))
    if not causes and scope not in ("Namespaced", "Cluster"):
        causes.append(errors.make_unsupported_value_cause("spec.scope", scope, "Cluster", "Namespaced"))
    if causes:
        raise errors.invalid("CustomResourceDefinition", "apiextensions.k8s.io", metadata["name"], causes)


def build_established_status(definition: Object, now: str) -> Object:
    """Return the status of an established definition; in this server, definitions are established at once."""
    spec = definition["spec"]
    reasons = (
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    )
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message}
        for kind, reason, message in reasons
    ]
    stored = [version["name"] for version in spec["versions"] if version.get("storage")]
    return {"conditions": conditions, "acceptedNames": _names(spec), "storedVersions": stored}


def resources_of(definition: Object) -> list[ResourceType]:
    """Return one resource for each served version of a valid definition."""
    spec = definition["spec"]
    names = _names(spec)
    group = spec["group"]
    storage = next(version["name"] for version in spec["versions"] if version.get("storage"))
    return [
        ResourceType(
            group=group,
            version=version["name"],
            plural=names["plural"],
            kind=names["kind"],
            namespaced=spec["scope"] == "Namespaced",
            collection=definition["metadata"]["name"],
            storage_version=f"{group}/{storage}",
            singular=names["singular"],
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            has_status="status" in (version.get("subresources") or {}),
            custom=True,
        )
        for version in spec["versions"]
        if version.get("served")
    ]


def _is_named(version: Any) -> bool:
    return isinstance(version, dict) and bool(version.get("name"))


def _names(spec: Object) -> Object:
    kind = spec["names"]["kind"]
    return {"singular": kind.lower(), "listKind": f"{kind}List", **spec["names"]}
