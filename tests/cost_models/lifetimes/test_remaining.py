"""How long tasks go on: life tables against a slow estimate that shares no code with them."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cost_models.api.parsed_records import BadRecordError
from cost_models.lifetimes.remaining import SPANS, find_ages, parse_history, tabulate

UNKNOWN = 1e6
AGES = st.integers(0, 60)
NOBODY = np.zeros(0, dtype=np.int64)


def at(age: int) -> float:
    """Return an age on the grid of the table: four to an octave."""
    return 2.0 ** (age / 4)


def weigh_slowly(ended: list[int], running: list[int]) -> tuple[list[tuple[int, Fraction]], Fraction]:
    """Return at which age which part of all tasks ends, and the part that outlives all that are known.

    Each task begins with the same weight. One that still runs leaves its weight in equal parts to all that were seen to
    live longer (Efron, "The two sample problem with censored data", 1967).
    """
    # At one age those that end come first.
    people = sorted([(each, False) for each in ended] + [(each, True) for each in running])
    weights = [Fraction(1, len(people)) for _ in people]
    beyond = Fraction(0)
    for place, (_, goes_on) in enumerate(people):
        if goes_on:
            later = range(place + 1, len(people))
            for other in later:
                weights[other] += weights[place] / len(later)
            beyond += 0 if later else weights[place]
            weights[place] = Fraction(0)
    return [(age, weight) for (age, _), weight in zip(people, weights, strict=True)], beyond


def estimate_slowly(ended: list[int], running: list[int], age: int, span: float) -> float:
    """Return how likely a task of an age goes on for a span."""
    if not ended:
        return (at(age) + UNKNOWN) / (at(age) + UNKNOWN + span)
    ends, beyond = weigh_slowly(ended, running)
    longest = at(max(ended + running))

    def lasting(seconds: float) -> float:
        # Ages are rounded up to the next of the grid.
        grid = next(at(step) for step in range(200) if at(step) >= seconds)
        alive = sum(weight for when, weight in ends if at(when) > grid) + beyond
        return float(alive) * min(longest / grid, 1.0)

    if lasting(at(age)) < 1e-9:
        return at(age) / (at(age) + span)
    return lasting(at(age) + span) / lasting(at(age))


@given(st.lists(AGES, max_size=8), st.lists(AGES, max_size=8), AGES)
def test_as_the_slow_estimate_says(ended: list[int], running: list[int], age: int) -> None:
    history = {at(each): ended.count(each) for each in set(ended)}
    ages = np.array(running, dtype=np.int64)
    table = tabulate([None, history or None], np.full(len(running), 1), ages)
    found = table.estimate_lasting(np.array([1]), np.array([age]), UNKNOWN)[0]
    expected = [estimate_slowly(ended, running, age, span) for span in SPANS.tolist()]
    assert found.tolist() == pytest.approx(expected, rel=1e-6)


def test_half_of_what_nobody_knows_takes_as_long_as_is_said() -> None:
    table = tabulate([None], np.array([0, -1]), np.array([0, 0]))
    found = table.estimate_lasting(np.array([0, -1]), np.array([0, 0]), float(SPANS[4]))
    assert found[:, 4] == pytest.approx(0.5, abs=0.01)


def test_half_of_what_outlives_all_that_is_known_goes_on_for_as_long_again() -> None:
    table = tabulate([{64.0: 10}], np.array([0]), find_ages(np.array([1024.0])))
    found = table.estimate_lasting(np.array([0]), find_ages(np.array([1024.0])), UNKNOWN)[0]
    assert found[SPANS.tolist().index(1024.0)] == pytest.approx(0.5)


def test_those_that_still_run_count() -> None:
    """Else the short ones, which end first, would stand for all."""
    few = tabulate([{64.0: 1}], NOBODY, NOBODY)
    many = tabulate([{64.0: 1}], np.zeros(9, dtype=np.int64), find_ages(np.full(9, 512.0)))
    place, new = SPANS.tolist().index(256.0), np.array([0])
    assert few.estimate_lasting(new, new, UNKNOWN)[0, place] == 0.0
    assert many.estimate_lasting(new, new, UNKNOWN)[0, place] == pytest.approx(0.9)


def test_records_are_read() -> None:
    assert parse_history(b'{"count": 3, "meanSeconds": 20.5}') == {20.5: 3}
    assert parse_history(json.dumps({"runs": [[8, 2], [16.0, 1], [8, 1]]}).encode()) == {8.0: 3, 16.0: 1}
    assert parse_history(json.dumps({"runs": [[1_000_000_000, 1]] * 1000}).encode()) == {1e9: 1000}
    assert parse_history(b'{"count": 1, "meanSeconds": 0}') == {0.0: 1}


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ({}, "count is not a whole number"),
        ({"count": 1}, "meanSeconds is not a number"),
        ({"runs": {}}, "runs is no list of at most 1000 pairs"),
        ({"runs": [[1]]}, r"runs\[0\] is no pair"),
        ({"runs": [[-1, 1]]}, r"runs\[0\]\[0\] is not a number"),
        ({"runs": [[1, 1], [2, 0]]}, r"runs\[1\]\[1\] is not a whole number"),
        ({"runs": [[math.inf, 1]]}, r"runs\[0\]\[0\] is not a number"),
        ({"runs": [[1_000_000_001, 1]]}, r"runs\[0\]\[0\] is not a number"),
        ({"count": 1, "meanSeconds": 1_000_000_001}, "meanSeconds is not a number"),
        ({"runs": [[1, 1]] * 1001}, "runs is no list of at most 1000 pairs"),
    ],
)
def test_bad_records_are_refused(document: dict, fault: str) -> None:
    with pytest.raises(BadRecordError, match=fault):
        parse_history(json.dumps(document).encode())
