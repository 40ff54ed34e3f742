"""LimitRanges: they fill in what placeholders request, and keep Jobs suspended whose pods they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.bridge.suspended.limit_ranges import LimitRanges
from poseidon.bridge.suspended.resumptions import EXPLAIN_AFTER_SECONDS
from poseidon.kube.api import kinds
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.event_reasons import EventReason
from poseidon.kube.api.namespaces import LimitRange
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from tests.poseidon.bridge.suspended.job_cluster import NAMESPACE, JobCluster, job


def limit_range(name: str = "limits", namespace: str = NAMESPACE, **item: Any) -> dict:
    metadata = {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}"}
    return {"metadata": metadata, "spec": {"limits": [{"type": "Container", **item}]}}


def tell(cluster: JobCluster, each: dict, *, gone: bool = False) -> None:
    found = None if gone else convert_object(each, LimitRange)
    cluster.state.handlers[kinds.LIMIT_RANGE]([Change(each["metadata"]["uid"], found)])


def bare(name: str, pods: int, **resources: Any) -> dict:
    """A Job whose container states these resources alone."""
    return job(name, pods, containers=[{"name": "main", "resources": resources}])


def create_pods(cluster: JobCluster, name: str, resources: dict) -> None:
    """Let a Job's pods come, with what the API server has made of their resources; no round follows."""
    cluster.jobs[name]["spec"]["template"]["spec"]["containers"] = [{"name": "main", "resources": resources}]
    cluster.creates_pods = True
    cluster.control()
    cluster.act()


def said(cluster: JobCluster) -> list[str]:
    return [each.message for each in cluster.events if each.reason is EventReason.INVALID_SPEC]


def test_placeholders_request_what_a_limit_range_fills_in():
    """Eight cores are the quota: five pods that state nothing and get two cores each are too many, four are not."""
    cluster = JobCluster(cpu="16")
    tell(cluster, limit_range(default={"cpu": "2"}))
    cluster.create(bare("five", 5), bare("four", 4))
    cluster.settle()
    assert cluster.is_suspended("five")
    assert not cluster.is_suspended("four")


def test_pods_that_are_completed_take_the_places_that_are_held_for_them():
    cluster = JobCluster(cpu="16", creates_pods=False)
    tell(cluster, limit_range(default={"cpu": "2"}, defaultRequest={"cpu": "1"}))
    cluster.create(bare("a", 2))
    cluster.settle()
    assert not cluster.is_suspended("a")
    held = sorted(record.place for record in cluster.state.tasks)
    completed = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
    create_pods(cluster, "a", completed)
    assert sorted(cluster.places("a")) == held


def test_pods_with_limits_alone_take_the_places_that_are_held_for_them():
    cluster = JobCluster(creates_pods=False)
    cluster.create(bare("a", 2, limits={"cpu": "2"}))
    cluster.settle()
    held = sorted(record.place for record in cluster.state.tasks)
    assert all(held)
    completed = {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
    create_pods(cluster, "a", completed)
    assert sorted(cluster.places("a")) == held


@pytest.mark.parametrize(
    ("item", "why"),
    [
        ({"min": {"cpu": "2"}}, "minimum cpu usage per Container is 2, but request is 1"),
        ({"max": {"cpu": "500m"}}, "maximum cpu usage per Container is 500m, but request is 1"),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}, "default": {"cpu": "4"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 4",
        ),
    ],
)
def test_a_job_whose_pods_are_refused_stays_suspended_until_the_limit_range_changes(item, why):
    cluster = JobCluster()
    tell(cluster, limit_range(**item))
    cluster.create(job("a", 2))
    cluster.settle()
    assert cluster.is_suspended("a")
    assert len(cluster.state.tasks) == 0, "no place is held for it"
    [message] = said(cluster)
    assert message.startswith(f"cannot be resumed: its pods break LimitRange shop/limits: {why}")
    tell(cluster, limit_range(**item), gone=True)
    cluster.settle()
    assert not cluster.is_suspended("a")
    assert len(said(cluster)) == 1


