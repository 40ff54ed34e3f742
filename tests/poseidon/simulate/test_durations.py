"""Run times of tasks in a scenario: fixed, or drawn from a distribution and cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from poseidon.simulate.scenario.durations import LONGEST, Durations


def draw(count: int = 4000, **given: Any) -> np.ndarray:
    return Durations(**given).draw_durations(count, np.random.default_rng(1))


def test_fixed_durations_are_all_equal():
    assert draw(3, mean=60).tolist() == [60.0] * 3
    assert draw(3, mean="1m", least=90).tolist() == [90.0] * 3
    assert draw(3, mean=60, most=30).tolist() == [30.0] * 3
    assert Durations(mean=60).estimate_mean() == 60.0


@pytest.mark.parametrize(
    ("given", "mean", "median"),
    [
        ({"distribution": "exponential", "mean": 100}, 100, 69.3),
        ({"distribution": "lognormal", "median": 100, "sigma": 0.5}, 113.3, 100),
        ({"distribution": "lognormal", "median": 100}, 164.9, 100),
        ({"distribution": "uniform", "least": 50, "most": 150}, 100, 100),
    ],
)
def test_drawn_durations_have_the_stated_mean_or_median(given, mean, median):
    found = draw(200_000, **given)
    assert found.mean() == pytest.approx(mean, rel=0.02)
    assert np.median(found) == pytest.approx(median, rel=0.02)
    assert Durations(**given).estimate_mean() == pytest.approx(mean, rel=0.02)


def test_durations_are_cut_to_their_bounds():
    found = draw(distribution="exponential", mean=100, least=50, most=150)
    assert (found.min(), found.max()) == (50.0, 150.0)
    assert Durations(distribution="exponential", mean=100, least=50).estimate_mean() > 105
    assert Durations(distribution="exponential", mean=100, most=50).estimate_mean() < 50
    assert draw(distribution="uniform", least=10, most=20).min() >= 10


def test_what_is_left_of_durations_under_way_is_half_of_them_if_they_are_equal():
    random = np.random.default_rng(1)
    left = Durations(mean=100).draw_remaining(20_000, random)
    assert 0.0 <= left.min() <= left.max() <= 100.0
    assert left.mean() == pytest.approx(50, rel=0.03)
    assert Durations(mean=100).draw_remaining(0, random).tolist() == []
    memoryless = Durations(distribution="exponential", mean=100).draw_remaining(50_000, random)
    assert memoryless.mean() == pytest.approx(100, rel=0.05)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "a fixed duration needs mean; give it, such as mean: 1h"),
        ({"distribution": "exponential"}, "a exponential duration needs mean"),
        ({"distribution": "lognormal", "mean": 5}, "a lognormal duration needs median"),
        ({"distribution": "uniform", "most": 5}, "a uniform duration needs least"),
        ({"distribution": "uniform", "least": 5}, "a uniform duration needs most"),
        ({"mean": 5, "least": 3, "most": 2}, "least is more than most; exchange them"),
        ({"mean": 0}, "mean"),
        ({"mean": LONGEST + 1}, "mean"),
        ({"mean": 5, "sigma": 0}, "sigma"),
        ({"mean": 5, "sigma": 5.1}, "sigma"),
    ],
)
def test_durations_state_what_their_distribution_needs(given, words):
    with pytest.raises(ValidationError, match=words):
        Durations(**given)


def test_bounds_that_are_just_possible_are_accepted():
    assert Durations(mean=LONGEST, least=3, most=3).most == 3.0
    assert Durations(mean=5, sigma=5).sigma == 5.0
