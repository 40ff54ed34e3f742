"""Rules for creating and updating objects of each kind: defaults, status, generation and validation.

Two rules are simpler than in Kubernetes: a node keeps the status with which it is created, which a real kubelet would
report; and code that fills a cluster may set the status of any object.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from poseidon.testbed.objects import custom_resources, errors, pods
from poseidon.testbed.objects.resources import ResourceType
from poseidon.testbed.objects.store import Store

Object = dict[str, Any]

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_PERCENT = re.compile(r"\d+%")
_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_SERVER_OWNED = (
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "namespace",
    "name",
)


class _ObjectMeta(msgspec.Struct, rename="camel"):
    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[dict[str, Any]] | None = None


class _Shape(msgspec.Struct, rename="camel"):
    kind: str | None = None
    api_version: str | None = None
    metadata: _ObjectMeta | None = None
    spec: dict[str, Any] | None = None
    status: dict[str, Any] | None = None


def check_shape(resource: ResourceType, obj: Any) -> Object:
    """Return ``obj`` if it is an object of ``resource`` and its metadata have the right types.

    Raises ``ApiError`` 400 if ``obj`` is no object of this kind.
    """
    try:
        shape = msgspec.convert(obj, _Shape)
    except msgspec.ValidationError as error:
        message = (
            f"{resource.kind} in version {resource.version} cannot be handled as a {resource.kind}: {error}"
        )
        raise errors.bad_request(message) from None
    if shape.kind not in (None, resource.kind) or shape.api_version not in (None, resource.api_version):
        raise errors.bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): "
            f"got {shape.api_version}, Kind={shape.kind}; send {resource.api_version}, Kind={resource.kind}"
        )
    checked: Object = obj
    if checked.get("metadata") is None:
        checked["metadata"] = {}
    return checked


def check_patched(resource: ResourceType, obj: Any) -> Object:
    """Return ``obj``, the result of a patch, if its fields have the right types.

    Raises ``ApiError`` 422 if a field has the wrong type.
    """
    metadata_is_there = isinstance(obj, dict) and isinstance(obj.get("metadata"), dict)
    why = "" if metadata_is_there else "metadata is missing"
    try:
        msgspec.convert(obj, _Shape)
    except msgspec.ValidationError as error:
        why = str(error)
    if why:
        cause = errors.Cause("", "FieldValueInvalid", f"the patched object is not a {resource.kind}: {why}")
        raise errors.invalid(resource.kind, resource.group, "", [cause])
    checked: Object = obj
    return checked


def prepare_create(resource: ResourceType, obj: Object, store: Store, *, keep_status: bool = False) -> None:
    """Check a new object, and complete it to the form in which it is stored.

    Raises ``ApiError`` 403 or 422 to refuse the object.
    """
    metadata = obj["metadata"]
    _check_name(resource, metadata)
    _check_spec(resource, obj)
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"):
        metadata.pop(field, None)
    given_status = obj.pop("status", None) if resource.has_status else None
    if resource.has_status or "spec" in obj:
        metadata["generation"] = 1
    if resource.collection == "pods":
        pods.validate(obj)
        pods.set_defaults(obj)
        pods.admit_priority(obj, store)
        obj["status"] = pods.initial_status(obj)
    elif resource.collection == "nodes":
        _fill_in_node_status(obj, given_status)
    elif resource.collection == "namespaces":
        metadata["labels"] = {
            **(metadata.get("labels") or {}),
            "kubernetes.io/metadata.name": metadata["name"],
        }
        obj["spec"] = {"finalizers": ["kubernetes"]}
        obj["status"] = {"phase": "Active"}
    elif resource.collection == "customresourcedefinitions.apiextensions.k8s.io":
        custom_resources.validate(obj)
        obj["status"] = custom_resources.build_established_status(obj, store.now())
    elif resource.has_status and not resource.custom:
        obj["status"] = {}
    if keep_status and given_status is not None:
        obj["status"] = {**(obj.get("status") or {}), **given_status}


def prepare_update(resource: ResourceType, obj: Object, before: Object) -> None:
    """Check the new version of an object, and complete it to the form in which it is stored.

    Raises ``ApiError`` 422 to refuse the new version.

    Fields that the server owns keep their values from ``before``. The status also keeps its value if the kind has a
    status subresource.
    """
    _keep_server_owned(obj, before)
    _check_spec(resource, obj)
    if resource.has_status:
        _carry(obj, before, "status")
    if resource.collection == "pods":
        pods.validate(obj)
        pods.set_defaults(obj)
        pods.keep_admitted(obj, before)
        pods.validate_update(obj, before)
    elif resource.collection == "namespaces":
        _carry(obj, before, "spec")
    elif resource.collection == "customresourcedefinitions.apiextensions.k8s.io":
        custom_resources.validate(obj)
    if "generation" in before["metadata"] and _get_desired_state(obj) != _get_desired_state(before):
        obj["metadata"]["generation"] = before["metadata"]["generation"] + 1


def prepare_status_update(resource: ResourceType, obj: Object, before: Object) -> Object:
    """Return ``before`` with the status of ``obj``, because a write to the status subresource changes nothing else."""
    result = dict(before)
    _carry(result, obj, "status")
    if resource.kind == "ResourceClaim":
        _drop_reports_of_devices(result, before)
    return result


def _drop_reports_of_devices(claim: Object, before: Object) -> None:
    """Remove drivers' reports on devices that are no longer allocated to a claim, as kube-apiserver does."""
    status = claim.get("status") or {}
    gone = _list_devices(before.get("status") or {}) - _list_devices(status)
    left = [each for each in status.get("devices") or () if _name_device(each) not in gone]
    if len(left) < len(status.get("devices") or ()):
        claim["status"] = {key: value for key, value in status.items() if key != "devices"}
        if left:
            claim["status"]["devices"] = left


