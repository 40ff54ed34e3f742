"""Pods and nodes that no code here can deal with: nobody else suffers, and nothing is overcommitted.

What is wrong with them is that their fields hold what the structs do not allow, as no decoder would leave it: whatever
a later fault may be, it looks like this from here.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from poseidon.kube.api.pod_rules import Toleration
from poseidon.kube.api.resource import Change
from poseidon.lifecycle.actions import AnnounceUnschedulable, Bind
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.solver_view import BOUND, PENDING
from tests.poseidon.bridge.test_state import Harness

pytestmark = pytest.mark.usefixtures("may_set_aside")


def broken(name, **more):
    found = pod(name, **more)
    return replace(found, spec=replace(found.spec, tolerations=(Toleration(key=5),)))  # type: ignore[arg-type]


@pytest.fixture
def harness():
    return Harness()


def test_a_pending_pod_stays_pending_with_a_reason(harness):
    harness.pods(present(pod("a")), present(broken("bad")), present(pod("b")))
    assert {uid: task.state for uid, task in harness.view.tasks.items()} == {
        "pod-a": PENDING,
        "pod-b": PENDING,
    }
    (said,) = harness.state.take_actions()
    assert isinstance(said, AnnounceUnschedulable)
    assert said.pod.name == "bad"
    assert said.message.startswith("the pod cannot be dealt with, and is left aside: TypeError: ")
    assert harness.state.quarantine.reason("pods", "pod-bad")


def test_it_is_tried_again_when_it_changes(harness):
    harness.pods(present(broken("bad")))
    harness.pods(present(pod("bad")))
    assert harness.view.tasks["pod-bad"].state == PENDING
    assert not [*harness.state.quarantine]


def test_one_that_runs_counts_where_it_runs(harness):
    harness.pods(present(broken("bad", node="n1", cpu="7900m")), present(pod("b")))
    assert harness.state.requested.get_requested("n1") == {"cpu": 7900, "pods": 1}
    assert harness.view.tasks["pod-bad"].state == BOUND
    harness.new_stream()
    assert harness.view.tasks["pod-bad"].machine == "n1"
    (bind,) = harness.place("pod-b", "n1")
    assert isinstance(bind, Bind)
    assert harness.state.refusal("pod-b", "n1") == "", "it fits exactly"
    harness.pods(present(broken("bad", node="n1", cpu="8")))
    assert "too little cpu" in harness.state.refusal("pod-b", "n1")


def test_one_that_breaks_while_it_is_being_bound_keeps_its_place(harness):
    harness.pods(present(pod("a", cpu="1")))
    (bind,) = harness.place("pod-a", "n1")
    harness.pods(present(broken("a", cpu="1")))
    assert harness.state.requested.get_requested("n1") == {"cpu": 1000, "pods": 1}
    harness.outcome(bind)
    assert harness.state.requested.get_requested("n1") == {"cpu": 1000, "pods": 1}


def test_one_that_ends_gives_everything_back(harness):
    harness.pods(present(broken("bad", node="n1")))
    harness.pods(Change("pod-bad", None))
    assert harness.state.requested.get_requested("n1") == {}
    assert not harness.view.tasks
    assert not [*harness.state.quarantine]


def test_a_node_is_not_used_and_its_pods_are_not_lost(harness):
    harness.pods(present(pod("a", node="n1", cpu="2")))
    good = node("n1")
    bad = replace(good, spec=replace(good.spec, taints=5))
    harness.state.nodes_changed([present(bad), present(node("n3"))])
    harness.sync()
    assert sorted(harness.view.machines) == ["n2", "n3"]
    assert harness.state.requested.get_requested("n1") == {"cpu": 2000, "pods": 1}
    harness.state.nodes_changed([present(good)])
    harness.sync()
    assert sorted(harness.view.machines) == ["n1", "n2", "n3"]
    assert harness.view.tasks["pod-a"].machine == "n1"
    harness.state.nodes_changed([present(bad), gone(bad)])
    harness.sync()
    assert sorted(harness.view.machines) == ["n2", "n3"]
    assert not [*harness.state.quarantine]


def test_a_round_is_carried_out_but_for_what_cannot_be(harness):
    harness.pods(present(pod("a")), present(pod("b")))
    state = harness.state
    broken_record = state.tasks.get("pod-a")
    broken_record.task = replace(broken_record.task, name=None)
    result = pb.RoundResult(round=1)
    result.deltas.add(kind=pb.Delta.PLACE, task="pod-a", machine="n1")
    result.deltas.add(kind=pb.Delta.PLACE, task="pod-b", machine="n1")
    state.on_round(result)
    assert [each.pod.uid for each in state.take_actions()] == ["pod-b"]
    assert [(each.task, each.bound) for each in state.take_reports()] == [("pod-a", False)]
