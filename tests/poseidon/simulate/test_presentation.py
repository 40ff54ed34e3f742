"""Simulations for people: spans of time, tables, sentences."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.simulate.presentation import format_span
from poseidon.simulate.recorded.presentation import describe_replayed_decisions, difference_rows
from poseidon.simulate.recorded.replaying import Difference, ReplayedDecisions
from poseidon.simulate.sweep.presentation import _format, _mean_by, _shorten


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0.0, "0s"),
        (0.1234, "0.123s"),
        (45.0, "45s"),
        (119.4, "119s"),
        (120.0, "2m"),
        (150.0, "2m"),
        (7199.0, "120m"),
        (7200.0, "2h"),
        (12_600.0, "3.5h"),
        (360_000.0, "100h"),
    ],
)
def test_spans_are_said_in_the_unit_that_fits(seconds, text):
    assert format_span(seconds) == text


def test_decisions_made_again_are_counted_in_sentences():
    assert describe_replayed_decisions(ReplayedDecisions(1, 0, 1, 1, 1)) == [
        "1 decision in 1 round of 1 stream; 1 made again."
    ]
    found = describe_replayed_decisions(ReplayedDecisions(2, 1, 3000, 4000, 3999, [], 2))
    assert found[0] == "4,000 decisions in 3,000 rounds of 2 streams; 3,999 made again."
    assert found[1].startswith("The beginning of 1 stream is not recorded any more")
    assert found[2] == "The solver refused 2 messages, as it did then."


def test_differences_are_rows_with_a_dash_for_no_decision():
    found = ReplayedDecisions(first=[Difference(1000, "a", "", "n1"), Difference(2, "b", "n1", "")])
    assert difference_rows(found) == [("1,000", "a", "-", "n1"), ("2", "b", "n1", "-")]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("waitP50", 150.0, "2m"),
        ("makespan", 7200, "2h"),
        ("waiting", 5, "5"),
        ("waitingAtEnd", 150.0, "150"),
        ("cost", 123456.0, "1.2346e+05"),
        ("cost", 12345, "12,345"),
        ("cost", None, "-"),
        ("cost", "x", "-"),
    ],
)
def test_figures_of_sweeps_are_spans_or_numbers(name, value, text):
    assert _format(name, value) == text


def test_means_are_over_the_runs_that_have_the_figure():
    rows: list[dict[str, Any]] = [
        {"run": 1, "load": 0.5, "cost": 2.0},
        {"run": 2, "load": 0.5, "cost": 4.0},
        {"run": 3, "load": 0.7, "cost": None},
        {"run": 4, "load": 0.9, "cost": 7.0},
    ]
    assert list(_mean_by(rows, "load", "cost")) == [("0.5", 3.0, "3"), ("0.9", 7.0, "7")]


@pytest.mark.parametrize(
    ("name", "short"), [("cluster.nodes", "nodes"), ("workload.load", "load"), ("policy", "policy")]
)
def test_settings_have_short_names(name, short):
    assert _shorten(name) == short