def _list_devices(status: Object) -> set[tuple[object, ...]]:
    devices = (status.get("allocation") or {}).get("devices") or {}
    return {_name_device(each) for each in devices.get("results") or ()}


def _name_device(each: Object) -> tuple[object, ...]:
    return tuple(each.get(part) for part in ("driver", "pool", "device", "shareID"))


def _get_desired_state(obj: Object) -> Object:
    return {
        name: value for name, value in obj.items() if name not in ("metadata", "status", "kind", "apiVersion")
    }


def _carry(obj: Object, source: Object, field: str) -> None:
    if field in source:
        obj[field] = source[field]
    else:
        obj.pop(field, None)


def _keep_server_owned(obj: Object, before: Object) -> None:
    metadata = obj["metadata"]
    metadata.pop("managedFields", None)
    metadata.pop("selfLink", None)
    for field in _SERVER_OWNED:
        _carry(metadata, before["metadata"], field)


def _check_name(resource: ResourceType, metadata: Object) -> None:
    name = metadata.get("name", "")
    if not name:
        cause = errors.Cause(
            "metadata.name", "FieldValueRequired", "Required value: name or generateName is required"
        )
        raise errors.invalid(resource.kind, resource.group, "", [cause])
    if len(name) > 253 or not _SUBDOMAIN.fullmatch(name):
        cause = errors.invalid_value("metadata.name", name, _SUBDOMAIN_RULE)
        raise errors.invalid(resource.kind, resource.group, name, [cause])


def _fill_in_node_status(node: Object, given_status: Object | None) -> None:
    status = given_status or {}
    if "capacity" in status:
        status.setdefault("allocatable", dict(status["capacity"]))
    elif "allocatable" in status:
        status["capacity"] = dict(status["allocatable"])
    node.setdefault("spec", {})
    node["status"] = status


# --- field by field: rules and words of ``pkg/apis/coordination`` and ``pkg/apis/policy`` -------------------


def _check_spec(resource: ResourceType, obj: Object) -> None:
    """Check the spec of an object, if this server has rules for its kind.

    Raises ``ApiError`` 422 with every faulty field.
    """
    rules = _RULES.get(resource.collection)
    causes = rules(obj.get("spec") or {}) if rules is not None else []
    if causes:
        raise errors.invalid(resource.kind, resource.group, obj["metadata"].get("name", ""), causes)


def _lease(spec: Object) -> list[errors.Cause]:
    causes = []
    for name, least, why in (
        ("leaseDurationSeconds", 1, "must be greater than 0"),
        ("leaseTransitions", 0, "must be greater than or equal to 0"),
    ):
        value = spec.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            causes.append(errors.invalid_value(f"spec.{name}", str(value), why))
    for name in ("acquireTime", "renewTime"):
        if spec.get(name) is not None and not _is_time(spec[name]):
            why = "must be a time such as 2026-01-01T12:00:00.000000Z"
            causes.append(errors.invalid_value(f"spec.{name}", str(spec[name]), why))
    if spec.get("holderIdentity") == "":
        causes.append(errors.invalid_value("spec.holderIdentity", "", "must not be empty"))
    return causes


def _budget(spec: Object) -> list[errors.Cause]:
    causes = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        why = "minAvailable and maxUnavailable cannot be both set"
        causes.append(errors.invalid_value("spec", "", why))
    for name in ("minAvailable", "maxUnavailable"):
        value = spec.get(name)
        if isinstance(value, str):
            if not _PERCENT.fullmatch(value):
                why = "a valid percent string must be a numeric string followed by an ending '%'"
                causes.append(errors.invalid_value(f"spec.{name}", value, why))
            elif int(value[:-1]) > 100:
                causes.append(errors.invalid_value(f"spec.{name}", value, "must not be greater than 100%"))
        elif value is not None and (not isinstance(value, int) or value < 0):
            causes.append(
                errors.invalid_value(f"spec.{name}", str(value), "must be a whole number from 0 on")
            )
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _POLICIES:
        causes.append(
            errors.make_unsupported_value_cause("spec.unhealthyPodEvictionPolicy", policy, *_POLICIES)
        )
    return causes


def _is_time(text: Any) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except (TypeError, ValueError):
        return False


_RULES: dict[str, Callable[[Object], list[errors.Cause]]] = {
    "leases.coordination.k8s.io": _lease,
    "poddisruptionbudgets.policy": _budget,
}
