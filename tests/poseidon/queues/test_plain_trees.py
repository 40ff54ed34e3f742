"""Queues of Volcano and KAI, and ElasticQuotas, as trees of quotas over all nodes."""

from __future__ import annotations

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.other_projects.queues import ElasticQuota, KaiQueue, KoordinatorQuota, VolcanoQueue
from poseidon.queues.elastic_quotas import read_elastic_quotas, read_koordinator
from poseidon.queues.model import UNLIMITED
from poseidon.queues.plain_trees import ANY_NODE
from poseidon.queues.volcano import read_kai, read_volcano
from tests.poseidon.queues.objects import elastic_quota, kai_queue, volcano_queue

PREFIX = "quota.scheduling.koordinator.sh"
GPU = "nvidia.com/gpu"


def by_name(tree):
    return {quota.name: quota for quota in tree.quotas}


def volcano(*objects):
    return read_volcano([convert_object(each, VolcanoQueue) for each in objects])


def kai(*objects):
    return read_kai([convert_object(each, KaiQueue) for each in objects])


def plugins(*objects):
    return read_elastic_quotas([convert_object(each, ElasticQuota) for each in objects])


def koordinator(*objects):
    return read_koordinator([convert_object(each, KoordinatorQuota) for each in objects])


def labelled(name, labels=None, annotations=None, **spec):
    metadata = {"labels": {f"{PREFIX}/{key}": value for key, value in (labels or {}).items()}}
    metadata["annotations"] = {f"{PREFIX}/{key}": value for key, value in (annotations or {}).items()}
    return elastic_quota(name, koordinator=True, metadata=metadata, **spec)


def test_no_objects_make_no_tree():
    assert volcano().quotas == kai().quotas == plugins().quotas == koordinator().quotas == ()


def test_a_queue_of_volcano():
    tree = volcano(
        volcano_queue(
            "a",
            weight=3,
            capability={"cpu": "8"},
            deserved={"cpu": "4"},
            guarantee={"resource": {"cpu": "1", "memory": "1Gi"}},
            dequeueStrategy="fifo",
        )
    )
    quota = by_name(tree)["VolcanoQueue/a"]
    assert quota.parent == "VolcanoQueue/root"
    assert quota.nominal == {ANY_NODE: {"cpu": 4000, "memory": 2**30}}
    assert quota.limit == {ANY_NODE: {"cpu": 8000}}
    assert quota.guarantee == {ANY_NODE: {"cpu": 1000, "memory": 2**30}}
    assert (quota.weight, quota.order, quota.fair, quota.open_ended) == (3.0, "StrictFIFO", True, True)
    assert (quota.preemption.within, quota.preemption.reclaim) == ("LowerPriority", "Any")
    assert by_name(tree)["VolcanoQueue/root"].nominal == {ANY_NODE: {"cpu": UNLIMITED, "memory": UNLIMITED}}


def test_all_queues_of_a_tree_count_what_any_of_them_speaks_of():
    tree = volcano(volcano_queue("a", capability={"cpu": 1}), volcano_queue("b", capability={GPU: 1}))
    assert {quota.covered[0].resources for quota in tree.quotas} == {("cpu", GPU)}


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"weight": 0}, "spec.weight: 0 is out of range"),
        ({"capability": {"cpu": "x"}}, "spec.capability.cpu"),
        (
            {"capability": {"cpu": 1}, "deserved": {"cpu": 2}},
            "spec.deserved.cpu: is more than spec.capability",
        ),
        ({"parent": "gone"}, "its parent gone does not exist"),
        ({"parent": "a"}, "goes in a circle"),
    ],
)
def test_a_queue_of_volcano_that_makes_no_sense_stops_no_other(spec, problem):
    found = by_name(volcano(volcano_queue("a", **spec), volcano_queue("b"), volcano_queue("c", parent="a")))
    assert problem in found["VolcanoQueue/a"].problem
    assert found["VolcanoQueue/b"].problem == ""
    assert found["VolcanoQueue/c"].problem.startswith("a, above it: ") or "circle" in problem


def test_a_closed_queue_admits_nothing():
    closed = {**volcano_queue("a"), "status": {"state": "Closed"}}
    assert by_name(volcano(closed))["VolcanoQueue/a"].problem.startswith("is closed")


