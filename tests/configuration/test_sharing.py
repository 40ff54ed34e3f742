"""What the bridge is told to do where others get in the way."""

from __future__ import annotations

import pytest

from poseidon.bridge.solver_stream.session import SessionOptions
from poseidon.embedding import (
    ConfigurationError,
    counts_seconds,
    load_configuration,
    recovery_options,
    silent_seconds,
)
from poseidon.kube.write.pod_recovery import RecoveryOptions
from poseidon.lifecycle.pending_reasons import COUNTS_SECONDS

HEADER = "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"


def test_what_is_done_about_refused_pods_and_counts(tmp_path):
    text = """
recovery: {recreateBarePods: false, maxRecreations: 2, deleteReplacedPods: true}
announcements: {countsAfter: 5m}
stream: {silenceTimeout: 90s}
"""
    path = tmp_path / "config.yaml"
    path.write_text(HEADER + text)
    configuration = load_configuration(path)
    assert recovery_options(configuration) == RecoveryOptions(
        recreate_bare=False, max_recreations=2, delete_replaced=True
    )
    assert counts_seconds(configuration) == 300.0
    assert silent_seconds(configuration) == 90.0
    assert recovery_options(load_configuration(None)) == RecoveryOptions()
    assert counts_seconds(load_configuration(None)) == COUNTS_SECONDS
    assert silent_seconds(load_configuration(None)) == SessionOptions().silent_seconds


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "recovery: {maxRecreations: 0}",
            "recovery.maxRecreations: must be greater than or equal to 1, not 0",
        ),
        ("recovery: {recreateBarePods: 1}", "recovery.recreateBarePods: "),
        ("announcements: {countsAfter: often}", "announcements.countsAfter: 'often' is not a duration"),
        (
            "stream: {silenceTimeout: 0.5}",
            "stream.silenceTimeout: must be greater than or equal to 1, not 0.5",
        ),
        ("stream: {silenceTimeout: null}", "stream.silenceTimeout: None is not a duration"),
    ],
)
def test_faults_of_these_sections(tmp_path, text, line):
    path = tmp_path / "config.yaml"
    path.write_text(HEADER + text + "\n")
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(path)
    [fault] = caught.value.lines
    assert fault.startswith(f"{path}: {line}")
