"""Makes device claims for pods that request extended resources which devices provide.

A DeviceClass names the resource (``spec.extendedResourceName``); each class also provides a resource by its own name. A
pod that requests such resources gets one claim, with a request for each container and resource, as in kube-scheduler
(KEP-5004). The claim is created after its pod was placed, and the pod's status says which request is for which
container.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from poseidon.devices.claims import PodDeviceClaim, write_json
from poseidon.devices.state import DeviceState
from poseidon.kube.api.devices import EXTENDED_CLAIM, ClaimMeta, DeviceClass, Json, ResourceClaim
from poseidon.kube.api.metadata import OwnerReference
from poseidon.kube.api.pods import Container, Pod
from poseidon.kube.api.resource import Change
from poseidon.kube.parsing.quantities import QuantityError, amount
from protos.firmament.v1 import scheduler_pb2 as pb

IMPLICIT = "deviceclass.resource.kubernetes.io/"
"""Prefix of a resource that every DeviceClass provides under the class's own name."""
NAME = "<extended-resources>"
"""The name within the pod for the claim of its extended resources; no claim of the pod's spec can have this name."""
_LONGEST_BASE = 200


class ResourceRequests(NamedTuple):
    """A claim's requests for a pod's extended resources, and the containers that they are for."""

    requests: list[Json]
    """Requests of a claim."""
    mappings: list[Json]
    """For the pod's status: container, resource and name of the request."""


class ExtendedResources:
    """The extended resources that devices provide, and the waiting pods that request them.

    If a node states a resource among its own, devices do not provide that resource. ``list_offering`` returns the nodes
    that state a resource.
    """

    def __init__(
        self, devices: DeviceState, list_offering: Callable[[str], Collection[str]], *, enabled: bool
    ) -> None:
        self._devices, self._list_offering, self._enabled = devices, list_offering, enabled
        self._classes: dict[str, DeviceClass] = {}
        self._offering: dict[str, set[str]] = {}
        self._waiting: dict[str, Pod] = {}
        self._claims: dict[str, str] = {}
        self._changed = False
        self._provided: dict[str, str] = {}

    # --- classes and nodes ------------------------------------------------------------------------------------

    def take_classes(self, changes: Sequence[Change[DeviceClass]]) -> None:
        """Store changed DeviceClasses: they say which extended resources devices provide."""
        if not self._enabled:
            return
        for change in changes:
            if change.object is not None:
                self._classes[change.uid] = change.object
            else:
                self._classes.pop(change.uid, None)
        names = {_read_name(each) for each in self._classes.values()} - {""}
        self._offering = {name: set(self._list_offering(name)) for name in names}
        self._provide()

    def note_offers(self, machine: pb.Machine) -> None:
        """Store the resources that a node states."""
        if self._offering:
            stated = {each.resource for each in machine.allocatable if each.amount > 0}
            self._note_node(machine.name, stated)

    def forget_offers(self, name: str) -> None:
        """Remove a node that has been deleted."""
        self._note_node(name, ())

    def _note_node(self, name: str, stated: Collection[str]) -> None:
        for resource, nodes in self._offering.items():
            before = bool(nodes)
            if resource in stated:
                nodes.add(name)
            else:
                nodes.discard(name)
            if bool(nodes) != before:
                self._provide()

    def _provide(self) -> None:
        """Find which class provides which resource; if several classes name a resource, the newest class does."""
        found = {f"{IMPLICIT}{each.metadata.name}": each.metadata.name for each in self._classes.values()}
        by_age = sorted(self._classes.values(), key=lambda each: each.metadata.name, reverse=True)
        for each in sorted(by_age, key=lambda each: each.metadata.creation_timestamp or ""):
            name = _read_name(each)
            if name and not self._offering.get(name):
                found[name] = each.metadata.name
        if found != self._provided:
            self._provided, self._changed = found, True

    # --- pods -------------------------------------------------------------------------------------------------

    def list_asked(self, pod: Pod) -> frozenset[str]:
        """Return the resources that a pod requests and that devices provide."""
        if not self._provided:
            return frozenset()
        return frozenset(
            name
            for each in _list_containers(pod)
            for name in _list_requested(each)
            if name in self._provided and _count_requested(each, name)
        )

    def make_claim(self, uid: str, pod: Pod, asked: Collection[str]) -> tuple[PodDeviceClaim, ...]:
        """Add or update a pod that requests extended resources; return its claim, () if devices provide none.

        ``asked``: what ``list_asked`` returns for the pod.
        """
        if pod.spec.node_name:
            self._waiting.pop(uid, None)
        else:
            self._waiting[uid] = pod
        key = self._name_claim(uid, pod, asked)
        if self._claims.get(uid, key) != key:
            self._devices.remove_pod(uid)
            self._devices.forget_claim(self._claims.pop(uid))
        if not key:
            return ()
        self._claims[uid] = key
        return (PodDeviceClaim(NAME, key, made=True),)

    def _name_claim(self, uid: str, pod: Pod, asked: Collection[str]) -> str:
        """Return the key of a pod's claim, "" if the pod needs none; expect the claim if it must still be created."""
        namespace = pod.metadata.namespace or "default"
        status = pod.status.extended_resource_claim_status
        named = status.resource_claim_name if status is not None else ""
        if pod.spec.node_name or not asked:
            return f"{namespace}/{named}" if named else ""
        found = describe_requests(pod, {name: self._provided[name] for name in asked})
        spec: Json = {"devices": {"requests": found.requests}}
        name = named or _make_name(pod, spec)
        key = f"{namespace}/{name}"
        owner = OwnerReference("v1", "Pod", pod.metadata.name, uid, controller=True)
        metadata = ClaimMeta(
            name=name,
            namespace=namespace,
            annotations={EXTENDED_CLAIM: "true"},
            owner_references=(owner,),
        )
        named_by_pod = {"requestMappings": found.mappings, "resourceClaimName": name}
        path = f"/api/v1/namespaces/{namespace}/pods/{pod.metadata.name}/status"
        patch = {"metadata": {"uid": uid}, "status": {"extendedResourceClaimStatus": named_by_pod}}
        self._devices.expect_claim(key, ResourceClaim(metadata, spec), (path, patch))
        return key

    def drop_claim(self, uid: str) -> None:
        """Remove a pod that was deleted or has ended."""
        self._waiting.pop(uid, None)
        key = self._claims.pop(uid, "")
        if key:
            self._devices.forget_claim(key)

    def take_affected(self) -> list[tuple[str, Pod]]:
        """Return the waiting pods, if the resources that devices provide have changed since the last call."""
        changed, self._changed = self._changed, False
        return [*self._waiting.items()] if changed else []


