"""Drawn work offers the load that is asked for, and is the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from poseidon.simulate.scenario.document import Generator
from poseidon.simulate.scenario.durations import Durations
from poseidon.simulate.workloads.columns import ALONE, Work
from poseidon.simulate.workloads.generator import DAY, generate

REQUESTS = np.array([1000.0, 4000.0])
OFFERED = 40_000_000.0


def draw(seed: int = 1, horizon: float = 2 * DAY, **more: object) -> Work:
    kinds = [
        {
            "name": "a",
            "share": 3,
            "requests": {"cpu": 1},
            "duration": {"distribution": "exponential", "mean": "1h"},
        },
        {"name": "b", "requests": {"cpu": 4}, "members": 2, "duration": {"mean": "2h"}},
    ]
    part = Generator.model_validate({"load": 0.8, "kinds": kinds, **more})
    return generate(part, REQUESTS, OFFERED, horizon, np.random.default_rng(seed))


def busy_at(work: Work, when: float) -> np.ndarray:
    """Return what each kind requests of those that would run at a time if all began when they came."""
    runs = (work.arrival <= when) & (when < work.arrival + work.duration)
    return np.array([REQUESTS[kind] * (runs & (work.template == kind)).sum() for kind in (0, 1)])


def test_the_offered_load_is_the_part_that_is_asked_for_from_the_first_moment_on() -> None:
    work = draw()
    for when in (1.0, DAY / 2, DAY, 1.5 * DAY):
        parts = busy_at(work, when) / OFFERED
        assert parts == pytest.approx([0.6, 0.2], rel=0.1)


def test_a_cold_beginning_is_empty() -> None:
    assert busy_at(draw(warm=False), 1.0).sum() < 0.01 * OFFERED


def test_gangs_come_and_end_together() -> None:
    work = draw()
    gangs = work.gang[work.template == 1]
    assert (work.gang[work.template == 0] == ALONE).all()
    numbers, sizes = np.unique(gangs, return_counts=True)
    assert (sizes == 2).all()
    assert len(numbers) > 100
    for number in numbers[:50]:
        mine = work.gang == number
        assert len(set(work.arrival[mine])) == len(set(work.duration[mine])) == 1


def test_by_day_more_arrives_than_by_night() -> None:
    work = draw(daily=0.8, warm=False)
    hour = (work.arrival % DAY) / 3600.0
    day, night = (hour < 12).sum(), (hour >= 12).sum()
    assert day / night == pytest.approx((1 + 1.6 / np.pi) / (1 - 1.6 / np.pi), rel=0.1)


def test_the_seed_decides_everything() -> None:
    first, again, other = draw(), draw(), draw(seed=2)
    assert (first.arrival == again.arrival).all()
    assert (first.duration == again.duration).all()
    assert len(first) != len(other) or (first.arrival != other.arrival).any()


@pytest.mark.parametrize(
    "given",
    [
        {"mean": "1h"},
        {"distribution": "exponential", "mean": "1h"},
        {"distribution": "lognormal", "median": "1h", "sigma": 0.5, "most": "10h"},
        {"distribution": "uniform", "least": "10m", "most": "2h"},
    ],
)
def test_what_is_left_of_durations_under_way_is_their_residual_life(given: dict[str, object]) -> None:
    durations = Durations.model_validate(given)
    random = np.random.default_rng(3)
    drawn = durations.draw_durations(200_000, random)
    left = durations.draw_remaining(100_000, random)
    expected = (drawn**2).mean() / (2 * drawn.mean())  # the mean residual life of a renewal process
    assert left.mean() == pytest.approx(expected, rel=0.03)
    assert durations.estimate_mean() == pytest.approx(drawn.mean(), rel=0.03)
