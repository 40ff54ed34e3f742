"""Answers of Prometheus to several queries become readings of nodes; options that make no sense are refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from poseidon.kube.api.other_projects.metrics import QueryData, Series
from poseidon.kube.client.errors import SettingsError
from poseidon.metrics_sources.options import PrometheusOptions, PrometheusQuery
from poseidon.metrics_sources.prometheus import Gathering, connection
from poseidon.metrics_sources.readings import NodeReading, PodReading, Window

CPU = PrometheusQuery(query="cpu", resource="cpu")
MEMORY = PrometheusQuery(query="memory", resource="memory")
OF_PODS = PrometheusQuery(query="pods", resource="cpu", of="pods")
P95 = PrometheusQuery(query="p95", resource="cpu", statistic="p95", window=300.0)


def options(*queries: PrometheusQuery, **more: Any) -> PrometheusOptions:
    return PrometheusOptions(url="http://prometheus:9090/", queries=queries or (CPU,), **more)


def answer(*elements: tuple[dict[str, str], float, str]) -> QueryData:
    return QueryData("vector", tuple(Series(labels, (time, value)) for labels, time, value in elements))


def gather(*queries: PrometheusQuery, **more: Any) -> Gathering:
    places = {("shop", "a"): "n1", ("shop", "b"): "n1", ("shop", "c"): "n2"}
    return Gathering(options(*queries, **more), lambda namespace, name: places.get((namespace, name), ""))


def readings(found: Gathering) -> dict[str, NodeReading]:
    return {each.node: each for each in found.readings()}


def test_use_is_in_millicores_and_whole_units_rounded_up():
    found = gather(CPU, MEMORY)
    found.add(CPU, answer(({"node": "n1"}, 100.0, "0.2501"), ({"node": "n2"}, 90.0, "2")))
    found.add(MEMORY, answer(({"node": "n1"}, 80.0, "5.5"), ({"node": "n2"}, 95.0, "1.00000001")))
    known = readings(found)
    assert known["n1"].usage == {"cpu": 251, "memory": 6}
    assert known["n2"].usage == {"cpu": 2000, "memory": 1}
    assert [known[name].time for name in ("n1", "n2")] == [80.0, 90.0], "that of the oldest part"
    assert (known["n1"].interval, known["n1"].aggregates, known["n1"].pods) == (30.0, False, None)


def test_statistics_are_by_window_and_only_of_nodes_whose_use_is_known():
    found = gather(CPU, P95, interval=7.0)
    found.add(CPU, answer(({"node": "n1"}, 100.0, "1")))
    found.add(P95, answer(({"node": "n1"}, 10.0, "3"), ({"node": "n2"}, 10.0, "4")))
    known = readings(found)
    assert known.keys() == {"n1"}
    assert known["n1"].windows == (Window("p95", 300.0, {"cpu": 3000}),)
    assert (known["n1"].time, known["n1"].interval, known["n1"].aggregates) == (100.0, 7.0, True)


def of_pod(name: str, namespace: str = "shop") -> dict[str, str]:
    return {"namespace": namespace, "pod": name}


def test_use_of_pods_is_with_their_nodes():
    found = gather(CPU, OF_PODS)
    found.add(CPU, answer(({"node": "n1"}, 100.0, "1"), ({"node": "n3"}, 100.0, "1")))
    pods = [
        (of_pod("a"), 99.0, "0.5"),
        (of_pod("c"), 99.0, "1"),
        (of_pod("x"), 99.0, "1"),
        (of_pod("", "shop"), 9.0, "1"),
    ]
    found.add(OF_PODS, answer(*pods))
    known = readings(found)
    assert known["n1"].pods == (PodReading("shop", "a", {"cpu": 500}),)
    assert known["n3"].pods == ()


def test_labels_have_the_names_that_are_configured():
    found = gather(CPU, OF_PODS, node_label="instance", namespace_label="ns", pod_label="name")
    found.add(CPU, answer(({"instance": "n1"}, 1.0, "1"), ({"node": "n2"}, 1.0, "1")))
    found.add(OF_PODS, answer(({"ns": "shop", "name": "b"}, 1.0, "1")))
    known = readings(found)
    assert known.keys() == {"n1"}
    assert known["n1"].pods == (PodReading("shop", "b", {"cpu": 1000}),)


@pytest.mark.parametrize(
    ("time", "value", "kind"),
    [
        (1.0, "NaN", "nan"),
        (1.0, "x", "nan"),
        (1.0, "-0.1", "negative"),
        (1.0, "+Inf", "quantity"),
        (1.0, "1e30", "quantity"),
        (-1.0, "1", "quantity"),
        (float("inf"), "1", "quantity"),
        (0.0, "0", ""),
    ],
)
def test_what_is_no_amount_is_a_fault_and_left_out(time, value, kind):
    found = gather(CPU)
    found.add(CPU, answer(({"node": "n1"}, time, value), ({"node": "n2"}, 1.0, "1")))
    assert readings(found).keys() == ({"n2"} if kind else {"n1", "n2"})
    faults = found.faults.get("n1", [])
    assert [(each.kind, each.field) for each in faults] == ([(kind, "cpu")] if kind else [])
    assert all(
        each.problem == f"the query answers {value!r}, which is no amount; it is left out" for each in faults
    )


def test_elements_without_a_value_or_a_node_say_nothing():
    found = gather(CPU, P95)
    found.add(CPU, QueryData("vector", (Series({"node": "n1"}, None),)))
    found.add(CPU, answer(({}, 1.0, "NaN")))
    found.add(P95, answer(({"node": "n1"}, 1.0, "NaN")))
    assert readings(found) == {}
    assert [each.field for each in found.faults["n1"]] == ["cpu p95"]
    assert found.faults.keys() == {"n1"}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PrometheusQuery(query="q", resource="cpu", statistic="p95"), "give both or neither"),
        (lambda: PrometheusQuery(query="q", resource="cpu", window=5.0), "give both or neither"),
        (
            lambda: PrometheusQuery(query="q", resource="cpu", of="pods", statistic="p95", window=5.0),
            "statistics are read of nodes only",
        ),
        (lambda: options(P95), "no query asks for the present use of nodes"),
        (lambda: options(OF_PODS), "no query asks for the present use of nodes"),
    ],
)
def test_queries_that_make_no_sense_are_refused(make, words):
    with pytest.raises(ValidationError, match=words):
        make()


def test_a_connection_has_a_token_and_certificates_if_named(tmp_path):
    found = connection(options())
    assert (found.server, found.tls, found.credentials) == ("http://prometheus:9090", None, None)
    token = tmp_path / "token"
    token.write_text("secret\n")
    assert connection(options(token_file=str(token))).credentials is not None
    secure: Any = {"url": "https://prometheus", "queries": (CPU,)}
    assert connection(PrometheusOptions(**secure)).tls is not None
    with pytest.raises(SettingsError, match=r"utilisation\.prometheus\.caFile: /none: cannot be used: "):
        connection(PrometheusOptions(**secure, ca_file="/none"))
