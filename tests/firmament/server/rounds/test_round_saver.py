"""Rounds saved by the server, and ``firmament replay`` on what it saved."""

from __future__ import annotations

import errno
import json
import logging
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from firmament.cli import main
from firmament.server.rounds.round_saver import (
    SavedRoundsFolder,
    SavedRoundsFolderError,
    SavedRoundWriter,
    list_saved_rounds,
)
from tests.firmament.saved_rounds.rounds import configuration, files, record
from tests.firmament.server.driving import eventually, machine, running_server, task_class, tasks
from tests.support.waiting import until

FILES = {
    "round.json", "problem.npz", "network.dimacs", "network.json", "flow.dimacs", "deltas.json", "costs.json",
}  # fmt: skip


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


# --- the folder -----------------------------------------------------------------------------------------------


def test_only_the_newest_rounds_are_kept(tmp_path):
    folder = SavedRoundsFolder(tmp_path / "new" / "rounds", keep=2)
    for number in range(5):
        folder.save({"n": str(number).encode()})
    assert names(tmp_path / "new" / "rounds") == ["round-00000004", "round-00000005"]
    assert (tmp_path / "new" / "rounds" / "round-00000005" / "n").read_bytes() == b"4"


def test_numbers_go_on_and_foreign_files_stay(tmp_path):
    SavedRoundsFolder(tmp_path, keep=5).save({})
    (tmp_path / ".unfinished-2").mkdir()
    (tmp_path / ".unfinished-2" / "half").touch()
    (tmp_path / "notes").mkdir()
    (tmp_path / "round-x").touch()
    assert SavedRoundsFolder(tmp_path, keep=1).save({}).name == "round-00000002"
    assert names(tmp_path) == ["notes", "round-00000002", "round-x"]


def test_a_folder_that_cannot_be_written_to_is_an_error_in_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(
        SavedRoundsFolderError, match=r"--artefacts: .*file/x cannot be written to: Not a directory"
    ):
        SavedRoundsFolder(tmp_path / "file" / "x", keep=1)
    done = run("serve", "--listen", "127.0.0.1:0", "--artefacts", str(tmp_path / "file" / "x"))
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1


# --- the writer -----------------------------------------------------------------------------------------------


async def test_rounds_that_cannot_be_saved_are_left_out_and_told_once(tmp_path, monkeypatch, caplog):
    config = configuration()
    done = record(config)
    folder = tmp_path / "rounds"
    writer = SavedRoundWriter(SavedRoundsFolder(folder, 3))
    real = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if folder in path.parents:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return real(path, content)

    with caplog.at_level(logging.WARNING), monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        for _ in range(3):
            writer.record(done)
        await until(writer.idle)
    assert list_saved_rounds(folder) == []
    assert [text.count("No space left on device") for text in caplog.messages] == [1]
    with caplog.at_level(logging.WARNING):
        writer.record(done)
        writer.close()
    assert [path.name for _, path in list_saved_rounds(folder)] == ["round-00000001"]
    assert caplog.messages[1:] == ["rounds not saved in all left_out=3"]
    writer.close()


def test_rounds_that_come_too_fast_are_left_out(tmp_path, caplog):
    config = configuration()
    done = record(config)
    writer = SavedRoundWriter(SavedRoundsFolder(tmp_path, 100))
    with caplog.at_level(logging.WARNING):
        for _ in range(200):
            writer.record(done)
        writer.close(30.0)
    kept = len(list_saved_rounds(tmp_path))
    assert 0 < kept < 100
    assert len(caplog.messages) == 2
    assert "faster than they can be saved" in caplog.messages[0]
    assert caplog.messages[1] == f"rounds not saved in all left_out={200 - kept}"


# --- the server and the command -------------------------------------------------------------------------------


async def test_a_server_saves_its_rounds_and_they_replay_the_same(tmp_path):
    async with running_server(saved_rounds=SavedRoundsFolder(tmp_path, 10)) as running:
        driver = await running.driving(machine("m1", cpu=250), machine("m2", cpu=250), task_class())
        await driver.events(tasks("a", "b", "c"))
        await driver.until(lambda: len(driver.placed) == 3)
        await driver.events(tasks("d", "e"))
        await driver.until(lambda: len(driver.placed) + len(driver.unscheduled) == 5)
        await eventually(lambda: len(list_saved_rounds(tmp_path)) == 2)
    for _, folder in list_saved_rounds(tmp_path):
        assert set(names(folder)) == FILES
    first = json.loads((tmp_path / "round-00000001" / "deltas.json").read_text())
    assert {delta["uid"] for delta in first["deltas"]} == {"a", "b", "c"}

    done = run("replay", str(tmp_path), "-o", "json")
    assert done.exit_code == 0, done.stderr
    rounds = json.loads(done.stdout)["rounds"]
    assert [(each["cluster"], each["same"], each["placed"]) for each in rounds] == [
        ("c", True, 3),
        ("c", True, 1),
    ]
    assert all(each["then"]["cost"] == each["now"]["cost"] for each in rounds)

    assert all(each["network"]["checked"] == each["network"]["bound"] > 0 for each in rounds)

    table = run("replay", str(tmp_path / "round-00000002"))
    assert table.exit_code == 0
    assert "round-00000002" in table.stdout
    assert "agrees" in table.stdout
    assert "round-00000001" not in table.stdout


