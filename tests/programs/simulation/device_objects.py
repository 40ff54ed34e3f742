"""Objects of dynamic resource allocation, drawn at random: devices of nodes and of the network, and claims of them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from tests.programs.simulation import workload
from tests.programs.simulation.api_server import Object

DRIVER, NETWORK = "sim.example.com", "net.example.com"
FINALIZER = "resource.kubernetes.io/delete-protection"
READY, BROKEN = "Ready", "Broken"
MEMORY = 8
"""What each device has of memory that several claims may share."""
ROOMY = "spare-"
"""What nodes are called on which there are devices for all."""


class Device(NamedTuple):
    """A device by its full name."""

    driver: str
    pool: str
    name: str


def _selects(expression: str) -> Object:
    return {"selectors": [{"cel": {"expression": expression}}]}


def _attribute(name: str, value: str) -> str:
    return f'device.attributes["{DRIVER}"].{name} == "{value}"'


_OURS = f'device.driver == "{DRIVER}"'
_WHOLE = f"{_OURS} && {_attribute('kind', 'whole')}"
CLASSES = {
    "whole": _selects(_WHOLE),
    "large": _selects(f"{_WHOLE} && {_attribute('model', 'large')}"),
    "part": _selects(f"{_OURS} && {_attribute('kind', 'part')}"),
    "net": _selects(f'device.driver == "{NETWORK}"'),
}


def _exactly(device_class: str, **more: Any) -> Object:
    return {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": 1, **more}


def _claim(*requests: Object) -> Object:
    return {"devices": {"requests": [{"name": f"r{index}", **each} for index, each in enumerate(requests)]}}


def _part(memory: int) -> Object:
    return {"exactly": _exactly("part", capacity={"requests": {"memory": str(memory)}})}


TEMPLATES = {
    "one": _claim({"exactly": _exactly("whole")}),
    "two": _claim({"exactly": _exactly("whole", count=2)}),
    "large": _claim({"exactly": _exactly("large")}),
    "rather-large": _claim(
        {
            "firstAvailable": [
                {"name": "large", **_exactly("large", count=2)},
                {"name": "any", **_exactly("whole")},
            ]
        }
    ),
    "little": _claim(_part(2)),
    "much": _claim(_part(5)),
    "several": _claim(_part(2), _part(3)),
    "net": _claim({"exactly": _exactly("net")}),
    "both": _claim({"exactly": _exactly("net")}, {"exactly": _exactly("whole")}),
}
"""Specs of claims, by name of the template."""


def draw_devices(random: Random, node: str) -> list[Object]:
    """Draw what a node has; where it is to have enough for all, that."""
    if node.startswith(ROOMY):
        whole, parts, slow = 16, 6, 0.0
    else:
        whole, parts, slow = random.choice((0, 1, 2, 4)), random.choice((0, 0, 1)), random.choice((0, 0, 0.5))
    return [
        *(_device(f"d{index}", "whole", index, slow=random.random() < slow) for index in range(whole)),
        *(_device(f"s{index}", "part", index, slow=False) for index in range(parts)),
    ]


def _device(name: str, kind: str, index: int, *, slow: bool) -> Object:
    model = ("small", "large")[index % 2]
    made: Object = {"name": name, "attributes": {"kind": {"string": kind}, "model": {"string": model}}}
    if kind == "part":
        made |= {"allowMultipleAllocations": True, "capacity": {"memory": {"value": str(MEMORY)}}}
    if slow:
        made |= {"bindingConditions": [READY], "bindingFailureConditions": [BROKEN]}
    return made


def slices_of(node: str, generation: int, devices: list[Object]) -> list[Object]:
    """Return the slices of a node's pool: two where there are several devices."""
    parts = [devices[::2], devices[1::2]] if len(devices) > 1 else [devices]
    pool = {"name": node, "generation": generation, "resourceSliceCount": len(parts)}
    return [
        {
            "metadata": {"name": f"{node}-{index}"},
            "spec": {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": part},
        }
        for index, part in enumerate(parts)
    ]


def network_slice(generation: int, count: int) -> Object:
    """Return the slice of devices that all nodes reach."""
    pool = {"name": "net", "generation": generation, "resourceSliceCount": 1}
    devices = [{"name": f"n{index}"} for index in range(count)]
    return {
        "metadata": {"name": "net"},
        "spec": {"driver": NETWORK, "allNodes": True, "pool": pool, "devices": devices},
    }


def shared_claim(name: str, template: str) -> Object:
    """Return a claim that pods share."""
    metadata = {"name": name, "namespace": workload.NAMESPACE, "finalizers": []}
    return {"metadata": metadata, "spec": TEMPLATES[template], "status": {}}


def claim_of(pod: Object, what: str, template: str, name: str) -> Object:
    """Return the claim that is made for a pod from a template."""
    metadata = pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
    made = shared_claim(name, template)
    made["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": what}
    made["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    return made


def names_claims(pod: Object) -> list[str]:
    """Return the names of the claims of a pod that have been made."""
    made = {
        each["name"]: each["resourceClaimName"] for each in pod["status"].get("resourceClaimStatuses", ())
    }
    named = [each.get("resourceClaimName") or made.get(each["name"]) for each in list_named(pod)]
    return [each for each in named if each]


def list_named(pod: Object) -> list[Object]:
    """Return what a pod says of its claims."""
    return list(pod["spec"].get("resourceClaims", ()))


def list_results(claim: Object) -> list[Object]:
    """Return the devices that a claim has got, as its status says them."""
    allocation = claim["status"].get("allocation")
    return list(allocation["devices"]["results"]) if allocation else []


def device_of(result: Object) -> Device:
    """Return the device of a result."""
    return Device(result["driver"], result["pool"], result["device"])


def list_users(claim: Object) -> list[str]:
    """Return the uids of the pods that a claim is reserved for."""
    return [each["uid"] for each in claim["status"].get("reservedFor", ())]


def list_nodes(claim: Object) -> list[str] | None:
    """Return the nodes on which the devices of a claim are, None for all."""
    terms = claim["status"]["allocation"].get("nodeSelector", {}).get("nodeSelectorTerms")
    if terms is None:
        return None
    return [name for term in terms for field in term["matchFields"] for name in field["values"]]


def is_ready(claim: Object) -> bool:
    """Whether drivers have prepared all devices of a claim that have to be."""
    said = {device_of(each): _list_true(each) for each in claim["status"].get("devices", ())}
    return all(
        said.get(device_of(each), set()) >= set(each.get("bindingConditions", ()))
        for each in list_results(claim)
    )


def _list_true(said: Object) -> set[str]:
    return {each["type"] for each in said["conditions"] if each["status"] == "True"}


def iter_waiting(claim: Object) -> Iterator[Object]:
    """Yield the results of a claim of which a driver has said nothing yet and has to."""
    said = {device_of(each) for each in claim["status"].get("devices", ())}
    for each in list_results(claim):
        if each.get("bindingConditions") and device_of(each) not in said:
            yield each
