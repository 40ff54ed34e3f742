"""Pods follow the queues that they and their owners name; and what is wrong with a queue is said on it, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from poseidon.kube.api.metadata import ObjectMeta, OwnerReference
from poseidon.kube.api.pod_groups import ScaledOwner
from poseidon.kube.api.resource import Change
from poseidon.lifecycle.actions import AnnounceGroup, AnnounceUnschedulable
from poseidon.queues.queue_names import KUEUE_PRIORITY
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone
from tests.poseidon.queues.objects import (
    LABEL,
    cluster_queue,
    elastic_quota,
    flavor,
    local_queue,
    quotas,
    volcano_queue,
    workload_priority,
)
from tests.poseidon.queues.test_known_queues import Stage, kueue, priority_of, queued


def tasks_told(stage: Stage) -> list[str]:
    """The tasks of which the solver is told now."""
    return sorted(uid for event in stage.state.take_events() for uid in event.tasks.uids)


def test_pods_that_wait_move_with_their_local_queue_and_nobody_else_does():
    stage = kueue().tell(cluster_queue("other", quotas(cpu=4)), local_queue("others", "other"))
    stage.add(queued("a"), queued("b", "others"), queued("c"))
    assert tasks_told(stage) == ["pod-a", "pod-b", "pod-c"]
    stage.state.pods_changed([gone(queued("c"))])
    list(stage.state.take_events())
    stage.tell(local_queue("users", "other"))
    assert tasks_told(stage) == ["pod-a"], "the queue of the others is the same as before"
    assert [stage.queue_of(name) for name in "ab"] == ["ClusterQueue/other"] * 2


def test_a_pod_is_held_while_its_queue_takes_nobody():
    stage = kueue().add(queued())
    assert tasks_told(stage) == ["pod-p"]
    stage.tell(local_queue("users", "team", stopPolicy="Hold"))
    [removed] = [event.task_removed for event in stage.state.take_events()]
    assert removed == "pod-p"
    assert stage.state.list_held().keys() == {"pod-p"}
    stage.tell(local_queue("users", "team"))
    assert tasks_told(stage) == ["pod-p"]
    assert stage.state.list_held() == {}


def test_a_pod_has_queue_and_priority_as_its_owner_says_now():
    stage = kueue().tell(
        workload_priority("high", 7), cluster_queue("other", quotas(cpu=4)), local_queue("others", "other")
    )
    job = OwnerReference(kind="Job", name="j", uid="Job-j", controller=True)
    stage.add(queued(queue="", owner=job))

    def say(queue: str, priority_class: str = "") -> tuple[str, int]:
        labels = {LABEL: queue} | ({KUEUE_PRIORITY: priority_class} if priority_class else {})
        metadata = ObjectMeta(name="j", namespace="shop", uid="Job-j", labels=labels)
        stage.state.owner_taker("Job")([Change("Job-j", ScaledOwner(metadata))])
        return stage.queue_of(), priority_of(stage)

    assert say("users", "high") == ("ClusterQueue/team", 7)
    assert say("others", "high") == ("ClusterQueue/other", 7)
    assert say("others") == ("ClusterQueue/other", 0)


def test_queues_choose_namespaces_by_their_labels_of_now():
    stage = kueue(namespaceSelector={"matchLabels": {"tier": "gold"}}).add(queued())
    for labels, waits in (({}, True), ({"tier": "gold"}, False), ({"tier": "tin"}, True)):
        stage.name_namespace("shop", **labels)
        assert ("does not take pods of namespace shop" in stage.wait_of()) is waits


def announced(stage: Stage) -> list[tuple[str, str, str]]:
    stage.state.take_events()
    stage.state.expire()
    actions: Sequence[Any] = stage.state.take_actions()
    return [
        (each.group.kind, each.group.name, str(each.reason))
        for each in actions
        if isinstance(each, AnnounceGroup)
    ]


def test_a_queue_is_told_what_is_wrong_with_it_once_and_again_when_that_changes():
    stage = Stage(source=("volcano",)).tell(volcano_queue("v", weight=0))
    assert announced(stage) == [("Queue", "v", "InvalidSpec")]
    stage.tell(volcano_queue("v", weight=0))
    assert announced(stage) == [], "that has been said"
    stage.tell(volcano_queue("v", weight=-1))
    assert announced(stage) == [("Queue", "v", "InvalidSpec")]
    stage.tell(volcano_queue("v", weight=1))
    assert announced(stage) == []
    stage.tell(volcano_queue("v", weight=-1))
    assert announced(stage) == [("Queue", "v", "InvalidSpec")], "it has been well in between"


def test_what_is_wrong_with_a_cluster_queue_stands_in_its_condition_alone():
    assert announced(Stage().tell(flavor(), cluster_queue("bad", quotas(cpu="x")))) == []


@pytest.mark.parametrize("admission", ["poseidon", "kueue"])
def test_events_are_about_objects_in_their_namespace_and_only_where_we_admit(admission):
    stage = Stage(source=("scheduler-plugins",), admission=admission)
    stage.tell(elastic_quota("q", "shop", min={"cpu": "x"}))
    stage.state.take_events()
    stage.state.expire()
    actions: Sequence[Any] = stage.state.take_actions()
    found = [each.group for each in actions if isinstance(each, AnnounceGroup)]
    told = [(each.namespace, each.name) for each in found]
    assert told == ([("shop", "q")] if admission == "poseidon" else [])


def test_a_gang_of_a_queue_is_one_workload_and_a_single_pod_another():
    stage = kueue()
    job = OwnerReference(kind="Job", name="j", uid="Job-j", controller=True)
    stage.own("Job", "j", queue="users")
    stage.add(queued("a", queue="", owner=job), queued("b", queue="", owner=job), queued("c"))
    running = queued("d")
    stage.add(replace(running, spec=replace(running.spec, node_name="n1")))
    stage.state.take_events()
    news = stage.state.queue_news
    assert news is not None
    assert stage.state.queues is not None
    [references] = stage.state.queues.list_references().values()
    counts = news.statuses.count_workloads(references)
    assert (counts.pending, counts.admitted) == (2, 1)
    stage.state.on_round(pb.RoundResult(queues=[pb.QueueState(name="ClusterQueue/team")]))
    assert news.statuses.states.keys() == {"ClusterQueue/team"}


def test_why_a_pod_waits_for_its_queue_is_announced():
    def announced_waits() -> list[str]:
        actions: Sequence[Any] = stage.state.take_actions()
        return [each.message for each in actions if isinstance(each, AnnounceUnschedulable)]

    stage = kueue().add(queued())
    assert announced_waits() == []
    stage.tell(local_queue("users", "gone"))
    stage.state.take_events()
    assert announced_waits() == ["queue: LocalQueue shop/users names ClusterQueue gone, which does not exist"]
