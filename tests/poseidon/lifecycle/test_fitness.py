"""Bindings are looked at again, by the cluster as it is, right before they are posted."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from poseidon.bridge.state import BridgeState
from poseidon.kube.api.nodes import Taint
from poseidon.kube.api.pod_rules import Toleration
from poseidon.kube.api.resource import Change
from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from poseidon.lifecycle.actions import Bind
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.support.effort import examples


def changed(item, **spec):
    return msgspec.structs.replace(item, spec=msgspec.structs.replace(item.spec, **spec))


class Scene:
    """A state whose only pod, of 1 cpu, is being bound to n1, which has 4."""

    def __init__(self, **spec):
        self.state = BridgeState()
        self.state.nodes_changed([present(node("n1", cpu="4"))])
        self.pods(changed(pod("mine", cpu="1"), **spec))
        self.state.snapshot()
        result = pb.RoundResult(round=1)
        result.deltas.add(kind=pb.Delta.PLACE, task="pod-mine", machine="n1")
        self.state.on_round(result)
        assert [type(action) for action in self.state.take_actions()] == [Bind]

    def pods(self, *pods):
        self.state.pods_changed([present(each) for each in pods])

    def node(self, **spec):
        self.state.nodes_changed([present(changed(node("n1", cpu="4"), **spec))])

    def refusal(self):
        return self.state.refusal("pod-mine", "n1")


@pytest.mark.parametrize("priority", [-1, 0, 1])
def test_a_full_node_is_refused_with_the_resource(priority):
    """However important those are that are on the node: it is not for a binding to have them leave."""
    scene = Scene()
    scene.pods(pod("theirs", scheduler="other", node="n1", cpu="3", priority=priority))
    assert scene.refusal() == ""
    scene.pods(pod("one-more", scheduler="other", node="n1", cpu="1m", priority=priority))
    assert scene.refusal() == "node n1 has too little cpu left: 1000 needed, 3001 of 4000 in use by now"
    scene.state.pods_changed([gone(pod("one-more"))])
    assert scene.refusal() == ""


def test_what_others_overcommit_concerns_only_pods_that_need_it():
    scene = Scene()
    hoarder = pod("theirs", scheduler="other", node="n1", cpu="0")
    memory = msgspec.structs.replace(
        hoarder.spec.containers[0].resources, requests={"cpu": "0", "memory": "64Gi"}
    )
    container = msgspec.structs.replace(hoarder.spec.containers[0], resources=memory)
    scene.pods(changed(hoarder, containers=(container,)))
    assert scene.refusal() == ""


def test_the_number_of_pods_counts():
    scene = Scene()
    scene.pods(*(pod(f"t{index}", scheduler="other", node="n1", cpu="0") for index in range(109)))
    assert scene.refusal() == ""
    scene.pods(pod("last", scheduler="other", node="n1", cpu="0"))
    assert "too little pods left: 1 needed, 110 of 110 in use" in scene.refusal()


def test_a_finished_pod_gives_its_place_back():
    scene = Scene()
    scene.pods(pod("theirs", scheduler="other", node="n1", cpu="4"))
    assert scene.refusal()
    scene.pods(pod("theirs", scheduler="other", node="n1", cpu="4", phase="Failed"))
    assert scene.refusal() == ""


HARD = Taint(key="maintenance", value="tonight", effect="NoExecute")


@pytest.mark.parametrize(
    ("spec", "tolerated_by", "why"),
    [
        (
            {"unschedulable": True},
            Toleration(key="node.kubernetes.io/unschedulable", operator="Exists"),
            "node n1 is unschedulable now",
        ),
        (
            {"taints": (HARD,)},
            Toleration(key="maintenance", value="tonight"),
            "node n1 has the untolerated taint {maintenance: tonight} now",
        ),
        ({"taints": (msgspec.structs.replace(HARD, effect="PreferNoSchedule"),)}, None, ""),
    ],
)
def test_cordons_and_taints_of_the_last_moment(spec, tolerated_by, why):
    scene = Scene()
    scene.node(**spec)
    assert scene.refusal() == why
    scene.node()
    assert scene.refusal() == ""
    if tolerated_by is not None:
        scene = Scene(tolerations=(tolerated_by,))
        scene.node(**spec)
        assert scene.refusal() == ""


def test_a_node_that_is_gone_is_refused():
    scene = Scene()
    scene.state.nodes_changed([Change("node-n1", None)])
    assert scene.refusal() == "node n1 is gone"


def test_a_withheld_binding_is_reported_for_another_try():
    scene = Scene()
    why = "node n1 is unschedulable now"
    request = BindRequest("pod-mine", "default", "mine", "n1")
    scene.state.binding_ended(BindOutcome(request, BindResult.WITHHELD, why))
    [report] = scene.state.take_reports()
    assert (report.task, report.machine, report.bound, report.retry) == ("pod-mine", "n1", False, True)
    assert report.reason == why
    assert scene.state.requested.get_requested("n1") == {}


class Race(RuleBasedStateMachine):
    """Others bind while ours are being posted, in any order; the watch is prompt, the solver blind."""

    CPU = 10

    def __init__(self):
        super().__init__()
        self.state = BridgeState()
        self.state.nodes_changed([present(node(name, cpu=str(self.CPU))) for name in ("a", "b")])
        self.state.snapshot()
        self.bound: dict[str, tuple[str, int]] = {}
        self.waiting: list[tuple[Bind, int]] = []
        self.sizes: dict[str, int] = {}
        self.foreign: set[str] = set()

    def _total(self, name):
        return sum(size for where, size in self.bound.values() if where == name)

    @rule(name=st.sampled_from("ab"), size=st.integers(1, 6))
    def others_bind(self, name, size):
        uid = f"theirs-{len(self.sizes)}"
        self.sizes[uid] = size
        self.foreign.add(uid)
        self.bound[uid] = (name, size)
        self._deliver(uid, scheduler="other")

    @rule(name=st.sampled_from("ab"), size=st.integers(1, 6))
    def place(self, name, size):
        uid = f"ours-{len(self.sizes)}"
        self.sizes[uid] = size
        self._deliver(uid)
        self.state.take_events()
        result = pb.RoundResult(round=1)
        result.deltas.add(kind=pb.Delta.PLACE, task=uid, machine=name)
        self.state.on_round(result)
        self.waiting += [(action, size) for action in self.state.take_actions() if isinstance(action, Bind)]

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def post(self, data):
        bind, size = self.waiting.pop(data.draw(st.integers(0, len(self.waiting) - 1)))
        uid, name = bind.pod.uid, bind.node
        reserved = sum(other for each, other in self.waiting if each.node == name)
        fits = self._total(name) + reserved + size <= self.CPU
        why = self.state.refusal(uid, name)
        assert (why == "") == fits
        request = BindRequest(uid, "default", uid, name)
        if why:
            self.state.binding_ended(BindOutcome(request, BindResult.WITHHELD, why))
        else:
            self.bound[uid] = (name, size)
            self.state.binding_ended(BindOutcome(request, BindResult.BOUND))
            self._deliver(uid)

    @precondition(lambda self: self.bound)
    @rule(data=st.data())
    def end(self, data):
        uid = data.draw(st.sampled_from(sorted(self.bound)))
        del self.bound[uid]
        self.state.pods_changed([Change(uid, None)])

    def _deliver(self, uid, scheduler="poseidon"):
        where, _ = self.bound.get(uid, ("", 0))
        item = pod(uid, uid=uid, scheduler=scheduler, node=where, cpu=str(self.sizes[uid]))
        self.state.pods_changed([present(item)])

    @invariant()
    def ours_alone_never_overcommit(self):
        for name in "ab":
            ours = sum(
                size for uid, (where, size) in self.bound.items() if where == name and uid not in self.foreign
            )
            assert ours <= self.CPU


Race.TestCase.settings = settings(max_examples=examples(150), stateful_step_count=30)
TestRace = Race.TestCase
