"""Reads fields of objects that have no declared type in this program.

If a field is absent, its default is returned; if it has another type, ``MalformedObjectError`` is raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from poseidon.kube.api.decoding import MalformedObjectError
from poseidon.manifests.validation import MAX_PODS

Value = Mapping[str, Any]


class NotKnownError(ValueError):
    """Raised if the input lacks an object that defines the pods; the text says which, and what to do."""


def find(value: Any, *path: str) -> Any:
    """Return the value at a path of fields, or None if it is absent."""
    for at, field in enumerate(path):
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise MalformedObjectError(".".join(path[:at]), "expected a map")
        value = value.get(field)
    return value


def mapping(value: Any, *path: str) -> Value:
    """Return the map at a path of fields, or an empty map if it is absent."""
    at_path = find(value, *path)
    if at_path is None:
        return {}
    if not isinstance(at_path, Mapping):
        raise MalformedObjectError(".".join(path), "expected a map")
    return at_path


def items(value: Any, *path: str) -> list[Value]:
    """Return the maps in the list at a path of fields, or an empty list if it is absent."""
    at_path = find(value, *path)
    if at_path is None:
        return []
    if not isinstance(at_path, list) or not all(isinstance(each, Mapping) for each in at_path):
        raise MalformedObjectError(".".join(path), "expected a list of maps")
    return at_path


def number(value: Any, *path: str, default: int) -> int:
    """Return the number of pods, or of sets of pods, at a path of fields."""
    at_path = find(value, *path)
    if at_path is None:
        return default
    if isinstance(at_path, bool) or not isinstance(at_path, int):
        raise MalformedObjectError(".".join(path), "expected an integer")
    if at_path < 0:
        raise MalformedObjectError(".".join(path), f"{at_path} is negative; give 0 or more")
    if at_path > MAX_PODS:
        raise MalformedObjectError(
            ".".join(path), f"{at_path} is absurdly large; at most {MAX_PODS} are accepted"
        )
    return at_path


def text(value: Any, *path: str, default: str = "") -> str:
    """Return the text at a path of fields, or ``default`` if it is absent."""
    at_path = find(value, *path)
    if at_path is None:
        return default
    if not isinstance(at_path, str):
        raise MalformedObjectError(".".join(path), "expected a string")
    return at_path


def name_of(value: Value) -> str:
    """Return the name in an object's metadata."""
    return text(value, "metadata", "name")


def namespace_of(value: Value) -> str:
    """Return the namespace in an object's metadata."""
    return text(value, "metadata", "namespace") or "default"


_OVER = frozenset({"Complete", "Completed", "Succeeded", "Failed", "Finished"})


def is_over(value: Value) -> bool:
    """Return whether an object's conditions say that it has succeeded or failed."""
    return any(
        each.get("type") in _OVER and each.get("status") == "True"
        for each in items(value, "status", "conditions")
    )
