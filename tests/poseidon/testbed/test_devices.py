"""The simulated controller of resource claims, the driver, and the kubelets that look at claims."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.api_server.operations import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from poseidon.testbed.controllers.device_claims import CLAIMS, FINALIZER, ClaimSimulation
from poseidon.testbed.controllers.device_driver import DRIVER, SLICES, DeviceOracle, DriverSimulation
from poseidon.testbed.controllers.kubelet import KubeletSimulation
from poseidon.testbed.objects.binding import bind, decode_binding
from poseidon.testbed.objects.resources import PODS
from poseidon.testbed.objects.store import decode
from tests.support.cluster import pod
from tests.support.device_objects import V1, claim_template, device_claim, node_with_devices, pod_with_device


class Devices:
    """A cluster whose controllers run when they are told to."""

    def __init__(self, operations):
        self.operations, self.store = operations, operations.store
        self.resource = operations.registry.of_kind(V1, "ResourceClaim")
        self.parts: Any = [
            ClaimSimulation(self.store),
            DriverSimulation(self.store),
            DeviceOracle(self.store),
        ]
        self.oracle = self.parts[-1]

    def create(self, *objects):
        for each in objects:
            create_object(self.operations, each)
        self.run()

    def run(self):
        for _ in range(2):
            for each in self.parts:
                each.advance(0.0)

    def claims(self):
        found = self.store.objects(self.store.collection(CLAIMS))
        return {each["metadata"]["name"]: each for each in found}

    def pod(self, name):
        return decode(self.operations.get(PODS, "default", name))

    def give(self, claim, device, user, **more):
        """Write devices and a reservation, as a scheduler does."""
        body = {"metadata": {"finalizers": [FINALIZER]}}
        self.operations.patch(self.resource, "default", claim, STRATEGIC_MERGE_PATCH, body)
        result = {"request": "device", "driver": DRIVER, "pool": "n1", "device": device, **more}
        consumer = {"resource": "pods", "name": user, "uid": self.pod(user)["metadata"]["uid"]}
        status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [consumer]}
        self.operations.patch(self.resource, "default", claim, MERGE_PATCH, {"status": status}, status=True)
        self.run()


@pytest.fixture
def devices(operations):
    made = Devices(operations)
    made.create(node_with_devices("n1", 2), claim_template())
    return made


def test_a_driver_publishes_what_its_node_has(devices):
    [found] = devices.store.objects(devices.store.collection(SLICES))
    assert found["spec"]["nodeName"] == "n1"
    assert [each["name"] for each in found["spec"]["devices"]] == ["device-0", "device-1"]


def test_a_claim_is_made_of_a_template_when_both_are_there(devices):
    devices.create(pod_with_device("p"), pod_with_device("early", template="late"))
    [(name, claim)] = devices.claims().items()
    assert devices.pod("p")["status"]["resourceClaimStatuses"] == [
        {"name": "device", "resourceClaimName": name}
    ]
    assert claim["metadata"]["ownerReferences"][0]["uid"] == devices.pod("p")["metadata"]["uid"]
    devices.create(claim_template("late"))
    assert len(devices.claims()) == 2


def test_devices_are_free_when_the_pod_has_ended_and_the_claim_goes_with_it(devices):
    devices.create(pod_with_device("p"))
    [name] = devices.claims()
    devices.give(name, "device-0", "p")
    body = {"status": {"phase": "Succeeded"}}
    devices.operations.patch(PODS, "default", "p", MERGE_PATCH, body, status=True)
    devices.run()
    assert not devices.claims()[name]["status"]
    devices.operations.delete(PODS, "default", "p")
    devices.run()
    assert devices.claims() == {}


def test_a_kubelet_starts_a_pod_once_its_claim_is_reserved_for_it(devices):
    devices.create(device_claim("c"), pod_with_device("p", claim="c"))
    kubelets = KubeletSimulation(devices.store)
    bind(devices.store, "default", "p", decode_binding(b'{"target": {"name": "n1"}}'))
    kubelets.advance(0.0)
    assert devices.pod("p")["status"]["phase"] == "Pending"
    devices.give("c", "device-0", "p")
    kubelets.advance(1.0)
    assert devices.pod("p")["status"]["phase"] == "Running"


def test_a_driver_fulfils_binding_conditions(devices):
    devices.create(device_claim("c"), pod_with_device("p", claim="c"))
    devices.give("c", "device-0", "p", bindingConditions=["Ready"])
    [said] = devices.claims()["c"]["status"]["devices"]
    assert [(each["type"], each["status"]) for each in said["conditions"]] == [("Ready", "True")]


def test_what_a_driver_has_said_of_a_device_goes_with_the_device(devices):
    devices.create(device_claim("c"), pod_with_device("p", claim="c"))
    devices.give("c", "device-0", "p", bindingConditions=["Ready"])
    status = {"allocation": None, "reservedFor": None}
    devices.operations.patch(devices.resource, "default", "c", MERGE_PATCH, {"status": status}, status=True)
    assert not devices.claims()["c"]["status"].get("devices")


def test_a_device_that_two_claims_have_is_noted(devices):
    devices.create(device_claim("a"), device_claim("b"), pod("p"))
    devices.give("a", "device-0", "p")
    assert devices.oracle.faults == []
    devices.give("b", "device-0", "p")
    assert devices.oracle.faults == [f"{DRIVER}/n1/device-0: default/a has it, and default/b gets it"]
