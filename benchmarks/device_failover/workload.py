"""Makes nodes with devices of two drivers, and pods with all kinds of claims, for which there are enough devices."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

Object = dict[str, Any]

NAMESPACE = "red"
"""One of the namespaces that the judge's client creates."""
PLAIN, SLOW = "plain.devices.example", "slow.devices.example"
"""The two drivers: devices of the second have to be prepared before a pod is bound."""
PREPARED, FAILED = "devices.example/prepared", "devices.example/failed"
"""Conditions that the second driver reports."""
PLAIN_PER_NODE, SLOW_PER_NODE = 8, 2
_V1 = "resource.k8s.io/v1"
_TEMPLATES = {"one": (PLAIN, 1), "two": (PLAIN, 2), "slow": (SLOW, 1)}
_EXTENDED = "devices.example/plain"
"""The extended resource that devices of the first driver provide."""
_KINDS = ("one", "one", "two", "two", "slow", "slow", "shared", "extended", "extended")
"""The kinds from which pods are drawn: with templates, pairs that share a claim, with an extended resource."""


def list_scaffold(nodes: int) -> list[Object]:
    """Return the nodes, their slices, device classes and templates."""
    made = [*map(_make_class, (PLAIN, SLOW)), *map(_make_template, _TEMPLATES)]
    for name in (f"n{index}" for index in range(nodes)):
        made += [_make_node(name), _make_slice(name, PLAIN, PLAIN_PER_NODE)]
        made.append(_make_slice(name, SLOW, SLOW_PER_NODE))
    return made


@dataclass(slots=True)
class Draws:
    """Draws pods while devices are left for them."""

    nodes: int
    random: Random
    claims: int = 0
    """Number of claims of all pods so far."""
    _wanted: dict[str, dict[str, int]] = field(default_factory=dict)
    """Devices of each driver that a pod wants, by pod; for pods that share a claim, the first pod counts."""
    _shared: int = 0
    _pods: int = 0

    @property
    def room(self) -> dict[str, int]:
        """Return how many more devices of each driver pods may ask for."""
        return {PLAIN: (PLAIN_PER_NODE - 1) * self.nodes - 1, SLOW: SLOW_PER_NODE * self.nodes}

    def count_wanted(self, driver: str) -> int:
        """Return how many devices of a driver the present pods want."""
        return sum(each.get(driver, 0) for each in self._wanted.values())

    def draw(self, kind: str = "") -> list[Object]:
        """Return the objects of one more claim, pods last; none if there are not enough devices for it."""
        kind = kind or self.random.choice(_KINDS)
        driver, count = _TEMPLATES.get(kind, (PLAIN, 1))
        if self.count_wanted(driver) + count > self.room[driver]:
            return []
        self.claims += 1
        if kind == "extended":
            return [self._make_pod({PLAIN: 1}, None)]
        if kind != "shared":
            return [self._make_pod({driver: count}, {"resourceClaimTemplateName": kind})]
        name = f"shared-{self._shared}"
        self._shared += 1
        claim = {"apiVersion": _V1, "kind": "ResourceClaim", "spec": _ask(PLAIN, 1)}
        claim["metadata"] = {"name": name, "namespace": NAMESPACE}
        pair = [self._make_pod(wanted, {"resourceClaimName": name}) for wanted in ({PLAIN: 1}, {})]
        return [claim, *pair]

    def fill(self) -> list[Object]:
        """Return pods, of one device each, that want all free devices of the first driver."""
        left = PLAIN_PER_NODE * self.nodes - self.count_wanted(PLAIN)
        self.claims += left
        return [self._make_pod({PLAIN: 1}, {"resourceClaimTemplateName": "one"}) for _ in range(left)]

    def forget(self, name: str) -> None:
        """Remove a pod; if two pods share its claim, remove both."""
        self._wanted.pop(name, None)

    def _make_pod(self, wanted: dict[str, int], claim: Object | None) -> Object:
        """Return a pod that names a claim, or one that requests the extended resource."""
        name = f"p{self._pods}"
        self._pods += 1
        self._wanted[name] = wanted
        resources = {"requests": {"cpu": "10m"}, "limits": {} if claim else {_EXTENDED: "1"}}
        container = {"name": "main", "image": "pause", "resources": resources}
        spec: Object = {"schedulerName": "poseidon", "containers": [container]}
        if claim:
            spec["resourceClaims"] = [{"name": "device", **claim}]
        metadata = {"name": name, "namespace": NAMESPACE}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _ask(driver: str, count: int) -> Object:
    exactly = {"deviceClassName": driver.partition(".")[0], "count": count}
    return {"devices": {"requests": [{"name": "device", "exactly": exactly}]}}


def _make_class(driver: str) -> Object:
    selects: Object = {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]}
    if driver == PLAIN:
        selects["extendedResourceName"] = _EXTENDED
    name = driver.partition(".")[0]
    return {"apiVersion": _V1, "kind": "DeviceClass", "metadata": {"name": name}, "spec": selects}


def _make_template(name: str) -> Object:
    metadata, spec = {"name": name, "namespace": NAMESPACE}, {"spec": _ask(*_TEMPLATES[name])}
    return {"apiVersion": _V1, "kind": "ResourceClaimTemplate", "metadata": metadata, "spec": spec}


def _make_node(name: str) -> Object:
    offered = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "played"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": offered, "allocatable": offered, "conditions": [ready]},
    }


def _make_slice(node: str, driver: str, count: int) -> Object:
    waits = {"bindsToNode": True, "bindingConditions": [PREPARED], "bindingFailureConditions": [FAILED]}
    more = waits if driver == SLOW else {}
    return {
        "apiVersion": _V1,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{driver}"},
        "spec": {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"device-{index}", **more} for index in range(count)],
        },
    }
