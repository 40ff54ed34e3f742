"""Whether a node's labels suit a pod: node selector and required node affinity, as a kubelet checks them."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def suits(spec: Object, node: Object) -> bool:
    """Return whether the node may run the pod by ``nodeSelector`` and required ``nodeAffinity``."""
    metadata = node["metadata"]
    labels = metadata.get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    fields = {"metadata.name": metadata["name"]}
    return any(_term(term, labels, fields) for term in required.get("nodeSelectorTerms") or ())


def _term(term: Object, labels: dict[str, str], fields: dict[str, str]) -> bool:
    expressions, names = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not names:
        return False
    return all(holds(each, labels) for each in expressions) and all(holds(each, fields) for each in names)


def holds(requirement: Object, given: dict[str, str]) -> bool:
    """Return whether one requirement of a selector holds of labels; one that is malformed holds of none."""
    key, values = requirement.get("key", ""), requirement.get("values") or []
    value = given.get(key)
    found = False
    match requirement.get("operator"):
        case "In":
            found = value in values
        case "NotIn":
            found = value not in values
        case "Exists":
            found = value is not None
        case "DoesNotExist":
            found = value is None
        case "Gt":
            found = _compare(value, values, sign=1)
        case "Lt":
            found = _compare(value, values, sign=-1)
    return found


def _compare(value: str | None, values: list[str], *, sign: int) -> bool:
    try:
        return (int(value or "") - int(values[0])) * sign > 0
    except (ValueError, IndexError):
        return False
