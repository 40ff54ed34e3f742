"""Metrics of queues: who waits, who is admitted, what is used and borrowed, within a bound of names."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from poseidon.bridge.queues import queue_figures
from poseidon.bridge.queues.queue_figures import OTHERS, QueueCollector, QueueFigures
from poseidon.queues.statuses import WorkloadCounts
from tests.poseidon.bridge.suspended.job_cluster import JobCluster, job
from tests.poseidon.queues.objects import cluster_queue, flavor, local_queue, quotas

QUEUES = (
    flavor(),
    cluster_queue("a", quotas(cpu=2), cohort="all"),
    cluster_queue("b", quotas(cpu=4), cohort="all"),
    local_queue("users", "a"),
)


def figures_of(cluster: JobCluster) -> QueueFigures:
    cluster.now += queue_figures.REFRESH_SECONDS
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
    monkeypatch.setattr(queue_figures, "MOST_QUEUES", 1)
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
    cluster.now += queue_figures.REFRESH_SECONDS - 0.5
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
