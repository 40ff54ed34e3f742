"""How expected starts are told: sentences, tables and figures of pods and of groups of them."""

from __future__ import annotations

import json

import pytest

from poseidon.simulate.expected_starts import (
    ExpectedStart,
    ExpectedStarts,
    QueueStarts,
    group_by_queue,
    start_lines,
    start_rows,
)
from poseidon.simulate.start_annotations import describe_start

WEEK = 7 * 86400.0
SOON = ExpectedStart("a/p", 90.0, 45.0, None, 3600.0, "q")
LATER = ExpectedStart("a/q", 300.0, 200.0, 400.0, 3600.0, "q")
NEVER = ExpectedStart("a/r", None, None, None, 3600.0, "r")
FREE = ExpectedStart("a/s", 0.0, 0.0, 0.0, 3600.0)
ALL = ExpectedStarts((SOON, LATER, NEVER, FREE), 3, 2, 1, 0, 0.0, 3600.0)


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        (SOON, "It is expected to get a node in 90s (between 45s and over 60m)."),
        (FREE, "It is expected to get a node in 0s (between 0s and 0s)."),
        (NEVER, "It is not expected to get a node within 60m, if all goes on as it is."),
        (
            ExpectedStart("a/r", None, None, None, WEEK),
            "It is not expected to get a node within 7 days, if all goes on as it is.",
        ),
        (
            ExpectedStart("a/r", None, None, None, WEEK - 3600.0),
            "It is not expected to get a node within 167h, if all goes on as it is.",
        ),
    ],
)
def test_a_start_as_a_sentence(start, sentence):
    assert start.describe() == sentence


def test_a_row_has_the_median_before_the_best_and_the_worst():
    assert start_rows(ALL) == [
        ("a/p", "90s", "45s", "over 60m"),
        ("a/q", "5m", "3m", "7m"),
        ("a/r", "over 60m", "over 60m", "over 60m"),
        ("a/s", "0s", "0s", "0s"),
    ]


def test_starts_of_queues_are_those_of_their_first_and_last_pods():
    unsure = ExpectedStart("a/t", None, 5.0, None, 3600.0, "q")
    assert group_by_queue(ALL) == {
        "q": QueueStarts(90.0, 300.0, 3600.0),
        "r": QueueStarts(None, None, 3600.0),
    }
    more = ExpectedStarts((unsure, LATER), 0, 0, 2, 0, 0.0, 3600.0)
    assert group_by_queue(more) == {"q": QueueStarts(300.0, None, 3600.0)}
    found = QueueStarts(300.0, None, 3600.0)
    assert found.format_times() == ("5m", "over 60m")
    assert found.as_json() == {"first": 300.0, "last": None, "lookedAhead": 3600.0}


@pytest.mark.parametrize(
    ("came", "words"),
    [
        (0, "as if no further pods came"),
        (1200, "as if pods went on coming as 1,200 did in the last 3h"),
    ],
)
def test_what_starts_are_based_on(came, words):
    found = ExpectedStarts((), 3000, 2, 1, came, 10800.0, 3600.0)
    first, second = start_lines(found)
    assert first.startswith(f"Expected {words}; best and worst are the first and the last of ")
    assert (
        second == "Run times of pods: 3,000 as those of others that have ended, 2 as they state, 1 endless."
    )


def test_the_annotation_has_moments_instead_of_seconds():
    assert json.loads(describe_start(SOON, 60.0)) == {
        "computed": "1970-01-01T00:01:00Z",
        "median": "1970-01-01T00:02:30Z",
        "earliest": "1970-01-01T00:01:45Z",
        "latest": None,
        "lookedAhead": 3600,
    }


def test_a_start_for_programs():
    assert ALL.as_json()[0] == {
        "pod": "a/p",
        "median": 90.0,
        "low": 45.0,
        "high": None,
        "lookedAhead": 3600.0,
    }
    assert len(ALL.as_json()) == 4


def test_wider_intervals_are_said_to_be_wider():
    as_simulated, wider = (
        start_lines(ExpectedStarts((), 1, 0, 0, 0, 0.0, 3600.0, 34, factor)) for factor in (1.0, 1.62)
    )
    assert wider[:-1] == as_simulated
    assert wider[-1] == (
        "Intervals are 1.6 times as wide as in the futures, since of 34 earlier answers too many were wrong."
    )
