"""What the bridge is told to do where others get in the way."""

from __future__ import annotations

import pytest

from poseidon.configuration.document import load
from poseidon.lifecycle.refused_pods import RecoveryOptions
from protos.configuration.file import ConfigurationError

HEADER = "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"


def test_what_is_done_about_refused_pods_and_counts(tmp_path):
    text = """
recovery: {recreateBarePods: false, maxRecreations: 2, deleteReplacedPods: true}
announcements: {countsAfter: 5m}
stream: {silenceTimeout: 90s}
"""
    path = tmp_path / "config.yaml"
    path.write_text(HEADER + text)
    configuration = load(path)
    assert configuration.recovery == RecoveryOptions(max_recreations=2, delete_replaced_pods=True)
    assert configuration.announcements.counts_after == 300.0
    assert configuration.stream.silence_timeout == 90.0


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
        load(path)
    [fault] = caught.value.lines
    assert fault.startswith(f"{path}: {line}")
