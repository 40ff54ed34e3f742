"""Tables that repeat what the code says: metrics, configuration keys, reasons."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.metrics import MetricWrapperBase

from cost_models.registry import list_available
from firmament.cli import main as firmament
from firmament.configuration.document import RoundSection, SchedulerConfiguration
from firmament.core.diagnosis.failed_scheduling_message import TOO_FEW_PLACES
from firmament.core.reasons import Reason, lack_of
from firmament.server.metrics import Metrics
from poseidon.bridge.metrics import BridgeMetrics
from poseidon.bridge.queues.queue_metrics import QueueCollector, QueueFigures
from poseidon.bridge.waiting_pod_metrics import QueueDepths
from poseidon.kube.api.kinds import KINDS
from poseidon.kube.environment import KubeMetrics
from poseidon.metrics_sources.intake import SourceMetrics
from poseidon.offline.plan import NO_NODES
from poseidon.pods.scheduling_gates import GATED_REASON
from poseidon.rescheduling.metrics import MoveMetrics
from tests.deploy.manifests import of_kind
from tests.documentation.markdown import ROOT, blocks, codes, documents, rows, section, text

OPERATIONS = text("docs/operations.md")
CONFIGURATION = text("docs/configuration.md")
TROUBLESHOOTING = text("docs/troubleshooting.md")


def exported(registry: CollectorRegistry) -> dict[str, set[str]]:
    """Names, as Prometheus shows them, and labels of all metrics of a registry; those of any process are not ours."""
    found: dict[str, set[str]] = {}
    for collector in list(registry._collector_to_names):
        if isinstance(collector, ProcessCollector):
            continue
        if isinstance(collector, QueueDepths | QueueCollector):
            found |= {each.name: set(each._labelnames) for each in collector.describe()}
            continue
        assert isinstance(collector, MetricWrapperBase)
        suffix = "_total" if collector._type == "counter" else ""
        found[collector._name + suffix] = set(collector._labelnames)
    return found


def test_the_list_of_metrics_is_complete():
    bridge = CollectorRegistry()
    BridgeMetrics(bridge)
    KubeMetrics(bridge)
    SourceMetrics(bridge)
    bridge.register(QueueDepths(list))
    bridge.register(QueueCollector(QueueFigures))
    moves = MoveMetrics().registry
    documented = {codes(row[0])[0]: set(codes(row[1])) for row in rows(section(OPERATIONS, "Metrics"))}
    assert documented == exported(Metrics().registry) | exported(bridge) | exported(moves)


def test_metrics_in_prose_exist():
    known = {codes(row[0])[0] for row in rows(section(OPERATIONS, "Metrics"))}
    for document in documents():
        if document.name == "CHANGELOG.md":
            continue  # tells what was
        for found in re.findall(
            r"(?<![/\w])(?:poseidon|firmament)_[a-z_]+(?=[`{ =])", document.read_text(encoding="utf-8")
        ):
            assert re.sub(r"_(count|sum|bucket)$", "", found) in known, f"{document}: {found}"


def test_the_defaults_are_what_an_empty_configuration_gives():
    [shown, *_] = blocks(CONFIGURATION, "yaml")
    assert yaml.safe_load(shown) == yaml.safe_load(SchedulerConfiguration().effective_yaml())


def test_every_key_is_explained_with_its_default():
    table = {codes(row[0])[0]: codes(row[1])[0] for row in rows(section(CONFIGURATION, "The file"))}
    defaults = yaml.safe_load(SchedulerConfiguration().effective_yaml())
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
        Reason.CORDONED.value,
        Reason.NOT_READY.value,
        Reason.WRONG_NAME.value,
        Reason.WRONG_LABELS.value,
        Reason.RESERVED.value,
        TOO_FEW_PLACES,
        Reason.TOO_MANY.value,
        Reason.UNTOLERATED.value,
        lack_of("cpu").words,
        NO_NODES,
        GATED_REASON,
    ):
        assert f"`{reason}`" in explained, reason


@pytest.mark.parametrize("reason", Reason, ids=lambda reason: reason.name)
def test_each_reason_of_the_solver_stands_somewhere(reason: Reason):
    assert any(
        reason.value in document.read_text(encoding="utf-8")
        for document in documents()
        if document.name != "CHANGELOG.md"
    )


def test_documented_policies_exist():
    named = {codes(row[0])[0] for row in rows(section(text("docs/cost-models.md"), "Base policies"))}
    kinds = list_available()
    assert {"cpu_mem", "trivial"} <= named
    assert {kinds.get(name) for name in named} == {"policy"}


def test_the_overlays_are_all_there():
    registered = tomllib.loads(text("pyproject.toml"))["project"]["entry-points"]["firmament.cost_models"]
    kinds = list_available()
    named = {codes(row[0])[0] for row in rows(section(text("docs/cost-models.md"), "Overlays"))}
    assert named == {name for name in registered if kinds[name] == "overlay"}


def test_what_kinds_of_writes_are_counted_is_written_down():
    """The values of the label ``kind`` of ``poseidon_status_writes_total``."""
    [row] = [each for each in rows(OPERATIONS) if "poseidon_status_writes_total" in each[0]]
    kinds: set[str] = set()
    for file in (ROOT / "poseidon").rglob("*.py"):
        source = file.read_text()
        kinds.update(re.findall(r'^    kind = "([a-z ]+)"', source, re.MULTILINE))
        kinds.update(re.findall(r'= WriteBehind\(\s*"([a-z ]+)"', source))
        kinds.update(re.findall(r'kind(?:: str)? ?= ?"([a-z ]+)"', source) if "EventWriter" in source else ())
    assert kinds
    assert kinds <= set(codes(row[2]))


def test_a_bad_configuration_is_told_as_shown(tmp_path: Path):
    [block] = [each for each in blocks(CONFIGURATION, "console") if "bad.yaml" in each]
    (tmp_path / "bad.yaml").write_text(
        "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"
        "policy: {name: cpumem}\nround: {maxPasses: 0, seeds: 3}\n"
    )
    command, _, expected = block.partition("\n")
    words = command.removeprefix("$ firmament ").replace("bad.yaml", str(tmp_path / "bad.yaml")).split()
    done = CliRunner().invoke(firmament, words)
    assert done.exit_code == 2
    assert done.stderr.replace(f"{tmp_path}/", "") == expected


def test_examples_are_listed_in_order():
    listed = [codes(row[0]) or row[0] for row in rows(text("examples/README.md"))]
    assert listed == sorted(listed)
    assert len(listed) == sum(each.is_dir() for each in (ROOT / "examples").glob("[0-9]*"))


def test_every_kind_of_manifest_that_is_read_is_named():
    named = section(CONFIGURATION, "`poseidon plan` and `poseidon explain`").split()
    words = {word.strip(",.;()") for word in named}
    assert {kind.name for kind in KINDS} - {"ConfigMap"} <= words
    assert "ConfigMaps" in words


def resource(kind: str) -> str:
    """The resource that kubectl knows a kind by."""
    if kind.endswith("Metrics"):
        return kind.lower().removesuffix("metrics") + "s"
    return kind.lower().removesuffix("y") + (
        "ies" if kind.endswith("y") else "es" if kind.endswith("ss") else "s"
    )


@pytest.mark.parametrize("page", ["docs/troubleshooting.md", "examples/01-online-boutique/README.md"])
def test_dumping_a_cluster_gets_every_kind_that_is_read(page: str):
    """All that every cluster serves stands in the command; custom resources, which may be absent, beside it."""
    [listed] = set(re.findall(r"kubectl get (nodes,\S+)", text(page)))
    assert set(listed.split(",")) == {resource(kind.name) for kind in KINDS if not kind.left_out} - {
        "cronjobs"
    } | {"services"}


def test_dumping_what_some_clusters_have():
    table = section(TROUBLESHOOTING, "A pod stays pending")
    for kind in KINDS:
        if kind.left_out:
            name = resource(kind.name)
            assert (f"{name}.{kind.group}" if kind.group else name) in table, kind


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
