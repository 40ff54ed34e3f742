"""Recordings are bounded, can be read at any time, and begin anew wherever a file does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from poseidon.recording.recorder import StreamRecorder
from poseidon.recording.recording_files import RecordingError, SegmentWriter, list_segments, read_recording
from poseidon.simulate.recorded.replaying import decide_again
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.recording.streams import DrawnStream
from tests.support.waiting import until

LIMIT = 1 << 17


def record(folder: Path, stream: DrawnStream, limit: int = LIMIT) -> StreamRecorder:
    stream.recorder = StreamRecorder(
        SegmentWriter(folder, limit),
        lambda: stream.now,
        {"utilisation": {"token": "abc"}},
        block_seconds=0.01,
    )
    return stream.recorder


def sizes(folder: Path) -> int:
    return sum(each.stat().st_size for each in list_segments(folder))


def test_what_is_recorded_is_decided_again_and_secrets_stay_out(tmp_path: Path) -> None:
    stream = DrawnStream(1)
    recorder = record(tmp_path, stream)
    stream.begin(6)
    stream.play(60)
    recorder.close()
    assert "abc" not in next(read_recording(tmp_path)).stream.configuration
    found = decide_again(_without_configuration(tmp_path))
    assert (found.first, found.same) == ([], found.decisions)
    assert found.decisions >= len(stream.made) > 100


def test_what_was_decided_otherwise_is_told(tmp_path: Path) -> None:
    stream = DrawnStream(2)
    recorder = record(tmp_path, stream)
    stream.begin(6)
    stream.play(20)
    recorder.close()
    entries = [each for each in read_recording(tmp_path) if each.WhichOneof("body") != "stream"]
    assert decide_again(entries).rounds == 0
    entries = list(read_recording(tmp_path))
    entries[0].stream.configuration = ""
    del entries[-1].round.deltas[:]
    rounds = [each for each in entries if each.WhichOneof("body") == "round" and each.round.deltas]
    rounds[0].round.deltas[0].machine = "elsewhere"
    found = decide_again(entries)
    assert found.same < found.decisions
    assert found.first[0].was == "elsewhere"


async def test_a_folder_stays_below_its_limit_and_the_rest_can_be_decided_again(tmp_path: Path) -> None:
    stream = DrawnStream(3)
    recorder = record(tmp_path, stream)
    stream.begin(40)
    most, turns = 0, 0
    await until(recorder.idle)
    while list_segments(tmp_path)[0].name == "recording-00000001":
        stream.play(20, most=60)
        await until(recorder.idle)
        most, turns = max(most, sizes(tmp_path)), turns + 1
        assert turns < 50
    recorder.close()
    assert 3 * LIMIT // 4 < most <= LIMIT
    found = decide_again(_without_configuration(tmp_path))
    assert (found.streams, found.partial, found.refused) == (1, 1, 0)
    assert found.decisions > 0


def _without_configuration(folder: Path) -> Iterator[pb.Recorded]:
    for each in read_recording(folder):
        if each.WhichOneof("body") == "stream":
            each.stream.configuration = ""
        yield each


async def test_a_file_that_is_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    stream = DrawnStream(4)
    recorder = record(tmp_path, stream)
    stream.begin(6)
    stream.play(10)
    await until(recorder.idle)
    (path,) = list_segments(tmp_path)
    whole = len(list(read_recording(tmp_path)))
    stream.play(10)
    await until(recorder.idle)
    recorder.close()
    assert path.stat().st_mode & 0o077 == 0
    everything = list(read_recording(tmp_path))
    path.write_bytes(path.read_bytes()[:-7])
    rest = list(read_recording(tmp_path))
    assert whole <= len(rest) < len(everything)
    assert rest == everything[: len(rest)]


def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match=r"--record: .* cannot be written to"):
        SegmentWriter(tmp_path / "file" / "below", LIMIT)
    with pytest.raises(RecordingError, match="holds no recording"):
        list_segments(tmp_path)
    (tmp_path / "recording-00000001").write_text("something else")
    with pytest.raises(RecordingError, match="is not a recording, or one of another version"):
        list(read_recording(tmp_path))


def test_numbers_go_on_where_an_earlier_process_stopped(tmp_path: Path) -> None:
    for _ in range(2):
        stream = DrawnStream(5)
        recorder = record(tmp_path, stream)
        stream.begin(3)
        stream.play(3)
        recorder.close()
    assert [each.name for each in list_segments(tmp_path)] == ["recording-00000001", "recording-00000002"]
    assert decide_again(_without_configuration(tmp_path)).streams == 2
