"""Tables that repeat what the code says: metrics, configuration keys, reasons."""

from __future__ import annotations

import re

import yaml
from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

from cost_models.registry import available
from firmament.configuration import RoundSection, SchedulerConfiguration, effective_yaml
from firmament.core import reasons
from firmament.core.model import Taint
from firmament.server.metrics import Metrics
from poseidon.bridge.metrics import BridgeMetrics
from poseidon.kube.metrics import KubeMetrics
from poseidon.manifests.inventory import _KINDS, _MODEL_KINDS
from poseidon.plan import NO_NODES
from poseidon.sources.metrics import SourceMetrics
from poseidon.translate.pod import GATED_REASON
from tests.deploy.manifests import of_kind
from tests.documentation.markdown import blocks, codes, rows, section, text

OPERATIONS = text("docs/operations.md")
CONFIGURATION = text("docs/configuration.md")
TROUBLESHOOTING = text("docs/troubleshooting.md")


def exported(registry: CollectorRegistry) -> dict[str, set[str]]:
    """Names, as Prometheus shows them, and labels of all metrics of a registry."""
    found = {}
    for collector in list(registry._collector_to_names):
        assert isinstance(collector, MetricWrapperBase)
        suffix = "_total" if collector._type == "counter" else ""
        found[collector._name + suffix] = set(collector._labelnames)
    return found


def test_the_list_of_metrics_is_complete():
    bridge = CollectorRegistry()
    BridgeMetrics(bridge)
    KubeMetrics(bridge)
    SourceMetrics(bridge)
    documented = {codes(row[0])[0]: set(codes(row[1])) for row in rows(section(OPERATIONS, "Metrics"))}
    assert documented == exported(Metrics().registry) | exported(bridge)


def test_metrics_in_prose_exist():
    known = {codes(row[0])[0] for row in rows(section(OPERATIONS, "Metrics"))}
    for name in ("operations", "troubleshooting", "architecture", "round"):
        for found in re.findall(r"\b(?:poseidon|firmament)_[a-z_]+(?=[`{ =])", text(f"docs/{name}.md")):
            assert found.removesuffix("_count") in known, f"{name}: {found}"


def test_the_defaults_are_what_an_empty_configuration_gives():
    [shown, *_] = blocks(CONFIGURATION, "yaml")
    assert yaml.safe_load(shown) == yaml.safe_load(effective_yaml(SchedulerConfiguration()))


def test_every_key_is_explained_with_its_default():
    table = {codes(row[0])[0]: codes(row[1])[0] for row in rows(section(CONFIGURATION, "The file"))}
    defaults = yaml.safe_load(effective_yaml(SchedulerConfiguration()))
    flat = {
        (f"{key}.{inner}" if isinstance(value, dict) else key): part
        for key, value in defaults.items()
        if key not in ("apiVersion", "kind")
        for inner, part in (value.items() if isinstance(value, dict) else [("", value)])
    }
    assert {key: yaml.safe_load(value) for key, value in table.items()} == flat
    assert sum(key.startswith("round.") for key in table) == len(RoundSection.model_fields)


def test_every_reason_is_explained():
    explained = " ".join(row[0] for row in rows(section(TROUBLESHOOTING, "A pod stays pending")))
    for reason in (
        reasons.CORDONED,
        reasons.NOT_READY,
        reasons.WRONG_NAME,
        reasons.WRONG_LABELS,
        reasons.RESERVED,
        reasons.TOO_FEW_PLACES,
        reasons.TOO_MANY,
        reasons.untolerated(Taint("key", "value", "NoSchedule")),
        reasons.insufficient("cpu"),
        NO_NODES,
        GATED_REASON,
    ):
        assert f"`{reason}`" in explained, reason


def test_documented_policies_exist():
    named = {codes(row[0])[0] for row in rows(section(text("docs/cost-models.md"), "Base policies"))}
    kinds = available()
    assert {"cpu_mem", "trivial"} <= named
    assert {kinds.get(name) for name in named} == {"policy"}


def test_every_kind_of_manifest_that_is_read_is_named():
    named = section(CONFIGURATION, "`poseidon plan` and `poseidon explain`").split()
    words = {word.strip(",.;()") for word in named}
    assert {kind for _, kind in (*_KINDS, *_MODEL_KINDS)} - {"ConfigMap"} <= words
    assert "ConfigMaps" in words


def test_every_right_is_listed():
    """What the bridge's roles grant, by resource, stands in the table with at least those verbs."""
    listed: dict[str, str] = {}
    for row in rows(section(OPERATIONS, "Rights")):
        for resource in re.split(r", ", row[0].replace("`", "")):
            name = resource.partition(".")[0].partition(" of ")[0]
            listed[name] = f"{listed.get(name, '')} {row[1]}"
    for role in of_kind("ClusterRole").values():
        for rule in role["rules"]:
            for resource in rule["resources"]:
                assert set(rule["verbs"]) <= set(re.findall(r"\w+", listed.get(resource, ""))), resource
