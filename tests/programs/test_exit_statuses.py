"""How commands end: alike, whichever program they are of and whatever does not answer them."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import main as benchmarks
from firmament.cli import main as firmament
from poseidon.cli import main as poseidon
from poseidon.testbed.kubeconfig import write_kubeconfig
from protos.conventions.number_formats import format_count

NOBODY = "127.0.0.1:1"
LIVE = ("--kubeconfig", "KUBECONFIG")


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        (poseidon, ["explain", *LIVE, "--firmament", NOBODY, "--pod", "a/b"]),
        (poseidon, ["audit", *LIVE]),
        (poseidon, ["reschedule", *LIVE, "--dry-run"]),
        (poseidon, ["shadow", *LIVE]),
        (poseidon, ["doctor", *LIVE, "--firmament", NOBODY]),
        (poseidon, ["support-bundle", "FILE", *LIVE, "--firmament", NOBODY]),
        (poseidon, ["top", "--bridge", f"http://{NOBODY}/metrics"]),
        (firmament, ["get", "clusters", "--target", NOBODY]),
        (firmament, ["get", "tasks", "--target", NOBODY]),
        (firmament, ["get", "machines", "--target", NOBODY]),
        (firmament, ["explain", "task-0", "--target", NOBODY]),
        (firmament, ["export-network", "--target", NOBODY]),
        (firmament, ["delete", "cluster", "c", "--target", NOBODY]),
        (
            firmament,
            ["submit", "--nodes", "1", "--tasks", "1", "--connect-timeout", "0.3", "--target", NOBODY],
        ),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_a_server_that_cannot_be_reached_is_status_1_for_all(tmp_path, program, arguments):
    write_kubeconfig(tmp_path / "kubeconfig", f"http://{NOBODY}")
    places = {"KUBECONFIG": str(tmp_path / "kubeconfig"), "FILE": str(tmp_path / "bundle.tar.gz")}
    outcome = CliRunner().invoke(program, [places.get(each, each) for each in arguments])
    assert outcome.exit_code == 1, outcome.output
    assert "Traceback" not in outcome.output
    assert "refused" in outcome.output or "no solver answers" in outcome.output or NOBODY in outcome.output


@pytest.mark.parametrize(
    "program", [poseidon, firmament, benchmarks], ids=["poseidon", "firmament", "benchmarks"]
)
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_there_by_both_names(program, option):
    outcome = CliRunner().invoke(program, [option], prog_name="python -m it")
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith("Usage: python -m it [OPTIONS] COMMAND [ARGS]...")
    for command in program.list_commands(None):
        assert CliRunner().invoke(program, [command, option]).exit_code == 0, command


def test_numbers_and_nouns():
    assert [format_count(each, "node") for each in (0, 1, 2, 1200)] == [
        "0 nodes",
        "1 node",
        "2 nodes",
        "1,200 nodes",
    ]
