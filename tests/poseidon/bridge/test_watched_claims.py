"""Watched pods with claims, in queues, on their way to other nodes, or of other schedulers."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api import kinds
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.namespaces import Namespace
from poseidon.kube.api.nodes import PriorityClass
from poseidon.kube.api.other_projects.queues import ClusterQueue, LocalQueue, ResourceFlavor
from poseidon.kube.api.pods import ClaimSource, PodVolume
from poseidon.kube.api.resource import Change
from poseidon.queues.options import QueueOptions
from poseidon.volumes.resolution import NOTHING
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.solver_view import BOUND, PENDING, SolverView
from tests.poseidon.devices.objects import claim, with_claims
from tests.poseidon.lifecycle.test_kept_places import Moving
from tests.poseidon.queues.objects import LABEL, cluster_queue, flavor, local_queue, quotas
from tests.poseidon.volumes.objects import claim as volume_claim
from tests.poseidon.volumes.objects import storage_class, volume


class Watched:
    """A state with a node, and a solver's view of it."""

    def __init__(self, **parts: Any) -> None:
        self.state = BridgeState(BridgeConfiguration(**parts), wall=lambda: 0.0)
        self.state.nodes_changed([present(node("n1"))])
        self.view = SolverView()
        self.view.apply(self.state.snapshot())

    def pods(self, *changes: Any) -> None:
        self.state.pods_changed(changes)
        self.tell()

    def take(self, kind: Any, *changes: Any) -> None:
        self.state.handlers[kind](changes)
        self.tell()

    def tell(self) -> None:
        self.view.apply(list(self.state.take_events()))

    def states(self) -> dict[str, tuple[str, str]]:
        return {uid: (task.state, task.machine) for uid, task in self.view.tasks.items()}


def using_volume(name: str, **options: Any) -> Any:
    made = pod(name, **options)
    mounted = PodVolume(name="data", persistent_volume_claim=ClaimSource("data"))
    return replace(made, spec=replace(made.spec, volumes=(mounted,)))


def test_a_pod_that_is_gone_uses_its_volume_no_more():
    watched = Watched()
    watched.take(kinds.STORAGE_CLASS, storage_class())
    watched.take(kinds.CLAIM, volume_claim("data"))
    watched.pods(present(using_volume("a")))
    assert watched.states() == {"pod-a": (PENDING, "")}
    assert watched.state.volumes.resolution("pod-a") != NOTHING
    watched.pods(gone(pod("a")))
    assert watched.state.volumes.resolution("pod-a") == NOTHING
    assert watched.states() == {}


def test_a_pod_that_is_gone_uses_its_device_no_more():
    watched = Watched()
    watched.take(kinds.RESOURCE_CLAIM, present(claim("gpu")))
    watched.pods(present(with_claims(pod("a"), "gpu")))
    assert watched.state.devices.resolution("pod-a").needs
    watched.pods(gone(pod("a")))
    assert not watched.state.devices.resolution("pod-a").needs


def test_a_pod_that_names_no_claim_any_more_waits_for_none():
    watched = Watched()
    watched.pods(present(with_claims(pod("a"), "gpu")), present(using_volume("b")))
    assert watched.states() == {}
    assert watched.state.list_held().keys() == {"pod-a", "pod-b"}
    watched.pods(present(pod("a")), present(pod("b")))
    assert watched.state.list_held() == {}
    assert watched.states() == {"pod-a": (PENDING, ""), "pod-b": (PENDING, "")}


def test_what_the_claims_of_an_offered_pod_wait_for_is_a_fault_of_the_pod():
    watched = Watched()
    watched.pods(
        present(with_claims(pod("a"), "gpu")), present(using_volume("b")), present(pod("c", gated=True))
    )
    for name in "ab":
        watched.state.send_for_explanation(f"pod-{name}")
    watched.tell()
    assert watched.states() == {"pod-a": (PENDING, ""), "pod-b": (PENDING, "")}
    records = [watched.state.tasks.get(f"pod-{name}") for name in "ab"]
    faults = [
        watched.state.classes.message(each.task.task_class).invalid for each in records if each is not None
    ]
    assert ['"gpu"' in faults[0], '"data"' in faults[1]] == [True, True]


# --- queues -----------------------------------------------------------------------------------------------------------

QUEUES: Any = {
    kinds.RESOURCE_FLAVOR: (ResourceFlavor, flavor()),
    kinds.CLUSTER_QUEUE: (ClusterQueue, cluster_queue("team", quotas(cpu=4, memory="8Gi"))),
    kinds.LOCAL_QUEUE: (LocalQueue, local_queue("users", "team", "default")),
}


