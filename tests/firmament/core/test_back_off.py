"""How long something waits after it has failed a number of times."""

from __future__ import annotations

import math

import pytest

from firmament.core.back_off import compute_back_off


@pytest.mark.parametrize(
    ("failures", "pause"), [(1, 3.0), (2, 6.0), (3, 12.0), (4, 20.0), (5, 20.0), (10_000, 20.0)]
)
def test_the_pause_doubles_with_each_failure_up_to_the_longest(failures: int, pause: float):
    assert compute_back_off(failures, first=3.0, last=20.0) == pause


def test_without_a_longest_pause_it_stops_growing_after_thirty_doublings():
    assert compute_back_off(31, first=1.0, last=math.inf) == 2.0**30
    assert compute_back_off(32, first=1.0, last=math.inf) == 2.0**30


def test_a_first_pause_beyond_the_longest_is_cut():
    assert compute_back_off(1, first=9.0, last=4.0) == 4.0
