"""A burst on nodes whose metrics come a minute late, on the simulated cluster and in simulated time.

Small, and with the same scenario as ``python -m benchmarks burst``, which runs it at full size.
"""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO

import pytest
from click.testing import CliRunner
from rich.console import Console

from benchmarks.__main__ import main
from benchmarks.burst import Burst, Outcome, run_burst
from benchmarks.commands.burst import print_bursts

BURST = Burst(nodes=100, pods=1000, seed=2)
DARK = replace(BURST, missing=0.1, stale=0.1)


@pytest.fixture(scope="module")
def without() -> Outcome:
    """The burst without the overlay, which shows that it takes something to withstand it."""
    return run_burst(replace(BURST, overlay=False))


def test_the_threshold_holds_and_use_is_even(without):
    outcome = run_burst(BURST)
    assert (outcome.placed, outcome.pending) == (1000, 0)
    assert outcome.above == 0
    assert outcome.worst < BURST.threshold
    assert outcome.worst < without.worst
    assert outcome.spread <= without.spread / 2


def test_noise_lifts_hardly_any_node_above_it():
    outcome = run_burst(replace(BURST, noise=0.2))
    assert outcome.placed == 1000
    assert outcome.above <= 0.01


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("mode", ["failClosed", "estimate"])
def test_it_holds_where_metrics_are_missing_or_stale(without, mode, noise):
    outcome = run_burst(replace(DARK, mode=mode, noise=noise))
    assert outcome.above <= (0.01 if noise else 0.0)
    assert outcome.spread <= without.spread / 2
    if mode == "failClosed":
        assert outcome.blind == 0, "a node about which nothing is known gets nothing"
    else:
        assert outcome.placed == 1000
        assert outcome.blind >= 100, "a fifth of the nodes get their part by estimates"


def test_the_command():
    options = ["burst", "--nodes", "10", "--pods", "60", "-o", "json"]
    result = CliRunner().invoke(main, options, catch_exceptions=False)
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert [each["placed"] + each["pending"] for each in report["bursts"]] == [60] * 7
    console = Console(width=150, record=True, file=StringIO())
    print_bursts(report, console)
    table = console.export_text()
    assert "60 pods on 10 nodes, metrics 60 s late, threshold 65 %" in table
    assert all(each["label"] in table for each in report["bursts"])
