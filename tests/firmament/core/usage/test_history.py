"""Rings of samples against a list of all samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmament.core.resources import ResourceIndex
from firmament.core.usage.history import SLOTS, SPACING, SampleHistory

CPU = 1
SHARES = {"p50": 50, "p90": 90, "p95": 95, "p99": 99}


def nearest_rank(values: list[float], share: int) -> float:
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered) / 100) - 1)]


@given(
    st.lists(st.tuples(st.integers(15, 120), st.integers(0, 50)), min_size=1, max_size=SLOTS),
    st.sampled_from([0, 60, 300, 900]),
)
def test_statistics_are_those_of_the_samples_within_the_period(steps: list[tuple[int, int]], seconds: int):
    resources = ResourceIndex()
    history = SampleHistory(resources)
    samples: list[tuple[float, float]] = []
    time = 0.0
    for step, value in steps:
        time += step
        samples.append((time, float(value)))
        row = np.zeros(len(resources))
        row[CPU] = value
        history.add(3, time, row)
    inside = [value for at, value in samples if not seconds or at > time - seconds]
    expected = {kind: nearest_rank(inside, share) for kind, share in SHARES.items()}
    expected["avg"], expected["std"] = float(np.mean(inside)), float(np.std(inside))
    for kind, figure in expected.items():
        assert history.window(kind, float(seconds), np.array([3]))[0, CPU] == pytest.approx(figure)


def test_of_samples_close_together_the_newest_stays():
    history = SampleHistory(ResourceIndex())
    for step in range(100):
        history.add(0, float(step), np.array([0.0, step, 0.0, 0.0]))
    assert history.window("avg", 1e-3, np.array([0]))[0, CPU] == 99.0  # the newest is always there
    times = history._time[0][~np.isnan(history._time[0])]
    assert (np.diff(times)[:-1] >= SPACING).all()
    assert len(times) >= 100 / (SPACING + 1)


def test_the_ring_forgets_the_oldest():
    history = SampleHistory(ResourceIndex())
    for step in range(3 * SLOTS):
        history.add(0, step * SPACING, np.array([0.0, step, 0.0, 0.0]))
    expected = np.mean(range(2 * SLOTS, 3 * SLOTS))
    assert history.window("avg", 0, np.array([0]))[0, CPU] == expected


def test_rows_move_and_are_forgotten_and_columns_grow():
    resources = ResourceIndex()
    history = SampleHistory(resources)
    history.move(5, 2)  # nothing is known yet
    history.reset(1)
    for row in range(3):
        history.add(row, 1.0, np.array([0.0, row, 0.0, 0.0]))
    rows = np.arange(3)
    assert history.window("avg", 0, rows)[:, CPU].tolist() == [0, 1, 2]
    history.move(2, 0)
    history.reset(2)
    found = history.window("avg", 0, rows)[:, CPU]
    assert found[:2].tolist() == [2, 1]
    assert np.isnan(found[2])
    resources.offer(["example.com/more"])
    extra = len(resources) - 1
    history.add(1, 100.0, np.array([0.0, 3.0, 0.0, 0.0, 7.0]))
    assert history.window("p99", 0, rows)[1, [CPU, extra]].tolist() == [3.0, 7.0]
    assert history.window("avg", 0, rows)[0, extra] == 0.0
    resources.withdraw(["example.com/more"])
    history.keep_columns(resources.compact())
    assert history.window("p99", 0, rows)[1].tolist() == [0.0, 3.0, 0.0, 0.0]
