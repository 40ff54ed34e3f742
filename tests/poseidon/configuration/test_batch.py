"""Gangs and fair shares as configured."""

from __future__ import annotations

import pytest

from firmament.configuration.document import SchedulerConfiguration, build_core
from firmament.configuration.document import load as load_solver
from firmament.core.configuration import FairShare
from poseidon.embedding import load_configuration
from protos.configuration.file import ConfigurationError

HEADER = "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"


def test_what_the_core_is_told(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(
        HEADER
        + "gangs: {timeout: 90s, evictFailed: false}\n"
        + "fairShare: {enabled: true, weights: {team-a: 3, team-b: 0.5}, defaultWeight: 2}\n"
    )
    core = build_core(load_solver(path))
    assert (core.options.gang_seconds, core.options.evict_failed_gangs) == (90.0, False)
    assert core.fair_share == FairShare({"team-a": 3.0, "team-b": 0.5}, 2.0)
    assert "namespaces" in core.words


def test_shares_are_off_unless_asked_for(tmp_path):
    assert build_core(SchedulerConfiguration()).fair_share is None
    assert "namespaces" not in build_core(SchedulerConfiguration()).words
    path = tmp_path / "config.yaml"
    path.write_text(HEADER + "fairShare: {weights: {a: 2}}\n")
    assert build_core(load_solver(path)).fair_share is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("fairShare: {weights: {a: -1}}", "fairShare.weights.a: must be greater than 0, not -1"),
        ("fairShare: {weights: {a: 0}}", "fairShare.weights.a: must be greater than 0"),
        ("fairShare: {weights: {a: much}}", "fairShare.weights.a: "),
        ("fairShare: {weights: {a: .nan}}", "fairShare.weights.a: "),
        ("fairShare: {defaultWeight: -2}", "fairShare.defaultWeight: must be greater than 0, not -2"),
        ("fairShare: {weight: {}}", "fairShare.weight: is not a known key"),
        ("gangs: {timeout: 0}", "gangs.timeout: must be greater than 0"),
        ("gangs: {evictFailed: sometimes}", "gangs.evictFailed: "),
    ],
)
def test_faults_of_these_sections(tmp_path, text, line):
    path = tmp_path / "config.yaml"
    path.write_text(HEADER + text + "\n")
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(path)
    [fault] = caught.value.lines
    assert fault.startswith(f"{path}: {line}")
