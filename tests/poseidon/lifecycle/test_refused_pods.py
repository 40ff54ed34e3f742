"""What becomes of refused pods, at the boundaries: how often, after which pause, and by whom."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod
from poseidon.lifecycle.actions import Action, AnnounceRefused, DeleteRefused, RecreateRefused
from poseidon.lifecycle.phases import PodRecord
from poseidon.lifecycle.refused_pods import (
    RECREATIONS,
    RecoveryOptions,
    RefusedPods,
    is_refused,
    may_have_run,
)
from poseidon.pods.tasks import Task


def failed(times: str = "", owner: str = "", *, deleting: bool = False, **status: Any) -> Pod:
    metadata: dict[str, Any] = {"name": "a", "annotations": {RECREATIONS: times} if times else {}}
    if owner:
        metadata["ownerReferences"] = [{"kind": owner, "name": "own", "uid": "o", "controller": True}]
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    stated = {"phase": "Failed", "reason": "OutOfcpu", **status}
    return convert_object({"metadata": metadata, "spec": {"nodeName": "n1"}, "status": stated}, Pod)


def known(*, ran: bool = False) -> PodRecord:
    task = Task("u", "default/a", None, "", 0, 0.0)  # type: ignore[arg-type]  # no traits are read
    return PodRecord(task, schedulable=True, ran=ran)


def done(pod: Pod, record: PodRecord | None = None, **options: Any) -> list[Action]:
    actions: list[Action] = []
    RefusedPods(RecoveryOptions(**options), actions).note_finished("u", pod, record)
    return actions


def said(actions: list[Action]) -> str:
    [announced] = [each for each in actions if isinstance(each, AnnounceRefused)]
    return announced.message.partition("; ")[2]


@pytest.mark.parametrize(
    ("times", "expected", "delay"),
    [("", 1, 1.0), ("1", 2, 2.0), ("4", 5, 16.0), ("x", 1, 1.0), ("-1", 1, 1.0), ("٣", 1, 1.0)],
)
def test_pauses_double_with_each_recreation(times, expected, delay):
    recreate = done(failed(times), recreate_bare_pods=True)[0]
    assert isinstance(recreate, RecreateRefused)
    assert (recreate.times, recreate.delay, recreate.pod.namespace) == (expected, delay, "default")


@pytest.mark.parametrize(("times", "delay"), [("8", 256.0), ("9", 300.0), ("99", 300.0)])
def test_pauses_are_five_minutes_at_most(times, delay):
    recreate = done(failed(times), recreate_bare_pods=True, max_recreations=1000)[0]
    assert isinstance(recreate, RecreateRefused)
    assert recreate.delay == delay


@pytest.mark.parametrize(
    ("times", "again"), [("4", True), ("5", False), ("999999999", False), ("9999999999", False)]
)
def test_a_pod_is_created_again_five_times_at_most(times, again):
    actions = done(failed(times), known(), recreate_bare_pods=True)
    assert isinstance(actions[0], RecreateRefused) is again
    shown = times if len(times) < 10 else "1000000000"
    assert said(actions) == (
        "it is created again (5 of at most 5 times)"
        if again
        else f"it was created again {shown} times already and is left as it is"
    )


def test_nothing_is_recreated_or_deleted_unless_that_is_asked_for():
    off = "it has no controller and is left as it is (recovery.recreateBarePods is off)"
    assert said(done(failed(), known())) == off
    [told] = done(failed(owner="Job"), known())
    assert isinstance(told, AnnounceRefused)
    assert said([told]) == "its Job own takes care of it"


@pytest.mark.parametrize(
    ("owner", "deleted"),
    [
        ("ReplicaSet", True),
        ("ReplicationController", True),
        ("Job", True),
        ("StatefulSet", False),
        ("DaemonSet", False),
    ],
)
def test_pods_that_their_controllers_leave_behind_are_deleted(owner, deleted):
    actions = done(failed(owner=owner), delete_replaced_pods=True)
    assert [type(each) for each in actions] == ([DeleteRefused] if deleted else [])


def test_what_may_have_run_is_left_as_it_is():
    started = failed(containerStatuses=[{"name": "c", "restartCount": 1}])
    assert (
        said(done(started, known(), recreate_bare_pods=True)) == "it may have run before and is left as it is"
    )
    assert said(done(failed(), known(ran=True), recreate_bare_pods=True)).startswith("it may have run")


def test_each_pod_is_handled_once_unless_it_is_forgotten():
    actions: list[Action] = []
    pods = RefusedPods(RecoveryOptions(recreate_bare_pods=True), actions)
    for _ in range(2):
        pods.note_finished("u", failed(), None)
    assert len(actions) == 2
    pods.forget_pod("u")
    pods.note_finished("u", failed(), None)
    assert len(actions) == 4


def test_a_pod_that_is_being_deleted_is_left_alone():
    assert done(failed(deleting=True), known(), recreate_bare_pods=True) == []


def test_the_words_of_the_kubelet_are_repeated_or_a_dash():
    message = done(failed(message="no room."), known())[0].message  # type: ignore[union-attr]
    assert message.startswith("Node n1 refused the pod: OutOfcpu: no room; it has")
    assert "OutOfcpu: -;" in done(failed(), known())[0].message  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("pod", "refused"),
    [
        (failed(), True),
        (failed(phase="Running"), False),
        (failed(reason="Evicted"), False),
        (convert_object({"status": {"phase": "Failed", "reason": "OutOfcpu"}}, Pod), False),
    ],
)
def test_a_pod_is_refused_if_it_failed_on_a_node_for_a_curable_reason(pod, refused):
    assert is_refused(pod) is refused


@pytest.mark.parametrize(
    ("status", "ran"),
    [
        ({}, False),
        ({"conditions": [{"type": "Initialized", "status": "True"}]}, True),
        ({"conditions": [{"type": "Initialized", "status": "False"}]}, False),
        ({"containerStatuses": [{"name": "c", "restartCount": 0}]}, False),
        ({"containerStatuses": [{"name": "c"}, {"name": "d", "restartCount": 1}]}, True),
        ({"containerStatuses": [{"name": "c", "state": {"running": {}}}]}, True),
        ({"initContainerStatuses": [{"name": "c", "state": {"terminated": {}}}]}, True),
        ({"containerStatuses": [{"name": "c", "state": {"waiting": {}}}]}, False),
    ],
)
def test_a_pod_may_have_run_if_a_container_has_begun(status, ran):
    assert may_have_run(failed(**status)) is ran
