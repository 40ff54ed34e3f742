"""Pods to tasks: dispositions, owners, priorities, times, compact events."""

from __future__ import annotations

import pytest

from poseidon.bridge.solver_stream import events
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.metadata import ObjectMeta, seconds
from poseidon.kube.api.nodes import PriorityClass
from poseidon.kube.api.pods import Pod
from poseidon.pods.classes import ClassTable
from poseidon.pods.priority_classes import PriorityResolver, UnknownPriorityClassError
from poseidon.pods.tasks import (
    Disposition,
    Task,
    classify_pod,
    get_qualified_name,
    job,
    scheduler_of,
    translate_pod,
)
from tests.poseidon.pods.builders import make_pod, make_spec, requesting


def priority_class(name, value, *, default=False):
    return PriorityClass(metadata=ObjectMeta(name=name), value=value, global_default=default)


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        ({}, Disposition.PENDING),
        ({"nodeName": "n"}, Disposition.BOUND),
        ({"nodeName": "n", "phase": "Succeeded"}, Disposition.FINISHED),
        ({"phase": "Failed"}, Disposition.FINISHED),
        ({"nodeName": "n", "phase": "Running"}, Disposition.BOUND),
        ({"schedulingGates": [{"name": "g"}]}, Disposition.GATED),
    ],
)
def test_disposition(pod, expected):
    assert classify_pod(make_pod(**pod)) is expected


def test_a_pod_that_is_deleted_before_it_was_bound_wants_no_node():
    dying = {"metadata": {"name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert classify_pod(convert_object(dying, Pod)) is Disposition.TERMINATING
    assert classify_pod(convert_object({**dying, "spec": {"nodeName": "n"}}, Pod)) is Disposition.BOUND


OWNER = "Owner/shop/ReplicaSet/web/rs-1"


def owned(**reference):
    pod = make_pod("web-1", namespace="shop").metadata
    return convert_object(
        {"name": pod.name, "namespace": "shop", "uid": pod.uid, "ownerReferences": [reference]}, ObjectMeta
    )


def test_the_controller_is_the_job():
    metadata = owned(kind="ReplicaSet", name="web", uid="rs-1", controller=True)
    found = job(metadata)
    assert found is not None
    assert (found.id, found.name, found.namespace) == (OWNER, "shop/ReplicaSet/web", "shop")


def test_an_owner_that_does_not_control_is_no_job():
    assert job(owned(kind="Thing", name="x", uid="1")) is None


def test_an_owner_without_uid_is_told_by_its_name():
    found = job(owned(kind="Job", name="sum", controller=True))
    assert found is not None
    assert found.id == "Owner/shop/Job/sum"


def test_a_task_carries_what_the_pod_says():
    pod = convert_object(
        {
            "metadata": {
                "name": "web-1",
                "namespace": "shop",
                "uid": "u1",
                "creationTimestamp": "1970-01-01T00:01:40Z",
                "ownerReferences": [{"kind": "ReplicaSet", "name": "web", "uid": "rs-1", "controller": True}],
            },
            "spec": {"containers": [{}], "priorityClassName": "high"},
        },
        Pod,
    )
    resolver = PriorityResolver([priority_class("high", 1000)])
    table = ClassTable()
    assert translate_pod(pod, table, resolver) == Task(
        "u1", "shop/web-1", table.traits(pod), OWNER, 1000, 100.0
    )


def test_missing_times_and_classes_have_a_stand_in():
    found = translate_pod(make_pod(priorityClassName="gone"), ClassTable(), PriorityResolver())
    assert (found.created, found.priority) == (0.0, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-01T00:00:00.25Z", 0.25),
        ("yesterday", None),
        ("", None),
        (None, None),
    ],
)
def test_times(text, expected):
    assert seconds(text) == expected


def test_names_and_schedulers_have_defaults():
    assert get_qualified_name(ObjectMeta(name="p")) == "default/p"
    assert scheduler_of(make_pod()) == "default-scheduler"
    assert scheduler_of(make_pod(schedulerName="poseidon")) == "poseidon"


class TestPriority:
    def test_the_spec_wins(self):
        resolver = PriorityResolver([priority_class("high", 1000)])
        assert resolver.priority(make_spec(priority=5, priorityClassName="high")) == 5
        assert resolver.priority(make_spec(priority=0, priorityClassName="high")) == 0

    def test_the_lowest_default_class_counts(self):
        resolver = PriorityResolver(
            [priority_class("a", 30, default=True), priority_class("b", 20, default=True)]
        )
        assert resolver.priority(make_spec()) == 20
        resolver.remove("b")
        assert resolver.priority(make_spec()) == 30

    def test_a_class_may_change(self):
        resolver = PriorityResolver([priority_class("a", 30, default=True)])
        resolver.upsert(priority_class("a", 40))
        assert resolver.priority(make_spec(priorityClassName="a")) == 40
        assert resolver.priority(make_spec()) == 0

    def test_system_classes_exist_everywhere(self):
        resolver = PriorityResolver()
        resolver.remove("system-node-critical")
        assert resolver.priority(make_spec(priorityClassName="system-node-critical")) == 2_000_001_000

    def test_an_unknown_class_is_an_error(self):
        with pytest.raises(UnknownPriorityClassError, match="'gone'"):
            PriorityResolver().priority(make_spec(priorityClassName="gone"))


TABLE = ClassTable()
PLAIN, LARGE = TABLE.traits(make_pod()), TABLE.traits(make_pod(containers=[requesting({"cpu": 9})]))


def a_task(uid, *, traits=PLAIN, job="", priority=0):
    return Task(uid, f"default/{uid}", traits, job, priority, 1.0)


def test_tasks_of_one_class_job_and_priority_travel_together():
    given = [
        a_task("a"),
        a_task("b", priority=1),
        a_task("c"),
        a_task("d", job="j"),
        a_task("e", traits=LARGE),
    ]
    batches = [event.tasks for event in events.encode_pending(given)]
    assert [list(batch.uids) for batch in batches] == [["a", "c"], ["b"], ["d"], ["e"]]
    assert list(batches[0].names) == ["default/a", "default/c"]
    assert list(batches[0].created) == [1.0, 1.0]


def test_running_tasks_travel_by_machine():
    given = [
        (a_task(uid), node, uid == "d") for uid, node in zip("abcd", ("n1", "n2", "n1", "n1"), strict=True)
    ]
    batches = [event.bound for event in events.encode_placed(given)]
    told = [(batch.machine, list(batch.uids), batch.assumed) for batch in batches]
    assert told == [("n1", ["a", "c"], False), ("n2", ["b"], False), ("n1", ["d"], True)]
