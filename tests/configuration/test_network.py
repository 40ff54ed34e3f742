"""The section `network`, and what the overlay says besides."""

from __future__ import annotations

import pytest

from firmament.configuration.document import ConfigurationError, build_core, load
from poseidon.app_network.options import NetworkOptions
from poseidon.embedding import network_options

HEADER = "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"
OVERLAY = "costModels: [{name: network_overhead, args: {namespaces: [apps, default]}}]\n"


def options(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(HEADER + text, encoding="utf-8")
    configuration = load(path)
    return network_options(configuration).with_records(build_core(configuration).needs.records)


def test_nothing_is_looked_at_by_default():
    found = network_options(load(None)).with_records(())
    assert found == NetworkOptions()
    assert not found.follows


def test_with_the_overlay_both_are_on(tmp_path):
    assert options(tmp_path, OVERLAY) == NetworkOptions(
        overlay=True, controllers=True, namespaces=("apps", "default")
    )


def test_controllers_without_overlay_and_the_other_way_round(tmp_path):
    always = options(
        tmp_path, "network: {controllers: always, percentile: p50, bandwidthAnnotations: true}\n"
    )
    assert always == NetworkOptions(controllers=True, percentile="p50", annotations=True)
    assert always.follows
    never = options(tmp_path, OVERLAY + "network: {controllers: never}\n")
    assert (never.overlay, never.controllers) == (True, False)


@pytest.mark.parametrize(
    ("argument", "section", "counts"),
    [("", "", "p90"), ("percentile: p99", "", "p99"), ("", "p50", "p50"), ("percentile: p99", "p50", "p99")],
)
def test_the_percentile_of_the_overlay_goes_before_that_of_the_section(tmp_path, argument, section, counts):
    overlay = f"costModels: [{{name: network_overhead, args: {{{argument}}}}}]\n"
    found = options(tmp_path, overlay + (f"network: {{percentile: {section}}}\n" if section else ""))
    assert found.percentile == counts


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
        options(tmp_path, written)
    (line,) = caught.value.lines
    assert field in line
