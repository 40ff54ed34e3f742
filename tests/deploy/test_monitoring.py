"""Alerts and the dashboard speak of metrics that exist, and every alert has a paragraph that says what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from firmament.server.metrics import Metrics
from poseidon.bridge.metrics import BridgeMetrics
from poseidon.bridge.waiting_pod_metrics import QueueDepths
from poseidon.kube.environment import KubeMetrics
from poseidon.metrics_sources.intake import SourceMetrics
from tests.deploy.manifests import DEPLOY, load, of_kind

(RULES,) = load("monitoring/rules.yaml")
ALERTS = [rule for group in RULES["spec"]["groups"] for rule in group["rules"]]
OPERATIONS = (DEPLOY.parent / "docs" / "operations.md").read_text()
NAME = re.compile(r"\b(?:poseidon|firmament)_[a-z_]+")


def exported() -> dict[str, set[str]]:
    """The names of all series, each with its labels."""
    bridge = CollectorRegistry()
    for kind in (BridgeMetrics, KubeMetrics, SourceMetrics):
        kind(bridge)
    bridge.register(QueueDepths(list))
    found: dict[str, set[str]] = {}
    for registry in (bridge, Metrics().registry):
        for collector, names in registry._collector_to_names.items():
            if isinstance(collector, QueueDepths):
                found |= {each.name: set(each._labelnames) for each in collector.describe()}
            else:
                labels = set(getattr(collector, "_labelnames", ()))
                found |= dict.fromkeys(names, labels)
    return found


def expressions() -> Iterator[tuple[str, str]]:
    """What is asked of Prometheus, and where."""
    yield from ((rule["alert"], rule["expr"]) for rule in ALERTS)
    dashboard = json.loads((DEPLOY / "monitoring" / "poseidon.json").read_text())
    for panel in dashboard["panels"]:
        yield from ((panel["title"], target["expr"]) for target in panel.get("targets", ()))


EXPRESSIONS = list(expressions())


@pytest.mark.parametrize(("where", "expression"), EXPRESSIONS, ids=[where for where, _ in EXPRESSIONS])
def test_every_metric_that_is_asked_for_exists(where, expression):
    known = exported()
    names = NAME.findall(expression)
    assert names
    assert set(names) <= known.keys()


@pytest.mark.parametrize(("where", "expression"), EXPRESSIONS, ids=[where for where, _ in EXPRESSIONS])
def test_every_label_that_is_asked_for_is_one_of_the_metric(where, expression):
    known = exported()
    for name, selector in re.findall(r"\b((?:poseidon|firmament)_[a-z_]+)\{([^}]*)\}", expression):
        assert set(re.findall(r"(\w+)\s*(?:=|!)", selector)) <= known[name] | {"le"}
    labels = set().union(*(known[name] for name in NAME.findall(expression)))
    for grouping in re.findall(r"\bby \(([^)]*)\)", expression):
        assert {each.strip() for each in grouping.split(",")} <= labels | {"le"}


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_every_alert_says_how_bad_it_is_and_what_to_do(rule):
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert rule["annotations"]["summary"]
    assert f"\n**{rule['alert']}.** " in OPERATIONS


def test_no_paragraph_is_about_an_alert_that_there_is_not():
    assert set(re.findall(r"^\*\*(\w+)\.\*\*", OPERATIONS, re.MULTILINE)) == {
        rule["alert"] for rule in ALERTS
    }


def test_both_programs_are_scraped():
    (monitor,) = of_kind("PodMonitor", "monitoring").values()
    wanted: dict[str, Any] = monitor["spec"]["selector"]["matchLabels"]
    for deployment in of_kind("Deployment").values():
        assert wanted.items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
        ports = {port["name"] for port in deployment["spec"]["template"]["spec"]["containers"][0]["ports"]}
        assert {each["port"] for each in monitor["spec"]["podMetricsEndpoints"]} <= ports
