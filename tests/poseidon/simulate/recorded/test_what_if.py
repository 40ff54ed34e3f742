"""The work of a recording under a configuration: the same one gives what was, another one something else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from poseidon.cli import main
from poseidon.embedding import load_configuration
from poseidon.recording.recorder import StreamRecorder
from poseidon.recording.recording_files import SegmentWriter, read_recording
from poseidon.simulate.recorded.history import RecordedHistory, read_history
from poseidon.simulate.recorded.what_if import OTHERS, compare_with_history, follow_history
from poseidon.simulate.tasks import TaskProgress
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.recording.streams import BEGIN, DrawnStream, machine, task_class


class PlainStream(DrawnStream):
    """Every binding succeeds at once, as in a simulation; one event a turn."""

    def __init__(self, folder: Path) -> None:
        super().__init__(1)
        self.recorder = StreamRecorder(SegmentWriter(folder, 1 << 20), lambda: self.now, {})

    def start(self, *cores: int) -> None:
        assert self.recorder is not None
        self.recorder.begin(pb.Hello(cluster="plain"), pb.Welcome())
        self.send(pb.ClientMessage(snapshot_begin=pb.SnapshotBegin()))
        machines = [machine(f"m{place}", each) for place, each in enumerate(cores)]
        self.tell([*machines, *(task_class(number) for number in range(1, 17))])
        self.send(pb.ClientMessage(snapshot_end=pb.SnapshotEnd()))

    def at(self, seconds: float, *events: pb.Event) -> dict[str, str]:
        """Tell events at a time, and return what a round places."""
        self.now = BEGIN + seconds
        self.tell(list(events))
        if not self.solver.has_work():
            return {}
        result = self.solver.run_round()
        assert self.recorder is not None
        self.recorder.note_round(result)
        placed = {each.task: each.machine for each in result.deltas if each.kind == pb.Delta.PLACE}
        reports = [pb.BindingReport(task=task, machine=each, bound=True) for task, each in placed.items()]
        self.send(pb.ClientMessage(reports=pb.BindingReports(reports=reports)))
        return placed

    def end(self) -> None:
        assert self.recorder is not None
        self.recorder.close()


def tasks(number: int, *uids: str, job: str = "") -> pb.Event:
    return pb.Event(tasks=pb.TaskBatch(task_class=number, job=job, uids=uids))


def gone(uid: str) -> pb.Event:
    return pb.Event(task_removed=uid)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cluster of one node of four cores: a runs for 100 s, b waits for it, c is deleted while it waits."""
    stream = PlainStream(tmp_path / "recording")
    stream.start(4)
    assert stream.at(10, tasks(16, "a")) == {"a": "m0"}
    assert stream.at(20, tasks(16, "b"), tasks(12, "c")) == {}
    stream.at(60, gone("c"))
    assert stream.at(110, gone("a")) == {"b": "m0"}
    stream.at(120, machine("m1", 4))
    stream.at(130, pb.Event(bound=pb.BoundTasks(machine="m1", task_class=4, uids=["other"])))
    stream.at(140, gone("b"))
    stream.at(150, gone("other"))
    stream.at(200, machine("m2", 1))
    stream.end()
    return tmp_path / "recording"


def history_of(folder: Path) -> RecordedHistory:
    return read_history(read_recording(folder))


def test_a_history_says_when_tasks_came_ran_and_went(folder: Path) -> None:
    found = history_of(folder)
    told = {
        uid: (each.arrival, each.began, each.machine, each.ended, each.foreign)
        for uid, each in found.tasks.items()
    }
    assert told == {
        "a": (10.0, 10.0, "m0", 110.0, False),
        "b": (20.0, 110.0, "m0", 140.0, False),
        "c": (20.0, None, "", 60.0, False),
        "other": (130.0, 130.0, "m1", 150.0, True),
    }
    assert found.horizon == 200.0


def test_the_same_configuration_gives_what_was(folder: Path) -> None:
    sides = compare_with_history(history_of(folder), load_configuration(None))
    for report in (sides.was, sides.now):
        waits = {each.kind: each for each in report.waits}
        assert (waits["default"].placed, waits["default"].waiting, waits["default"].longest) == (2, 0, 90.0)
        assert waits[OTHERS].placed == 1
    assert sides.was.curves == sides.now.curves
    assert sides.was.utilisation == sides.now.utilisation


def test_a_larger_cluster_shortens_the_wait(folder: Path, tmp_path: Path) -> None:
    history = history_of(folder)
    first = next(event for now, event in history.script if now == 0.0 and event.HasField("machine"))
    first.machine.allocatable[0].amount *= 3
    sides = compare_with_history(history, load_configuration(None))
    assert sides.now.waits[-1].longest == 0.0
    course = follow_history(history)
    assert (course.tasks.state == TaskProgress.ENDED).all()


def test_another_configuration_is_shown_beside_what_was(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(
        "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\npolicy: {name: octopus}\n"
    )
    page = tmp_path / "page.html"
    arguments = ["simulate", "--replay", str(folder), "--config", str(other), "--html", str(page)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "200s recorded on" not in result.output
    assert "3m recorded on" in result.output
    assert "median wait" in page.read_text()
    found = json.loads(CliRunner().invoke(main, [*arguments, "-o", "json"]).stdout)
    assert found["was"]["waits"][-1]["longest"] == found["now"]["waits"][-1]["longest"] == 90.0
    result = CliRunner().invoke(main, ["simulate", "--config", str(other), "scenario.yaml"])
    assert "--config goes with --replay" in result.output


def test_a_second_stream_goes_on_with_the_same_tasks(tmp_path: Path) -> None:
    stream = PlainStream(tmp_path)
    stream.start(4)
    stream.at(10, tasks(8, "a", "b"))
    assert stream.recorder is not None
    stream.recorder.begin(pb.Hello(cluster="plain"), pb.Welcome())
    stream.now = BEGIN + 50
    stream.solver = type(stream)(tmp_path / "unused").solver
    stream.send(pb.ClientMessage(snapshot_begin=pb.SnapshotBegin()))
    renumbered = task_class(8)
    renumbered.task_class.id = 3
    bound = pb.BoundTasks(machine="m0", task_class=3, uids=["a"])
    stream.tell([machine("m0", 4), machine("m1", 4), renumbered, pb.Event(bound=bound)])
    stream.send(pb.ClientMessage(snapshot_end=pb.SnapshotEnd()))
    stream.at(60, gone("a"))
    stream.end()
    found = history_of(tmp_path)
    assert {uid: (each.began, each.ended) for uid, each in found.tasks.items()} == {
        "a": (10.0, 60.0),
        "b": (10.0, 50.0),
    }
    assert len(found.kinds) == 1
    assert [now for now, event in found.script if event.HasField("machine")] == [0.0, 50.0]
