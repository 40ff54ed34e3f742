"""Each source over HTTP: what it brings, what it does while it is absent or fails, what it says of faults."""

from __future__ import annotations

import pytest

from poseidon.metrics_sources.options import (
    MetricsServerOptions,
    PrometheusOptions,
    PrometheusQuery,
    UtilisationOptions,
)
from poseidon.testbed.api_server.measured_use import MetricsServer, ReportOptions, node_metric_definition
from poseidon.testbed.api_server.options import ClusterOptions
from poseidon.testbed.api_server.server import SimulatedCluster
from poseidon.testbed.controllers.true_use import USAGE, TrueUse
from poseidon.testbed.objects.resources import CUSTOM_RESOURCE_DEFINITIONS
from poseidon.testbed.objects.store import decode
from poseidon.testbed.seeding import create_nodes, create_pods
from tests.poseidon.metrics_sources.objects import NOON, NOON_TEXT, Pods, resources
from tests.poseidon.metrics_sources.scene import measuring, prometheus, vector
from tests.support.cluster import pod, running_cluster
from tests.support.waiting import until

NONE = UtilisationOptions(node_metric="off")


def declare(cluster: SimulatedCluster) -> None:
    cluster.operations.create(CUSTOM_RESOURCE_DEFINITIONS, "", node_metric_definition())


def report(cluster: SimulatedCluster, name: str, cpu: str, **status: object) -> None:
    operations = cluster.operations
    resource = operations.registry.find("slo.koordinator.sh", "v1alpha1", "nodemetrics")
    assert resource is not None
    status = {"updateTime": NOON_TEXT, "nodeMetric": {"nodeUsage": resources(cpu=cpu)}, **status}
    body = {"metadata": {"name": name}, "status": status}
    known = operations.store.collection("nodemetrics.slo.koordinator.sh").get(name)
    if known is None:
        operations.create(resource, "", body, keep_status=True)
    else:
        body["metadata"]["resourceVersion"] = str(known.revision)  # type: ignore[index]  # a dict of dicts
        operations.update(resource, "", name, body, status=True)


def withdraw(cluster: SimulatedCluster, name: str) -> None:
    resource = cluster.operations.registry.find("slo.koordinator.sh", "v1alpha1", "nodemetrics")
    assert resource is not None
    cluster.operations.delete(resource, "", name)


@pytest.fixture
async def cluster():
    async with running_cluster(ClusterOptions(clock=lambda: NOON)) as cluster:
        yield cluster


class TestNodeMetric:
    async def test_it_is_followed_from_the_first_list_on(self, cluster):
        declare(cluster)
        report(cluster, "n1", "1")
        async with measuring(cluster.url, UtilisationOptions()) as scene:
            await until(lambda: scene.utilisation.has_settled)
            assert scene.cpu() == 1000, "what is there is known before anything is scheduled"
            report(cluster, "n1", "2")
            await until(lambda: scene.cpu() == 2000)
            await until(lambda: scene.calls >= 2, what="changes are announced")
            withdraw(cluster, "n1")
            await until(lambda: scene.sample() is None)

    async def test_a_definition_that_comes_later_is_picked_up_and_may_go(self, cluster):
        async with measuring(cluster.url, UtilisationOptions()) as scene:
            await until(lambda: scene.utilisation.has_settled)
            declare(cluster)
            report(cluster, "n1", "1")
            await until(lambda: scene.cpu() == 1000)
            cluster.operations.delete(CUSTOM_RESOURCE_DEFINITIONS, "", "nodemetrics.slo.koordinator.sh")
            await until(lambda: scene.sample() is None)
            declare(cluster)
            report(cluster, "n1", "3")
            await until(lambda: scene.cpu() == 3000)

    async def test_it_can_be_off(self, cluster):
        declare(cluster)
        report(cluster, "n1", "1")
        async with measuring(cluster.url, NONE) as scene:
            await until(lambda: scene.utilisation.has_settled)
            assert scene.sample() is None

    async def test_faults_are_counted_always_and_told_once_per_object(self, cluster, caplog):
        caplog.set_level("WARNING", logger="poseidon.metrics_sources")
        declare(cluster)
        for node in ("n1", "n2"):
            report(cluster, node, "-1")
        async with measuring(cluster.url, UtilisationOptions()) as scene:
            await until(lambda: scene.faults("nodeMetric", "negative") == 2)
            for count in range(3):
                report(cluster, "n1", f"-{count + 2}")
            await until(lambda: scene.faults("nodeMetric", "negative") == 5)
            assert len(caplog.records) == 2
            report(cluster, "n1", "1")
            await until(lambda: scene.cpu() == 1000)
            report(cluster, "n1", "-1")
            await until(lambda: len(caplog.records) == 3, what="it was sound in between")