def _make_name(pod: Pod, spec: Json) -> str:
    """Return the name of a pod's claim: the same after a restart, and a different one for a different spec."""
    digest = hashlib.sha256(write_json(spec).encode()).hexdigest()[:8]
    return f"{pod.metadata.name[:_LONGEST_BASE]}-extended-resources-{digest}"


def describe_requests(pod: Pod, classes: Mapping[str, str]) -> ResourceRequests:
    """Return a pod's requests for resources that classes provide (class by resource), and the containers they are for.

    Containers that run at the same time have separate devices. An init container uses the devices of later containers;
    if init containers need more, one further request covers the largest need of one init container.
    """
    init = len(pod.spec.init_containers)
    containers = _list_containers(pod)
    requests: list[Json] = []
    mappings: list[Json] = []
    for resource in sorted(classes):
        stays = [at >= init or each.restart_policy == "Always" for at, each in enumerate(containers)]
        own: list[Json | None] = [
            _make_request(at, each, resource, classes[resource], 0) if stays[at] else None
            for at, each in enumerate(containers)
        ]
        mappings += [
            _map(each, resource, request)
            for each, request in zip(containers, own, strict=True)
            if request is not None
        ]
        passing: list[Json] = []
        mapped: list[tuple[Container, Json]] = []
        for at, each in enumerate(containers):
            count = 0 if stays[at] else _count_requested(each, resource)
            for request in own[at:]:
                if request is not None and count > 0:
                    mapped.append((each, request))
                    count -= request["exactly"]["count"]
            if count > 0:
                request = _make_request(
                    at, each, resource, classes[resource], _count_requested(each, resource) - count
                )
                assert request is not None
                passing.append(request)
                mapped.append((each, request))
        largest = max(passing, key=lambda each: int(each["exactly"]["count"]), default=None)
        for each, request in mapped:
            mappings.append(_map(each, resource, largest if request in passing else request))
        requests += [each for each in (largest, *own) if each is not None]
    return ResourceRequests(sorted(requests, key=lambda each: str(each["name"])), mappings)


def _make_request(at: int, container: Container, resource: str, device_class: str, less: int) -> Json | None:
    count = _count_requested(container, resource) - less
    if count <= 0:
        return None
    place = sorted(_list_requested(container)).index(resource)
    exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}
    return {"name": f"container-{at}-request-{place}", "exactly": exactly}


def _map(container: Container, resource: str, request: Json | None) -> Json:
    assert request is not None
    return {"containerName": container.name, "resourceName": resource, "requestName": request["name"]}


def drop_resources(pod: Pod, names: Collection[str]) -> Pod:
    """Return a pod without its containers' requests and limits of these resources."""
    spec = replace(
        pod.spec,
        containers=tuple(_drop(each, names) for each in pod.spec.containers),
        init_containers=tuple(_drop(each, names) for each in pod.spec.init_containers),
    )
    return replace(pod, spec=spec)


def _drop(container: Container, names: Collection[str]) -> Container:
    resources = container.resources
    requests, limits = (
        {name: value for name, value in stated.items() if name not in names}
        for stated in (resources.requests, resources.limits)
    )
    return replace(container, resources=replace(resources, requests=requests, limits=limits))


def _list_containers(pod: Pod) -> tuple[Container, ...]:
    return (*pod.spec.init_containers, *pod.spec.containers)


def _list_requested(container: Container) -> Iterator[str]:
    """Yield the resources that a container requests; as in the API server, a limit implies a request."""
    yield from container.resources.requests
    yield from (name for name in container.resources.limits if name not in container.resources.requests)


def _count_requested(container: Container, resource: str) -> int:
    """Return how many units of a resource a container requests; 0 if the amount is no whole number."""
    resources = container.resources
    stated = resources.requests.get(resource, resources.limits.get(resource))
    if stated is None:
        return 0
    try:
        found = amount(resource, stated)
    except QuantityError:
        return 0
    return max(0, found)


def _read_name(found: DeviceClass) -> str:
    name = found.spec.get("extendedResourceName")
    return name if isinstance(name, str) else ""
