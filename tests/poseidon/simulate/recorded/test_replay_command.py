"""``poseidon simulate --replay``: what it prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from poseidon.cli import main
from poseidon.recording.recorder import StreamRecorder
from poseidon.recording.recording_files import SegmentWriter
from tests.poseidon.recording.streams import DrawnStream


def record(folder: Path) -> DrawnStream:
    stream = DrawnStream(1)
    stream.recorder = StreamRecorder(SegmentWriter(folder, 1 << 20), lambda: stream.now, {})
    stream.begin(6)
    stream.play(5)
    stream.recorder.close()
    return stream


def test_a_recording_is_decided_again(tmp_path: Path) -> None:
    stream = record(tmp_path)
    result = CliRunner().invoke(main, ["simulate", "--replay", str(tmp_path)])
    assert result.exit_code == 0, result.output
    count = f"{stream.decisions} decisions in 5 rounds of 1 stream; {stream.decisions} made again."
    assert result.stdout == f"{count}\n"
    result = CliRunner().invoke(main, ["simulate", "--replay", str(tmp_path), "-o", "json"])
    found = json.loads(result.stdout)
    assert (found["decisions"], found["same"], found["first"]) == (stream.decisions, stream.decisions, [])


def test_bad_usage_is_told(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["simulate", "--replay", str(tmp_path), "scenario.yaml"])
    assert result.exit_code == 2
    assert "--replay takes the place of a scenario" in result.output
    result = CliRunner().invoke(main, ["simulate", "--replay", str(tmp_path)])
    assert result.exit_code == 2
    assert "holds no recording" in result.output
    result = CliRunner().invoke(main, ["run", "--record", str(tmp_path), "--record-limit", "5"])
    assert "--record-limit: 5 is too little for a recording; give at least 1Mi" in result.output
