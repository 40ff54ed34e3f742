"""Pods that kubelets refuse after they were bound."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api.metadata import Condition, OwnerReference, PodRef
from poseidon.kube.api.pods import ContainerState, ContainerStatus, Running
from poseidon.lifecycle.actions import AnnounceRefused, AnnounceScheduled, DeleteRefused, RecreateRefused
from poseidon.lifecycle.refused_pods import RECREATIONS, RecoveryOptions, is_refused, may_have_run
from tests.poseidon.bridge.objects import gone, node, pod, present

MESSAGE = "Pod was rejected: Node didn't have enough resource: cpu"
REF = PodRef("pod-a", "default", "a")


def failed(name="a", reason="OutOfcpu", *, times=0, owner="", on="n1", **more):
    found = pod(name, node=on, phase="Failed", **more)
    metadata = found.metadata
    if times:
        metadata = replace(metadata, annotations={RECREATIONS: str(times)})
    if owner:
        reference = OwnerReference(kind=owner, name="web", uid="web", controller=True)
        metadata = replace(metadata, owner_references=(reference,))
    return replace(found, metadata=metadata, status=replace(found.status, reason=reason, message=MESSAGE))


class Scene:
    def __init__(self, **options):
        asked = {"recreate_bare_pods": True, **options}
        self.state = BridgeState(BridgeConfiguration(recovery=RecoveryOptions(**asked)))
        self.state.nodes_changed([present(node("n1"))])

    def sees(self, *pods):
        self.state.pods_changed([present(each) for each in pods])
        return self.state.take_actions()


def test_a_pod_of_its_own_is_created_again_and_that_is_told():
    scene = Scene()
    scene.sees(pod("a", node="n1"))
    recreate, told = scene.sees(failed())
    assert recreate == RecreateRefused(REF, 1, 1.0)
    assert told == AnnounceRefused(
        REF,
        "OutOfcpu",
        f"Node n1 refused the pod: OutOfcpu: {MESSAGE}; it is created again (1 of at most 5 times)",
    )
    assert scene.state.requested.get_requested("n1") == {}, "it takes nothing any more"
    assert scene.sees(failed()) == [], "once"


def test_one_that_was_refused_while_no_bridge_ran_is_recovered_too():
    assert [type(each) for each in Scene().sees(failed())] == [RecreateRefused, AnnounceRefused]


def test_delays_grow_and_tries_end():
    scene = Scene(max_recreations=3)
    delays = []
    for times in range(3):
        [recreate, _] = scene.sees(failed(f"p{times}", times=times))
        delays.append(recreate.delay)
    assert delays == [1.0, 2.0, 4.0]
    scene.sees(pod("last", node="n1"))
    [told] = scene.sees(failed("last", times=3))
    assert told.message.endswith("; it was created again 3 times already and is left as it is")
    assert Scene(max_recreations=1000).sees(failed(times=999))[0].delay == 300.0


def test_it_can_be_switched_off():
    scene = Scene(recreate_bare_pods=False)
    assert scene.sees(failed("old")) == [], "no news"
    scene.sees(pod("a", node="n1"))
    [told] = scene.sees(failed())
    assert "recovery.recreateBarePods is off" in told.message


@pytest.mark.parametrize("kind", ["ReplicaSet", "Job", "StatefulSet", "DaemonSet"])
@pytest.mark.parametrize("delete", [False, True])
def test_controllers_look_after_their_own(kind, delete):
    scene = Scene(delete_replaced_pods=delete)
    scene.sees(pod("a", node="n1"))
    actions = scene.sees(failed(owner=kind))
    told = actions[-1]
    assert told.message.endswith(f"; its {kind} web takes care of it")
    # StatefulSets and DaemonSets delete theirs.
    deletes = delete and kind in ("ReplicaSet", "Job")
    assert actions[:-1] == ([DeleteRefused(REF)] if deletes else [])


def test_what_controllers_left_behind_long_ago_is_no_news():
    assert Scene().sees(failed(owner="ReplicaSet")) == []
    assert Scene(delete_replaced_pods=True).sees(failed(owner="ReplicaSet")) == [DeleteRefused(REF)]


def test_a_pod_that_ran_is_not_run_twice():
    """A kubelet that restarts judges its pods anew, and some kubelets forget what they had said of containers."""
    scene = Scene()
    scene.sees(pod("a", node="n1", phase="Running"))
    [told] = scene.sees(failed())
    assert told.message.endswith("; it may have run before and is left as it is")


def test_others_are_not_our_business():
    scene = Scene()
    assert scene.sees(failed(scheduler="other")) == []
    assert scene.sees(failed("leaving", deleting=True)) == []
    assert scene.sees(failed("evicted", reason="Evicted")) == []
    assert scene.sees(failed("plain", reason="")) == []


def test_a_successor_of_the_same_name_is_another_pod():
    scene = Scene()
    scene.sees(failed())
    scene.state.pods_changed([gone(failed())])
    assert [type(each) for each in scene.sees(failed(uid="2", times=1))] == [RecreateRefused, AnnounceRefused]
    assert not any(isinstance(each, AnnounceScheduled) for each in scene.state.take_actions())


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("OutOfcpu", True),
        ("OutOfnvidia.com/gpu", True),
        ("UnexpectedAdmissionError", True),
        ("TopologyAffinityError", True),
        ("NodeAffinity", True),
        ("Evicted", False),
        ("PodOSNotSupported", False),
        ("", False),
    ],
)
def test_reasons_that_another_node_may_cure(reason, expected):
    assert is_refused(failed(reason=reason)) is expected
    assert not is_refused(failed(reason=reason, on=""))


def test_signs_of_having_run():
    plain = failed()

    def having(**status):
        return replace(plain, status=replace(plain.status, **status))

    assert not may_have_run(plain)
    assert not may_have_run(having(container_statuses=(ContainerStatus("c"),)))
    running = ContainerState(running=Running("2026-01-01T00:00:00Z"))
    assert may_have_run(having(container_statuses=(ContainerStatus("c", running),)))
    assert may_have_run(having(init_container_statuses=(ContainerStatus("c", running),)))
    assert may_have_run(having(container_statuses=(ContainerStatus("c", restart_count=1),)))
    assert may_have_run(having(conditions=(Condition(type="Initialized", status="True"),)))