def test_a_job_that_waits_is_looked_at_again_when_a_limit_range_comes():
    cluster = JobCluster()
    cluster.create(job("a", 9))
    cluster.settle()
    assert len(cluster.state.tasks) == 9
    tell(cluster, limit_range(max={"cpu": "500m"}))
    cluster.settle()
    assert len(cluster.state.tasks) == 0
    cluster.now += EXPLAIN_AFTER_SECONDS
    cluster.settle()
    [message] = said(cluster)
    assert message.startswith("cannot be resumed"), "why it waited before is out of date"


def test_a_job_is_not_resumed_for_places_from_before_a_limit_range():
    cluster = JobCluster()
    cluster.create(job("a", 2))
    tell(cluster, limit_range(max={"cpu": "500m"}))
    cluster.round()
    cluster.settle()
    assert cluster.is_suspended("a")
    assert not cluster.writes
    assert len(said(cluster)) == 1


def test_a_limit_range_that_says_the_same_again_changes_nothing():
    cluster = JobCluster()
    tell(cluster, limit_range(max={"cpu": "4"}))
    cluster.create(job("a", 9))
    cluster.settle()
    before = [record.task.uid for record in cluster.state.tasks]
    tell(cluster, limit_range(max={"cpu": "4"}))
    cluster.settle()
    assert [record.task.uid for record in cluster.state.tasks] == before
    tell(cluster, limit_range(max={"cpu": "5"}))
    cluster.settle()
    assert [record.task.uid for record in cluster.state.tasks] != before


def test_a_limit_range_is_for_its_namespace_alone():
    cluster = JobCluster()
    tell(cluster, limit_range(namespace="other", max={"cpu": "500m"}))
    cluster.create(job("a", 2))
    cluster.settle()
    assert not cluster.is_suspended("a")


def test_pods_of_one_template_share_their_completed_spec():
    ranges = LimitRanges()
    ranges.take_changes([Change("u", convert_object(limit_range(default={"cpu": "2"}), LimitRange))])
    pod = convert_object(
        {"metadata": {"name": "p", "namespace": NAMESPACE}, "spec": {"containers": [{}]}}, Pod
    )
    (first, second), problem = ranges.complete([pod, pod])
    assert not problem
    assert first.spec is second.spec
    assert first.spec.containers[0].resources.limits == {"cpu": "2"}


def test_a_namespace_has_a_new_version_only_if_its_limit_ranges_say_something_else():
    known = LimitRanges()
    versions = []
    first, other = (convert_object(limit_range(max={"cpu": cpu}), LimitRange) for cpu in "12")
    for found in (None, first, first, other, None, None, other):
        known.take_changes([Change("u", found)])
        versions.append(known.find_version(NAMESPACE))
    assert versions == [0, 1, 1, 2, 3, 3, 4]
    assert known.find_version("elsewhere") == 0


def test_several_limit_ranges_apply_in_the_order_of_their_names():
    known = LimitRanges()
    ranges: tuple[tuple[str, dict[str, Any]], ...] = (
        ("bb", {"defaultRequest": {"cpu": "2", "memory": "1Gi"}}),
        ("a", {"defaultRequest": {"cpu": "1"}}),
        ("c", {"max": {"memory": "1Gi"}, "defaultRequest": {"memory": "3Gi"}}),
    )
    for name, item in ranges:
        known.take_changes([Change(name, convert_object(limit_range(name, **item), LimitRange))])
    pod = convert_object(
        {"metadata": {"name": "p", "namespace": NAMESPACE}, "spec": {"containers": [{"name": "c"}]}}, Pod
    )
    [found], problem = known.complete([pod])
    assert problem == ""
    assert found.spec.containers[0].resources.requests == {"cpu": "1", "memory": "1Gi"}
