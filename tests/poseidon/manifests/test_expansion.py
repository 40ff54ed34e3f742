"""Which pods workloads still have to create."""

from __future__ import annotations

import pytest

from poseidon.pods.tasks import job_id
from tests.poseidon.manifests.objects import node, owner, pod, workload


@pytest.fixture
def created(load):
    """Return the names of the pods that are not in the input, in order."""

    def names(*objects):
        given = {each["metadata"]["name"] for each in objects if each["kind"] == "Pod"}
        return [each.metadata.name for each in load(*objects).pods if each.metadata.name not in given]

    return names


def test_every_replica_is_created_with_the_templates_labels(load):
    found = load(workload("Deployment", "web", replicas=2, template={"schedulerName": "poseidon"})).pods
    assert [(each.metadata.namespace, each.metadata.name) for each in found] == [
        ("shop", "web-0"),
        ("shop", "web-1"),
    ]
    assert {each.metadata.uid for each in found} == {"shop/web-0", "shop/web-1"}
    assert found[0].metadata.labels == {"app": "web"}
    assert found[0].spec.scheduler_name == "poseidon"
    assert {job_id(each.metadata) for each in found} == {"Owner/shop/Deployment/web"}


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "Job"])
def test_one_replica_by_default(created, kind):
    assert created(workload(kind, "web")) == ["web-0"]


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
def test_none_when_scaled_to_zero_or_being_deleted(created, kind):
    assert created(workload(kind, "web", replicas=0)) == []
    dying = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert created(workload(kind, "web", replicas=2, metadata=dying)) == []


def test_owned_pods_are_not_created_again(created):
    running = pod("web-x", owners=owner("ReplicaSet", "web"))
    assert created(workload("ReplicaSet", "web", replicas=3), running) == ["web-0", "web-1"]


def test_pods_of_another_workload_do_not_count(created):
    other = pod("web-x", owners=owner("ReplicaSet", "other"))
    elsewhere = pod("web-y", owners=owner("ReplicaSet", "web"))
    elsewhere["metadata"]["namespace"] = "default"
    assert created(workload("ReplicaSet", "web"), other, elsewhere) == ["web-0"]


def test_an_owner_of_the_same_name_but_another_uid_does_not_count(created):
    running = pod("web-x", owners=owner("ReplicaSet", "web", "old"))
    assert created(workload("ReplicaSet", "web", metadata={"uid": "new"}), running) == ["web-0"]
    assert created(workload("ReplicaSet", "web", metadata={"uid": "old"}), running) == []


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_pods_that_have_ended_are_replaced(created, phase):
    ended = pod("web-x", owners=owner("ReplicaSet", "web"), phase=phase)
    assert created(workload("ReplicaSet", "web"), ended) == ["web-0"]


def test_names_that_are_taken_are_skipped(created):
    bare = pod("web-0")
    assert created(workload("ReplicaSet", "web", replicas=2), bare) == ["web-1", "web-2"]


class TestDeployment:
    def test_a_dump_with_replica_sets_and_pods_creates_nothing(self, created):
        objects = [
            workload("Deployment", "web", replicas=2),
            workload(
                "ReplicaSet", "web-5d8", replicas=2, metadata={"ownerReferences": owner("Deployment", "web")}
            ),
            pod("web-5d8-a", owners=owner("ReplicaSet", "web-5d8")),
            pod("web-5d8-b", owners=owner("ReplicaSet", "web-5d8")),
        ]
        assert created(*objects) == []
        assert created(*objects[:3]) == ["web-5d8-0"]
        assert created(*objects[:2]) == ["web-5d8-0", "web-5d8-1"]

    def test_it_tops_up_what_its_replica_sets_lack(self, created):
        old = workload(
            "ReplicaSet", "web-1", replicas=0, metadata={"ownerReferences": owner("Deployment", "web")}
        )
        new = workload(
            "ReplicaSet", "web-2", replicas=1, metadata={"ownerReferences": owner("Deployment", "web")}
        )
        assert sorted(created(workload("Deployment", "web", replicas=3), old, new)) == [
            "web-0",
            "web-1",
            "web-2-0",
        ]

    def test_pods_count_although_their_replica_set_is_not_in_the_input(self, created):
        running = pod("web-5d8-a", owners=owner("ReplicaSet", "web-5d8"), labels={"pod-template-hash": "5d8"})
        assert created(workload("Deployment", "web", replicas=2), running) == ["web-0"]

    def test_a_similar_name_is_not_enough(self, created):
        running = pod(
            "web-api-7", owners=owner("ReplicaSet", "web-api-7f"), labels={"pod-template-hash": "7f"}
        )
        assert created(workload("Deployment", "web"), running) == ["web-0"]


