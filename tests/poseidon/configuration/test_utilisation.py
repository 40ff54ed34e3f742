"""The section `utilisation`: defaults, what it becomes in the bridge, and what is wrong with bad ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from poseidon.configuration.document import load
from poseidon.metrics_sources.options import MetricsServerOptions, UtilisationOptions
from protos.configuration.file import ConfigurationError
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
    off = MetricsServerOptions(mode="off")
    assert load(None).utilisation == UtilisationOptions(
        node_metric="auto", metrics_server=off, prometheus=None
    )


@pytest.mark.parametrize("written", ["off", "'off'"])
def test_off_is_off_with_and_without_quotes(tmp_path, written):
    path = tmp_path / "config.yaml"
    path.write_text(
        "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"
        f"utilisation: {{nodeMetric: {written}, metricsServer: {{mode: {written}}}}}\n"
    )
    assert load(path).utilisation == UtilisationOptions(node_metric="off")


def test_metrics_server(tmp_path):
    options = read(
        tmp_path, {"metricsServer": {"mode": "auto", "interval": "15s", "pods": False}}
    ).utilisation
    assert options.metrics_server == MetricsServerOptions(mode="auto", interval=15.0, pods=False)


def test_the_documented_prometheus_section(tmp_path):
    shown = next(block for block in blocks(section(text("docs/configuration.md"), "`utilisation`"), "yaml"))
    path = tmp_path / "config.yaml"
    path.write_text(shown)
    prometheus = load(path).utilisation.prometheus
    assert prometheus is not None
    assert (prometheus.url, prometheus.interval) == ("http://prometheus.monitoring:9090", 30.0)
    assert [(q.resource, q.of, q.statistic, q.window) for q in prometheus.queries] == [
        ("cpu", "nodes", None, None),
        ("memory", "nodes", None, None),
        ("cpu", "nodes", "p95", 300.0),
        ("cpu", "pods", None, None),
    ]


def test_what_is_effective_can_be_read_again(tmp_path):
    given = read(tmp_path, {"nodeMetric": "off", "prometheus": {"url": "http://p:9090", "queries": [NODES]}})
    path = tmp_path / "again.yaml"
    path.write_text(given.effective_yaml())
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
