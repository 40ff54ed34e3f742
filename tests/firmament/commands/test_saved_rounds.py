"""Commands that read saved rounds or draw pictures: ``replay``, ``explain --path``, ``export-network``, ``draw``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest
from click.testing import CliRunner, Result

from cost_models.registry import list_available
from firmament.cli import main
from firmament.commands import draw, replay
from firmament.commands.draw import pictures
from firmament.configuration.document import BASE_POLICIES
from firmament.core.placement.outcome import no_timer
from firmament.saved_rounds.replaying import Replay
from firmament.saved_rounds.replaying import replay as run_again
from firmament.saved_rounds.saving import decode_round
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.firmament.saved_rounds.rounds import files


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


def save(folder: Path, content: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True)
    for name, data in content.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture(scope="module")
def content() -> dict[str, bytes]:
    return files()


@pytest.fixture(scope="module")
def saved(content: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("rounds") / "round-00000001", content)


# --- replay ----------------------------------------------------------------------------------------------------------


def test_a_round_is_run_again_with_the_same_outcome(saved: Path):
    done = run("replay", saved, "-o", "json")
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["rounds"]
    assert (found["path"], found["same"]) == (str(saved), True)


def test_all_rounds_of_a_folder_are_run_again(content: dict[str, bytes], tmp_path: Path):
    for number in (2, 1):
        save(tmp_path / f"round-0000000{number}", content)
    done = run("replay", tmp_path)
    assert done.exit_code == 0
    assert "Saved rounds, run again" in done.stdout
    lines = [line for line in done.stdout.splitlines() if "round-" in line]
    assert [next(word for word in line.split() if word.startswith("round-")) for line in lines] == [
        "round-00000001",
        "round-00000002",
    ]
    assert all("agrees" in line and " yes " in line for line in lines)
    assert done.stdout.endswith("If a cell has two figures, the first is from when the round was saved.\n")


@pytest.mark.parametrize(("place", "text"), [("empty", "holds no saved round"), ("gone", "cannot be read")])
def test_a_folder_without_rounds_says_so(tmp_path: Path, place: str, text: str):
    (tmp_path / "empty").mkdir()
    done = run("replay", tmp_path / place)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{tmp_path / place}: {text}")
    assert len(done.stderr.splitlines()) == 1


def test_a_round_with_a_file_missing_says_which(content: dict[str, bytes], tmp_path: Path):
    folder = save(tmp_path / "r", {name: data for name, data in content.items() if name != "problem.npz"})
    done = run("replay", folder)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"{folder}: ")
    assert "problem.npz" in done.stderr


@pytest.fixture(scope="module")
def outcome(content: dict[str, bytes]) -> Replay:
    return run_again(decode_round(content), OrToolsSolver(), no_timer)


@pytest.mark.parametrize(
    ("bound", "checked", "said", "status"),
    [(5, None, "-", 0), (5, 5, "agrees", 0), (5000, 6000, "6,000, not 5,000", 1)],
)
def test_another_cost_than_that_of_the_flow_fails(
    outcome: Replay,
    saved: Path,
    monkeypatch: pytest.MonkeyPatch,
    bound: int,
    checked: int | None,
    said: str,
    status: int,
):
    done = replace(outcome, bound=bound, checked=checked)
    assert replay._compare_costs(done) == said
    monkeypatch.setattr(replay, "_replay", lambda folder: (folder, done))
    assert run("replay", saved, "-o", "json").exit_code == status


def test_a_table_shows_what_was_and_what_is(outcome: Replay, saved: Path, monkeypatch: pytest.MonkeyPatch):
    now = replace(outcome.now, cost=12345, certified=False, gap=0.5, time_limited=True)
    then = replace(outcome.then, cost=777, certified=True, gap=0.25)
    done = replace(outcome, same=False, moved=1500, now=now, then=then)
    monkeypatch.setattr(replay, "_replay", lambda folder: (folder, done))
    shown = run("replay", saved)
    assert shown.exit_code == 1
    for part in ("no, 1,500 moved", "777 / 12,345", "yes / no", "25.00% / 50.00%"):
        assert part in shown.stdout
    limits = [line for line in shown.stdout.splitlines() if "a time limit cut the solve off" in line]
    assert limits == [
        "round-00000001: a time limit cut the solve off now; the placements may differ for this reason alone."
    ]


# --- explain --path --------------------------------------------------------------------------------------------------


def test_the_way_of_a_task_to_a_machine(saved: Path):
    done = run("explain", "small", "--path", "m4", "--saved", saved, "-o", "json")
    assert done.exit_code in (0, 2)
    found = run("explain", "/s", "--path", "m4", "--saved", saved, "-o", "json")
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert (told["task"], told["machine"]) == ("/s", "m4")
    assert set(told) == {"task", "machine", "path"}
    text = run("explain", "/s", "--path", "m4", "--saved", saved)
    assert text.exit_code == 0
    assert "m4" in text.stdout


@pytest.mark.parametrize("alone", [("--path", "m4"), ("--saved", ".")], ids=" ".join)
def test_a_machine_and_a_saved_round_go_together(alone: tuple[str, str]):
    done = run("explain", "x", *alone)
    assert done.exit_code == 2
    assert "--path and --saved go together: name a machine and a saved round" in done.stderr


def test_a_saved_round_that_cannot_be_read(tmp_path: Path):
    done = run("explain", "x", "--path", "m", "--saved", tmp_path / "gone")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{tmp_path / 'gone'}: ")


# --- export-network --------------------------------------------------------------------------------------------------


def test_the_network_of_a_saved_round_is_written_as_it_was(
    saved: Path, content: dict[str, bytes], tmp_path: Path
):
    assert run("export-network", "--saved", saved).stdout == content["network.dimacs"].decode()
    file = tmp_path / "network"
    done = run("export-network", "--saved", saved, "--format", "graphml", "-o", file)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == f"network of {saved} written to {file}\n"
    graph = nx.read_graphml(file)
    assert graph.number_of_edges() > 0
    assert json.loads(run("export-network", "--saved", saved, "--format", "node-link").stdout)["nodes"]


def test_a_network_that_cannot_be_read(tmp_path: Path):
    for form in ("dimacs", "gml"):
        done = run("export-network", "--saved", tmp_path, "--format", form)
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr.startswith(f"{tmp_path}: ")


# --- draw ------------------------------------------------------------------------------------------------------------


def test_every_base_policy_has_a_picture():
    drawn = pictures()
    assert sorted(drawn) == sorted(f"{name}.svg" for name in BASE_POLICIES if name in list_available())
    assert all("<svg" in each for each in drawn.values())
    assert "The policy quincy" in drawn["quincy.svg"]


def test_pictures_go_into_a_folder_that_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(draw, "pictures", lambda: {"a.svg": "<a/>", "b.svg": "<b/>"})
    folder = tmp_path / "new" / "folder"
    done = run("draw", folder)
    assert (done.exit_code, done.stdout) == (0, f"{folder / 'a.svg'}\n{folder / 'b.svg'}\n")
    assert (folder / "b.svg").read_text() == "<b/>"
    (tmp_path / "file").touch()
    done = run("draw", tmp_path / "file" / "below")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        f"{tmp_path / 'file' / 'below'} is not writable: Not a directory; name a folder that is\n"
    )
