"""The section `network`, and what the overlay says besides."""

from __future__ import annotations

import pytest

from poseidon.app_network.options import NetworkArguments
from poseidon.app_network.spec.keys import APPLICATION_RECORDS
from poseidon.bridge.state import BridgeState
from poseidon.embedding import load_configuration
from protos.configuration.file import ConfigurationError
from tests.support.needs import words_of

HEADER = "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"
OVERLAY = "costModels: [{name: network_overhead, args: {namespaces: [apps, default]}}]\n"


def read(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(HEADER + text, encoding="utf-8")
    return load_configuration(path)


def test_nothing_is_looked_at_by_default():
    found = load_configuration(None)
    assert not found.network.follows(())
    assert not found.network.writes(())
    assert BridgeState(found).applications is None


def test_with_the_overlay_both_are_on(tmp_path):
    found = read(tmp_path, OVERLAY)
    assert found.network.follows(APPLICATION_RECORDS)
    assert found.network.writes(APPLICATION_RECORDS)
    assert found.arguments(NetworkArguments).namespaces == ("apps", "default")
    assert BridgeState(found, words_of("network_overhead")).applications is not None


def test_controllers_without_overlay_and_the_other_way_round(tmp_path):
    always = read(tmp_path, "network: {controllers: always}\n").network
    assert always.follows(())
    assert always.writes(())
    never = read(tmp_path, OVERLAY + "network: {controllers: never}\n").network
    assert never.follows(APPLICATION_RECORDS)
    assert not never.writes(APPLICATION_RECORDS)


@pytest.mark.parametrize(
    ("argument", "section", "counts"),
    [("", "", "p90"), ("percentile: p99", "", "p99"), ("", "p50", "p50"), ("percentile: p99", "p50", "p99")],
)
def test_the_percentile_of_the_overlay_goes_before_that_of_the_section(tmp_path, argument, section, counts):
    overlay = f"costModels: [{{name: network_overhead, args: {{{argument}}}}}]\n"
    found = read(tmp_path, overlay + (f"network: {{percentile: {section}}}\n" if section else ""))
    assert found.network.percentile_by(found.arguments(NetworkArguments)) == counts


@pytest.mark.parametrize(
    ("written", "field"),
    [
        ("costModels: [{name: network_overhead, args: {percentile: p95}}]\n", "percentile"),
        ("network: {percentile: p95}\n", "network.percentile"),
        ("network: {controllers: sometimes}\n", "network.controllers"),
        ("network: {bandwidthAnnotations: 1}\n", "network.bandwidthAnnotations"),
        ("queueSort: random\n", "queueSort"),
    ],
)
def test_faults(tmp_path, written, field):
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, written)
    (line,) = caught.value.lines
    assert field in line
