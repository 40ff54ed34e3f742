"""The benchmark of the solver, at its smallest."""

from __future__ import annotations

import json

from click.testing import CliRunner

from benchmarks.__main__ import main


def test_every_case_is_placed():
    result = CliRunner().invoke(
        main, ["topology", "--nodes", "2000", "--pods", "100", "--runs", "1", "-o", "json"]
    )
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["kind"] == "topology"
    assert [case["name"] for case in report["cases"] if not case["placed"]] == []
