"""Measured use from lists of objects: whose use is known, at which precedence, and which faults are told."""

from __future__ import annotations

from poseidon.kube.api.metadata import KubeStruct
from poseidon.metrics_sources.listed import take_listed
from poseidon.metrics_sources.samples import METRICS_SERVER, NODE_METRIC, LatestSamples
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import node
from tests.poseidon.metrics_sources.objects import (
    NOON,
    Pods,
    node_metric,
    node_metrics,
    pod_metrics,
    resources,
)


def take(*objects: KubeStruct, **pods: str) -> tuple[LatestSamples, list[str]]:
    book = LatestSamples((NODE_METRIC, METRICS_SERVER))
    return book, list(take_listed(objects, book, Pods(("n1", "n2"), **pods), NOON))


def sample_of(book: LatestSamples) -> pb.MachineSample:
    found = book.sample("n1")
    assert found is not None
    return found


def test_use_of_nodes_and_of_their_pods():
    book, faults = take(
        node("n1"), pod_metrics("a", {"cpu": "1"}), node_metrics(cpu="2"), pod_metrics("b", {"cpu": "3"}),
        a="n1", b="n2",
    )  # fmt: skip
    assert faults == []
    assert (book.nodes_of(NODE_METRIC), book.nodes_of(METRICS_SERVER)) == (set(), {"n1"})
    found = sample_of(book)
    assert [(each.resource, each.amount) for each in found.usage] == [("cpu", 2000)]
    assert (list(found.tasks.amounts), found.HasField("tasks")) == ([1000], True)


def test_without_metrics_of_pods_their_use_is_unknown():
    book, _ = take(node_metrics(cpu="2"), a="n1")
    assert not sample_of(book).HasField("tasks")
    book, _ = take(node_metrics(cpu="2"), pod_metrics("stray", {"cpu": "1"}), a="n1")
    found = sample_of(book)
    assert (found.HasField("tasks"), list(found.tasks.tasks)) == (True, [])


def test_faults_name_the_objects_and_each_source_has_its_book():
    book, faults = take(
        node_metrics(cpu="much"),
        node_metric("n2", nodeMetric={"nodeUsage": resources(cpu="x")}),
        pod_metrics("a", {"cpu": "y"}),
        pod_metrics("b", {"cpu": "y"}),
        a="n1",
    )
    assert [each.partition(":")[0] for each in faults] == [
        "PodMetrics default/a",
        "NodeMetrics n1",
        "NodeMetric n2",
    ]
    assert (book.nodes_of(NODE_METRIC), book.nodes_of(METRICS_SERVER)) == ({"n2"}, {"n1"})
