"""What is placed begins once it has been written, as fast as the API server may be written to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poseidon.simulate.rounds.request_limit import RequestBucket
from poseidon.simulate.scenario.document import RequestLimit
from poseidon.simulate.workloads.columns import ALONE
from tests.poseidon.simulate.scenarios import begin, kind, pool, scenario


@given(
    st.lists(st.floats(0, 5), min_size=1, max_size=60).map(sorted),
    st.floats(0.5, 20),
    st.integers(1, 10),
)
def test_no_span_of_time_has_more_requests_than_the_burst_and_the_rate_allow(
    moments: list[float], per_second: float, burst: int
) -> None:
    bucket = RequestBucket(RequestLimit(per_second=per_second, burst=burst))
    sent = [bucket.send(1.0, moment) for moment in moments]
    assert all(when >= moment - 1e-9 for when, moment in zip(sent, moments, strict=True))
    assert sent == sorted(sent)
    for first, begin_of_span in enumerate(sent):
        for last in range(first, len(sent)):
            span = sent[last] - begin_of_span
            assert last - first + 1 <= burst + per_second * span + 1e-6
    at_once = sent[:burst]
    assert at_once == pytest.approx(moments[:burst], abs=1e-9), "nothing waits while the first burst lasts"


def begin_limited(folder: Path, members: int, **limit: float) -> np.ndarray:
    """Return when 20 tasks that are there at the beginning have begun, ascending."""
    work = kind(mean="1h", members=members)
    document = scenario(work, load=1.0, horizon="10m", cluster={"pools": [pool(count=20)]}, requests=limit)
    simulation = begin(folder, document | {"roundEvery": 1})
    simulation.run(600.0)
    tasks = simulation.tasks
    first = np.flatnonzero(tasks.work.arrival == 0.0)
    assert (tasks.first_begun[first] >= 0.0).all()
    return np.sort(tasks.first_begun[first])


def test_tasks_begin_at_the_rate_of_the_limit(tmp_path: Path) -> None:
    begun = begin_limited(tmp_path, 1, perSecond=2, burst=5)
    assert (begun[:5] == 0.0).all()
    assert np.diff(begun[4:20]) == pytest.approx(0.5)


def test_a_gang_is_one_request_where_the_scheduler_writes_one_for_it(tmp_path: Path) -> None:
    begun = begin_limited(tmp_path, 4, perSecond=2, burst=1, perPod=0, perGang=1)
    assert np.unique(begun[:20]) == pytest.approx([0.0, 0.5, 1.0, 1.5, 2.0])
    assert (begun[:4] == begun[0]).all()


def test_what_takes_no_request_waits_for_none() -> None:
    bucket = RequestBucket(RequestLimit(per_second=1, burst=1, per_pod=1, per_eviction=0, per_evicted_gang=2))
    assert bucket.send_placements([ALONE] * 3, 5.0) == [5.0, 6.0, 7.0]
    assert bucket.send_refusals(4, 5.0) == 5.0
    assert bucket.send_evictions([3, 3, ALONE, 4], 5.0) == [9.0, 9.0, 11.0, 13.0], "two for each gang"


def test_evictions_are_requests_as_well(tmp_path: Path) -> None:
    """Who waits for victims begins once their evictions have been written."""
    low, high = kind("low", cpu=8, mean="10h"), kind("high", cpu=8, mean="10m", priority=10, share=0.2)
    waits = {}
    for requests in (0, 100):
        limit = {"perSecond": 10, "burst": 1, "perEviction": requests}
        simulation = begin(
            tmp_path, scenario(low, high, load=3.0, horizon="1h", requests=limit) | {"roundEvery": 1}
        )
        simulation.run()
        tasks = simulation.tasks
        placed = (tasks.work.template == 1) & (tasks.first_begun >= 0.0)
        assert simulation.record.preempted
        waits[requests] = (tasks.first_begun - tasks.work.arrival)[placed].mean()
    assert waits[100] > waits[0] + 5.0
