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
    resources.add_machine(["example.com/more"])
    extra = len(resources) - 1
    history.add(1, 100.0, np.array([0.0, 3.0, 0.0, 0.0, 7.0]))
    assert history.window("p99", 0, rows)[1, [CPU, extra]].tolist() == [3.0, 7.0]
    assert history.window("avg", 0, rows)[0, extra] == 0.0
    resources.remove_machine(["example.com/more"])
    history.keep_columns(resources.compact())
    assert history.window("p99", 0, rows)[1].tolist() == [0.0, 3.0, 0.0, 0.0]


def stored(*times: float) -> list[float]:
    """Which of the samples of these times are kept."""
    history = SampleHistory(ResourceIndex())
    for time in times:
        history.add(0, time, np.array([0.0, time, 0.0, 0.0]))
    known = history._time[0]
    return sorted(known[~np.isnan(known)].tolist())


@pytest.mark.parametrize(
    ("times", "kept"),
    [
        ((0.0, 15.0, 16.0), [0.0, 15.0, 16.0]),
        ((0.0, 14.9, 16.0), [0.0, 16.0]),
        ((0.0, 10.0, 20.0, 30.0), [0.0, 20.0, 30.0]),
        ((0.0, 1.0), [0.0, 1.0]),
        ((5.0,), [5.0]),
    ],
)
def test_a_sample_stays_once_the_one_before_it_is_far_enough(times: tuple[float, ...], kept: list[float]):
    assert stored(*times) == kept


@pytest.mark.parametrize(
    ("seconds", "mean"),
    [(0.0, 30.0), (60.0, 40.0), (60.1, 30.0), (59.9, 40.0), (40.0, 50.0), (20.0, 60.0), (1e-3, 60.0)],
)
def test_a_period_ends_with_the_newest_sample_and_begins_after_its_first_moment(seconds: float, mean: float):
    history = SampleHistory(ResourceIndex())
    for time in (0.0, 20.0, 40.0, 60.0):
        history.add(0, time, np.array([0.0, time, 0.0, 0.0]))
    assert history.window("avg", seconds, np.array([0]))[0, CPU] == mean


class TestKeptStatistics:
    """Statistics are computed again for rows with further samples, and kept for the others."""

    def history(self) -> SampleHistory:
        made = SampleHistory(ResourceIndex())
        for row in range(3):
            made.add(row, 100.0, np.array([0.0, 10.0 * row, 0.0, 0.0]))
        return made

    def test_rows_are_asked_for_in_any_order(self):
        made = self.history()
        assert made.window("avg", 0, np.array([2, 0]))[:, CPU].tolist() == [20.0, 0.0]
        assert made.window("avg", 0, np.array([1, 2, 1]))[:, CPU].tolist() == [10.0, 20.0, 10.0]

    def test_each_kind_and_period_has_its_own(self):
        made, rows = self.history(), np.array([0, 1])
        made.add(1, 200.0, np.array([0.0, 30.0, 0.0, 0.0]))
        for _ in range(2):
            assert made.window("avg", 0, rows)[:, CPU].tolist() == [0.0, 20.0]
            assert made.window("avg", 50.0, rows)[:, CPU].tolist() == [0.0, 30.0]
            assert made.window("p50", 0, rows)[:, CPU].tolist() == [0.0, 10.0]
            assert made.window("std", 0, rows)[:, CPU].tolist() == [0.0, 10.0]

    def test_what_changes_is_computed_again(self):
        made, rows = self.history(), np.arange(3)
        made.window("avg", 0, rows)
        made.add(0, 200.0, np.array([0.0, 50.0, 0.0, 0.0]))
        assert made.window("avg", 0, rows)[:, CPU].tolist() == [25.0, 10.0, 20.0]
        made.move(1, 2)
        assert made.window("avg", 0, rows)[:, CPU].tolist() == [25.0, 10.0, 10.0]
        made.reset(1)
        assert np.isnan(made.window("avg", 0, rows)[1, CPU])
        made.add(1, 300.0, np.array([0.0, 7.0, 0.0, 0.0]))
        assert made.window("avg", 0, rows)[:, CPU].tolist() == [25.0, 7.0, 10.0]

    def test_without_rows_samples_or_a_known_kind_there_is_no_figure(self):
        made = self.history()
        assert made.window("avg", 0, np.array([], dtype=np.int64)).shape == (0, 4)
        assert np.isnan(made.window("median", 0, np.array([0, 1]))).all()
        assert made.window("median", 0, np.array([0, 1])).shape == (2, 4)
        assert np.isnan(made.window("p99", 0, np.array([900]))).all()
        made.reset(5_000)

    def test_a_row_without_samples_moves_as_such(self):
        made = self.history()
        made.move(200, 1)
        assert np.isnan(made.window("avg", 0, np.array([1]))[0, CPU])
        made.move(0, 300)
        assert made.window("avg", 0, np.array([300]))[0, CPU] == 0.0

    def test_a_sample_of_fewer_resources_has_none_of_the_others(self):
        made = self.history()
        made.add(0, 200.0, np.array([1.0, 2.0]))
        made.add(0, 300.0, np.array([1.0]))
        assert made.window("avg", 0.5, np.array([0])).tolist() == [[1.0, 0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("kind", "figure"), [("p50", 2.0), ("p90", 4.0), ("p95", 4.0), ("p99", 4.0), ("avg", 2.5)]
)
def test_of_four_samples_a_percentile_is_one_of_them(kind: str, figure: float):
    history = SampleHistory(ResourceIndex())
    for step, value in enumerate((3.0, 1.0, 4.0, 2.0)):
        history.add(0, 20.0 * step, np.array([0.0, value, 0.0, 0.0]))
    assert history.window(kind, 0, np.array([0]))[0, CPU] == figure
