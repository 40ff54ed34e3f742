"""Reads the annotations by which pods state how to choose Koordinator's devices for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from poseidon.devices.sharing.koordinator.inventory import DOMAIN, GPU
from poseidon.kube.parsing import strict_json

HINT = "scheduling.koordinator.sh/device-allocate-hint"
JOINT = "scheduling.koordinator.sh/device-joint-allocate"
ANNOTATIONS = (HINT, JOINT)
_LABELS = f'device.attributes["{DOMAIN}"].labels'
_SCOPES = {
    "": ("pcie", "numa", "any"),
    "Node": ("pcie", "numa", "any"),
    "NUMANode": ("pcie", "numa"),
    "PCIe": ("pcie",),
}
"""By required scope: the levels at which several GPUs may be together, in the order in which they are tried."""
_OPERATORS = {"In": "any", "NotIn": "none", "Exists": "present", "DoesNotExist": "absent"}


class RequestError(ValueError):
    """A pod's request for devices is malformed or not supported. The message is for people."""


@dataclass(frozen=True, slots=True)
class DeviceHints:
    """A pod's hints by type of devices, and the types that are allocated together."""

    by_type: Mapping[str, Mapping[str, Any]]
    joint: tuple[str, ...]
    """Types allocated together: devices of the first type are chosen first, devices of the other types near them."""
    requires_same_switches: bool
    """Whether the other types must be on the PCIe switches of the first type; otherwise this is only preferred."""

    def _get(self, kind: str, name: str) -> str:
        return str(self.by_type.get(kind, {}).get(name) or "")

    def is_for_all(self, kind: str) -> bool:
        """Return whether a pod requests its amount from each device of a type."""
        return self._get(kind, "allocateStrategy") == "ApplyForAll"

    def counts(self, kind: str) -> bool:
        """Return whether the requested amount is a number of devices."""
        return self._get(kind, "allocateStrategy") == "RequestsAsCount"

    def is_exclusive(self, kind: str) -> bool:
        """Return whether the pod does not share its devices of this type with other pods."""
        return self._get(kind, "exclusivePolicy") == "DeviceLevel"

    def list_scopes(self) -> tuple[str, ...]:
        """Return the levels at which several GPUs may be together, in the order to try; raises ``RequestError``."""
        scope = self._get(GPU, "requiredTopologyScope")
        if scope not in _SCOPES:
            raise RequestError(
                f"{HINT}: requiredTopologyScope {scope[:40]!r} is none of {', '.join(_SCOPES)[2:]}"
            )
        return _SCOPES[scope]

    def list_selectors(self, kind: str) -> Iterator[str]:
        """Yield CEL expressions for the label selector of a type of devices."""
        selector = self.by_type.get(kind, {}).get("selector") or {}
        for key, value in (selector.get("matchLabels") or {}).items():
            yield f"{json.dumps(f'{key}={value}')} in {_LABELS}"
        for each in selector.get("matchExpressions") or ():
            yield _describe_term(str(each["key"]), str(each["operator"]), each.get("values") or ())


def read_hints(annotations: Mapping[str, str]) -> DeviceHints:
    """Return the hints of a pod's annotations; raises ``RequestError`` if they are malformed or not supported."""
    by_type, joint = _load(annotations, HINT), _load(annotations, JOINT)
    for kind, each in by_type.items():
        if not isinstance(each, dict):
            raise RequestError(f"{HINT}: what it says of {kind[:40]} is no object")
        if each.get("vfSelector") is not None:
            raise RequestError(f"{HINT}: vfSelector: virtual functions are not supported")
    types, scope = joint.get("deviceTypes") or [], joint.get("requiredScope") or ""
    if not isinstance(types, list) or scope not in {"", "SamePCIe"}:
        raise RequestError(f"{JOINT}: give deviceTypes as a list, and SamePCIe or nothing as requiredScope")
    hints = DeviceHints(by_type, tuple(dict.fromkeys(map(str, types))), scope == "SamePCIe")
    try:
        for kind in by_type:
            list(hints.list_selectors(kind))
    except (KeyError, TypeError, AttributeError) as error:
        raise RequestError(f"{HINT}: a selector cannot be read ({error})") from None
    hints.list_scopes()
    return hints


def _load(annotations: Mapping[str, str], key: str) -> dict[str, Any]:
    text = annotations.get(key, "")
    try:
        found = strict_json.loads(text) if text else {}
    except ValueError as error:
        raise RequestError(f"{key}: it is no JSON ({error})") from None
    if not isinstance(found, dict):
        raise RequestError(f"{key}: it is no object")
    return found


def _describe_term(key: str, operator: str, values: Any) -> str:
    present = f"{json.dumps(key)} in {_LABELS}"
    one = " || ".join(f"{json.dumps(f'{key}={each}')} in {_LABELS}" for each in values) or "false"
    match operator:
        case "In":
            return one
        case "NotIn":
            return f"!({one})"
        case "Exists":
            return present
        case "DoesNotExist":
            return f"!({present})"
    raise RequestError(f"{HINT}: operator {operator[:40]!r} is none of In, NotIn, Exists, DoesNotExist")
