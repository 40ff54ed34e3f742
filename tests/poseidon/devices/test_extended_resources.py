"""Extended resources that devices provide: which they are, and the claims that pods get for them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.devices.extended_resources import IMPLICIT, NAME, describe_requests
from poseidon.devices.options import DeviceOptions
from poseidon.kube.api import kinds
from poseidon.kube.api.devices import EXTENDED_CLAIM, DeviceClass
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pods import Container, ExtendedClaimStatus, PodResourceClaim, ResourceRequirements
from poseidon.kube.api.resource import Change
from poseidon.kube.write.device_claim_writer import DeviceClaimWrite, WriteEnd
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.solver_view import PENDING, SolverView
from tests.poseidon.devices.objects import allocation, given_in

GPU = "example.com/gpu"


def device_class(name="gpu", resource=GPU, created="2026-01-01T00:00:00Z"):
    spec = {"extendedResourceName": resource} if resource else {}
    return DeviceClass(ObjectMeta(name=name, uid=f"class-{name}", creation_timestamp=created), spec)


def offering(name):
    found = node(name)
    return replace(found, status=replace(found.status, allocatable={**found.status.allocatable, GPU: "4"}))


def container(name, count, resource=GPU, **more):
    return Container(name=name, resources=ResourceRequirements(limits={resource: str(count)}), **more)


def asking(name="p", *, init=(), containers=None, **more):
    found = pod(name, **more)
    spec = replace(found.spec, init_containers=init, containers=containers or (container("main", 1),))
    return replace(found, spec=spec)


class Bridge:
    def __init__(self, *, classes=(), nodes=(), off=()):
        options = DeviceOptions(disabled_features=off)
        self.state = BridgeState(BridgeConfiguration(devices=options), clock=lambda: 0.0, wall=lambda: 0.0)
        self.state.nodes_changed([present(each) for each in (nodes or (node("n1"),))])
        self.put_classes(*classes)
        self.view = SolverView()
        self.view.apply(self.state.snapshot())

    def put_classes(self, *classes):
        self.state.handlers[kinds.DEVICE_CLASS]([present(each) for each in classes])

    def put(self, *pods):
        self.state.pods_changed([present(each) for each in pods])
        self.sync()

    def sync(self):
        self.actions = self.state.take_actions()
        self.view.report(self.state.take_reports())
        self.view.apply(self.state.take_events())

    def message(self, uid="pod-p"):
        """The class of a pod as the solver knows it."""
        return pb.TaskClass.FromString(self.view.tasks[uid].task_class)

    def writes(self):
        return [each for each in self.actions if isinstance(each, DeviceClaimWrite)]

    def place(self, uid="pod-p"):
        result = pb.RoundResult(round=1)
        self.view.place(uid, "n1")
        result.deltas.add(kind=pb.Delta.PLACE, task=uid, machine="n1")
        given_in(result, **{NAME: allocation("d0")})
        self.state.on_round(result)
        self.sync()


def resources_of(message):
    return {each.resource for each in message.requests}


# --- which resources devices provide --------------------------------------------------------------------------


@pytest.mark.parametrize("resource", [GPU, f"{IMPLICIT}gpu"])
def test_a_pod_that_asks_for_what_a_class_provides_has_a_claim(resource):
    bridge = Bridge(classes=[device_class()])
    bridge.put(asking(containers=(container("main", 2, resource),)))
    [claim] = bridge.message().claims
    assert '"count":2,"deviceClassName":"gpu"' in claim.spec
    assert resource not in resources_of(bridge.message())


@pytest.mark.parametrize(
    ("classes", "nodes", "off"),
    [
        ([], None, ()),
        ([device_class(resource="example.com/other")], None, ()),
        ([device_class()], [offering("n1")], ()),
        ([device_class()], None, ("DRAExtendedResource",)),
    ],
    ids=["no class", "another resource", "a node states it", "the feature is off"],
)
def test_otherwise_nodes_have_to_offer_the_resource(classes, nodes, off):
    bridge = Bridge(classes=classes, nodes=nodes, off=off)
    bridge.put(asking())
    assert not bridge.message().claims
    assert GPU in resources_of(bridge.message())


def test_pods_that_wait_follow_classes_and_nodes():
    bridge = Bridge()
    bridge.put(asking())
    for have_claims, change in [
        (True, lambda: bridge.put_classes(device_class())),
        (False, lambda: bridge.state.nodes_changed([present(offering("n1"))])),
        (True, lambda: bridge.state.nodes_changed([present(node("n1"))])),
        (False, lambda: bridge.state.handlers[kinds.DEVICE_CLASS]([Change("class-gpu", None)])),
    ]:
        change()
        bridge.sync()
        assert bool(bridge.message().claims) is have_claims


def test_a_pod_that_has_a_node_does_not_follow_classes_any_more():
    bridge = Bridge(classes=[device_class()])
    for node_name, follows in (("", True), ("n1", False)):
        bridge.put(asking(node=node_name))
        bridge.state.extended_resources.take_affected()
        bridge.state.extended_resources.take_classes([present(device_class("other", "example.com/other"))])
        found = [uid for uid, _ in bridge.state.extended_resources.take_affected()]
        assert found == (["pod-p"] if follows else [])
        bridge.state.extended_resources.take_classes([Change("class-other", None)])


def test_no_record_is_left_of_a_claim_that_a_pod_needs_no_more():
    bridge = Bridge(classes=[device_class()])
    bridge.put(asking())
    bridge.put_classes()
    bridge.state.handlers[kinds.DEVICE_CLASS]([Change("class-gpu", None)])
    bridge.sync()
    assert not [name for kind, name in bridge.view.records if kind == "DeviceClaim"]
    assert bridge.state.devices.list_claims() == ()


def test_of_two_classes_of_one_resource_the_newer_counts_and_then_the_lower_name():
    bridge = Bridge(
        classes=[
            device_class("c", created="2026-01-02T00:00:00Z"),
            device_class("b", created="2026-01-02T00:00:00Z"),
            device_class("a", created="2026-01-01T00:00:00Z"),
        ]
    )
    bridge.put(asking())
    [claim] = bridge.message().claims
    assert '"deviceClassName":"b"' in claim.spec


def test_all_pods_of_equal_requests_are_one_class():
    bridge = Bridge(classes=[device_class()])
    bridge.put(asking("p"), asking("q"))
    assert len({task.task_class for task in bridge.view.tasks.values()}) == 1


# --- what a claim asks for ------------------------------------------------------------------------------------


def requests_of(*, init=(), containers):
    found = describe_requests(asking(init=init, containers=containers), {GPU: "gpu"})
    counts = {each["name"]: each["exactly"]["count"] for each in found.requests}
    return counts, [(each["containerName"], each["requestName"]) for each in found.mappings]


def test_containers_have_devices_of_their_own():
    both = (container("a", 1), Container(name="between"), container("b", 2))
    assert requests_of(containers=both) == (
        {"container-0-request-0": 1, "container-2-request-0": 2},
        [("a", "container-0-request-0"), ("b", "container-2-request-0")],
    )


def test_an_init_container_uses_those_of_later_ones_and_asks_for_what_they_lack():
    init = (container("large", 4), container("small", 1), container("side", 1, restart_policy="Always"))
    counts, mappings = requests_of(init=init, containers=(container("main", 2),))
    assert counts == {"container-0-request-0": 1, "container-2-request-0": 1, "container-3-request-0": 2}
    assert sorted(mappings) == [
        ("large", "container-0-request-0"),
        ("large", "container-2-request-0"),
        ("large", "container-3-request-0"),
        ("main", "container-3-request-0"),
        ("side", "container-2-request-0"),
        ("small", "container-2-request-0"),
    ]


def test_init_containers_that_need_more_share_the_largest_request():
    init = (container("first", 3), container("second", 5))
    counts, mappings = requests_of(init=init, containers=(container("main", 1),))
    assert counts == {"container-1-request-0": 4, "container-2-request-0": 1}
    assert ("first", "container-1-request-0") in mappings
    assert ("second", "container-1-request-0") in mappings


def test_requests_are_numbered_by_the_sorted_resources_of_a_container():
    resources = ResourceRequirements(requests={"cpu": "1", "zzz.example/x": "1", GPU: "1"})
    counts, _ = requests_of(containers=(Container(name="main", resources=resources),))
    assert counts == {"container-0-request-1": 1}


# --- from the choice to the claim -----------------------------------------------------------------------------


def test_a_claim_is_created_for_a_pod_that_has_been_placed_and_named_in_its_status():
    bridge = Bridge(classes=[device_class()])
    bridge.put(asking())
    assert bridge.writes() == []
    bridge.place()
    [write] = bridge.writes()
    metadata = write.claim.metadata
    assert (metadata.uid, metadata.annotations) == ("", {EXTENDED_CLAIM: "true"})
    assert metadata.owner_references[0].uid == "pod-p"
    assert metadata.name.startswith("p-extended-resources-")
    assert write.report == (
        "/api/v1/namespaces/default/pods/p/status",
        {
            "metadata": {"uid": "pod-p"},
            "status": {
                "extendedResourceClaimStatus": {
                    "requestMappings": [
                        {
                            "containerName": "main",
                            "resourceName": GPU,
                            "requestName": "container-0-request-0",
                        }
                    ],
                    "resourceClaimName": metadata.name,
                }
            },
        },
    )


def test_another_bridge_finds_the_claim_of_the_first_one_again():
    first, second = (Bridge(classes=[device_class()]) for _ in range(2))
    names = []
    for bridge in (first, second):
        bridge.put(asking())
        bridge.place()
        [write] = bridge.writes()
        names.append(write.claim.metadata.name)
    assert names[0] == names[1]


def test_a_claim_that_could_not_be_written_may_be_written_again():
    bridge = Bridge(classes=[device_class()])
    bridge.put(asking())
    bridge.place()
    [write] = bridge.writes()
    bridge.state.device_claim_written(WriteEnd(write, "no"))
    bridge.sync()
    assert bridge.view.tasks["pod-p"].state == PENDING
    bridge.place()
    assert [each.key for each in bridge.writes()] == [write.key]


def test_nothing_is_kept_of_a_pod_that_is_gone():
    bridge = Bridge(classes=[device_class()])
    bridge.put(asking())
    [key] = [name for kind, name in bridge.view.records if kind == "DeviceClaim"]
    assert key.startswith("default/p-extended-resources-")
    bridge.state.pods_changed([gone(asking())])
    bridge.sync()
    assert not [name for kind, name in bridge.view.records if kind == "DeviceClaim"]


def test_a_running_pod_has_the_claim_that_its_status_names():
    bridge = Bridge(classes=[device_class()])
    running = asking(node="n1")
    status = replace(running.status, extended_resource_claim_status=ExtendedClaimStatus("mine"))
    bridge.put(replace(running, status=status))
    assert ("DeviceClaim", "default/mine") not in bridge.view.records  # the claim itself is not known yet
    assert GPU not in resources_of(bridge.message())


def test_a_pod_waits_until_the_claim_of_its_namesake_is_gone():
    bridge = Bridge(classes=[device_class()])
    bridge.put(asking())
    bridge.place()
    [write] = bridge.writes()
    metadata = write.claim.metadata
    owner = replace(metadata.owner_references[0], uid="pod-earlier")
    left = replace(write.claim, metadata=replace(metadata, uid="claim-earlier", owner_references=(owner,)))
    bridge = Bridge(classes=[device_class()])
    bridge.state.device_claims_changed([present(left)])
    bridge.put(asking())
    assert "pod-p" not in bridge.view.tasks
    bridge.state.device_claims_changed([Change("claim-earlier", None)])
    bridge.sync()
    assert bridge.message().claims


def test_a_claim_that_was_not_created_goes_with_its_pod():
    bridge = Bridge(classes=[device_class()])
    bridge.put(asking())
    bridge.place()
    [write] = bridge.writes()
    bridge = Bridge(classes=[device_class()])
    bridge.put(asking())
    name = write.key.partition("/")[2]
    other = pod("q")
    named = (PodResourceClaim(name="gpu", resource_claim_name=name),)
    other = replace(other, spec=replace(other.spec, resource_claims=named))
    seen = []
    for change in (present(other), gone(asking())):
        bridge.state.pods_changed([change])
        bridge.sync()
        seen.append("pod-q" in bridge.view.tasks)
    assert seen == [True, False]


def test_an_amount_of_zero_is_neither_offered_nor_asked_for():
    none = node("n1")
    none = replace(none, status=replace(none.status, allocatable={**none.status.allocatable, GPU: "0"}))
    bridge = Bridge(classes=[device_class()], nodes=[none])
    bridge.put(asking(), asking("idle", containers=(container("main", 0),)))
    assert len(bridge.message().claims) == 1
    assert not bridge.message("pod-idle").claims


def test_a_resource_with_request_and_limit_is_one():
    more: dict[str, str | int | float] = {GPU: "2", "example.com/other": "1"}
    both = Container(name="main", resources=ResourceRequirements(requests=more, limits=more))
    found = describe_requests(asking(containers=(both,)), {GPU: "gpu", "example.com/other": "other"})
    assert [(each["name"], each["exactly"]["count"]) for each in found.requests] == [
        ("container-0-request-0", 2),
        ("container-0-request-1", 1),
    ]


def test_an_init_container_has_no_devices_of_a_sidecar_that_has_begun_before_it():
    init = (container("sidecar", 1, restart_policy="Always"), container("init", 1))
    found = describe_requests(asking(init=init), {GPU: "gpu"})
    assert len(found.requests) == 2
    named = {each["containerName"]: each["requestName"] for each in found.mappings}
    assert named == {
        "sidecar": "container-0-request-0",
        "init": "container-2-request-0",
        "main": "container-2-request-0",
    }


def test_a_claim_of_a_pod_with_a_long_name_has_a_name_that_is_allowed():
    bridge = Bridge(classes=[device_class()])
    bridge.put(asking("p" * 253, uid="pod-p"))
    bridge.place()
    [write] = bridge.writes()
    assert len(write.claim.metadata.name) <= 253


def test_waiting_pods_are_read_anew_once_for_each_change_of_classes():
    bridge = Bridge()
    bridge.put(asking())
    bridge.put_classes(device_class())
    found = bridge.state.extended_resources
    assert found.take_affected() == []
    bridge.state.extended_resources.take_classes([present(device_class("other", "example.com/other"))])
    assert [uid for uid, _ in found.take_affected()] == ["pod-p"]
    assert found.take_affected() == []


@pytest.mark.parametrize("namespace", ["default", "shop"])
def test_a_claim_is_made_in_the_namespace_of_its_pod(namespace):
    bridge = Bridge(classes=[device_class()])
    bridge.put(asking(namespace=namespace))
    bridge.place()
    [write] = bridge.writes()
    assert (write.claim.metadata.namespace, write.key.partition("/")[0]) == (namespace, namespace)
