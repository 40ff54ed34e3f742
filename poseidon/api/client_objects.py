"""Converts objects of Kubernetes clients into the dictionaries that files contain, without importing a client."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from poseidon.kube.api.kinds import BY_NAME

_CLASS = re.compile(r"(V\d+(?:(?:alpha|beta)\d+)?)(\w+)")
"""The pattern of the official client's class names, such as ``V1Pod`` or ``V1beta1VolumeAttributesClass``."""


def is_object(given: Any) -> bool:
    """Return whether a value is an object or a List object of Kubernetes, and not a Python list of objects."""
    return isinstance(given, Mapping) or _is_model(given) or callable(getattr(given, "to_dict", None))


def is_from_cluster(given: Any) -> bool:
    """Return whether an object or a List was read from a cluster with a client, which gives it a resource version."""
    metadata = getattr(given, "metadata", None) if _is_model(given) else None
    return bool(getattr(metadata, "resource_version", None))


def as_plain(given: Any) -> Any:
    """Return a value converted to new dictionaries, lists and texts.

    Objects of clients get the API version and kind of their classes. Times become text.
    """
    plain = given
    if isinstance(given, Mapping):
        plain = {str(key): as_plain(each) for key, each in given.items()}
    elif isinstance(given, list | tuple):
        plain = [as_plain(each) for each in given]
    elif isinstance(given, date):
        plain = _plain_time(given)
    elif _is_model(given):
        plain = _plain_model(given)
    elif callable(getattr(given, "to_dict", None)):
        plain = as_plain(given.to_dict())
    return plain


def _plain_time(given: date) -> str:
    """Return a time in the form that the API uses; a time without a zone counts as UTC."""
    if not isinstance(given, datetime):
        return given.isoformat()
    moment = given if given.tzinfo else given.replace(tzinfo=UTC)
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _is_model(given: Any) -> bool:
    """Return whether a value is an object of the official client or of kubernetes_asyncio."""
    return hasattr(type(given), "openapi_types") and hasattr(type(given), "attribute_map")


def _plain_model(model: Any) -> dict[str, Any]:
    plain = {
        key: as_plain(value)
        for attribute, key in type(model).attribute_map.items()
        if (value := getattr(model, attribute)) is not None
    }
    named = _CLASS.fullmatch(type(model).__name__)
    if named and "metadata" in type(model).attribute_map:
        version, kind = named[1].lower(), named[2]
        plain.setdefault("kind", kind)
        group = _find_group(kind.removesuffix("List"))
        plain.setdefault("apiVersion", f"{group}/{version}" if group else version)
    return plain


def _find_group(kind: str) -> str:
    """Return the API group of a built-in kind, "" for the core group and for kinds that are not read."""
    groups = [group for group, name in BY_NAME if name == kind]
    built_in = [each for each in groups if "." not in each or each.endswith(".k8s.io")]
    return built_in[0] if built_in else ""
