"""Objects of dynamic resource allocation, as an API server holds them."""

from __future__ import annotations

from typing import Any

from poseidon.testbed.controllers.device_driver import DEVICES, DRIVER
from poseidon.testbed.seeding import NodeShape, node
from tests.support.cluster import pod

Object = dict[str, Any]
V1 = "resource.k8s.io/v1"


def device_class(name: str = "device", expression: str = "") -> Object:
    """A class of all devices of the simulated driver, or of those that an expression selects."""
    selects = expression or f'device.driver == "{DRIVER}"'
    return {
        "apiVersion": V1,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": selects}}]},
    }


def asked(count: int = 1, device_class: str = "device") -> Object:
    """The spec of a claim."""
    exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}
    return {"devices": {"requests": [{"name": "device", "exactly": exactly}]}}


def device_claim(name: str, count: int = 1) -> Object:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": V1, "kind": "ResourceClaim", "metadata": metadata, "spec": asked(count)}


def claim_template(name: str = "one", count: int = 1) -> Object:
    metadata = {"name": name, "namespace": "default"}
    spec = {"spec": asked(count)}
    return {"apiVersion": V1, "kind": "ResourceClaimTemplate", "metadata": metadata, "spec": spec}


def pod_with_device(name: str, template: str = "one", claim: str = "", **more: Any) -> Object:
    """A pod with a claim of its own, or with one that others may share."""
    named = {"resourceClaimName": claim} if claim else {"resourceClaimTemplateName": template}
    return pod(name, cpu="10m", resourceClaims=[{"name": "device", **named}], **more)


def node_with_devices(name: str, count: int) -> Object:
    made = node(name, NodeShape())
    made["metadata"]["annotations"] = {DEVICES: str(count)}
    return made
