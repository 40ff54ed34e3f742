"""What must hold of devices: none is had twice, none is lost, and no pod is bound without those that it claims.

Writes are judged as bindings are: by what the bridge could know when it wrote. Devices that others have got since then
are no fault of its; those that it gave away itself always count. What several claims share never exceeds what there is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.programs.simulation import device_objects, workload
from tests.programs.simulation.actors import fits
from tests.programs.simulation.api_server import CLAIMS, NODES, PODS, Copy, Object, Request, finished
from tests.programs.simulation.device_objects import Device
from tests.programs.simulation.oracle import Oracle


class _Given(NamedTuple):
    """When, and by whom, a claim has got its devices."""

    moment: int
    client: str


@dataclass
class DeviceOracle(Oracle):
    """An oracle for histories with claims."""

    given: dict[str, _Given] = field(default_factory=dict)
    """By uid of the claim, while it has devices."""
    states: dict[str, list[tuple[int, Object | None]]] = field(default_factory=lambda: defaultdict(list))
    """By name of the claim: what it was since which moment."""
    allocations: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.api.on_claim = self.claim_written

    def changed(self, path: str, kind: str, found: Object) -> None:
        """Take a write."""
        super().changed(path, kind, found)
        if path == CLAIMS:
            gone = kind == "DELETED"
            self.states[found["metadata"]["name"]].append((self.api.moment, None if gone else found))
            if gone or not found["status"].get("allocation"):
                self.given.pop(found["metadata"]["uid"], None)

    def restored(self, copy: Copy) -> None:
        """Take that the server has come back from a copy."""
        super().restored(copy)
        there = {each["metadata"]["name"]: each for each in copy.objects[CLAIMS].values()}
        for name in self.states.keys() | there.keys():
            state = there.get(name)
            if not self.states[name] or self.states[name][-1][1] is not state:
                self.states[name].append((self.api.moment, state))
        self.given = {
            each["metadata"]["uid"]: _Given(self.api.moment, "a copy")
            for each in there.values()
            if each["status"].get("allocation")
        }

    # --- claims --------------------------------------------------------------------------------------------

    def claim_written(self, request: Request, claim: Object, status: Object) -> None:
        """Judge a change of the status of a claim that is about to take effect."""
        if claim["status"].get("allocation") or not status.get("allocation"):
            return
        self.allocations += 1
        new = {**claim, "status": status}
        self.given[claim["metadata"]["uid"]] = _Given(self.api.moment + 1, request.client)
        seen = request.seen.get(CLAIMS, 0)
        name, parts = claim["metadata"]["name"], Counter[Device]()
        for result in device_objects.list_results(new):
            device = device_objects.device_of(result)
            if result.get("consumedCapacity"):
                parts[device] += int(result["consumedCapacity"]["memory"])
                continue
            for other in self._holders(device, claim):
                if self._is_known(other, request.client, seen):
                    self.fail(f"{name} gets {'/'.join(device)}, which {other['metadata']['name']} has")
        for device, taken in parts.items():
            self._judge_share(request, device, taken, name)

    def _judge_share(self, request: Request, device: Device, taken: int, name: str) -> None:
        """Judge what a claim gets of a shared device, in all its parts together."""
        seen = request.seen.get(CLAIMS, 0)
        for other in self.api.all(CLAIMS):
            if other["metadata"]["name"] != name and self._is_known(other, request.client, seen):
                taken += sum(
                    int(each["consumedCapacity"]["memory"])
                    for each in device_objects.list_results(other)
                    if device_objects.device_of(each) == device
                )
        if taken > device_objects.MEMORY:
            self.fail(f"{name} overfills {'/'.join(device)}: {taken}")

    def _holders(self, device: Device, but: Object) -> Iterator[Object]:
        """Yield the other claims that have a device."""
        for other in self.api.all(CLAIMS):
            if other["metadata"]["uid"] != but["metadata"]["uid"]:
                results = device_objects.list_results(other)
                if any(device_objects.device_of(each) == device for each in results):
                    yield other

    def _is_known(self, claim: Object, client: str, seen: int) -> bool:
        """Whether a client that has seen a moment knows of the devices that a claim has."""
        given = self.given.get(claim["metadata"]["uid"])
        return given is not None and (given.client == client or given.moment <= seen)

    # --- bindings ------------------------------------------------------------------------------------------

    def binding(self, request: Request | None, pod: Object, node: str) -> None:
        """Judge a binding that is about to take effect."""
        super().binding(request, pod, node)
        named = device_objects.list_named(pod)
        if request is None or not named:
            return
        claims, seen = device_objects.names_claims(pod), request.seen.get(CLAIMS, 0)
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        if len(claims) < len(named):
            self.fail(f"{name} is bound, and its claims do not exist")
        for claim in claims:
            known = [each for moment, each in self.states[claim] if moment <= seen][-1:]
            later = [each for moment, each in self.states[claim] if moment > seen]
            if not any(each is not None and _serves(each, uid, node) for each in (*known, *later)):
                self.fail(f"{name} is bound to {node} without the devices of {claim}")
            found = self.api.find(CLAIMS, workload.NAMESPACE, claim)
            if found is not None:
                self._judge_alone(request, found, name)

    def _judge_alone(self, request: Request, claim: Object, name: str) -> None:
        """No pod is bound whose devices somebody else is known to have as well."""
        seen = request.seen.get(CLAIMS, 0)
        for result in device_objects.list_results(claim):
            if not result.get("consumedCapacity"):
                device = device_objects.device_of(result)
                for other in self._holders(device, claim):
                    if self._is_known(other, request.client, seen):
                        self.fail(
                            f"{name} is bound with {'/'.join(device)}, which {other['metadata']['name']} has"
                        )

    # --- when all is quiet ---------------------------------------------------------------------------------

    def unbound(self) -> list[str]:
        """Names of pods that could be bound and are not."""
        return [name for name in super().unbound() if not self._is_tied(name)]

    def lacks_group(self, uid: str) -> bool:
        """Whether a pod without a node waits for a group, or a claim, that is not there."""
        pod = self.pods[uid].object
        shared = [each.get("resourceClaimName") for each in device_objects.list_named(pod)]
        waits = not self.pods[uid].node and any(each and self._find_claim(each) is None for each in shared)
        return waits or super().lacks_group(uid)

    def _find_claim(self, name: str) -> Object | None:
        """Return a claim that pods can get."""
        claim = self.api.find(CLAIMS, workload.NAMESPACE, name)
        return None if claim is None or "deletionTimestamp" in claim["metadata"] else claim

    def leaks(self) -> list[str]:
        """Claims whose devices nobody has that lives, or that lives where they are not."""
        pods = {pod["metadata"]["uid"]: pod for pod in self.api.all(PODS)}
        found = []
        for claim in self.api.all(CLAIMS):
            if claim["status"].get("allocation"):
                users = [pods.get(uid) for uid in device_objects.list_users(claim)]
                if not users or any(each is None or finished(each) for each in users):
                    found.append(claim["metadata"]["name"])
        return found

    def _is_tied(self, name: str) -> bool:
        """Whether a pod waits for a claim that is not there, or whose devices others have where it has no room."""
        pod = self.api.find(PODS, workload.NAMESPACE, name)
        for named in device_objects.list_named(pod) if pod is not None else ():
            shared = named.get("resourceClaimName")
            if pod is not None and shared and self._is_tied_to(pod, shared):
                return True
        return False

    def _is_tied_to(self, pod: Object, name: str) -> bool:
        claim = self._find_claim(name)
        if claim is None:
            return True
        bound = [each for each in self.api.all(PODS) if each["spec"].get("nodeName")]
        users = {each["metadata"]["uid"] for each in bound} & {*device_objects.list_users(claim)}
        if not claim["status"].get("allocation") or not users:
            return False
        for node in device_objects.list_nodes(claim) or ():
            found = self.api.find(NODES, "", node)
            here = [each for each in bound if each["spec"]["nodeName"] == node and not finished(each)]
            if found is not None and not fits(here, found, pod):
                return False
        return device_objects.list_nodes(claim) is not None


def _serves(claim: Object, uid: str, node: str) -> bool:
    """Whether a claim has devices on a node, ready for a pod."""
    if not claim["status"].get("allocation") or uid not in device_objects.list_users(claim):
        return False
    nodes = device_objects.list_nodes(claim)
    return (nodes is None or node in nodes) and device_objects.is_ready(claim)
