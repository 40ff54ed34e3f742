"""Applies three formats of patches: JSON patch (RFC 6902), JSON merge patch (RFC 7386), strategic merge patch.

All functions leave their arguments unchanged and return the patched object. Strategic merge follows apimachinery's
``strategicpatch``, with the merge keys of the built-in types. Lists without a merge key (tolerations, taints, args,
...) are replaced.
"""

from __future__ import annotations

import copy
from typing import Any

import jsonpatch
import jsonpointer

from poseidon.testbed.objects.errors import ApiError, bad_request

Json = Any

_MERGE_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "env": ("name",),
    # The field "port" identifies a port of a service, "containerPort" a port of a container.
    "ports": ("containerPort", "port"),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "resourceClaims": ("name",),
    "imagePullSecrets": ("name",),
    "secrets": ("name",),
    "hostAliases": ("ip",),
    "podIPs": ("ip",),
    "hostIPs": ("ip",),
    "topologySpreadConstraints": ("topologyKey",),
    "conditions": ("type",),
    "addresses": ("type",),
    "ownerReferences": ("uid",),
}
_MERGED_PRIMITIVES = frozenset({"finalizers"})
_ORDER = "$setElementOrder/"
_DELETE_PRIMITIVES = "$deleteFromPrimitiveList/"


def merge_patch(target: Json, patch: Json) -> Json:
    """Apply a JSON merge patch: null removes a field, objects are merged, every other value replaces the old one."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result


def strategic_merge_patch(target: Json, patch: Json) -> Json:
    """Apply a strategic merge patch to an object of a built-in type.

    Raises ``ApiError`` 400 if a directive is invalid.
    """
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    directive = patch.get("$patch")
    if directive == "delete":
        return {}
    if directive == "replace":
        return {name: copy.deepcopy(value) for name, value in patch.items() if name != "$patch"}
    if directive not in (None, "merge"):
        raise bad_request(f'unknown patch type: {directive}; use "merge", "replace" or "delete"')
    result = dict(target) if isinstance(target, dict) else {}
    _drop_keys_not_retained(result, patch)
    for name, value in patch.items():
        if name.startswith(_DELETE_PRIMITIVES):
            field = name.removeprefix(_DELETE_PRIMITIVES)
            result[field] = [item for item in result.get(field) or [] if item not in value]
        elif name.startswith("$"):
            continue
        elif value is None:
            result.pop(name, None)
        else:
            order = patch.get(_ORDER + name)
            result[name] = _merge_field(name, result.get(name), value, order)
    for name, order in patch.items():
        field = name.removeprefix(_ORDER)
        if name.startswith(_ORDER) and field not in patch and isinstance(result.get(field), list):
            result[field] = _reorder(result[field], order, _key_of(field, result[field]))
    return result


def json_patch(target: Json, operations: Json) -> Json:
    """Apply a JSON patch. Raises ``ApiError``: 400 for a malformed patch, 422 if an operation cannot be applied."""
    if not isinstance(operations, list):
        raise bad_request("a JSON patch is a list of operations; wrap the operation in [ ]")
    try:
        return _parse_operations(operations).apply(target)
    except jsonpatch.InvalidJsonPatch as error:
        raise bad_request(f"not a JSON patch: {error}") from None
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as error:
        message = f"the server rejected our request due to an error in our request: {error}"
        raise ApiError(422, "Invalid", message) from None


def _parse_operations(operations: list[Json]) -> jsonpatch.JsonPatch:
    """Return a list of operations as a patch. Raises ``InvalidJsonPatch`` if an operation or a pointer is malformed."""
    try:
        return jsonpatch.JsonPatch(operations)
    except (jsonpointer.JsonPointerException, TypeError) as error:
        raise jsonpatch.InvalidJsonPatch(str(error)) from None


def _drop_keys_not_retained(result: dict[str, Json], patch: dict[str, Json]) -> None:
    retained = patch.get("$retainKeys")
    if isinstance(retained, list):
        for name in [name for name in result if name not in retained]:
            del result[name]


def _merge_field(name: str, target: Json, value: Json, order: Json) -> Json:
    if isinstance(value, dict):
        return strategic_merge_patch(target, value)
    if not isinstance(value, list):
        return value
    if name in _MERGED_PRIMITIVES:
        return list(dict.fromkeys([*(target or []), *value]))
    key = _key_of(name, value)
    if not key:
        return copy.deepcopy(value)
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in value):
        return [copy.deepcopy(item) for item in value if "$patch" not in item]
    merged = _merge_list(target if isinstance(target, list) else [], value, key)
    return _reorder(merged, order, key) if isinstance(order, list) else merged


def _key_of(name: str, items: list[Json]) -> str:
    """Return the merge key of the list ``name``, or "" if its elements have no key."""
    if items and all(isinstance(item, dict) for item in items):
        for key in _MERGE_KEYS.get(name, ()):
            if all(key in item or "$patch" in item for item in items):
                return key
    return ""


def _merge_list(target: list[Json], patch: list[Json], key: str) -> list[Json]:
    merged = {item.get(key): item for item in target if isinstance(item, dict)}
    for item in patch:
        identity = item.get(key)
        if item.get("$patch") == "delete":
            merged.pop(identity, None)
        else:
            merged[identity] = strategic_merge_patch(merged.get(identity), item)
    return list(merged.values())


def _reorder(items: list[Json], order: list[Json], key: str) -> list[Json]:
    """Sort ``items`` into the order of ``order``; items that it does not name follow in their present order."""

    def identity(item: Json) -> Json:
        return item.get(key) if key and isinstance(item, dict) else item

    ranks = [identity(item) for item in order]
    return sorted(
        items, key=lambda item: ranks.index(identity(item)) if identity(item) in ranks else len(ranks)
    )
