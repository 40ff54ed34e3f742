"""Deltas that cannot be carried out, and what the solver is told of each."""

from __future__ import annotations

import pytest

from poseidon.lifecycle.pending_bindings import PendingBindings
from poseidon.lifecycle.placements import kind_of
from poseidon.lifecycle.refused_deltas import Kind, Reason
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import pod, present
from tests.poseidon.bridge.test_state import Harness


@pytest.fixture
def harness() -> Harness:
    made = Harness()
    made.pods(present(pod("a")), present(pod("runs", node="n1")), present(pod("other")))
    return made


def reports(harness: Harness) -> list[tuple[str, bool, bool, str]]:
    return [(each.task, each.bound, each.retry, each.reason) for each in harness.state.take_reports()]


def test_a_move_of_a_running_pod_is_not_to_be_tried_again(harness):
    assert harness.delta("pod-runs", "n2", kind=pb.Delta.MIGRATE) == []
    [(task, bound, retry, reason)] = reports(harness)
    assert (task, bound, retry) == ("pod-runs", False, False)
    assert "can neither move running pods" in reason
    assert harness.state.refusals.counts == {(Kind.MIGRATION, Reason.UNSUPPORTED): 1}
    assert harness.state.refusals.suspicious == 1


@pytest.mark.parametrize(
    ("task", "machine", "retry", "reason", "words"),
    [
        ("gone", "n1", False, Reason.GONE, "the pod is gone"),
        ("pod-a", "n9", True, Reason.NO_NODE, "node n9 is gone"),
        ("pod-runs", "n2", False, Reason.ELSEWHERE, "already assigned to node n1"),
    ],
)
def test_a_placement_that_cannot_be_made_says_why(harness, task, machine, retry, reason, words):
    assert harness.delta(task, machine) == []
    assert reports(harness) == [(task, False, retry, words)]
    assert harness.state.refusals.take_counts() == {(Kind.BINDING, reason): 1}
    assert harness.state.refusals.take_counts() == {}


def test_a_placement_where_the_pod_is_already_is_confirmed(harness):
    assert harness.delta("pod-runs", "n1") == []
    assert all(bound for _, bound, _, _ in reports(harness))


class BrokenError(Exception):
    """A fault that a test puts in."""


def test_a_placement_whose_handling_fails_is_reported_and_holds_up_no_other(
    harness, monkeypatch, may_set_aside
):
    state = harness.state
    begin = PendingBindings.begin

    def fail(self, record, *rest):
        if record.task.uid == "pod-a":
            raise BrokenError("no")
        return begin(self, record, *rest)

    monkeypatch.setattr(PendingBindings, "begin", fail)
    result = pb.RoundResult(round=1)
    for name in ("pod-a", "pod-other"):
        result.deltas.add(kind=pb.Delta.PLACE, task=name, machine="n1")
    state.on_round(result)
    assert [each.pod.name for each in state.take_actions()] == ["other"]
    assert reports(harness) == [("pod-a", False, True, "cannot be carried out")]
    assert state.tasks.get("pod-a").place == ""


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pb.Delta.PLACE, "PLACE"),
        (pb.Delta.PREEMPT, "PREEMPT"),
        (pb.Delta.MIGRATE, "MIGRATE"),
        (99, "UNKNOWN"),
    ],
)
def test_kinds_of_deltas_have_names(kind, name):
    assert kind_of(kind) == name
