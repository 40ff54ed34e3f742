"""The same scenario gives the same bytes, also when it is stopped and resumed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from poseidon.cli import main
from poseidon.simulate.checkpoint import CheckpointError, resume, save
from poseidon.simulate.report import make_report
from tests.poseidon.simulate.scenarios import begin, kind, pool, scenario, write


@pytest.fixture
def document() -> dict[str, Any]:
    cluster = {"pools": [pool()], "failures": {"every": "1h", "repair": {"mean": "10m"}}}
    gang = kind("train", cpu=2, mean="20m", members=3, priority=10)
    return scenario(kind(), gang, load=1.0, horizon="45m", cluster=cluster)


def report_of(path: Path, *options: str) -> str:
    result = CliRunner().invoke(main, ["simulate", str(path), "-o", "json", *options])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    del found["seconds"]
    return json.dumps(found)


def test_a_scenario_run_twice_gives_the_same_bytes(tmp_path: Path, document: dict[str, Any]) -> None:
    path = write(tmp_path, document)
    assert report_of(path) == report_of(path)
    assert report_of(path) != report_of(write(tmp_path, document | {"seed": 2}))


def test_a_simulation_that_is_stopped_and_resumed_ends_as_if_it_were_not(
    tmp_path: Path, document: dict[str, Any]
) -> None:
    path, saved = write(tmp_path, document), tmp_path / "saved"
    report_of(path, "--until", "20m", "--checkpoint", str(saved))
    result = CliRunner().invoke(main, ["simulate", "--resume", str(saved), "-o", "json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    del found["seconds"]
    assert json.dumps(found) == report_of(path)


def test_a_file_that_is_no_simulation_is_refused(tmp_path: Path, document: dict[str, Any]) -> None:
    path = tmp_path / "other"
    path.write_bytes(b"something else\n")
    with pytest.raises(CheckpointError, match="is not a simulation of this version"):
        resume(path)
    simulation = begin(tmp_path, document)
    save(simulation, path)
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(CheckpointError, match="is cut off, or of another version"):
        resume(path)


def test_a_stop_leaves_a_simulation_that_goes_on(tmp_path: Path, document: dict[str, Any]) -> None:
    simulation = begin(tmp_path, document)
    assert not simulation.run(stop=lambda: True)
    assert simulation.run()
    whole = begin(tmp_path, document)
    whole.run()
    assert make_report(simulation).as_json(timed=False) == make_report(whole).as_json(timed=False)
