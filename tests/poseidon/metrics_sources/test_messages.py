"""Readings as messages that the solver takes."""

from __future__ import annotations

from firmament.core.events import MachineSampled
from firmament.wire.events import events_from_proto
from poseidon.metrics_sources.koordinator import reading
from poseidon.metrics_sources.metrics_server import node_reading, pod_reading
from poseidon.metrics_sources.readings import machine_sample
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.metrics_sources.objects import (
    NOON,
    Pods,
    node_metric,
    node_metrics,
    pod_metrics,
    resources,
)


def test_a_node_metric():
    metric = node_metric(
        nodeMetric={
            "nodeUsage": resources(cpu="2", memory="4Ki"),
            "systemUsage": resources(cpu="100m"),
            "aggregatedNodeUsages": [{"duration": "5m", "usage": {"p95": resources(cpu="3")}}],
        },
        podsMetric=[
            {"namespace": "default", "name": "a", "priority": "koord-prod", "podUsage": resources(cpu="1")},
            {
                "namespace": "default",
                "name": "b",
                "priority": "koord-batch",
                "podUsage": resources(memory="7"),
            },
            {"namespace": "default", "name": "elsewhere", "podUsage": resources(cpu="1")},
            {"namespace": "default", "name": "unknown", "podUsage": resources(cpu="1")},
        ],
    )
    view = Pods(a="n1", b="n1", elsewhere="n2")
    sample = machine_sample(reading(metric, NOON)[0], view.uid_of)
    assert (sample.machine, sample.time, sample.report_interval) == ("n1", NOON, 60.0)
    assert {each.resource: each.amount for each in sample.usage} == {"cpu": 2000, "memory": 4096}
    assert {each.resource: each.amount for each in sample.system} == {"cpu": 100}
    assert [(each.type, each.seconds, each.usage[0].amount) for each in sample.windows] == [
        ("p95", 300.0, 3000)
    ]
    assert sample.own_windows
    assert not sample.no_usage
    assert list(sample.tasks.tasks) == ["uid-a", "uid-b"]
    assert list(sample.tasks.resources) == ["cpu", "memory"]
    assert list(sample.tasks.amounts) == [1000, 0, 0, 7]
    assert list(sample.tasks.prod) == [True, False]
    [event] = events_from_proto([pb.Event(machine_sample=sample)])
    assert isinstance(event, MachineSampled)


def test_pods_that_a_node_metric_gives_no_class_are_not_prod():
    pods = [{"namespace": "default", "name": name, "podUsage": resources(cpu="1")} for name in ("a", "b")]
    metric = node_metric(nodeMetric={"nodeUsage": resources(cpu="2")}, podsMetric=pods)
    sample = machine_sample(reading(metric, NOON)[0], Pods(a="n1", b="n1").uid_of)
    assert list(sample.tasks.tasks) == ["uid-a", "uid-b"]
    assert list(sample.tasks.prod) == [False, False]


def test_a_node_metric_without_figures():
    sample = machine_sample(reading(node_metric(updateTime=None), NOON)[0], Pods().uid_of)
    assert sample.no_usage
    assert sample.time == 0
    assert sample.HasField("tasks")
    assert len(list(events_from_proto([pb.Event(machine_sample=sample)]))) == 1


def test_metrics_of_nodes_and_pods():
    view = Pods(a="n1")
    pod, faults = pod_reading(pod_metrics("a", {"cpu": "100m", "memory": "1Ki"}, {"cpu": "50000000n"}))
    assert faults == ()
    found, _ = node_reading(node_metrics(cpu="1", memory="1Mi"), NOON, interval=5.0, pods=(pod,))
    assert found.interval == 10.5, "the window is longer than the pause between polls"
    sample = machine_sample(found, view.uid_of)
    assert list(sample.tasks.tasks) == ["uid-a"]
    assert dict(zip(sample.tasks.resources, sample.tasks.amounts, strict=True)) == {
        "cpu": 150,
        "memory": 1024,
    }
    assert not sample.tasks.prod, "it says nothing of classes"
    assert not sample.own_windows
    found, _ = node_reading(node_metrics(cpu="1"), NOON, interval=30.0, pods=None)
    assert not machine_sample(found, view.uid_of).HasField("tasks")
