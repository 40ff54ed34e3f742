"""Which quota pods draw on: by the words of each project, by their owners, and never by another namespace's queue."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api import kinds
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.kinds import BY_NAME
from poseidon.kube.api.metadata import ObjectMeta, OwnerReference
from poseidon.kube.api.namespaces import Namespace
from poseidon.kube.api.nodes import Taint
from poseidon.kube.api.pod_groups import ScaledOwner
from poseidon.kube.api.resource import Change
from poseidon.queues.options import QueueOptions
from poseidon.queues.queue_names import KUEUE_PRIORITY
from tests.poseidon.bridge.objects import node, pod, present
from tests.poseidon.queues.objects import (
    LABEL,
    cluster_queue,
    elastic_quota,
    flavor,
    kai_queue,
    local_queue,
    quotas,
    volcano_queue,
    workload_priority,
)


def queued(name="p", queue="users", namespace="shop", *, key=LABEL, owner=None, annotation=False):
    made = pod(name, namespace=namespace)
    keys = {key: queue} if queue else {}
    metadata = replace(
        made.metadata,
        labels={} if annotation else keys,
        annotations=keys if annotation else {},
        owner_references=(owner,) if owner else (),
    )
    return replace(made, metadata=metadata)


@dataclass
class Stage:
    """A bridge that has been told of some objects."""

    source: Any = ("kueue",)
    admission: Any = "poseidon"
    now: float = 1000.0
    state: BridgeState = field(init=False)

    def __post_init__(self):
        queues = QueueOptions(source=self.source, admission=self.admission)
        self.state = BridgeState(BridgeConfiguration(queues=queues), clock=lambda: self.now)

    def tell(self, *objects):
        for each in objects:
            kind: Any = BY_NAME[each["apiVersion"].rpartition("/")[0], each["kind"]]
            found = convert_object(each, kind.struct)
            self.state.handlers[kind]([Change(uid_of(each), found)])
        return self

    def end(self, *objects):
        for each in objects:
            kind: Any = BY_NAME[each["apiVersion"].rpartition("/")[0], each["kind"]]
            self.state.handlers[kind]([Change(uid_of(each), None)])

    def name_namespace(self, name, **labels):
        metadata = ObjectMeta(name=name, uid=f"namespace-{name}", labels=labels)
        self.state.handlers[kinds.NAMESPACE]([Change(metadata.uid, Namespace(metadata=metadata))])

    def own(self, kind, name, queue="", above=None, namespace="shop"):
        metadata = ObjectMeta(
            name=name,
            namespace=namespace,
            uid=f"{kind}-{name}",
            labels={LABEL: queue} if queue else {},
            owner_references=(above,) if above else (),
        )
        assert self.state.queues is not None
        self.state.queues.take_owners(kind, [Change(metadata.uid, ScaledOwner(metadata))])

    def disown(self, kind, name):
        assert self.state.queues is not None
        self.state.queues.take_owners(kind, [Change(f"{kind}-{name}", None)])

    def add(self, *pods):
        self.state.pods_changed([present(each) for each in pods])
        return self

    def end_pod(self, name):
        self.state.pods_changed([Change(f"pod-{name}", None)])

    def queue_of(self, name="p"):
        self.state.take_events()
        record = self.state.tasks.get(f"pod-{name}")
        assert record is not None
        return self.state.classes.message(record.task.task_class).queue

    def wait_of(self, name="p"):
        self.state.take_events()
        record = self.state.tasks.get(f"pod-{name}")
        assert record is not None
        return record.waits_for

    def records(self):
        events = self.state.snapshot()
        return {
            (each.record.key.kind, each.record.key.name): json.loads(each.record.payload)
            for each in events
            if each.WhichOneof("body") == "record" and each.record.key.kind in ("Quota", "ResourceFlavor")
        }


def uid_of(each):
    return "/".join((each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]))


def kueue(**more):
    return Stage().tell(flavor(), cluster_queue("team", quotas(cpu=4), **more), local_queue("users", "team"))


def test_who_may_have_others_evicted_for_their_quota():
    """Within the queue, and in the tree, by the policies of the queue of the one who comes."""
    within, reclaim = {"withinClusterQueue": "LowerPriority"}, {"reclaimWithinCohort": "Any"}
    stage = Stage().tell(
        flavor(),
        cluster_queue("meek", quotas(cpu=1), cohort="all"),
        cluster_queue("owner", quotas(cpu=1), cohort="all", preemption={**within, **reclaim}),
        cluster_queue(
            "newer", quotas(cpu=1), cohort="all",
            preemption={"withinClusterQueue": "LowerOrNewerEqualPriority", "reclaimWithinCohort": "LowerPriority"},
        ),
        cluster_queue("alone", quotas(cpu=1), preemption=within),
    )  # fmt: skip
    book = stage.state.queues
    assert book is not None
    book.settle()

    def least(preemptor, victim):
        """By how much one must be more important at least, None for never."""
        may = [
            above
            for above in (-1, 0, 1)
            if book.allows_eviction(f"ClusterQueue/{preemptor}", f"ClusterQueue/{victim}", above)
        ]
        return may[0] if may else None

    assert [least("meek", each) for each in ("meek", "owner")] == [None, None]
    assert [least("owner", each) for each in ("owner", "meek", "newer", "alone")] == [1, -1, -1, None]
    assert [least("newer", each) for each in ("newer", "owner")] == [0, 1]
    assert [least("alone", each) for each in ("alone", "owner", "none")] == [1, None, None]


def test_a_pod_draws_on_the_cluster_queue_of_its_local_queue():
    stage = kueue().add(queued())
    assert (stage.queue_of(), stage.wait_of()) == ("ClusterQueue/team", "")
    assert stage.records().keys() == {("Quota", "ClusterQueue/team"), ("ResourceFlavor", "default")}


def test_a_pod_without_a_queue_draws_on_none():
    stage = kueue().add(queued(queue=""))
    assert (stage.queue_of(), stage.wait_of()) == ("", "")


def test_nothing_is_read_by_default():
    state = BridgeState()
    assert state.queues is None
    stage = Stage(source=()).tell(flavor(), cluster_queue("team"), local_queue("users", "team")).add(queued())
    assert stage.queue_of() == ""
    assert stage.records() == {}


def test_where_kueue_admits_nothing_is_done():
    stage = Stage(admission="kueue").tell(
        flavor(), cluster_queue("team", quotas(cpu=4)), local_queue("users", "team")
    )
    stage.add(queued())
    assert (stage.queue_of(), stage.wait_of()) == ("", "")
    assert stage.records() == {}
    stage.state.queues.settle()
    assert [quota.name for quota in stage.state.queues.trees["kueue"].quotas] == ["ClusterQueue/team"]


def test_a_queue_that_does_not_exist_yet():
    stage = Stage().tell(flavor()).add(queued())
    assert "LocalQueue shop/users does not exist" in stage.wait_of()
    stage.tell(local_queue("users", "team"))
    assert "names ClusterQueue team, which does not exist" in stage.wait_of()
    stage.tell(cluster_queue("team", quotas(cpu=4)))
    assert (stage.queue_of(), stage.wait_of()) == ("ClusterQueue/team", "")
    stage.end(local_queue("users", "team"))
    assert "does not exist" in stage.wait_of()


def test_a_tenant_cannot_name_the_queue_of_another_namespace():
    stage = kueue().add(queued(namespace="thief"))
    assert stage.queue_of() == ""
    assert "LocalQueue thief/users does not exist" in stage.wait_of()


def test_a_queue_chooses_its_namespaces():
    stage = kueue(namespaceSelector={"matchLabels": {"tier": "gold"}})
    stage.name_namespace("shop")
    stage.add(queued())
    assert "does not take pods of namespace shop" in stage.wait_of()
    stage.name_namespace("shop", tier="gold")
    assert stage.wait_of() == ""


def test_a_queue_without_a_selector_takes_nobody():
    queue = cluster_queue("team", quotas(cpu=4))
    del queue["spec"]["namespaceSelector"]
    stage = Stage().tell(flavor(), queue, local_queue("users", "team")).add(queued())
    assert "does not take pods" in stage.wait_of()


def test_a_stopped_local_queue_lets_nobody_in():
    stage = kueue().tell(local_queue("users", "team", stopPolicy="Hold")).add(queued())
    assert "is stopped" in stage.wait_of()


def test_a_pod_is_in_the_queue_that_its_owner_names():
    job = OwnerReference(kind="Job", name="j", uid="Job-j", controller=True)
    stage = kueue().add(queued(queue="", owner=job))
    assert stage.queue_of() == ""
    stage.own("Job", "j", queue="users")
    assert stage.queue_of() == "ClusterQueue/team"


def test_a_pod_is_in_the_queue_that_its_owners_owner_names():
    stage = kueue()
    job_set = OwnerReference(kind="JobSet", name="s", uid="JobSet-s", controller=True)
    stage.own("Job", "s-a-0", above=job_set)
    stage.own("JobSet", "s", queue="users")
    job = OwnerReference(kind="Job", name="s-a-0", uid="Job-s-a-0", controller=True)
    assert stage.add(queued(queue="", owner=job)).queue_of() == "ClusterQueue/team"


def test_a_pod_counts_in_its_queue_until_it_is_gone_though_its_owner_is_deleted():
    job = OwnerReference(kind="Job", name="j", uid="Job-j", controller=True)
    stage = kueue()
    stage.own("Job", "j", queue="users")
    assert stage.add(queued(queue="", owner=job)).queue_of() == "ClusterQueue/team"
    stage.disown("Job", "j")
    assert stage.queue_of() == "ClusterQueue/team"
    stage.end_pod("p")
    stage.add(queued(queue="", owner=job))
    assert stage.queue_of() == "", "a pod that comes later has no owner that names a queue"


def test_a_namesake_of_the_owner_does_not_count():
    stage = kueue()
    stage.own("Job", "j", queue="users")
    job = OwnerReference(kind="Job", name="j", uid="another", controller=True)
    assert stage.add(queued(queue="", owner=job)).queue_of() == ""


def test_owners_of_another_namespace_do_not_count():
    stage = kueue()
    stage.own("Job", "j", queue="users", namespace="other")
    job = OwnerReference(kind="Job", name="j", uid="Job-j", controller=True)
    assert stage.add(queued(queue="", owner=job)).queue_of() == ""


def test_a_running_pod_counts_whatever_its_queue_says_now():
    stage = kueue().tell(local_queue("users", "team", stopPolicy="Hold"))
    running = queued()
    running = replace(running, spec=replace(running.spec, node_name="n1"))
    assert stage.add(running).queue_of() == "ClusterQueue/team"


def test_a_queue_that_is_gone_is_withdrawn():
    stage = kueue()
    stage.state.take_events()
    stage.end(cluster_queue("team"))
    gone = [
        event.record_removed.name
        for event in stage.state.take_events()
        if event.WhichOneof("body") == "record_removed"
    ]
    assert gone == ["ClusterQueue/team"]


def test_queues_of_volcano_and_kai():
    stage = Stage(source=("volcano", "kai"))
    stage.tell(volcano_queue("v"), kai_queue("dept"), kai_queue("team", parentQueue="dept"))
    stage.add(
        queued("a", "v", key="scheduling.volcano.sh/queue-name", annotation=True),
        queued("b", "team", key="kai.scheduler/queue"),
        queued("c", "team", key="runai/queue"),
        queued("d", "dept", key="kai.scheduler/queue"),
        queued("e", "gone", key="kai.scheduler/queue"),
    )
    assert [stage.queue_of(name) for name in "abc"] == [
        "VolcanoQueue/v",
        "KaiQueue/team",
        "KaiQueue/team",
    ]
    assert "has queues below it" in stage.wait_of("d")
    assert "Queue gone (KAI) does not exist" in stage.wait_of("e")


def test_quotas_of_a_namespace():
    stage = Stage(source=("scheduler-plugins",)).tell(elastic_quota("q", "shop", min={"cpu": 1}))
    stage.add(queued("a", ""), queued("b", "", namespace="other"))
    assert stage.queue_of("a") == "ElasticQuota/shop/q"
    assert (stage.queue_of("b"), stage.wait_of("b")) == ("", "")


def test_a_namespace_has_the_quota_of_the_project_in_which_it_has_one():
    stage = Stage(source=("koordinator", "scheduler-plugins")).tell(
        elastic_quota("k", "shop", koordinator=True, min={"cpu": 1}),
        elastic_quota("p", "other", min={"cpu": 1}),
    )
    stage.add(queued("a", ""), queued("b", "", namespace="other"))
    assert (stage.queue_of("a"), stage.queue_of("b")) == ("KoordinatorQuota/k", "ElasticQuota/other/p")


def test_quotas_of_koordinator_are_for_their_namespaces():
    key = "quota.scheduling.koordinator.sh/name"
    listed = {"annotations": {"quota.scheduling.koordinator.sh/namespaces": '["other"]'}}
    stage = Stage(source=("koordinator",)).tell(
        elastic_quota("q", koordinator=True, min={"cpu": 1}),
        elastic_quota("wide", "system", koordinator=True, metadata=listed, min={"cpu": 1}),
    )
    stage.add(
        queued("a", "q", key=key),
        queued("b", "wide", key=key, namespace="other"),
        queued("c", "wide", key=key),
        queued("d", ""),
        queued("e", "", namespace="elsewhere"),
    )
    assert [stage.queue_of(name) for name in "abd"] == [
        "KoordinatorQuota/q",
        "KoordinatorQuota/wide",
        "KoordinatorQuota/q",
    ]
    assert "is not for namespace shop" in stage.wait_of("c")
    assert stage.queue_of("e") == ""


def test_a_flavor_lets_pods_be_bound_to_its_tainted_nodes():
    spot = flavor("default", tier="spot")
    spot["spec"]["tolerations"] = [{"key": "spot", "operator": "Exists"}]
    stage = Stage().tell(spot, cluster_queue("team", quotas(cpu=4)), local_queue("users", "team"))
    stage.add(queued("in"), queued("out", ""))
    made = node("n1", labels={"tier": "spot"})
    taints = (Taint(key="spot", effect="NoSchedule"),)
    stage.state.nodes_changed([present(replace(made, spec=replace(made.spec, taints=taints)))])
    classes = {name: stage.state.tasks.get(f"pod-{name}").task.task_class for name in ("in", "out")}
    refusal = stage.state.bind_check.refusal
    assert refusal(classes["in"], "n1") == ""
    assert "untolerated taint" in refusal(classes["out"], "n1")


def priority_of(stage, name="p"):
    record = stage.state.tasks.get(f"pod-{name}")
    assert record is not None
    return record.task.priority


def test_a_pod_waits_for_the_priority_class_of_its_workload_and_then_has_that_priority():
    stage = kueue()
    made = queued()
    labels = {**made.metadata.labels, KUEUE_PRIORITY: "high"}
    stage.add(replace(made, metadata=replace(made.metadata, labels=labels)))
    assert "WorkloadPriorityClass high does not exist" in stage.wait_of()
    stage.tell(workload_priority("high", 2**31 - 1))
    assert (stage.wait_of(), priority_of(stage)) == ("", 1_000_000_000)


def test_a_pod_has_the_priority_of_its_owner_in_a_queue_as_soon_as_that_is_known():
    stage = kueue().tell(workload_priority("high", 7))
    assert stage.state.queues is not None
    stage.state.queues.follows_owners = True
    stage.add(queued(queue="", owner=OwnerReference(kind="Job", name="j", uid="Job-j", controller=True)))
    assert "waits for Job" in stage.wait_of()
    labels = {LABEL: "users", KUEUE_PRIORITY: "high"}
    metadata = ObjectMeta(name="j", namespace="shop", uid="Job-j", labels=labels)
    stage.state.owner_taker("Job")([Change("Job-j", ScaledOwner(metadata))])
    assert (stage.queue_of(), priority_of(stage)) == ("ClusterQueue/team", 7)


@pytest.mark.parametrize("node", ["", "n1"])
def test_a_change_of_the_priority_class_of_an_owner_reaches_pods_that_are_known(node):
    stage = kueue().tell(workload_priority("high", 7), workload_priority("low", 3))

    def label(name):
        labels = {LABEL: "users"} | ({KUEUE_PRIORITY: name} if name else {})
        metadata = ObjectMeta(name="j", namespace="shop", uid="Job-j", labels=labels)
        stage.state.owner_taker("Job")([Change("Job-j", ScaledOwner(metadata))])

    def found():
        return stage.queue_of(), stage.wait_of(), priority_of(stage)

    label("low")
    known = queued(queue="", owner=OwnerReference(kind="Job", name="j", uid="Job-j", controller=True))
    stage.add(replace(known, spec=replace(known.spec, node_name=node)))
    assert found() == ("ClusterQueue/team", "", 3)
    label("high")
    assert found() == ("ClusterQueue/team", "", 7)
    label("")
    assert found() == ("ClusterQueue/team", "", 0)
    label("best")
    if not node:
        assert "WorkloadPriorityClass best does not exist" in stage.wait_of()
    stage.tell(workload_priority("best", 9))
    assert found() == ("ClusterQueue/team", "", 9)


def test_where_kueue_admits_its_priorities_do_not_count():
    stage = Stage(admission="kueue").tell(
        flavor(),
        cluster_queue("team", quotas(cpu=4)),
        local_queue("users", "team"),
        workload_priority("high", 7),
    )
    made = queued()
    labels = {**made.metadata.labels, KUEUE_PRIORITY: "high"}
    stage.add(replace(made, metadata=replace(made.metadata, labels=labels)))
    assert (stage.wait_of(), priority_of(stage)) == ("", 0)
