"""The section `utilisation`: defaults, what it becomes in the bridge, and what is wrong with bad ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from firmament.configuration.document import ConfigurationError, effective_yaml, load
from poseidon.embedding import utilisation_options
from poseidon.metrics_sources.options import (
    MetricsServerOptions,
    PrometheusOptions,
    PrometheusQuery,
    UtilisationOptions,
)
from tests.documentation.markdown import blocks, section, text

HEADER = {"apiVersion": "firmament.io/v1alpha1", "kind": "SchedulerConfiguration"}
NODES = {"resource": "cpu", "query": "node_cpu"}


def read(folder: Path, utilisation: object):
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump({**HEADER, "utilisation": utilisation}), encoding="utf-8")
    return load(path)


def faults(folder: Path, utilisation: object) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        read(folder, utilisation)
    return [line.partition(": ")[2] for line in caught.value.lines]


def test_by_default_only_node_metrics_are_followed():
    assert utilisation_options(load(None)) == UtilisationOptions()
    assert UtilisationOptions() == UtilisationOptions(node_metric=True, metrics_server=None, prometheus=None)


@pytest.mark.parametrize("written", ["off", "'off'"])
def test_off_is_off_with_and_without_quotes(tmp_path, written):
    path = tmp_path / "config.yaml"
    path.write_text(
        "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"
        f"utilisation: {{nodeMetric: {written}, metricsServer: {{mode: {written}}}}}\n"
    )
    assert utilisation_options(load(path)) == UtilisationOptions(node_metric=False)


def test_metrics_server(tmp_path):
    options = utilisation_options(
        read(tmp_path, {"metricsServer": {"mode": "auto", "interval": "15s", "pods": False}})
    )
    assert options.metrics_server == MetricsServerOptions(interval=15.0, pods=False)


def test_the_documented_prometheus_section(tmp_path):
    shown = next(block for block in blocks(section(text("docs/configuration.md"), "`utilisation`"), "yaml"))
    path = tmp_path / "config.yaml"
    path.write_text(shown)
    prometheus = utilisation_options(load(path)).prometheus
    assert isinstance(prometheus, PrometheusOptions)
    assert (prometheus.url, prometheus.interval) == ("http://prometheus.monitoring:9090", 30.0)
    assert [(q.resource, q.pods, q.statistic, q.window) for q in prometheus.queries] == [
        ("cpu", False, "", 0.0),
        ("memory", False, "", 0.0),
        ("cpu", False, "p95", 300.0),
        ("cpu", True, "", 0.0),
    ]
    assert isinstance(prometheus.queries[0], PrometheusQuery)


def test_what_is_effective_can_be_read_again(tmp_path):
    given = read(tmp_path, {"nodeMetric": "off", "prometheus": {"url": "http://p:9090", "queries": [NODES]}})
    path = tmp_path / "again.yaml"
    path.write_text(effective_yaml(given))
    assert load(path) == given


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (
            {"nodeMetric": "on"},
            "utilisation.nodeMetric: must be 'auto' or 'off', not 'on'",
        ),
        (
            {"metricsServer": {"intervall": 5}},
            "utilisation.metricsServer.intervall: is not a known key; did you mean interval?",
        ),
        (
            {"metricsServer": {"interval": 0}},
            "utilisation.metricsServer.interval: must be greater than 0, not 0",
        ),
        ({"prometheus": {"queries": [NODES]}}, "utilisation.prometheus.url: is missing; add it"),
        (
            {"prometheus": {"url": "prometheus:9090", "queries": [NODES]}},
            (
                "utilisation.prometheus.url: 'prometheus:9090' is not an http(s) URL; "
                "write one such as http://prometheus:9090"
            ),
        ),
        (
            {"prometheus": {"url": "http://p", "queries": [{**NODES, "statistic": "p95"}]}},
            "utilisation.prometheus.queries[0]: statistic and window go together; give both or neither",
        ),
        (
            {"prometheus": {"url": "http://p", "queries": [{**NODES, "statistic": "p42", "window": "5m"}]}},
            (
                "utilisation.prometheus.queries[0].statistic: "
                "must be 'avg', 'p50', 'p90', 'p95', 'p99' or 'std', not 'p42'"
            ),
        ),
        (
            {"prometheus": {"url": "http://p", "queries": [{**NODES, "of": "pods"}]}},
            (
                "utilisation.prometheus: no query asks for the present use of nodes; "
                "add one with of: nodes and no statistic"
            ),
        ),
    ],
)
def test_bad_ones_are_told_by_field(tmp_path, given, fault):
    assert faults(tmp_path, given) == [fault]
