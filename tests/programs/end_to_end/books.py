"""Keeps the books of a cluster from raw JSON, with arithmetic of its own: independent of the code under test."""

from __future__ import annotations

import re
from collections import defaultdict
from fractions import Fraction
from typing import Any

Object = dict[str, Any]

_UNITS = {
    "": Fraction(1),
    "m": Fraction(1, 1000),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
}


def amount(text: str | int) -> Fraction:
    """Return the exact value of a quantity as these tests write them."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-zA-Z]*)", str(text))
    assert match is not None, text
    return Fraction(match[1]) * _UNITS[match[2]]


def overcommitted(nodes: list[Object], pods: list[Object]) -> list[str]:
    """Return node and resource wherever pods request more than the node offers, or hold a node that does not exist."""
    taken: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node and pod["status"]["phase"] not in ("Succeeded", "Failed"):
            taken[node, "pods"] += 1
            for container in pod["spec"]["containers"]:
                for resource, text in container.get("resources", {}).get("requests", {}).items():
                    taken[node, resource] += amount(text)
    offered = {
        (node["metadata"]["name"], resource): amount(text)
        for node in nodes
        for resource, text in node["status"]["allocatable"].items()
    }
    return sorted(
        f"{node} {resource}"
        for (node, resource), sum_ in taken.items()
        if sum_ > offered.get((node, resource), 0)
    )


def placements(pods: list[Object]) -> dict[str, str]:
    """Return node by name of the pods that hold one."""
    return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")}


def condition(pod: Object, kind: str) -> Object | None:
    """Return the only condition of that type, or None."""
    found = [each for each in pod["status"].get("conditions", ()) if each["type"] == kind]
    assert len(found) <= 1, pod
    return found[0] if found else None
