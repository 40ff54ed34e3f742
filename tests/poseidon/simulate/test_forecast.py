"""What is unknown of a future is drawn as what is known says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.simulate.past_arrivals import MOST_TASKS, PastTask, gather_arrivals
from poseidon.simulate.run_times import learn_runs
from poseidon.simulate.workloads.columns import ALONE
from tests.support.effort import examples

TIMES = st.lists(st.integers(1, 12).map(float), max_size=12)


def survive_by_hand(ended: list[float], running: list[float], time: float) -> float:
    """Return the chance of running longer than a time: of those who have reached it, the part that did not end then."""
    chance = 1.0
    for each in sorted({*ended}):
        if each <= time:
            reached = sum(1 for other in (*ended, *running) if other >= each)
            chance *= 1.0 - ended.count(each) / reached
    return chance


@settings(max_examples=examples(150))
@given(TIMES.filter(bool), TIMES)
def test_tasks_that_still_run_count_as_having_run_so_long(ended: list[float], running: list[float]) -> None:
    known = learn_runs(np.array(ended), np.array(running))
    for time, chance in zip(known.seconds.tolist(), known.ended_by.tolist(), strict=True):
        assert 1.0 - chance == pytest.approx(survive_by_hand(ended, running, time))


@settings(max_examples=examples(150))
@given(TIMES.filter(bool), TIMES, st.floats(0.0, 20.0), st.integers(0, 2**32))
def test_a_task_goes_on_for_a_time_that_another_ran_or_outlives_all(
    ended: list[float], running: list[float], elapsed: float, seed: int
) -> None:
    known = learn_runs(np.array(ended), np.array(running))
    whole = elapsed + known.draw_left(elapsed, np.random.default_rng(seed))
    assert whole > elapsed
    assert any(whole == pytest.approx(each) for each in ended) or whole > max(ended)


def test_run_times_are_drawn_as_often_as_they_were() -> None:
    known = learn_runs(np.array([10.0] * 3 + [100.0]), np.array([50.0] * 4))
    random = np.random.default_rng(1)
    drawn = np.array([known.draw_left(0.0, random) for _ in range(4000)])
    assert np.mean(drawn == 10.0) == pytest.approx(3 / 8, abs=0.03)
    later = np.array([known.draw_left(20.0, random) for _ in range(100)])
    assert set(later.tolist()) == {80.0}, "of those that ran longer than 20 seconds one has ended, after 100"


def test_what_comes_is_as_much_and_such_as_came() -> None:
    gang = [PastTask(1, 1, np.inf, "gang", ganged=True)] * 3
    past = gather_arrivals([PastTask(0, 0, 60.0), *gang, *[PastTask(0, 0, 60.0)] * 98], window=3600.0)
    random = np.random.default_rng(1)
    futures = [past.draw_future(7200.0, random) for _ in range(200)]
    submissions = [len(each.arrival) - 2 * int((each.gang != ALONE).sum()) // 3 for each in futures]
    assert np.mean(submissions) == pytest.approx(200.0, rel=0.05)
    assert np.std(submissions) > 1.4 * np.sqrt(200.0), "the rate itself is uncertain"
    for each in futures:
        assert (np.diff(each.arrival) >= 0.0).all()
        assert each.until == 7200.0
        members, counts = np.unique(each.gang[each.gang != ALONE], return_counts=True)
        assert set(counts.tolist()) <= {3}
        for member in members.tolist():
            mine = each.gang == member
            assert set(past.template[each.like[mine]].tolist()) == {1}
            assert len(set(each.arrival[mine].tolist())) == 1


def test_a_future_is_cut_where_too_much_comes() -> None:
    past = gather_arrivals([PastTask(0, 0, 60.0)] * 1000, window=600.0)
    found = past.draw_future(7 * 86400.0, np.random.default_rng(1))
    assert len(found.arrival) == MOST_TASKS
    assert found.arrival[-1] <= found.until == pytest.approx(MOST_TASKS * 0.6, rel=0.2)
    assert len(gather_arrivals([], 3600.0).draw_future(60.0, np.random.default_rng(1)).arrival) == 0
