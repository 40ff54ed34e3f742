"""What pods really use, and how koordlets and metrics-server report it: late, in part, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poseidon.testbed.api_server.measured_use import METRICS, KoordletSimulation, MetricsServer, ReportOptions
from poseidon.testbed.api_server.operations import Operations
from poseidon.testbed.api_server.server import SimulatedCluster
from poseidon.testbed.controllers.controller_loop import Follower
from poseidon.testbed.controllers.kubelet import KubeletSimulation
from poseidon.testbed.controllers.true_use import NOISE_PERIOD, USAGE, TrueUse, Use
from poseidon.testbed.objects.resources import NODES, PODS
from poseidon.testbed.objects.store import Store, decode
from poseidon.testbed.seeding import NodeShape, node
from tests.poseidon.testbed.conftest import NOON, JsonClient, new_operations
from tests.support.cluster import pod

MIB = 2**20


def use_of(**usage: Any) -> dict[str, str]:
    return {USAGE: json.dumps(usage)}


def add(operations: Operations, name: str, on: str = "n1", *, annotations: Any = None, **more: Any) -> None:
    """Create a pod on a node, and let it run."""
    body = pod(name, nodeName=on, **more)
    body["metadata"]["annotations"] = annotations or {}
    operations.create(PODS, "default", body)
    KubeletSimulation(operations.store).advance(0.0)


def cluster_of(*names: str, own: Any = None) -> Operations:
    operations = new_operations()
    for name in names:
        body = node(name, NodeShape())
        if own:
            body["metadata"]["annotations"] = use_of(**own)
        operations.create(NODES, "", body)
    return operations


def reports(store: Store) -> dict[str, Any]:
    collection = store.collection("nodemetrics.slo.koordinator.sh")
    view = collection.view(store.revision)
    return {key: decode(record) for key in view.keys if (record := view.get(key)) is not None}


class TestTrueUse:
    def test_a_pod_uses_what_it_says_and_what_it_requests_otherwise(self):
        operations = cluster_of("n1", own={"cpu": "1", "memory": "1Gi"})
        add(operations, "said", annotations=use_of(cpu="300m", memory="5Mi"))
        add(operations, "share", cpu="200m", annotations=use_of(cpu="50%"))
        add(operations, "silent", cpu="100m")
        add(operations, "unreadable", cpu="100m", annotations={USAGE: "{"})
        use = TrueUse(operations.store)
        use.refresh()
        found = {each.name: each.use_at(NOON) for each in use.pods_on("n1")}
        assert found == {
            "said": Use(300, 5 * MIB),
            "share": Use(100, 0),
            "silent": Use(100, 0),
            "unreadable": Use(100, 0),
        }
        assert use.of_node("n1", NOON) == Use(1600, 2**30 + 5 * MIB)

    def test_only_running_pods_use_anything(self):
        operations = cluster_of("n1")
        use = TrueUse(operations.store)
        operations.create(PODS, "default", pod("bound", nodeName="n1", cpu="1"))
        operations.create(PODS, "default", pod("waiting", cpu="1"))
        use.refresh()
        assert use.of_node("n1", NOON) == Use()
        KubeletSimulation(operations.store).advance(0.0)
        use.refresh()
        assert use.of_node("n1", NOON) == Use(1000, 0)
        operations.delete(PODS, "default", "bound")
        use.refresh()
        assert use.of_node("n1", NOON) == Use()

    @given(st.floats(0, 1), st.integers(0, 10**6))
    def test_noise_stays_within_its_share_and_is_the_same_every_time(self, noise, period):
        operations = cluster_of("n1")
        add(operations, "p", annotations=use_of(cpu="1", noise=noise))
        use = TrueUse(operations.store)
        use.refresh()
        [running] = use.pods_on("n1")
        time = period * NOISE_PERIOD
        found = running.use_at(time).cpu
        assert abs(found - 1000) <= 1000 * noise + 1
        assert found == running.use_at(time + NOISE_PERIOD - 1).cpu

    def test_noise_averages_out(self):
        operations = cluster_of("n1")
        add(operations, "p", annotations=use_of(cpu="1", noise=0.5))
        use = TrueUse(operations.store)
        use.refresh()
        [running] = use.pods_on("n1")
        drawn = [running.use_at(period * NOISE_PERIOD).cpu for period in range(2000)]
        assert abs(sum(drawn) / len(drawn) - 1000) < 30
        assert max(drawn) - min(drawn) > 900

    def test_pods_that_name_the_same_wander_alike(self):
        operations = cluster_of("n1")
        for name, together in {"a": "x", "b": "x", "c": "y", "d": "", "e": ""}.items():
            add(operations, name, annotations=use_of(cpu="1", noise=0.5, together=together))
        use = TrueUse(operations.store)
        use.refresh()
        found = {each.name: each.use_at(NOON).cpu for each in use.pods_on("n1")}
        assert found["a"] == found["b"]
        assert len(set(found.values())) == 4

    @pytest.mark.parametrize(
        ("labels", "requests", "priority"),
        [
            ({}, {"cpu": "1"}, "koord-prod"),
            ({}, {}, "koord-batch"),
            ({"koordinator.sh/qosClass": "BE"}, {"cpu": "1"}, "koord-batch"),
            ({"koordinator.sh/priority-class": "koord-mid"}, {"cpu": "1"}, "koord-mid"),
            ({"koordinator.sh/priority-class": "gold"}, {"cpu": "1"}, "koord-prod"),
        ],
    )
    def test_classes(self, labels, requests, priority):
        operations = cluster_of("n1")
        body = pod("p", nodeName="n1")
        body["metadata"]["labels"] = labels
        body["spec"]["containers"][0]["resources"] = {"requests": requests}
        operations.create(PODS, "default", body)
        KubeletSimulation(operations.store).advance(0.0)
        use = TrueUse(operations.store)
        use.refresh()
        assert [each.priority for each in use.pods_on("n1")] == [priority]

    def test_it_finds_its_way_after_more_changes_than_are_remembered(self):
        operations = Operations(Store(clock=lambda: NOON, history_limit=10, seed=1))
        operations.create(NODES, "", node("n1", NodeShape()))
        use = TrueUse(operations.store)
        add(operations, "gone", cpu="1")
        use.refresh()
        operations.delete(PODS, "default", "gone")
        for index in range(30):
            add(operations, f"p{index}", cpu="10m")
        use.refresh()
        assert use.of_node("n1", NOON) == Use(300, 0)


def test_a_follower_tells_each_change_once():
    operations = new_operations()
    follower = Follower(operations.store.collection("nodes"))
    operations.create(NODES, "", node("n1", NodeShape()))
    anew, changes = follower.take_changes()
    assert (anew, [(gone, record.name) for gone, record in changes]) == (False, [(False, "n1")])
    operations.delete(NODES, "", "n1")
    assert [gone for gone, _ in follower.take_changes()[1]] == [True]
    assert follower.take_changes() == (False, [])


class TestKoordlets:
    def test_reports_come_at_intervals_and_late(self):
        operations = cluster_of("n1", own={"cpu": "1"})
        add(operations, "p", annotations=use_of(cpu="500m", memory="1Mi"))
        koordlets = KoordletSimulation(
            operations, TrueUse(operations.store), ReportOptions(interval=60.0, lag=30.0)
        )
        assert koordlets.advance(NOON) == NOON + 30
        assert reports(operations.store) == {}
        add(operations, "q", annotations=use_of(cpu="1"))
        assert koordlets.advance(NOON + 30) == NOON + 60
        [report] = reports(operations.store).values()
        assert report["spec"]["metricCollectPolicy"] == {"reportIntervalSeconds": 60}
        assert report["status"]["updateTime"] == "2026-01-01T12:00:00.000Z"
        measured = report["status"]["nodeMetric"]
        assert measured["nodeUsage"]["resources"] == {"cpu": "1500m", "memory": str(MIB)}
        assert measured["systemUsage"]["resources"]["cpu"] == "1000m"
        [entry] = report["status"]["podsMetric"]
        assert (entry["name"], entry["podUsage"]["resources"]["cpu"]) == ("p", "500m")
        koordlets.advance(NOON + 100)
        [report] = reports(operations.store).values()
        assert report["status"]["nodeMetric"]["nodeUsage"]["resources"]["cpu"] == "2500m"

    def test_nodes_report_at_moments_of_their_own(self):
        operations = cluster_of("n1", "n2", "n3")
        koordlets = KoordletSimulation(operations, TrueUse(operations.store), ReportOptions(interval=60.0))
        assert koordlets.advance(NOON) == NOON + 20
        assert set(reports(operations.store)) == {"n1"}
        koordlets.advance(NOON + 40)
        assert set(reports(operations.store)) == {"n1", "n2", "n3"}

    def test_some_never_report_and_some_only_once(self):
        operations = cluster_of("n1", "n2", "n3")
        options = ReportOptions(interval=10.0, missing=frozenset({"n1"}), stale=frozenset({"n2"}))
        koordlets = KoordletSimulation(operations, TrueUse(operations.store), options)
        for step in range(5):
            koordlets.advance(NOON + 10 * step)
        times = {name: report["status"]["updateTime"] for name, report in reports(operations.store).items()}
        assert set(times) == {"n2", "n3"}
        assert times["n2"] < times["n3"]

    def test_a_report_goes_with_its_node(self):
        operations = cluster_of("n1")
        koordlets = KoordletSimulation(operations, TrueUse(operations.store))
        koordlets.advance(NOON)
        operations.delete(NODES, "", "n1")
        assert koordlets.advance(NOON + 60) is None
        assert reports(operations.store) == {}

    def test_bad_options_are_refused(self):
        with pytest.raises(ValueError, match="interval 0 must be positive"):
            ReportOptions(interval=0)


class TestMetricsServer:
    PATH = "/apis/metrics.k8s.io/v1beta1"

    @pytest.fixture
    def server(self, cluster: SimulatedCluster) -> MetricsServer:
        operations = cluster.operations
        for name in ("n1", "n2"):
            operations.create(NODES, "", node(name, NodeShape()))
        add(operations, "p", annotations=use_of(cpu="1500u", memory="1500"))
        server = MetricsServer(TrueUse(operations.store), ReportOptions(interval=15.0, lag=5.0))
        cluster.serve_metrics(server)
        return server

    async def test_it_serves_its_last_scrape(self, api: JsonClient, server: MetricsServer):
        assert server.advance(NOON) == NOON + 5
        _, empty = await api.call("GET", f"{self.PATH}/nodes")
        assert empty["items"] == []
        assert server.advance(NOON + 5) == NOON + 15
        _, listed = await api.call("GET", f"{self.PATH}/nodes")
        assert (listed["kind"], len(listed["items"])) == ("NodeMetricsList", 2)
        status, found = await api.call("GET", f"{self.PATH}/namespaces/default/pods/p")
        assert status == 200
        assert found["containers"][0]["usage"] == {"cpu": "2000000n", "memory": "2Ki"}
        assert found["timestamp"] == "2026-01-01T12:00:00Z"
        _, everywhere = await api.call("GET", f"{self.PATH}/pods")
        assert everywhere["items"] == [{key: found[key] for key in everywhere["items"][0]}]
        _, elsewhere = await api.call("GET", f"{self.PATH}/namespaces/kube-system/pods")
        assert elsewhere["items"] == []
        assert (await api.call("GET", f"{self.PATH}/nodes/n9"))[0] == 404

    async def test_it_can_be_discovered_and_neither_written_nor_watched(
        self, api: JsonClient, server: MetricsServer
    ):
        _, groups = await api.call("GET", "/apis")
        assert "metrics.k8s.io" in [group["name"] for group in groups["groups"]]
        assert (await api.call("GET", "/apis/metrics.k8s.io"))[1]["kind"] == "APIGroup"
        _, resources = await api.call("GET", self.PATH)
        assert {each["name"]: each["verbs"] for each in resources["resources"]} == {
            "nodes": ["get", "list"],
            "pods": ["get", "list"],
        }
        assert (await api.call("POST", f"{self.PATH}/nodes", {}))[0] == 405
        assert (await api.call("GET", f"{self.PATH}/nodes?watch=true"))[0] == 405
        assert (await api.call("GET", f"{self.PATH}/others"))[0] == 404

    async def test_it_is_not_there_unless_asked_for(self, api: JsonClient):
        assert (await api.call("GET", f"{self.PATH}/nodes"))[0] == 404
        _, groups = await api.call("GET", "/apis")
        assert "metrics.k8s.io" not in [group["name"] for group in groups["groups"]]

    def test_missing_and_stale_nodes(self):
        operations = cluster_of("n1", "n2", "n3")
        options = ReportOptions(interval=10.0, missing=frozenset({"n1"}), stale=frozenset({"n2"}))
        server = MetricsServer(TrueUse(operations.store), options)
        from poseidon.testbed.api_server.requests import parse_path

        for step in range(3):
            server.advance(NOON + 10 * step)
        target = parse_path(f"{self.PATH}/nodes")
        assert target is not None
        items = json.loads(server.answer("GET", METRICS[0], target))["items"]
        assert {item["metadata"]["name"]: item["timestamp"] for item in items} == {
            "n2": "2026-01-01T12:00:00Z",
            "n3": "2026-01-01T12:00:20Z",
        }
