"""Checks pods, nodes, claims and volumes against each other by their JSON, without the scheduler's code."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

Object = dict[str, Any]
Amounts = dict[str, int]

SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
NO_PROVISIONER = "kubernetes.io/no-provisioner"

# --- labels -------------------------------------------------------------------------------------------------


def selects(selector: Object | None, labels: dict[str, str]) -> bool:
    """Return whether a LabelSelector selects labels; an absent selector selects nothing, an empty one everything."""
    return (
        selector is not None
        and all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
        and all(holds(each, labels) for each in selector.get("matchExpressions") or ())
    )


def holds(requirement: Object, given: dict[str, str]) -> bool:
    """Return whether labels fulfil one requirement of a selector.

    If the requirement is malformed, no labels fulfil it.
    """
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


# --- nodes --------------------------------------------------------------------------------------------------


def suits(spec: Object, node: Object) -> bool:
    """Return whether a node fulfils a pod's ``nodeSelector`` and required ``nodeAffinity``, as kubelets check them."""
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return _is_selected(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"), node)


def is_reached(volume: Object, node: Object) -> bool:
    """Return whether a node fulfils the node affinity of a volume."""
    return _is_selected((volume["spec"].get("nodeAffinity") or {}).get("required"), node)


def _is_selected(selector: Object | None, node: Object) -> bool:
    """Return whether a NodeSelector selects a node; an absent or empty selector selects every node."""
    if not selector:
        return True
    labels, fields = node["metadata"].get("labels") or {}, {"metadata.name": node["metadata"]["name"]}
    return any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and all(holds(each, labels) for each in term.get("matchExpressions") or ())
        and all(holds(each, fields) for each in term.get("matchFields") or ())
        for term in selector.get("nodeSelectorTerms") or ()
    )


# --- claims and volumes -------------------------------------------------------------------------------------


def annotations_of(obj: Object) -> dict[str, str]:
    """Return an object's annotations."""
    found: dict[str, str] = obj["metadata"].get("annotations") or {}
    return found


def claim_names(pod: Object) -> list[str]:
    """Return the names of the claims that a pod uses."""
    found = []
    for volume in pod["spec"].get("volumes") or ():
        if source := volume.get("persistentVolumeClaim"):
            found.append(source["claimName"])
        elif volume.get("ephemeral"):
            found.append(f"{pod['metadata']['name']}-{volume['name']}")
    return found


def is_bound(claim: Object) -> bool:
    """Return whether a claim is bound for good: it names its volume, and the controller has marked it as bound."""
    return bool(claim["spec"].get("volumeName")) and BIND_COMPLETED in annotations_of(claim)


def is_for(volume: Object, claim: Object) -> bool:
    """Return whether a volume is reserved for a claim, by name and, if stated, by uid."""
    given = volume["spec"].get("claimRef") or {}
    metadata = claim["metadata"]
    return (
        given.get("name") == metadata["name"]
        and given.get("namespace", "default") == metadata["namespace"]
        and given.get("uid", metadata["uid"]) == metadata["uid"]
    )


def is_fit(volume: Object, claim: Object) -> bool:
    """Return whether a volume is free and suits a claim."""
    offered, asked = volume["spec"], claim["spec"]
    return (
        not offered.get("claimRef")
        and offered.get("storageClassName", "") == (asked.get("storageClassName") or "")
        and (offered.get("volumeAttributesClassName") or "") == (asked.get("volumeAttributesClassName") or "")
        and set(asked.get("accessModes") or ()) <= set(offered.get("accessModes") or ())
        and (offered.get("volumeMode") or "Filesystem") == (asked.get("volumeMode") or "Filesystem")
        and size(volume) >= _storage((asked.get("resources") or {}).get("requests"))
        and selects(asked.get("selector") or {}, volume["metadata"].get("labels") or {})
    )


def size(volume: Object) -> int:
    """Return the capacity of a volume in bytes."""
    return _storage(volume["spec"].get("capacity"))


def _storage(amounts: Object | None) -> int:
    return amount("storage", str((amounts or {}).get("storage", 0)))


# --- what pods request and nodes offer, in exact whole numbers, as a kubelet counts ---------------
# Written
# from the rules of Kubernetes (``component-helpers/resource``) and not from the scheduler's code, so that the
# simulated kubelet can find the scheduler's faults. Cpu is in thousandths of a core, all other resources are in
# units.

_NUMBER = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:[eE]([+-]?\d+)|([A-Za-z]*))")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def parse_quantity(text: str) -> Fraction | None:
    """Return the value of a quantity's text, or None if it is no quantity."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    number, exponent, suffix = match.groups()
    value = Fraction(number)
    if exponent is not None:
        return value * Fraction(10) ** int(exponent)
    if suffix in _BINARY:
        return value * 2 ** _BINARY[suffix]
    return value * Fraction(10) ** _DECIMAL[suffix] if suffix in _DECIMAL else None


@lru_cache(maxsize=4096)
def amount(resource: str, text: str) -> int:
    """Return a quantity in the unit of its resource, rounded up, or 0 for an invalid text."""
    value = parse_quantity(text) or 0
    return math.ceil(value * 1000) if resource == "cpu" else math.ceil(value)


def amounts(resources: Mapping[str, Any] | None) -> Amounts:
    """Return amounts for a map of quantities."""
    return {name: amount(name, str(value)) for name, value in (resources or {}).items()}


def sum_requests(spec: Object) -> Amounts:
    """Return what a pod requests of its node, with 1 of ``pods`` and without zeros."""
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, _read_amounts(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        needs = _read_amounts(container)
        if container.get("restartPolicy") == "Always":
            _add(total, needs)
            _add(sidecars, needs)
            _raise(peak, sidecars)
        else:
            _add(needs, sidecars)
            _raise(peak, needs)
    _raise(total, peak)
    total.update(_read_amounts(spec))
    _add(total, amounts(spec.get("overhead")))
    total["pods"] = 1
    return {name: value for name, value in total.items() if value > 0}


def _read_amounts(holder: Object) -> Amounts:
    return amounts((holder.get("resources") or {}).get("requests"))


def _add(total: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _raise(total: Amounts, least: Amounts) -> None:
    for name, value in least.items():
        total[name] = max(total.get(name, 0), value)
