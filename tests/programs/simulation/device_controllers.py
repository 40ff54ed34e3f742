"""The controller of resource claims, and the drivers of devices."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from tests.programs.simulation import device_objects
from tests.programs.simulation.actors import leaving
from tests.programs.simulation.api_server import (
    CLAIMS,
    NODES,
    PODS,
    SLICES,
    ApiServer,
    Object,
    finished,
    stamp,
)
from tests.programs.simulation.event_queue import EventQueue


@dataclass
class ClaimController:
    """Makes claims from templates, takes back those of pods that have ended, and lets unused ones go.

    It acts a moment after a change, and about every second.
    """

    queue: EventQueue
    api: ApiServer
    _due: bool = False
    _serial: int = 0

    def begin(self) -> None:
        """Act from now on."""
        self.queue.after(1.0 + self.queue.random.random(), self.begin)
        self._sync()

    def changed(self, path: str) -> None:
        """Take a change of an object of a collection."""
        if path in (PODS, CLAIMS) and not self._due:
            self._due = True
            self.queue.after(0.02 + 0.4 * self.queue.random.random(), self._sync)

    def _sync(self) -> None:
        self._due = False
        pods = self.api.all(PODS)
        for pod in pods:
            if device_objects.list_named(pod) and not finished(pod) and not leaving(pod):
                self._make_claims(pod)
        there = {pod["metadata"]["uid"] for pod in pods}
        live = {pod["metadata"]["uid"] for pod in pods if not finished(pod)}
        for claim in self.api.all(CLAIMS):
            self._settle(claim, there, live)

    def _make_claims(self, pod: Object) -> None:
        statuses = list(pod["status"].get("resourceClaimStatuses", ()))
        known = {each["name"] for each in statuses}
        for each in device_objects.list_named(pod):
            template = each.get("resourceClaimTemplateName")
            if template and each["name"] not in known:
                self._serial += 1
                name = f"{pod['metadata']['name']}-{each['name']}-{self._serial}"
                self.api.create(CLAIMS, device_objects.claim_of(pod, each["name"], template, name))
                statuses.append({"name": each["name"], "resourceClaimName": name})
        if len(statuses) > len(known):
            self.api.replace(PODS, {**pod, "status": {**pod["status"], "resourceClaimStatuses": statuses}})

    def _settle(self, claim: Object, there: set[str], live: set[str]) -> None:
        """Take pods that have ended out of a claim; without any it is free, and goes if nobody wants it."""
        metadata, status = dict(claim["metadata"]), dict(claim["status"])
        reserved = status.get("reservedFor", [])
        left = [each for each in reserved if each["uid"] in live]
        if len(left) < len(reserved):
            status["reservedFor"] = left
            if not left:
                for name in ("allocation", "reservedFor", "devices"):
                    status.pop(name, None)
        owner = metadata.get("ownerReferences", [{}])[0].get("uid")
        if owner is not None and owner not in there:
            metadata.setdefault("deletionTimestamp", stamp(self.queue.wall()))
        if "deletionTimestamp" in metadata and not status.get("allocation") and not status.get("reservedFor"):
            metadata["finalizers"] = []
        if metadata != claim["metadata"] or status != claim["status"]:
            claim = self.api.replace(CLAIMS, {**claim, "metadata": metadata, "status": status})
        if "deletionTimestamp" in metadata and not metadata["finalizers"]:
            self.api.remove(CLAIMS, claim)


@dataclass
class DeviceDrivers:
    """Publish slices of all nodes, change them now and then, and prepare devices.

    While ``active``, some devices fail as they are prepared, and of some nothing is heard.
    """

    queue: EventQueue
    api: ApiServer
    active: bool = True
    network: int = 2
    """How many devices all nodes reach."""
    _wanted: dict[str, list[Object]] = field(default_factory=dict)
    _generations: dict[str, int] = field(default_factory=dict)

    def begin(self) -> None:
        """Act from now on."""
        self.publish_network(self.queue.random.randint(0, 3))
        self._resync()
        self._change()

    def calm(self) -> None:
        """Prepare all devices, and leave them as they are."""
        self.active = False

    def publish_network(self, count: int) -> None:
        """Let there be so many devices that all nodes reach."""
        self.network = count
        self._generations["net"] = self._generations.get("net", 0) + 1
        self._put("net", self._generations["net"], self._network())

    def changed(self, path: str, found: Object) -> None:
        """Take a change of an object."""
        random = self.queue.random
        if path == NODES:
            self.queue.after(0.1 + random.random(), partial(self._publish, found["metadata"]["name"]))
        elif path == CLAIMS and any(device_objects.iter_waiting(found)):
            heard = not self.active or random.random() < 0.85
            if heard:
                self.queue.after(0.05 + random.random() * 3, partial(self._prepare, found))

    def _resync(self) -> None:
        """See to what is not as it should be: nodes that have come and gone, a server that came back from a copy."""
        self.queue.after(2.0 + self.queue.random.random() * 2, self._resync)
        names = {each["metadata"]["name"] for each in self.api.all(NODES)} | self._wanted.keys()
        for name in sorted(names):
            self._publish(name)
        self._put("net", self._generations["net"], self._network())
        if not self.active:
            for claim in self.api.all(CLAIMS):
                if any(device_objects.iter_waiting(claim)):
                    self._prepare(claim)

    def _change(self) -> None:
        """Let a driver find other devices, under a new generation."""
        random = self.queue.random
        self.queue.after(random.expovariate(1 / 6), self._change)
        if not self.active or not self._wanted:
            return
        if random.random() < 0.2:
            self.publish_network(random.randint(0, 3))
            return
        name = random.choice(sorted(self._wanted))
        del self._wanted[name]
        self._publish(name)

    def _publish(self, name: str) -> None:
        """Have slices of a node where it is there, and none where it is not."""
        if self.api.find(NODES, "", name) is None:
            self._wanted.pop(name, None)
            self._remove(name, 0)
            return
        if name not in self._wanted:
            self._wanted[name] = device_objects.draw_devices(self.queue.random, name)
            self._generations[name] = self._generations.get(name, 0) + 1
            self.queue.tell(f"the driver of {name} has {len(self._wanted[name])} devices")
        generation = self._generations[name]
        slices = device_objects.slices_of(name, generation, self._wanted[name])
        for made in slices:
            self.queue.after(0.3 * self.queue.random.random(), partial(self._put, name, generation, made))
        self._remove(name, len(slices))

    def _network(self) -> Object:
        return device_objects.network_slice(self._generations["net"], self.network)

    def _put(self, name: str, generation: int, made: Object) -> None:
        found = self.api.find(SLICES, "", made["metadata"]["name"])
        if generation != self._generations[name] or (name != "net" and name not in self._wanted):
            return
        if found is None:
            self.api.create(SLICES, made)
        elif found["spec"] != made["spec"]:
            self.api.replace(SLICES, {**found, "spec": made["spec"]})

    def _remove(self, name: str, first: int) -> None:
        for index in range(first, 2):
            found = self.api.find(SLICES, "", f"{name}-{index}")
            if found is not None:
                self.api.remove(SLICES, found)

    def _prepare(self, given: Object) -> None:
        claim = self.api.current(CLAIMS, given)
        waiting = list(device_objects.iter_waiting(claim)) if claim is not None else []
        if claim is None or not waiting:
            return
        failed = self.active and self.queue.random.random() < 0.15
        said = device_objects.BROKEN if failed else device_objects.READY
        self.queue.tell(f"devices of {claim['metadata']['name']} are {said}")
        conditions = [{"type": said, "status": "True", "lastTransitionTime": stamp(self.queue.wall())}]
        devices = [
            {**{part: each[part] for part in ("driver", "pool", "device")}, "conditions": conditions}
            for each in waiting
        ]
        status = {**claim["status"], "devices": [*claim["status"].get("devices", ()), *devices]}
        self.api.replace(CLAIMS, {**claim, "status": status})
