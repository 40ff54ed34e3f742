"""Whether a node still takes a pod: capacity with pods that come and go, taints, readiness."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.lifecycle.bind_check import Absent, BindCheck, Requested
from poseidon.nodes.machines import Machines
from poseidon.pods.classes import ClassTable
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.pods.builders import make_pod, requesting


class Scene:
    """A node with four cores, and pods that are counted on it."""

    def __init__(self, **machine: Any) -> None:
        self.classes, self.machines, self.requested = ClassTable(), Machines(), Requested()
        self.check = BindCheck(self.machines, self.requested, self.classes)
        self.count = 0
        self.describe(**machine)

    def describe(self, uid: str = "u", **machine: Any) -> None:
        allocatable = [
            pb.Quantity(resource=name, amount=amount) for name, amount in (("cpu", 4000), ("pods", 9))
        ]
        self.machines.put(uid, pb.Machine(name="n", allocatable=allocatable, **machine))

    def pod(self, cpu: str, *, counted: bool = True, **spec: Any) -> int:
        """The class of a pod that requests so much, and is counted on the node."""
        number = self.classes.intern(make_pod(containers=[requesting({"cpu": cpu})], **spec))
        self.classes.refresh()
        if counted:
            self.count += 1
            self.requested.put(f"p{self.count}", "n", self.check.requests(number))
        return number


def test_a_pod_requests_itself_besides_its_amounts():
    scene = Scene()
    assert scene.check.requests(scene.pod("1500m")) == (("cpu", 1500), ("pods", 1))
    assert scene.check.requests(scene.pod("0")) in ((("cpu", 0), ("pods", 1)), (("pods", 1),))


def test_an_exact_fit_is_one_and_a_thousandth_more_is_none():
    scene = Scene()
    scene.pod("3")
    mine = scene.pod("1")
    assert scene.check.refusal(mine, "n") == ""
    scene.pod("1m")
    assert (
        scene.check.refusal(mine, "n")
        == "node n has too little cpu left: 1000 needed, 3001 of 4000 in use by now"
    )


def test_a_resource_that_the_node_does_not_have_is_refused():
    scene = Scene()
    number = scene.classes.intern(make_pod(containers=[requesting({"gpu": 1})]))
    scene.classes.refresh()
    scene.requested.put("p", "n", scene.check.requests(number))
    assert (
        scene.check.refusal(number, "n") == "node n has too little gpu left: 1 needed, 0 of 0 in use by now"
    )


def test_it_must_fit_both_now_and_later():
    scene = Scene()
    waiting, leaving = scene.pod("2"), scene.pod("2")
    mine = scene.pod("2")
    assert scene.check.refusal(mine, "n") != ""
    both = Absent(now=(waiting,), later=(leaving,))
    assert scene.check.refusal(mine, "n", lambda: both) == ""
    assert scene.check.refusal(mine, "n", lambda: Absent(now=(waiting,))) != ""
    assert scene.check.refusal(mine, "n", lambda: Absent(later=(leaving,))) != ""


def test_who_is_absent_is_asked_only_if_not_all_fit():
    scene = Scene()
    mine = scene.pod("4")

    def never() -> Absent:
        raise AssertionError("asked")

    assert scene.check.refusal(mine, "n", never) == ""


def test_amounts_that_others_on_the_node_use_already_need_not_be_free():
    scene = Scene()
    scene.pod("4")
    mine = scene.pod("1")
    assert scene.check.refusal(mine, "n", shared=lambda: {"cpu": 999}) != ""
    assert scene.check.refusal(mine, "n", shared=lambda: {"cpu": 1000}) == ""


TAINT = pb.Taint(key="k", value="v", effect="NoSchedule")


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        ({"unschedulable": True}, "node n is unschedulable now"),
        ({"not_ready": True}, "node n is not ready now"),
        ({"taints": [TAINT]}, "node n has the untolerated taint {k: v} now"),
        ({"taints": [pb.Taint(key="k", effect="NoExecute")]}, "node n has the untolerated taint {k: } now"),
        ({"taints": [pb.Taint(key="k", effect="PreferNoSchedule")]}, ""),
        ({"taints": [TAINT], "unschedulable": True}, "node n is unschedulable now"),
        ({"taints": [TAINT], "not_ready": True}, "node n has the untolerated taint {k: v} now"),
    ],
)
def test_what_keeps_new_pods_off_a_node_is_said(machine, words):
    scene = Scene(**machine)
    assert scene.check.refusal(scene.pod("1"), "n") == words
    everything = scene.pod("1", tolerations=[{"operator": "Exists"}])
    assert scene.check.refusal(everything, "n") == ""


@pytest.mark.parametrize(
    ("key", "machine"),
    [
        ("node.kubernetes.io/unschedulable", {"unschedulable": True}),
        ("node.kubernetes.io/not-ready", {"not_ready": True}),
    ],
)
def test_cordon_and_readiness_are_taints_that_can_be_tolerated(key, machine):
    scene = Scene(**machine)
    for effect, good in (("NoSchedule", True), ("NoExecute", False)):
        mine = scene.pod("1", tolerations=[{"key": key, "operator": "Exists", "effect": effect}])
        assert (scene.check.refusal(mine, "n") == "") is good


def test_a_node_is_looked_at_again_when_it_changes_and_forgotten_when_it_is_gone():
    scene = Scene()
    mine = scene.pod("1")
    assert scene.check.refusal(mine, "n") == ""
    scene.describe(unschedulable=True)
    assert scene.check.refusal(mine, "n") == "node n is unschedulable now"
    scene.machines.remove("u")
    scene.check.forget("n")
    scene.check.forget("unknown")
    assert scene.check.refusal(mine, "n") == "node n is gone"


def test_classes_with_equal_requests_share_them_until_they_are_forgotten():
    scene = Scene()
    one = scene.pod("1")
    other = scene.pod("1", nodeSelector={"a": "b"})
    assert one != other
    assert scene.check.requests(one) is scene.check.requests(other)
    before = scene.check.requests(one)
    scene.check.forget_classes([one, other, 99])
    assert scene.check.requests(one) == before
