"""What is unknown of a future is drawn as what is known says."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.simulate.forecasts.past_arrivals import MOST_TASKS, PastTask, gather_arrivals
from poseidon.simulate.forecasts.run_time_statistics import PastRuns, RunTimes
from poseidon.simulate.forecasts.sparse_rounds import PlacedTasks, thin_out
from poseidon.simulate.tasks import TaskColumns
from poseidon.simulate.workloads.columns import ALONE, Work
from tests.support.effort import examples

TIMES = st.lists(st.integers(1, 12).map(float), max_size=12)
SEEN = st.lists(st.tuples(st.integers(1, 12), st.booleans(), st.integers(0, 12)), min_size=1, max_size=12)


def make_runs(ended: list[float], running: list[float]) -> PastRuns:
    """Return runs that were seen from their beginning."""
    count = len(ended) + len(running)
    over = np.arange(count) < len(ended)
    return PastRuns(np.array([*ended, *running]), over, np.zeros(count), np.ones(count))


def survive_by_hand(seen: list[tuple[float, bool, float]], time: float) -> float:
    """Return the chance of running longer: of those under way at an age, the part that did not end then. A further
    half of a task never ends.

    Each of ``seen`` has its age, whether it has ended, and the age at which it was seen first.
    """
    chance = 1.0
    for each in sorted({age for age, over, _ in seen if over}):
        reached = sum(1 for age, _, first in seen if first <= each <= age)
        if each <= time:
            chance *= 1.0 - sum(1 for age, over, _ in seen if over and age == each) / (reached + 0.5)
    return chance


@settings(max_examples=examples(300))
@given(SEEN.filter(lambda seen: any(over for _, over, _ in seen)))
def test_tasks_that_still_run_or_were_seen_late_count_for_what_was_seen(
    drawn: list[tuple[int, bool, int]],
) -> None:
    seen = [(float(age), over, float(min(age, first))) for age, over, first in drawn]
    age, over, first = (np.array(each) for each in zip(*seen, strict=True))
    known = PastRuns(age, over, first, np.ones(len(age))).estimate()
    assert (np.diff(known.ended_by) >= 0.0).all()
    for time in known.seconds.tolist():
        last = int(np.searchsorted(known.seconds, time, side="right")) - 1
        assert 1.0 - known.ended_by[last] == pytest.approx(survive_by_hand(seen, time))


@settings(max_examples=examples(150))
@given(TIMES.filter(bool), TIMES, st.floats(0.0, 20.0), st.integers(0, 2**32))
def test_a_task_goes_on(ended: list[float], running: list[float], elapsed: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    known = make_runs(ended, running).draw_estimate(random)
    drawn = np.array([known.draw_left(elapsed, random) for _ in range(50)])
    assert (drawn >= 0.0).all()
    assert np.isfinite(drawn).all()


def test_run_times_are_drawn_as_often_as_they_were() -> None:
    known = make_runs([10.0] * 3 + [100.0], [50.0] * 4).estimate()
    random = np.random.default_rng(1)
    drawn = np.array([known.draw_left(0.0, random) for _ in range(4000)])
    assert np.mean(drawn <= 10.0) == pytest.approx(3 / 8.5, abs=0.03)
    assert np.mean(drawn == 10.0) == pytest.approx(2 / 8.5, abs=0.03), "one is spread over what is below"
    later = np.array([known.draw_left(20.0, random) for _ in range(4000)])
    assert np.mean(later > 80.0) == pytest.approx(0.5 / (0.5 + 8 / 9), abs=0.03), (
        "a ninth of one ends before 20"
    )
    within = later[later <= 80.0]
    assert np.quantile(within, [0.25, 0.5, 0.75]) == pytest.approx([20.0, 40.0, 60.0], abs=4.0)


def test_a_task_that_has_run_for_a_time_goes_on_like_those_that_reached_it() -> None:
    random = np.random.default_rng(1)
    known = make_runs([10.0, 10.0, 30.0, 70.0, 200.0], [20.0, 90.0]).draw_estimate(random)
    whole = np.array([known.draw_left(0.0, random) for _ in range(20_000)])
    for elapsed in (5.0, 10.0, 40.0, 150.0):
        left = np.array([known.draw_left(elapsed, random) for _ in range(5000)])
        reached = whole[whole > elapsed] - elapsed
        apart = [
            abs(np.mean(left <= each) - np.mean(reached <= each)) for each in (2.0, 5.0, 20.0, 60.0, 120.0)
        ]
        assert max(apart) < 0.04


@settings(max_examples=examples(60))
@given(TIMES.filter(bool), TIMES, st.integers(0, 2**32))
def test_run_times_drawn_together_are_distributed_as_those_drawn_one_by_one(
    ended: list[float], running: list[float], seed: int
) -> None:
    random = np.random.default_rng(seed)
    known = make_runs(ended, running).draw_estimate(random)
    together, alone = known.draw_runs(2000, random), [known.draw_left(0.0, random) for _ in range(2000)]
    for time in [*ended, 0.5 * max(ended), 2.0 * max(ended)]:
        assert abs(np.mean(together <= time) - np.mean(np.array(alone) <= time)) < 0.09, "six deviations"


def test_tasks_of_several_families_get_run_times_of_their_own() -> None:
    past = {3: make_runs([10.0, 12.0], []), 5: make_runs([900.0, 950.0], [])}
    unknown = np.zeros(0)
    runs = RunTimes(unknown.astype(np.int64), unknown, unknown.astype(np.int64), past)
    drawn = runs.draw_future(np.random.default_rng(1))
    families, stated = np.array([3, 5, 3, 7, 7] * 40), np.array([np.inf, np.inf, 0.5, np.inf, 60.0] * 40)
    found = drawn.draw_runs(families, stated, np.random.default_rng(2)).reshape(40, 5)
    assert np.median(found[:, 0]) < 15.0
    assert np.median(found[:, 1]) > 100.0
    assert set(found[:, 2]) == {1.0}, "not longer than stated, and at least a second"
    assert np.isinf(found[:, 3]).all(), "nothing says that they end"
    assert set(found[:, 4]) == {60.0}


def test_the_more_run_times_differ_the_longer_may_the_next_one_last() -> None:
    random = np.random.default_rng(1)
    medians = []
    for ended in ([90.0, 95.0, 100.0], [1.0, 10.0, 100.0]):
        known = make_runs(ended, []).estimate()
        medians.append(np.median([100.0 + known.draw_left(100.0, random) for _ in range(5000)]))
    tails = (0.5 + np.log(100.0 / 95.0)) / 2, (0.5 + np.log(10.0)) / 2
    assert medians == pytest.approx([100.0 * 2.0**tail for tail in tails], rel=0.05)


def test_what_lasts_longer_than_all_many_known_ones_goes_on_as_the_longest_of_them_did() -> None:
    """Logarithms are normal with deviation 2.6, as those of jobs with GPUs."""
    random, normal = np.random.default_rng(1), NormalDist()
    found, expected = [], []
    for _ in range(20):
        runs = np.exp(2.6 * random.standard_normal(400))
        known, elapsed = make_runs(runs.tolist(), []).draw_estimate(random), float(runs.max())
        left = np.median([known.draw_left(elapsed, random) for _ in range(200)])
        found.append(np.log((elapsed + left) / elapsed))
        longer = 1.0 - normal.cdf(np.log(elapsed) / 2.6)
        expected.append(2.6 * normal.inv_cdf(1.0 - longer / 2.0) - np.log(elapsed))
    assert np.mean(found) == pytest.approx(np.mean(expected), abs=0.3)


def test_tasks_that_still_run_do_not_make_the_tail_heavier() -> None:
    tails = [make_runs([1.0, 10.0, 100.0], running).estimate().tail for running in ([], [5.0], [1e9])]
    assert tails == pytest.approx([(0.5 + np.log(10.0)) / 2] * 3)


def test_the_longest_known_runs_make_the_tail_as_many_as_the_square_root_of_all() -> None:
    """Of sixteen runs, the last four are each twice as long as the one before; all others last about a second."""
    runs = [*(1.0 + 0.01 * place for place in range(11)), 2.0, 4.0, 8.0, 16.0, 32.0]
    counted = np.log([2.0, 4.0, 8.0, 16.0]).sum()
    assert make_runs(runs, []).estimate().tail == pytest.approx((0.5 + counted) / 5)


@pytest.mark.parametrize("sigma", [0.3, 1.5])
def test_tasks_end_within_what_is_drawn_for_them_as_often_as_they_should(sigma: float) -> None:
    """Families of eight, some of which still run, each time with one more that is under way or begins."""
    random = np.random.default_rng(1)
    ranks = []
    for _ in range(examples(1500)):
        runs, age = random.lognormal(5.0, sigma, 9), random.random(9) * 1000.0
        over = runs[:8] <= age[:8]
        elapsed = float(random.choice([0.0, age[8]]))
        if not over.any() or elapsed >= runs[8]:
            continue
        past = PastRuns(np.minimum(runs[:8], age[:8]), over, np.zeros(8), np.ones(8))
        drawn = [past.draw_estimate(random).draw_left(elapsed, random) for _ in range(19)]
        ranks.append(sum(elapsed + each < runs[8] for each in drawn))
    outside = np.mean([rank in (0, 19) for rank in ranks])
    assert 0.05 <= outside <= 0.2, "one in ten is earlier or later than all nineteen"
    assert np.mean([rank < 10 for rank in ranks]) == pytest.approx(0.5, abs=0.07)


def test_runs_of_little_weight_count_together_as_few() -> None:
    """Five runs of ten seconds, and a hundred of a thousand, which weigh as much as three and differ as much."""
    random = np.random.default_rng(1)
    age, weight = np.array([10.0] * 5 + [1000.0] * 100), np.array([1.0] * 5 + [0.03] * 100)
    past = PastRuns(age, np.ones(105, dtype=np.bool_), np.zeros(105), weight)
    assert past.estimate().ended_by[5] == pytest.approx(5.0 / 8.5)
    shares = np.array([past.draw_estimate(random).ended_by[5] for _ in range(4000)])
    assert shares.mean() == pytest.approx(5.0 / 8.5, abs=0.02)
    assert shares.std() == pytest.approx(np.sqrt((5 / 8.5) * (3.5 / 8.5) / 9.5), abs=0.02), "as of 8.5 runs"


def test_forgotten_short_runs_do_not_make_runs_long() -> None:
    random = np.random.default_rng(1)
    begun, runs = np.sort(random.random(4000) * 100_000.0), random.exponential(3600.0, 4000)
    end = begun + runs
    seen = (end > 80_000.0) & (begun < 100_000.0)
    until = np.minimum(end[seen], 100_000.0)
    age, over = until - begun[seen], end[seen] <= 100_000.0
    found = PastRuns(age, over, np.clip(80_000.0 - begun[seen], 0.0, age), np.ones(len(age))).estimate()
    half = float(found.seconds[np.searchsorted(found.ended_by, 0.5)])
    assert half == pytest.approx(3600.0 * np.log(2.0), rel=0.1)
    few = PastRuns(np.array([10.0, 20.0, 40.0]), np.ones(3, dtype=np.bool_), np.zeros(3), np.ones(3))
    means = [few.draw_estimate(random).draw_left(0.0, random) for _ in range(300)]
    assert np.std(means) > 10.0
    assert len({float(few.draw_estimate(random).ended_by[1]) for _ in range(20)}) == 20, "three tell little"


def test_no_task_runs_longer_than_it_says() -> None:
    past = make_runs([10.0, 100.0], [])
    alone = np.array([ALONE])
    runs = RunTimes(np.array([3]), np.array([40.0]), alone, {3: past}).draw_future(np.random.default_rng(1))
    random = np.random.default_rng(2)
    drawn = [runs.draw_left(0, 0.0, random) for _ in range(50)]
    assert max(drawn) == 40.0 > min(drawn)
    assert {runs.draw_run(7, 40.0, 15.0, random), runs.draw_run(7, np.inf, 0.0, random)} == {25.0, np.inf}


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


def test_few_that_came_tell_little_about_what_will_come() -> None:
    """Of ten tasks that came, half were of one kind. What part will be is known to 15 %, as many as may come."""
    past = gather_arrivals([PastTask(kind, 0, 60.0) for kind in (0, 1) * 5], window=3600.0)
    random = np.random.default_rng(1)
    parts = []
    for _ in range(300):
        found = past.draw_future(100 * 3600.0, random)
        parts.append(np.mean(past.template[found.like]))
    assert np.mean(parts) == pytest.approx(0.5, abs=0.03)
    assert np.std(parts) == pytest.approx(0.5 / np.sqrt(11.0), rel=0.2)


def test_a_future_is_cut_where_too_much_comes() -> None:
    past = gather_arrivals([PastTask(0, 0, 60.0)] * 1000, window=600.0)
    found = past.draw_future(7 * 86400.0, np.random.default_rng(1))
    assert len(found.arrival) == MOST_TASKS
    assert found.arrival[-1] <= found.until == pytest.approx(MOST_TASKS * 0.6, rel=0.2)
    assert len(gather_arrivals([], 3600.0).draw_future(60.0, np.random.default_rng(1)).arrival) == 0


def test_what_a_rare_round_places_counts_from_when_room_was_freed() -> None:
    template, alone = np.zeros(3, dtype=np.int64), np.full(3, ALONE)
    tasks = TaskColumns(Work((), np.array([0.0, 0.0, 70.0]), np.array([40.0, 100.0, 100.0]), template, alone))
    tasks.place(0, 0, 0.0)
    placed = PlacedTasks(tasks, np.arange(3), np.random.default_rng(1))
    assert tasks.take_ended(80.0) == [0]
    tasks.place(1, 0, 80.0)
    tasks.place(2, 1, 80.0)
    placed.take_round(80.0, 60.0)
    assert tasks.begun.tolist() == tasks.first_begun.tolist() == [0.0, 40.0, 70.0], "not before it came"
    assert not placed.some_ended


def test_short_tasks_of_a_rare_round_end_at_once_or_hold_their_room_until_the_next() -> None:
    """Each runs for a quarter of the interval; neighbours are a gang."""
    count = 4000
    template, gang = np.zeros(count, dtype=np.int64), np.arange(count) // 2
    tasks = TaskColumns(Work((), np.zeros(count), np.full(count, 15.0), template, gang))
    placed = PlacedTasks(tasks, gang, np.random.default_rng(1))
    for task in range(count):
        tasks.place(task, 0, 60.0)
    placed.take_round(60.0, 60.0)
    again = [placed.some_ended]
    at_once = np.isin(np.arange(count), tasks.take_ended(60.0))
    assert np.mean(at_once) == pytest.approx(0.75, abs=0.03)
    assert (at_once[::2] == at_once[1::2]).all()
    placed.take_round(60.0, 60.0)
    again.append(placed.some_ended)
    assert again == [True, False], "nothing new is placed, and what stays has been decided"
    assert len(tasks.take_ended(120.0)) == count - at_once.sum()


def test_tasks_shorter_than_the_interval_of_rounds_come_rarely_and_use_as_much_on_average() -> None:
    random = np.random.default_rng(1)
    lasting = np.repeat([6.0, 30.0, 60.0, 600.0], 20_000)
    held, comes = thin_out(lasting, np.full(len(lasting), 60.0), random)
    assert (
        held.reshape(4, -1).min(axis=1).tolist()
        == held.reshape(4, -1).max(axis=1).tolist()
        == [60.0] * 3 + [600.0]
    )
    assert comes.reshape(4, -1).mean(axis=1) == pytest.approx([0.1, 0.5, 1.0, 1.0], abs=0.02)
    assert (held * comes).sum() == pytest.approx(lasting.sum(), rel=0.01)