class TestMetricsServer:
    OPTIONS = UtilisationOptions(
        node_metric="off", metrics_server=MetricsServerOptions(mode="auto", interval=0.01)
    )

    async def seed(self, cluster, *uses):
        store = cluster.operations.store
        await create_nodes(cluster.operations, 1, prefix="n")
        for index, use in enumerate(uses):
            body = pod(f"p{index}", nodeName="n-00000")
            body["metadata"]["annotations"] = {USAGE: f'{{"cpu": "{use}", "memory": "1Mi"}}'}
            await create_pods(cluster.operations, [body])
            collection = store.collection("pods")
            record = collection.get(f"default/p{index}")
            store.replace(collection, record, {**decode(record), "status": {"phase": "Running"}})
        return MetricsServer(TrueUse(store), ReportOptions(interval=15.0))

    async def test_it_is_polled_where_it_is_served(self, cluster):
        server = await self.seed(cluster, "100m", "200m")
        view = Pods(("n-00000",), p0="n-00000", p1="n-00000")
        async with measuring(cluster.url, self.OPTIONS, view) as scene:
            await until(lambda: scene.utilisation.has_settled)
            assert scene.sample("n-00000") is None
        cluster.serve_metrics(server)
        server.advance(NOON)
        async with measuring(cluster.url, self.OPTIONS, view) as scene:
            await until(lambda: scene.cpu("n-00000") == 300)
            sample = scene.known("n-00000")
            assert dict(zip(sample.tasks.tasks, sample.tasks.amounts[::2], strict=True)) == {
                "uid-p0": 100,
                "uid-p1": 200,
            }
            assert sample.time == NOON
            view.nodes.clear()
            cluster.serve_metrics(
                MetricsServer(TrueUse(SimulatedCluster().operations.store), ReportOptions())
            )
            await until(lambda: scene.sample("n-00000") is None, what="a node that is gone is forgotten")

    async def test_pods_can_be_left_out(self, cluster):
        server = await self.seed(cluster, "100m")
        cluster.serve_metrics(server)
        server.advance(NOON)
        options = UtilisationOptions(
            node_metric="off", metrics_server=MetricsServerOptions(mode="auto", interval=0.01, pods=False)
        )
        async with measuring(cluster.url, options, Pods(("n-00000",), p0="n-00000")) as scene:
            await until(lambda: scene.cpu("n-00000") == 100)
            assert not scene.known("n-00000").HasField("tasks")


class TestPrometheus:
    QUERIES = (
        PrometheusQuery(query="node_cpu", resource="cpu"),
        PrometheusQuery(query="node_memory", resource="memory"),
        PrometheusQuery(query="node_cpu_p95", resource="cpu", statistic="p95", window=300.0),
        PrometheusQuery(query="pod_cpu", resource="cpu", of="pods"),
    )

    def options(self, url, queries=QUERIES):
        return UtilisationOptions(
            node_metric="off", prometheus=PrometheusOptions(url=url, queries=queries, interval=0.01)
        )

    async def test_answers_are_put_together_by_node(self, cluster):
        answers = {
            "node_cpu": vector(({"node": "n1"}, "1.5004"), ({"node": "n2"}, "2"), ({"other": "x"}, "9")),
            "node_memory": vector(({"node": "n1"}, "1e9"), at=NOON - 5),
            "node_cpu_p95": vector(({"node": "n1"}, "3")),
            "pod_cpu": vector(({"namespace": "default", "pod": "a"}, "0.25"), ({"pod": "b"}, "1")),
        }
        async with (
            prometheus(answers.get) as url,
            measuring(cluster.url, self.options(url), Pods(a="n1")) as scene,
        ):
            await until(lambda: scene.cpu("n2") == 2000)
            sample = scene.known()
            assert {each.resource: each.amount for each in sample.usage} == {"cpu": 1501, "memory": 1e9}
            assert sample.time == NOON - 5, "as old as the oldest part"
            assert [(each.type, each.seconds, each.usage[0].amount) for each in sample.windows] == [
                ("p95", 300.0, 3000)
            ]
            assert sample.own_windows
            assert (list(sample.tasks.tasks), list(sample.tasks.amounts)) == (["uid-a"], [250])

    async def test_values_that_are_no_amount_are_faults(self, cluster, caplog):
        caplog.set_level("WARNING", logger="poseidon.metrics_sources")
        answers = {
            "node_cpu": vector(({"node": "n1"}, "NaN"), ({"node": "n2"}, "1")),
            "node_memory": vector(({"node": "n1"}, "-4"), ({"node": "n2"}, "+Inf")),
        }
        async with (
            prometheus(answers.get) as url,
            measuring(cluster.url, self.options(url, self.QUERIES[:2])) as scene,
        ):
            await until(lambda: scene.faults("prometheus", "nan") > 3)
            await until(lambda: scene.faults("prometheus", "negative") > 3)
            await until(lambda: scene.cpu("n2") == 1000)
            assert scene.sample("n1") is None
            assert len(caplog.records) == 2

    @pytest.mark.parametrize(
        ("bad", "complaint"),
        [
            (None, "503"),
            (b"<html>", "is not that of a query"),
            ({"status": "success", "data": {"resultType": "matrix", "result": []}}, "not an instant vector"),
            ({"status": "error", "error": "parse error"}, "parse error"),
        ],
    )
    async def test_one_that_fails_keeps_what_is_known(self, cluster, caplog, bad, complaint):
        answers = {"node_cpu": vector(({"node": "n1"}, "1"))}
        async with (
            prometheus(answers.get) as url,
            measuring(cluster.url, self.options(url, self.QUERIES[:1])) as scene,
        ):
            await until(lambda: scene.cpu() == 1000)
            answers["node_cpu"] = bad
            await until(lambda: complaint in caplog.text)
            assert scene.cpu() == 1000

    async def test_none_at_all_holds_up_nothing(self, cluster, caplog):
        async with measuring(cluster.url, self.options("http://127.0.0.1:9/below")) as scene:
            await until(lambda: scene.utilisation.has_settled)
            await until(lambda: "does not answer" in caplog.text)
