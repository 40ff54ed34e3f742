"""Tests that wait fail in the end, say what they waited for, and get more time where a machine is slow."""

from __future__ import annotations

from itertools import count

import pytest

from tests.support import time_limits
from tests.support.time_limits import MOST, stretch
from tests.support.waiting import Terminal, no_more_than, stays, until, wait_until


@pytest.fixture
def quiet(monkeypatch):
    monkeypatch.setattr(time_limits, "_load", lambda: 0.0)
    monkeypatch.setattr(time_limits, "measure_slowness", lambda: 1.0)


@pytest.mark.parametrize(
    ("slowness", "load", "seconds"), [(0.5, 0, 10), (1, 0.5, 10), (3, 0, 30), (1, 2, 40), (9, 9, 10 * MOST)]
)
def test_limits_grow_with_slowness_and_load_up_to_a_bound(monkeypatch, slowness, load, seconds):
    monkeypatch.setattr(time_limits, "measure_slowness", lambda: float(slowness))
    monkeypatch.setattr(time_limits, "_load", lambda: float(load))
    assert stretch(10.0) == seconds


async def test_what_never_holds_is_named(quiet):
    with pytest.raises(AssertionError, match="the moon"):
        await until(lambda: False, within=0.02, what="the moon")
    with pytest.raises(AssertionError, match="lambda: 0"):
        wait_until(lambda: 0, within=0.02)


async def test_what_does_not_stay_is_named():
    tries = iter([1, 2, 0])
    with pytest.raises(AssertionError, match="no longer: the moon"):
        await stays(lambda: next(tries), 60.0, "the moon")
    numbers = count(1)
    await stays(lambda: next(numbers), 0.02)
    assert next(numbers) > 2


async def test_coroutines_are_conditions_too(quiet):
    tries = iter([None, "", "found"])

    async def look():
        return next(tries)

    assert await until(look) == "found"


def test_a_late_try_counts(quiet, monkeypatch):
    now = iter([0.0, 100.0, 200.0])
    tries = iter([False, "there"])
    assert wait_until(lambda: next(tries), within=1.0, clock=lambda: next(now)) == "there"


def test_who_waits_long_says_so(quiet, monkeypatch):
    lines: list[str] = []
    now = iter([0.0, 1.0, 11.0, 12.0, 23.0])
    monkeypatch.setattr(Terminal, "tell", lines.append)
    tries = iter([0, 0, 0, 0, 1])
    assert wait_until(lambda: next(tries), within=60.0, what="the moon", clock=lambda: next(now)) == 1
    assert [line.strip() for line in lines] == [
        "for 11 s of at most 60 s: waiting for the moon",
        "for 23 s of at most 60 s: waiting for the moon",
    ]


def test_what_takes_too_long_is_named(quiet, monkeypatch):
    now = iter([0.0, 3.0, 10.0, 11.0])
    with (
        pytest.raises(AssertionError, match=r"sorting took 3\.0 s"),
        no_more_than(2.0, "sorting", lambda: next(now)),
    ):
        pass
    with no_more_than(2.0, clock=lambda: next(now)):
        pass
