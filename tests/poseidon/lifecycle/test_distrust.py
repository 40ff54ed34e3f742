"""When a solver is distrusted: by rounds within a while, not by deltas."""

from __future__ import annotations

from poseidon.lifecycle.refused_deltas import ROUNDS, SECONDS, Distrust


def test_many_suspicious_rounds_in_a_short_time_are_too_many():
    now = 0.0
    distrust = Distrust(lambda: now)
    assert [distrust.suspect() for _ in range(ROUNDS)] == [False] * (ROUNDS - 1) + [True]
    distrust.forget()
    assert not distrust.suspect()


def test_as_many_over_a_longer_time_are_not():
    now = 0.0
    distrust = Distrust(lambda: now)
    for _ in range(10 * ROUNDS):
        now += SECONDS / (ROUNDS - 1.5)
        assert not distrust.suspect()


def test_thirty_rounds_within_a_minute_are_too_many():
    assert (ROUNDS, SECONDS) == (30, 60.0)
