"""The benchmark of the solver, at its smallest."""

from __future__ import annotations

import json

from click.testing import CliRunner

from benchmarks.__main__ import main


def test_every_case_is_placed():
    small = "--nodes 2000 --pods 100 --runs 1 --groups 20 --others 50"
    result = CliRunner().invoke(main, ["topology", *small.split(), "-o", "json"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["kind"] == "topology"
    assert [case["name"] for case in report["cases"] if not case["placed"]] == []
    assert [(each["groups_whole"], each["groups_split"]) for each in report["rounds"]] == [
        (1, 0),
        (20, 0),
        (20, 0),
    ]
