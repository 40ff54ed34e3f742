"""``poseidon config``: files checked, what holds, and its schema."""

from __future__ import annotations

import json

import yaml

HEAD = "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"


def test_good_files_are_named(run, tmp_path):
    files = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    for file in files:
        file.write_text(HEAD)
    outcome = run("config", "validate", *files)
    assert (outcome.status, outcome.stdout) == (0, "".join(f"{file}: ok\n" for file in files))


def test_one_bad_file_beside_good_ones_is_status_2_with_its_lines_alone(run, tmp_path):
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(HEAD)
    bad.write_text(f"{HEAD}nonsense: 1\nschedulerNames: 5\n")
    outcome = run("config", "validate", good, bad)
    assert (outcome.status, outcome.stdout) == (2, "")
    lines = outcome.stderr.splitlines()
    assert len(lines) == 2
    assert all("bad.yaml" in line for line in lines)


def test_what_holds_is_a_configuration_itself(run, tmp_path):
    file = tmp_path / "shown.yaml"
    file.write_text(f"{HEAD}schedulerNames: [mine]\n")
    shown = run("config", "show", file)
    assert yaml.safe_load(shown.stdout)["schedulerNames"] == ["mine"]
    file.write_text(shown.stdout)
    assert run("config", "show", file).stdout == shown.stdout
    assert run("config", "show").status == 0


def test_a_faulty_file_is_not_shown(run, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text(f"{HEAD}nonsense: 1\n")
    outcome = run("config", "show", file)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert "nonsense" in outcome.stderr


def test_the_schema_describes_both_parts(run):
    found = json.loads(run("config", "schema").stdout)
    assert {"schedulerNames", "policy"} <= found["properties"].keys()