def queued(name: str, queue: str = "users") -> Any:
    made = pod(name)
    return replace(made, metadata=replace(made.metadata, labels={LABEL: queue}))


@pytest.fixture
def with_queues() -> Watched:
    watched = Watched(queues=QueueOptions(source=("kueue",), admission="poseidon"))
    namespace = Namespace(metadata=ObjectMeta(name="default", uid="d"))
    watched.take(kinds.NAMESPACE, Change("d", namespace))
    for kind, (struct, found) in QUEUES.items():
        watched.take(kind, Change(kind.name, convert_object(found, struct)))
    watched.state.begin()
    watched.tell()
    return watched


def test_a_pod_waits_for_its_queue_and_is_offered_in_it(with_queues):
    with_queues.pods(present(queued("a")), present(queued("b", "unknown")), present(pod("free")))
    assert with_queues.states().keys() == {"pod-a", "pod-free"}
    [reason] = with_queues.state.list_held().values()
    assert "unknown" in reason
    book = with_queues.state.queues
    assert book is not None
    assert book.resolve("pod-a").quota == "ClusterQueue/team"
    assert book.resolve("pod-free").quota == ""


def test_a_pod_that_is_gone_is_in_no_queue(with_queues):
    with_queues.pods(present(queued("a")))
    with_queues.pods(gone(queued("a")))
    book = with_queues.state.queues
    assert book is not None
    assert book.resolve("pod-a").quota == ""
    assert all(not book.list_pods(each) for listed in book.list_references().values() for each in listed)


# --- places and other schedulers --------------------------------------------------------------------------------------


def test_the_place_of_a_pod_that_is_moved_is_kept_until_it_is_taken():
    scene = Moving()
    scene.announce()
    assert scene.kept() == ["n2"]
    scene.pods(gone(pod("old")))
    scene.pods(present(pod("new", owner="web")))
    assert scene.confined("pod-new") == ("n2", True)
    scene.pods(present(pod("new", owner="web", node="n2")))
    assert scene.kept() == []


def test_another_scheduler_may_bind_a_pod_that_waits_here():
    watched = Watched()
    watched.pods(present(pod("a")))
    watched.pods(present(pod("a", scheduler="other", node="n1")))
    assert watched.states() == {"pod-a": (BOUND, "n1")}
    watched.pods(present(pod("a", scheduler="other", node="n1", phase="Running")))
    assert watched.states() == {"pod-a": (BOUND, "n1")}


# --- what a change of one pod changes for others ----------------------------------------------------------------------


def is_taken(watched: Watched, uid: str) -> bool:
    found = pb.TaskClass.FromString(watched.view.tasks[uid].task_class)
    return any(rule.in_use for rule in found.volumes)


def test_a_more_important_pod_takes_the_volume_from_one_that_waits_and_gives_it_back_when_it_goes():
    watched = Watched()
    alone = ("ReadWriteOncePod",)
    watched.take(kinds.STORAGE_CLASS, storage_class())
    watched.take(kinds.VOLUME, volume("v", to="default/data", modes=alone))
    watched.take(kinds.CLAIM, volume_claim("data", volume="v", modes=alone))
    watched.pods(present(using_volume("a")))
    assert not is_taken(watched, "pod-a")
    urgent = using_volume("urgent", priority=9)
    watched.pods(present(urgent))
    assert (is_taken(watched, "pod-a"), is_taken(watched, "pod-urgent")) == (True, False)
    watched.pods(gone(urgent))
    assert not is_taken(watched, "pod-a")


def test_a_class_that_gives_a_pod_its_priority_gives_it_the_volume_as_well():
    watched = Watched()
    alone = ("ReadWriteOncePod",)
    watched.take(kinds.STORAGE_CLASS, storage_class())
    watched.take(kinds.VOLUME, volume("v", to="default/data", modes=alone))
    watched.take(kinds.CLAIM, volume_claim("data", volume="v", modes=alone))
    urgent = using_volume("urgent")
    urgent = replace(urgent, spec=replace(urgent.spec, priority=None, priority_class_name="high"))
    watched.pods(present(using_volume("a")), present(urgent))
    assert not is_taken(watched, "pod-a")
    watched.take(kinds.PRIORITY_CLASS, Change("h", PriorityClass(ObjectMeta(name="high", uid="h"), 9)))
    assert is_taken(watched, "pod-a")
