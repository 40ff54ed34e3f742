"""NodeMetric objects, sound and bad, as readings."""

from __future__ import annotations

import pytest

from poseidon.metrics_sources.koordinator import reading
from poseidon.metrics_sources.readings import PodReading, Window
from tests.poseidon.metrics_sources.objects import NOON, node_metric, resources

GIB = 2**30


def test_a_full_report():
    metric = node_metric(
        interval=30,
        nodeMetric={
            "nodeUsage": {**resources(cpu="32", memory="10Gi"), "devices": [{"type": "gpu"}]},
            "systemUsage": resources(cpu="500m", memory="1Gi"),
            "aggregatedNodeUsages": [
                {"duration": "5m0s", "usage": {"p95": resources(cpu="40"), "avg": resources(cpu="30500m")}},
                {"duration": "30m0s", "usage": {"p95": resources(), "p50": {}}},
                None,
            ],
        },
        podsMetric=[
            {"namespace": "a", "name": "x", "priority": "koord-prod", "podUsage": resources(cpu="1500m")},
            None,
            {"namespace": "a", "name": "no-resources", "podUsage": {}},
            {
                "namespace": "a",
                "name": "x",
                "priority": "koord-batch",
                "podUsage": resources(cpu="1", memory="1"),
            },
            {"namespace": "b", "name": "x", "podUsage": resources(memory="3Ki")},
        ],
    )
    found, faults = reading(metric, NOON)
    assert faults == ()
    assert (found.node, found.time, found.interval) == ("n1", NOON, 30.0)
    assert found.usage == {"cpu": 32_000, "memory": 10 * GIB}
    assert found.system == {"cpu": 500, "memory": GIB}
    assert found.windows == (Window("p95", 300.0, {"cpu": 40_000}), Window("avg", 300.0, {"cpu": 30_500}))
    assert found.aggregates
    assert found.pods == (
        PodReading("a", "x", {"cpu": 1000, "memory": 1}, "koord-batch"),
        PodReading("b", "x", {"memory": 3072}, ""),
    )


def test_amounts_round_up():
    found, _ = reading(node_metric(nodeMetric={"nodeUsage": resources(cpu="1000001n", memory="100m")}), NOON)
    assert found.usage == {"cpu": 2, "memory": 1}


def test_what_is_missing():
    found, faults = reading(node_metric(updateTime=None), NOON)
    assert faults == ()
    assert (found.time, found.interval, found.usage, found.system) == (0.0, 60.0, None, None)
    assert (found.windows, found.pods) == ((), ())
    found, _ = reading(node_metric(nodeMetric={}), NOON)
    assert found.usage == {}, "measured, though nothing in particular"


@pytest.mark.parametrize(
    ("status", "interval", "kind", "field"),
    [
        (
            {"nodeMetric": {"nodeUsage": resources(cpu="-1")}},
            None,
            "negative",
            "status.nodeMetric.nodeUsage.cpu",
        ),
        (
            {"nodeMetric": {"nodeUsage": resources(cpu="x")}},
            None,
            "quantity",
            "status.nodeMetric.nodeUsage.cpu",
        ),
        ({"updateTime": "yesterday"}, None, "time", "status.updateTime"),
        ({"updateTime": "2026-01-01T13:00:00Z"}, None, "future", "status.updateTime"),
        ({}, -1, "interval", "spec.metricCollectPolicy.reportIntervalSeconds"),
        (
            {
                "nodeMetric": {
                    "aggregatedNodeUsages": [{"duration": "5 min", "usage": {"p95": resources(cpu=1)}}]
                }
            },
            None,
            "duration",
            "status.nodeMetric.aggregatedNodeUsages[0].duration",
        ),
        (
            {
                "nodeMetric": {
                    "aggregatedNodeUsages": [{"duration": "5m", "usage": {"p42": resources(cpu=1)}}]
                }
            },
            None,
            "statistic",
            "status.nodeMetric.aggregatedNodeUsages[0].usage.p42",
        ),
        (
            {"podsMetric": [{"namespace": "a", "name": "x", "podUsage": resources(cpu="NaN")}]},
            None,
            "quantity",
            "status.podsMetric[0].podUsage.cpu",
        ),
    ],
)
def test_faults_are_named_and_left_out(status, interval, kind, field):
    found, faults = reading(node_metric(interval=interval, **status), NOON)
    assert [(fault.kind, fault.field) for fault in faults] == [(kind, field)]
    assert (found.windows, found.usage or {}) == ((), {})
    assert all(pod.usage == {} for pod in found.pods or ())


def test_a_report_from_the_future_counts_as_written():
    found, _ = reading(node_metric(updateTime="2026-01-01T13:00:00Z"), NOON)
    assert found.time == NOON + 3600
    _, faults = reading(node_metric(updateTime="2026-01-01T12:00:59Z"), NOON)
    assert faults == (), "clocks differ a little"
