"""A burst on nodes whose metrics come a minute late, on the simulated cluster and in simulated time.

Small, and with the same scenario as ``python -m benchmarks burst``, which runs it at full size and with several seeds.
"""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from benchmarks.__main__ import main
from benchmarks.bursts.burst import Outcome, run_burst
from benchmarks.bursts.chosen_bursts import DEVIATION, HEAVY, standard_bursts, summaries
from benchmarks.bursts.levelling import Batch, place_by_expected_use
from benchmarks.bursts.scenario import EXACTLY, HALF, Burst
from benchmarks.reports.models import burst_sheets
from benchmarks.reports.sheets import print_sheets

BURST = Burst(nodes=100, pods=1000, seed=2, profile=EXACTLY)
DARK = replace(BURST, missing=0.1, stale=0.1)


@pytest.fixture(scope="module")
def by_requests() -> Outcome:
    """The burst scheduled by requests, which shows that it takes something to withstand it."""
    return run_burst(replace(BURST, scheduling="requests"))


def test_the_threshold_holds_and_use_is_even(by_requests):
    assert by_requests.above > 0.01
    outcome = run_burst(BURST)
    assert (outcome.placed, outcome.pending) == (1000, 0)
    assert outcome.above == 0
    assert outcome.worst < BURST.threshold
    assert outcome.spread <= by_requests.spread / 2
    assert outcome.placement == pytest.approx(outcome.spread, abs=0.05), "pods use what was expected of them"
    default = run_burst(replace(BURST, scheduling="default"))
    assert outcome.spread < default.spread < by_requests.spread
    # Outweighing the base policy, it leaves less than half of what that leaves which reads the same reports.
    assert run_burst(replace(BURST, weight=HEAVY)).spread <= default.spread / 2


def test_less_use_than_expected_is_unevenness_that_placement_cannot_help():
    outcome = run_burst(replace(BURST, profile=HALF))
    assert outcome.above == 0
    assert outcome.placement < outcome.floor <= outcome.spread


def test_noise_lifts_hardly_any_node_above_it():
    outcome = run_burst(replace(BURST, noise=0.2))
    assert outcome.placed == 1000
    assert outcome.above <= 0.01


@pytest.mark.full  # of nodes that are not so full, the one before holds it
def test_noise_lifts_hardly_any_node_above_it_that_is_filled_up_to_it():
    """On four fifths of the nodes there is hardly room: without a margin they end where noise lifts them above."""
    closed = replace(DARK, mode="failClosed", noise=0.2, weight=HEAVY)
    assert run_burst(closed).above > 0.05
    outcome = run_burst(replace(closed, deviation=DEVIATION))
    assert outcome.above <= 0.01
    assert 0 < outcome.pending < 0.1 * closed.pods, "what has no room waits"


@pytest.mark.parametrize("mode", ["failClosed", "estimate"])
def test_it_holds_where_metrics_are_missing_or_stale(by_requests, mode):
    outcome = run_burst(replace(DARK, mode=mode))
    assert outcome.above == 0
    assert outcome.spread <= by_requests.spread / 2
    assert outcome.open_spread <= by_requests.spread / 2
    if mode == "failClosed":
        assert outcome.blind == 0, "a node about which nothing is known gets nothing"
    else:
        assert outcome.placed == 1000
        assert outcome.blind >= 80, "a fifth of the nodes get a part by estimates"


def test_levelling_is_by_estimates_and_largest_first():
    pods = Batch(np.array([1.0, 2.0, 2.0]), np.array([1.0, 2.0, 0.0]), np.ones(3))
    base, free = np.array([3.0, 0.0]), np.array([3.0, 3.0])
    assert place_by_expected_use(base, free, pods).tolist() == [1.0, 2.0]
    assert place_by_expected_use(base, free, pods, largest_first=False).tolist() == [0.0, 3.0]


def test_levelling_passes_by_nodes_that_requests_fill():
    pods = Batch(np.ones(4), np.ones(4), np.ones(4))
    assert place_by_expected_use(np.array([3.0, 0.0]), np.array([1.0, 2.0]), pods).tolist() == [1.0, 2.0]


def outcome_with(spread: float) -> Outcome:
    return Outcome(10, 0, 0.0, 60.0, 50.0, 50.0 + spread, spread, spread, 1.0, 0.5, 0.5, 0.6, 0, 1, 0.1)


def test_ratios_are_of_equal_seeds():
    bursts = {
        label: each
        for label, each in standard_bursts(10, 60).items()
        if label.startswith("exactly the estimate:")
    }
    outcomes = {label: [outcome_with(10.0), outcome_with(20.0), outcome_with(10.0)] for label in bursts}
    outcomes["exactly the estimate: overlay"] = [outcome_with(spread) for spread in (4.0, 6.0, 7.0)]
    found = {each["label"]: each for each in summaries(bursts, outcomes)}
    overlay = found["exactly the estimate: overlay"]
    assert overlay["spread"] == {"median": 6.0, "worst": 7.0}
    assert overlay["against_requests"] == overlay["against_default"] == {"median": 0.4, "worst": 0.7}
    dark = found["exactly the estimate: dark, fail-closed"]
    assert dark["against_requests"] == dark["against_default"] == {"median": 1.0, "worst": 1.0}
    alone = "exactly the estimate: overlay"
    assert summaries({alone: bursts[alone]}, outcomes)[0]["against_default"] is None


def test_the_command():
    options = [
        "burst",
        "--nodes",
        "10",
        "--pods",
        "60",
        "--seeds",
        "2",
        "--only",
        "exactly the estimate: default",
    ]
    result = CliRunner().invoke(main, [*options, "-o", "json"], catch_exceptions=False)
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert [len(each["runs"]) for each in report["bursts"]] == [2]
    assert all(run["placed"] + run["pending"] == 60 for each in report["bursts"] for run in each["runs"])
    console = Console(width=150, record=True, file=StringIO())
    print_sheets(burst_sheets(report), console)
    table = console.export_text()
    assert "60 pods on 10 nodes, metrics 60 s late, threshold 65 %" in table
    assert all(each["label"] in table for each in report["bursts"])


def test_the_command_names_what_it_does_not_know():
    result = CliRunner().invoke(main, ["burst", "--only", "nonsense"])
    assert result.exit_code == 2
    assert "no burst has 'nonsense' in its label" in result.stderr