def test_what_volcano_and_kai_have_besides_is_named():
    ignored = volcano(volcano_queue("a", priority=7)).ignored
    assert "spec.priority" in ignored["VolcanoQueue/a"]
    assert "spec.preemptMinRuntime" in kai(kai_queue("a", preemptMinRuntime="5m")).ignored["KaiQueue/a"]


def test_a_queue_of_kai():
    def amounts(quota, limit=-1, weight=2):
        return {"quota": quota, "limit": limit, "overQuotaWeight": weight}

    resources = {"cpu": amounts(1500), "gpu": amounts(8, limit=16), "memory": amounts(-1)}
    tree = by_name(
        kai(kai_queue("dept"), kai_queue("team", parentQueue="dept", priority=100, resources=resources))
    )
    team = tree["KaiQueue/team"]
    assert team.parent == "KaiQueue/dept"
    assert tree["KaiQueue/dept"].parent == "KaiQueues/all"
    assert team.nominal == {ANY_NODE: {"cpu": 1500, GPU: 8, "memory": UNLIMITED}}
    assert team.limit == {ANY_NODE: {GPU: 16}}
    assert team.weight == 2.0


def test_a_quota_of_kai_in_megabytes():
    tree = kai(kai_queue("a", resources={"memory": {"quota": 1000}}))
    assert by_name(tree)["KaiQueue/a"].nominal[ANY_NODE]["memory"] == 10**9


def test_a_negative_quota_of_kai_is_none():
    assert (
        "or -1 for no limit"
        in by_name(kai(kai_queue("a", resources={"cpu": {"quota": -2}})))["KaiQueue/a"].problem
    )


def test_elastic_quotas_of_scheduler_plugins_share_what_they_are_due():
    tree = plugins(
        elastic_quota("q", "a", min={"cpu": 2}, max={"cpu": 4}), elastic_quota("q", "b", min={"cpu": 1})
    )
    found = by_name(tree)
    assert found["ElasticQuota/a/q"].nominal == {ANY_NODE: {"cpu": 2000}}
    assert found["ElasticQuota/a/q"].limit == {ANY_NODE: {"cpu": 4000}}
    assert found["ElasticQuota/b/q"].limit == {}
    assert {quota.parent for quota in found.values()} == {"ElasticQuotas/all", ""}
    assert found["ElasticQuotas/all"].nominal == {}, "together they have no more than what each is due"
    assert not found["ElasticQuota/a/q"].open_ended


def test_the_first_elastic_quota_of_a_namespace_counts():
    found = by_name(plugins(elastic_quota("b", min={"cpu": 2}), elastic_quota("a", min={"cpu": 1})))
    assert found["ElasticQuota/shop/a"].problem == ""
    assert "ElasticQuota a counts" in found["ElasticQuota/shop/b"].problem
    assert found["ElasticQuota/shop/b"].nominal == {}


def test_elastic_quotas_of_koordinator_are_trees():
    found = by_name(
        koordinator(
            labelled("dept", {"is-parent": "true"}, min={"cpu": 8}, max={"cpu": 20}),
            labelled("team", {"parent": "dept", "allow-lent-resource": "false"}, min={"cpu": 4}),
            labelled("other", {"tree-id": "t2"}, max={"cpu": 3}, min={"cpu": 1}),
        )
    )
    assert found["KoordinatorQuota/dept"].parent == "KoordinatorQuota/koordinator-root-quota"
    assert found["KoordinatorQuota/team"].parent == "KoordinatorQuota/dept"
    assert found["KoordinatorQuota/team"].lending == {ANY_NODE: {"cpu": 0}}
    assert found["KoordinatorQuota/other"].parent == "KoordinatorQuota/t2/koordinator-root-quota"
    assert found["KoordinatorQuota/dept"].lending == {}
    assert found["KoordinatorQuota/dept"].weight == 20.0, "the maximum is the share by default"


def test_a_share_of_koordinator_that_cannot_be_read():
    found = by_name(koordinator(labelled("a", annotations={"shared-weight": "[1"}, min={"cpu": 1})))
    assert "no map of amounts" in found["KoordinatorQuota/a"].problem
    found = by_name(
        koordinator(labelled("a", annotations={"shared-weight": '{"cpu": "40"}'}, min={"cpu": 1}))
    )
    assert found["KoordinatorQuota/a"].weight == 40.0