class TestStatefulSet:
    def test_missing_ordinals_are_created(self, created):
        running = pod("db-1", owners=owner("StatefulSet", "db"))
        assert created(workload("StatefulSet", "db", replicas=3), running) == ["db-0", "db-2"]

    def test_ordinals_may_start_elsewhere(self, created):
        assert created(workload("StatefulSet", "db", replicas=2, ordinals={"start": 5})) == ["db-5", "db-6"]

    def test_a_dying_pod_keeps_its_name_and_an_ended_one_does_not(self, load):
        dying = pod("db-0", owners=owner("StatefulSet", "db"))
        dying["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        ended = pod("db-1", owners=owner("StatefulSet", "db"), phase="Failed", nodeName="n1")
        found = load(workload("StatefulSet", "db", replicas=2), dying, ended).pods
        assert [each.metadata.name for each in found] == ["db-0", "db-1"]
        assert found[1].spec.node_name == ""

    def test_its_names_win_over_those_of_other_workloads(self, load):
        found = load(workload("Deployment", "db"), workload("StatefulSet", "db")).pods
        assert sorted((each.metadata.name, job_id(each.metadata)) for each in found) == [
            ("db-0", "Owner/shop/StatefulSet/db"),
            ("db-1", "Owner/shop/Deployment/db"),
        ]


class TestJob:
    @pytest.mark.parametrize(
        ("spec", "status", "count"),
        [
            ({"parallelism": 3, "completions": 10}, {}, 3),
            ({"parallelism": 3, "completions": 10}, {"succeeded": 8}, 2),
            ({"parallelism": 3, "completions": 10}, {"succeeded": 10}, 0),
            ({"completions": 4}, {}, 1),
            ({"parallelism": 4}, {}, 4),
            ({"parallelism": 4}, {"succeeded": 1}, 0),
            ({"parallelism": 0}, {}, 0),
            ({"parallelism": 2, "completions": 2, "suspend": True}, {}, 0),
            ({"parallelism": 2}, {"conditions": [{"type": "Failed", "status": "True"}]}, 0),
            ({}, {"succeeded": 1}, 0),
        ],
    )
    def test_parallelism_and_completions(self, created, spec, status, count):
        assert created(workload("Job", "sum", status=status, **spec)) == [
            f"sum-{index}" for index in range(count)
        ]

    def test_pods_in_the_input_count_as_active_or_succeeded(self, created):
        mine = owner("Job", "sum")
        objects = [pod("sum-a", owners=mine), pod("sum-b", owners=mine, phase="Succeeded")]
        assert created(workload("Job", "sum", parallelism=5, completions=4), *objects) == ["sum-0", "sum-1"]


class TestDaemonSet:
    def pinned(self, load, *objects):
        found = [each for each in load(*objects).pods if each.spec.affinity]
        terms = [each.spec.affinity.node_affinity.required.node_selector_terms for each in found]
        return {
            each.metadata.name: term[0].match_fields[0].values[0]
            for each, term in zip(found, terms, strict=True)
        }

    def test_one_pod_per_eligible_node(self, load):
        nodes = [
            node("b"),
            node(
                "a",
                unschedulable=True,
                taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
            ),
            node("c", taints=[{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]),
            node("d", taints=[{"key": "soft", "effect": "PreferNoSchedule"}]),
        ]
        assert self.pinned(load, workload("DaemonSet", "agent"), *nodes) == {
            "agent-0": "a",
            "agent-1": "b",
            "agent-2": "d",
        }

    def test_selectors_and_affinity_choose_nodes_and_affinity_is_replaced(self, load):
        term = {"matchExpressions": [{"key": "rank", "operator": "Gt", "values": ["1"]}]}
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        template = {"nodeSelector": {"disk": "ssd"}, "affinity": {"nodeAffinity": rule}}
        nodes = [
            node("a", labels={"disk": "ssd", "rank": "2"}),
            node("b", labels={"disk": "ssd", "rank": "1"}),
            node("c", labels={"rank": "3"}),
        ]
        loaded = load(workload("DaemonSet", "agent", template=template), *nodes)
        (found,) = loaded.pods
        assert found.spec.node_selector == {"disk": "ssd"}
        (term,) = found.spec.affinity.node_affinity.required.node_selector_terms
        assert (term.match_expressions, term.match_fields[0].values) == ((), ("a",))

    def test_nodes_that_are_served_get_no_second_pod(self, load):
        mine = owner("DaemonSet", "agent")
        waiting = {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}
                    ]
                }
            }
        }
        objects = [
            pod("agent-x", owners=mine, nodeName="a"),
            pod("agent-y", owners=mine, affinity=waiting, phase="Pending"),
            pod("agent-z", owners=mine, nodeName="c", phase="Failed"),
        ]
        nodes = [node("a"), node("b"), node("c")]
        assert self.pinned(load, workload("DaemonSet", "agent"), *nodes, *objects)["agent-0"] == "c"

    def test_host_network_tolerates_an_unavailable_network(self, load):
        tainted = node(
            "a", taints=[{"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}]
        )
        assert load(workload("DaemonSet", "agent"), tainted).pods == ()
        assert len(load(workload("DaemonSet", "agent", template={"hostNetwork": True}), tainted).pods) == 1


def test_pods_of_a_template_that_names_a_node_are_there_from_the_start(load):
    loaded = load(workload("Deployment", "web", template={"nodeName": "n1"}), pod("bare", nodeName="n2"))
    assert {each.metadata.name: each.spec.node_name for each in loaded.pods} == {"web-0": "n1", "bare": "n2"}
