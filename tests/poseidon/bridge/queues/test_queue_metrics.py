"""Metrics of queues: who waits, who is admitted, what is used and borrowed, within a bound of names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from prometheus_client import CollectorRegistry

from poseidon.bridge.queues import queue_metrics
from poseidon.bridge.queues.queue_metrics import OTHERS, FigureKeeper, QueueCollector, QueueFigures
from poseidon.queues.known_queues import KnownQueues
from poseidon.queues.model import UNLIMITED
from poseidon.queues.statuses import QueueStatuses, WorkloadCounts
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.suspended.job_cluster import JobCluster, job
from tests.poseidon.queues.objects import cluster_queue, flavor, local_queue, quotas

QUEUES = (
    flavor(),
    cluster_queue("a", quotas(cpu=2), cohort="all"),
    cluster_queue("b", quotas(cpu=4), cohort="all"),
    local_queue("users", "a"),
)


def figures_of(cluster: JobCluster) -> QueueFigures:
    cluster.now += queue_metrics.REFRESH_SECONDS
    cluster.state.expire()
    cluster.act()
    assert cluster.state.queue_news is not None
    return cluster.state.queue_news.figures.latest


def read(found: QueueFigures) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(QueueCollector(lambda: found))
    return registry


def test_workloads_and_amounts_are_told_by_queue():
    cluster = JobCluster(cpu="8", queues=QUEUES)
    cluster.create(job("small", 3), job("large", 7))
    cluster.settle()
    registry = read(figures_of(cluster))
    queue = {"queue": "ClusterQueue/a"}
    place = {**queue, "flavor": "default", "resource": "cpu"}
    found = {
        name: registry.get_sample_value(f"poseidon_queue_{name}", labels)
        for name, labels in (
            ("pending_workloads", queue),
            ("admitted_workloads", queue),
            ("nominal", place),
            ("usage", place),
            ("borrowed", place),
        )
    }
    assert found == {
        "pending_workloads": 1,
        "admitted_workloads": 1,
        "nominal": 2,
        "usage": 3,
        "borrowed": 1,
    }


def test_figures_are_looked_up_now_and_then_only():
    cluster = JobCluster(queues=QUEUES)
    former = figures_of(cluster)
    cluster.create(job("small", 1))
    cluster.now += 1
    cluster.state.expire()
    assert cluster.state.queue_news is not None
    assert cluster.state.queue_news.figures.latest is former


def test_beyond_a_number_of_names_queues_are_counted_together(monkeypatch):
    monkeypatch.setattr(queue_metrics, "MOST_QUEUES", 1)
    found = figures_of(JobCluster(queues=QUEUES))
    assert set(found.workloads) == {"ClusterQueue/a", OTHERS}
    assert found.nominal[OTHERS, "default", "cpu"] == 4


def test_each_figure_is_of_its_own_queue_and_unit():
    found = QueueFigures(
        {"a": WorkloadCounts(1, 2), "b": WorkloadCounts(3, 4)},
        {("a", "f", "cpu"): 1.5},
        {("a", "f", "memory"): 7.0},
        {("b", "g", "cpu"): 2.0},
    )
    registry = read(found)

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"poseidon_queue_{name}", labels)

    assert [value("pending_workloads", queue=each) for each in "ab"] == [1, 3]
    assert [value("admitted_workloads", queue=each) for each in "ab"] == [2, 4]
    assert value("nominal", queue="a", flavor="f", resource="cpu") == 1.5
    assert value("usage", queue="a", flavor="f", resource="memory") == 7
    assert value("borrowed", queue="b", flavor="g", resource="cpu") == 2
    assert value("borrowed", queue="a", flavor="f", resource="cpu") is None


def test_figures_are_looked_up_again_once_they_are_old():
    cluster = JobCluster(queues=QUEUES)
    former = figures_of(cluster)
    assert cluster.state.queue_news is not None
    figures = cluster.state.queue_news.figures
    cluster.now += queue_metrics.REFRESH_SECONDS - 0.5
    figures.refresh()
    assert figures.latest is former
    cluster.now += 0.5
    figures.refresh()
    assert figures.latest is not former


def test_quotas_without_limit_are_no_figure_and_amounts_are_in_their_units():
    queues = (
        flavor(),
        cluster_queue("a", quotas(cpu="1500m", memory="2Ki")),
        local_queue("users", "a"),
    )
    found = figures_of(JobCluster(queues=queues))
    assert found.nominal == {
        ("ClusterQueue/a", "default", "cpu"): 1.5,
        ("ClusterQueue/a", "default", "memory"): 2048,
    }
    assert found.borrowed == {}


class Books:
    """Quotas, the workloads of each, and what the solver says of them."""

    def __init__(self) -> None:
        self.quotas = {
            name: SimpleNamespace(nominal={"f": {"cpu": 1500, "memory": amount}})
            for name, amount in (("c", 4), ("a", 1), ("b", UNLIMITED))
        }
        self.workloads = {"a": WorkloadCounts(1, 2), "b": WorkloadCounts(3, 4), "c": WorkloadCounts(5, 6)}
        uses = {
            "a": [("cpu", 500, -1000)],
            "b": [("cpu", 2500, 1000)],
            "c": [("cpu", 1500, 500), ("memory", 3, 1)],
        }
        self.states = {
            name: pb.QueueState(
                uses=[
                    pb.QuotaUse(flavor="f", resource=resource, used=used, borrowed=borrowed)
                    for resource, used, borrowed in found
                ]
            )
            for name, found in uses.items()
        }

    def list_references(self) -> dict[str, str]:
        return {name: name for name in self.quotas}

    def count_workloads(self, reference: str) -> WorkloadCounts:
        return self.workloads[reference]


def test_figures_of_queues_without_names_of_their_own_are_added_up(monkeypatch):
    monkeypatch.setattr(queue_metrics, "MOST_QUEUES", 1)
    books = Books()
    keeper = FigureKeeper(cast(KnownQueues, books), cast(QueueStatuses, books), lambda: 0.0)
    keeper.refresh()
    assert keeper.latest == QueueFigures(
        {"a": WorkloadCounts(1, 2), OTHERS: WorkloadCounts(8, 10)},
        {
            ("a", "f", "cpu"): 1.5,
            ("a", "f", "memory"): 1.0,
            (OTHERS, "f", "cpu"): 3.0,
            (OTHERS, "f", "memory"): 4.0,
        },
        {("a", "f", "cpu"): 0.5, (OTHERS, "f", "cpu"): 4.0, (OTHERS, "f", "memory"): 3.0},
        {("a", "f", "cpu"): 0.0, (OTHERS, "f", "cpu"): 1.5, (OTHERS, "f", "memory"): 1.0},
    )
