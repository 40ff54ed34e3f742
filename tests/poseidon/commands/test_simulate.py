"""`poseidon simulate` and its sweep: reports, pages, checkpoints, and what is said of input that cannot be used."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.poseidon.simulate.scenarios import kind, pool, scenario
from tests.poseidon.simulate.scenarios import write as write_scenario

SMALL = scenario(kind(mean="5m"), horizon="20m", cluster={"pools": [pool(count=2)]})


@pytest.fixture
def file(tmp_path):
    return write_scenario(tmp_path, SMALL)


def test_a_report_is_a_table_or_json(run, file):
    table = run("simulate", file).stdout
    assert table.startswith("\n")
    found = run("simulate", file, "-o", "json").json
    assert found
    assert run("simulate", file, "-o", "json").json.keys() == found.keys()


def test_pages_and_curves_are_written_beside_the_report(run, file, tmp_path):
    page, curves = tmp_path / "page.html", tmp_path / "curves.parquet"
    assert run("simulate", file, "--html", page, "--parquet", curves).status == 0
    assert f"Simulation of {file.name}" in page.read_text()
    assert curves.stat().st_size > 0
    outcome = run("simulate", file, "--parquet", tmp_path / "none" / "curves.parquet")
    assert outcome.status == 2
    assert outcome.stderr.splitlines()[-1].startswith(f"--parquet: {tmp_path}/none/curves.parquet: ")


def test_a_simulation_that_is_stopped_goes_on_from_what_it_saved(run, file, tmp_path):
    whole = run("simulate", file, "-o", "json").json
    saved = tmp_path / "saved"
    first = run("simulate", file, "--until", "10m", "--checkpoint", saved, "-o", "json")
    assert f"Saved. Go on with: poseidon simulate --resume {saved}" in first.stderr
    second = run("simulate", "--resume", saved, "-o", "json")
    assert "Saved" not in second.stderr

    def figures(answer):
        return {key: value for key, value in answer.items() if "econds" not in key and key != "solver"}

    assert json.dumps(figures(second.json)).count("0") > 0
    assert figures(second.json).keys() == figures(whole).keys()
    assert second.json["waits"] == whole["waits"] if "waits" in whole else True
    over = run("simulate", file, "--checkpoint", tmp_path / "none", "-o", "json")
    assert "Saved" not in over.stderr
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--until", "soon"], "--until: "),
        (["--until", ""], "--until: "),
    ],
)
def test_an_end_that_is_no_duration_is_refused(run, file, arguments, words):
    outcome = run("simulate", file, *arguments)
    assert outcome.status == 2
    assert outcome.stdout == ""
    assert outcome.stderr.startswith(words)


def test_files_that_hold_nothing_of_the_kind_are_refused(run, tmp_path):
    broken = write_scenario(tmp_path, {**SMALL, "horizn": 1})
    for arguments in (
        ["simulate", broken],
        ["simulate", tmp_path / "none.yaml"],
        ["simulate", "--resume", broken],
        ["simulate", "--replay", tmp_path],
        ["simulate", "--replay", tmp_path, "--config", broken],
        ["simulate", "sweep", broken, "--out", tmp_path / "out.parquet"],
    ):
        outcome = run(*arguments)
        assert outcome.status == 2, arguments
        assert outcome.stdout == ""
        assert outcome.stderr.strip()


def test_a_sweep_keeps_a_row_for_each_run_and_says_which_is_best(run, file, tmp_path):
    sweep = tmp_path / "sweep.yaml"
    document = {
        "apiVersion": "firmament.io/v1alpha1",
        "kind": "Sweep",
        "scenario": file.name,
        "grid": {"seed": [1, 2]},
    }
    sweep.write_text(yaml.safe_dump(document))
    out, page = tmp_path / "out.parquet", tmp_path / "page.html"
    outcome = run("simulate", "sweep", sweep, "--out", out, "--html", page)
    assert outcome.status == 0, outcome.stderr
    assert outcome.stdout.startswith("\n")
    assert f"Sweep of {file.name}" in page.read_text()
    assert out.stat().st_size > 0
    assert not (tmp_path / "out.parquet.rows").exists()
