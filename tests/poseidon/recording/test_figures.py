"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.recording.recorder:CLOSE_SECONDS": 3.0,
    "poseidon.recording.recorder:_BATCH": 2000,
    "poseidon.recording.recorder:_BLOCK": 262_144,
    "poseidon.recording.recorder:_MOST_WAITING": 67_108_864,
    "poseidon.recording.recording_files:LEAST_LIMIT": 1_048_576,
    "poseidon.recording.recording_files:_FAST": 1,
    "poseidon.recording.recording_files:_PARTS": 8,
    "poseidon.recording.stream_state:StreamTask.assumed": False,
    "poseidon.recording.stream_state:StreamTask.placed": 0.0,
    "poseidon.recording.stream_state:StreamTask.reported": False,
    "poseidon.recording.recorder:StreamRecorder.__init__.block_seconds": 1.0,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
