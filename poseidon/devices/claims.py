"""Reads device claims, and finds what a pod that names claims needs or waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from sys import intern
from typing import Any, NamedTuple

import msgspec

from poseidon.devices.needs import ClaimNeed, DeviceNeeds
from poseidon.devices.sharing.systems import ALLOCATED
from poseidon.devices.sharing.virtual_claims import is_virtual
from poseidon.kube.api.devices import MOST_CONSUMERS, Json, ResourceClaim
from poseidon.kube.api.pods import Pod
from protos.firmament.v1 import scheduler_pb2 as pb

_GROUPS = "scheduling.k8s.io/"
_encode = msgspec.json.Encoder(order="sorted").encode


@dataclass(frozen=True, slots=True)
class DeviceClaim:
    """A ResourceClaim as the API server shows it."""

    key: str
    """``namespace/name``."""
    found: ResourceClaim
    """The object itself."""
    spec: str
    """JSON of the claim's spec; equal specs give equal text."""
    allocation: str
    """JSON of the claim's allocation, "" for none."""
    reserved: tuple[str, ...]
    """Uids of the pods for which the claim is reserved."""

    @property
    def name(self) -> str:
        """The claim's name."""
        return self.found.metadata.name

    @property
    def deleting(self) -> bool:
        """Whether the claim is being deleted."""
        return self.found.metadata.deletion_timestamp is not None

    def is_for_group(self, name: str) -> bool:
        """Return whether the claim was made for the PodGroup with this name, for all of the group's pods."""
        owner = self.found.metadata.controller()
        if owner is None or owner.kind != "PodGroup" or not owner.api_version.startswith(_GROUPS):
            return False
        return bool(name) and owner.name == name

    def is_for(self, uid: str, name: str) -> bool:
        """Return whether the claim was made for this pod: its owner has the pod's uid, or name if no uid is stated."""
        owner = self.found.metadata.controller()
        if owner is None or owner.kind != "Pod":
            return False
        return owner.uid == uid if owner.uid else owner.name == name


def read_claim(found: ResourceClaim) -> DeviceClaim:
    """Return the ``DeviceClaim`` for a ResourceClaim."""
    metadata, status = found.metadata, found.status
    return DeviceClaim(
        key=f"{metadata.namespace or 'default'}/{metadata.name}",
        found=found,
        spec=intern(write_json(found.spec)),
        allocation=write_json(status.allocation) if status.allocation is not None else "",
        reserved=tuple(each.uid for each in status.reserved_for),
    )


def write_json(value: Any) -> str:
    """Return a value as JSON; equal values give equal text."""
    return _encode(value).decode()


class Device(NamedTuple):
    """A device of a claim, or a share of it; ``share`` is the share's ID, "" for the whole device."""

    driver: str
    pool: str
    name: str
    share: str = ""


def list_results(allocation: Json) -> Iterator[Json]:
    """Yield the results of an allocation, each a device for a request; malformed results are skipped."""
    devices = allocation.get("devices")
    results = devices.get("results") if isinstance(devices, dict) else None
    for each in results if isinstance(results, list) else ():
        if isinstance(each, dict):
            yield each


def device_of(result: Json) -> Device:
    """Return the device of a result."""
    parts = (result.get(name) for name in ("driver", "pool", "device", "shareID"))
    return Device(*(each if isinstance(each, str) else "" for each in parts))


def list_devices(allocation: Json) -> frozenset[Device]:
    """Return the devices in an allocation."""
    return frozenset(device_of(each) for each in list_results(allocation))


def read_allocations(given: Iterable[pb.ClaimAllocation]) -> dict[str, Json]:
    """Return the allocations that a round gives to a pod, by the pod's names for its claims. Raises ``ValueError``."""
    return {each.name: msgspec.json.decode(each.allocation, type=dict[str, Any]) for each in given}


# --- claims that a pod names -----------------------------------------------------------------------------


class PodDeviceClaim(NamedTuple):
    """A claim that a pod names."""

    name: str
    """The pod's name for the claim."""
    key: str
    """``namespace/name`` of the claim, "" if it has not been created yet."""
    made: bool = False
    """Whether the claim is made from a template: for this pod, or for its PodGroup."""
    problem: str = ""
    """Why the pod's spec names no claim, "" if it names one."""
    group: str = ""
    """The name of the pod's PodGroup, "" for none; the claim may have been made for the group."""