def saved(folder: Path, **content: bytes | None) -> Path:
    """A saved round with some files replaced; None leaves one out. Underscores stand for dots."""
    folder.mkdir()
    changes = {name.replace("_", "."): change for name, change in content.items()}
    for name, written in {**files(), **changes}.items():
        if written is not None:
            (folder / name).write_bytes(written)
    return folder


def test_replay_needs_only_two_of_the_files(tmp_path):
    folder = saved(tmp_path / "r", network_dimacs=None, network_json=None, flow_dimacs=None, costs_json=None)
    assert run("replay", str(folder)).exit_code == 0


def test_another_placement_ends_with_status_1(tmp_path):
    from firmament.core.flow.problem import Assignments
    from firmament.saved_rounds.saved_arrays import encode_arrays
    from firmament.saved_rounds.saving import decode_round

    problem = decode_round(files()).problem
    done = run("replay", str(saved(tmp_path / "r", problem_npz=encode_arrays(problem, Assignments.empty()))))
    assert done.exit_code == 1
    assert "moved" in done.stdout


def test_a_flow_that_is_not_of_least_cost_ends_with_status_1(tmp_path):
    document = json.loads(files()["network.json"])
    document["cost"] += 7
    done = run("replay", str(saved(tmp_path / "r", network_json=json.dumps(document).encode())))
    assert done.exit_code == 1
    assert f"{document['cost'] - 7:,}, not {document['cost']:,}" in done.stdout


@pytest.mark.parametrize("form", ["graphml", "gml", "node-link"])
def test_the_network_of_a_saved_round_is_exported_as_a_graph(tmp_path, form):
    folder, file = saved(tmp_path / "r"), tmp_path / "network"
    done = run("export-network", "--saved", str(folder), "--format", form, "-o", str(file))
    assert (done.exit_code, done.stderr) == (0, f"network of {folder} written to {file}\n")
    assert file.read_bytes().count(b"big-0") == 2  # a class, and what of it stays unscheduled
    assert run("export-network", "--saved", str(folder)).stdout_bytes == files()["network.dimacs"]


def test_the_way_to_a_machine_is_explained(tmp_path):
    folder = str(saved(tmp_path / "r"))
    done = run("explain", "big-0", "--path", "m0", "--saved", folder, "-o", "json")
    assert done.exit_code == 0, done.stderr
    path = json.loads(done.stdout)["path"]
    assert path["exact"]
    assert path["cost"] >= 0
    lines = run("explain", "big-0", "--path", "m0", "--saved", folder).stdout.splitlines()
    assert lines[0].startswith("A task of big-0 goes to m0")
    assert len(lines) == 1 + len(path["moves"])


def test_a_way_that_cannot_be_looked_for_is_told_in_one_line(tmp_path):
    folder = saved(tmp_path / "r")
    for words, fault in (
        (("big-9", "--path", "m0", "--saved", str(folder)), "no task class 'big-9'"),
        (("big-0", "--path", "m9", "--saved", str(folder)), "machine 'm9' is not among the 6"),
        (("big-0", "--path", "m0", "--saved", str(saved(tmp_path / "s", network_json=None))), "is missing"),
    ):
        done = run("explain", *words)
        assert (done.exit_code, done.stderr.count("\n"), done.stdout) == (2, 1, "")
        assert fault in done.stderr
    done = run("explain", "big-0", "--path", "m0")
    assert done.exit_code == 2
    assert "--path and --saved go together" in done.stderr


def test_what_cannot_be_replayed_is_told_in_one_line(tmp_path):
    (tmp_path / "empty").mkdir()
    cases = {
        tmp_path / "absent": "No such file or directory",
        tmp_path / "empty": "holds no saved round",
        saved(tmp_path / "a", problem_npz=b"x"): "problem.npz: not a readable .npz file",
        saved(tmp_path / "b", problem_npz=None): "problem.npz is missing",
        saved(tmp_path / "c", round_json=b"{"): "round.json is not JSON",
    }
    for path, fault in cases.items():
        done = run("replay", str(path))
        assert done.exit_code == 2
        assert str(path) in done.stderr
        assert fault in done.stderr
        assert done.stderr.count("\n") == 1
        assert done.stdout == ""