def device_claims_of(pod: Pod) -> tuple[PodDeviceClaim, ...]:
    """Return the device claims of a pod in order, without those that its status says need not be created."""
    return tuple(_list_named(pod)) if pod.spec.resource_claims else ()


def _list_named(pod: Pod) -> Iterator[PodDeviceClaim]:
    namespace = pod.metadata.namespace or "default"
    made = {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses}
    group = pod.spec.scheduling_group.pod_group_name if pod.spec.scheduling_group is not None else ""
    where = f'pod "{namespace}/{pod.metadata.name}"'
    for each in pod.spec.resource_claims:
        if each.resource_claim_name is not None:
            yield PodDeviceClaim(each.name, f"{namespace}/{each.resource_claim_name}")
        elif each.resource_claim_template_name is None:
            problem = f'{where}, spec.resourceClaim "{each.name}": none of the supported fields are set'
            yield PodDeviceClaim(each.name, "", problem=problem)
        elif each.name not in made:
            problem = f"{where}: ResourceClaim not created yet"
            yield PodDeviceClaim(each.name, "", made=True, problem=problem)
        elif name := made[each.name]:
            yield PodDeviceClaim(each.name, f"{namespace}/{name}", made=True, group=group)


def find_tie(pod: Pod, needs: DeviceNeeds) -> str:
    """Return why the devices of a running pod prevent its move to another node, "" if they do not.

    Claims made for the pod alone do not prevent it: they are deleted with the pod, and its replacement gets others.
    ``needs``: the needs of the pod's class.
    """
    if not pod.metadata.annotations.keys().isdisjoint(ALLOCATED):
        return "has parts of GPUs"
    if any(each.resource_claim_name is not None for each in pod.spec.resource_claims):
        return "has a claim of devices that others may use"
    own = {each.name for each in needs if each.spec}
    unknown = any(each.name not in own for each in pod.spec.resource_claims)
    return "has a claim of devices that is not known" if unknown else ""


class DeviceResolution(NamedTuple):
    """The devices that a pod needs because of its claims, or the reason why the pod has to wait."""

    needs: DeviceNeeds = ()
    """The pod's needs, which go into its class."""
    waits: str = ""
    """Why the pod has to wait, in kube-scheduler's words; "" if it need not wait."""


NO_CLAIMS = DeviceResolution()


def resolve(
    uid: str, name: str, named: tuple[PodDeviceClaim, ...], find: Callable[[str], DeviceClaim | None]
) -> DeviceResolution:
    """Return what a pod needs, or waits for, because of its claims. ``name``: the pod's ``namespace/name``."""
    needs = []
    for each in named:
        if each.problem:
            return DeviceResolution(waits=each.problem)
        claim = find(each.key)
        waits = _find_obstacle(uid, name, each, claim)
        if claim is None or waits:
            return DeviceResolution(waits=waits)
        own = each.made and not claim.allocation and not claim.is_for_group(each.group)
        needs.append(ClaimNeed(each.name, "" if own else each.key, claim.spec if own else ""))
    return DeviceResolution(tuple(needs))


def list_own_needs(
    uid: str, name: str, named: tuple[PodDeviceClaim, ...], find: Callable[[str], DeviceClaim | None]
) -> DeviceResolution:
    """Return the needs of the claims made for a pod from templates, as if they had no devices yet."""
    needs = []
    for each in named:
        claim = find(each.key) if each.made else None
        if claim is not None and not is_virtual(claim.found) and claim.is_for(uid, name.partition("/")[2]):
            needs.append(ClaimNeed(each.name, spec=claim.spec))
    return DeviceResolution(tuple(needs))


def _find_obstacle(uid: str, name: str, named: PodDeviceClaim, claim: DeviceClaim | None) -> str:
    """Return why a pod has to wait for a claim, in kube-scheduler's words; "" if it need not."""
    if claim is None:
        return f'resourceclaim "{named.key.partition("/")[2]}" not found'
    if claim.deleting:
        return f'resourceclaim "{claim.name}" is being deleted'
    made_for_pod = claim.is_for(uid, name.partition("/")[2]) or claim.is_for_group(named.group)
    if named.made and not made_for_pod:
        return f"ResourceClaim {claim.key} was not created for Pod {name} (Pod is not owner)"
    if claim.allocation and uid not in claim.reserved and len(claim.reserved) >= MOST_CONSUMERS:
        return "resourceclaim in use"
    return ""
