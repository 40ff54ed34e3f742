"""Intervals of expected starts become wider where earlier ones did not hold, and only there."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poseidon.kube.api.metadata import format_time
from poseidon.kube.api.pods import Pod
from poseidon.simulate.expected_starts import ExpectedStart
from poseidon.simulate.forecasts.past_forecasts import (
    FIRST_EXPECTED,
    LONGEST,
    MOST_OF_A_MOMENT,
    MOST_WIDENING,
    PastForecast,
    find_widening,
    read_past_forecasts,
    widen_interval,
)
from poseidon.simulate.start_annotations import describe_start
from tests.poseidon.offline.objects import pod

NOW = 1_767_225_600.0


def make_forecast(asked: int, ends: tuple[int, int, int], until: int, over: bool) -> PastForecast:
    low, median, high = sorted(map(float, ends))
    return PastForecast(float(asked), low, median, high, float(until), over)


SECONDS = st.integers(0, 1000)
FORECASTS = st.lists(
    st.builds(
        make_forecast,
        st.integers(0, 5),
        st.tuples(SECONDS, SECONDS, SECONDS),
        st.integers(0, 5000),
        st.booleans(),
    ),
    max_size=30,
)


def came(until: float, asked: float = 0.0, *, over: bool = True) -> PastForecast:
    """Return a start that was expected after 100 seconds, between 50 and 200."""
    return PastForecast(asked, 50.0, 100.0, 200.0, until, over)


def test_scores_are_above_one_outside_the_interval() -> None:
    assert [came(until).find_score() for until in (50.0, 75.0, 100.0, 150.0, 200.0, 300.0)] == [
        1,
        0.5,
        0,
        0.5,
        1,
        2,
    ]
    assert came(25.0).find_score() == 1.5
    assert came(25.0, over=False).find_score() == 0.0, "it may still start at any time"
    assert came(300.0, over=False).find_score() == 2.0, "and here it is late already"
    assert PastForecast(0.0, 5.0, 10.0, np.inf, 9e9, over=True).find_score() == 0.0, "nothing is too late"
    assert PastForecast(0.0, 100.0, 100.0, 100.0, 110.0, over=True).find_score() == 2.0, (
        "a width of 5 at least"
    )


@given(FORECASTS)
def test_intervals_become_wider_only_where_some_did_not_hold(past: list[PastForecast]) -> None:
    factor = find_widening(past)
    assert 1.0 <= factor <= MOST_WIDENING
    assert factor <= max([1.0, *(each.find_score() for each in past)])
    assert find_widening(past[::-1]) == pytest.approx(factor)
    assert find_widening([each for each in past if each.find_score() <= 1.0]) == 1.0


@given(FORECASTS.filter(bool), st.data())
def test_a_later_start_never_makes_them_narrower(past: list[PastForecast], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(past) - 1))
    late = past[place]._replace(until=max(past[place].until, past[place].high), over=True)
    later = late._replace(until=late.until + data.draw(st.integers(0, 1000)))
    before, after = ([*past[:place], each, *past[place + 1 :]] for each in (late, later))
    assert find_widening(after) >= find_widening(before) - 1e-9


@pytest.mark.parametrize("spread", [0.5, 1.0, 3.0])
def test_nine_of_ten_later_starts_lie_inside(spread: float) -> None:
    """Starts differ from their medians by ``spread`` times the interval's width, whatever its nominal share."""
    random = np.random.default_rng(1)
    scores = spread * np.abs(random.standard_normal(4000))
    past = [came(100.0 + 100.0 * score, asked) for asked, score in enumerate(scores[:300].tolist())]
    held = float(np.mean(scores[300:] <= find_widening(past)))
    assert held == pytest.approx(0.9, abs=0.03) if spread > 0.5 else held >= 0.9


def test_answers_of_one_moment_count_as_few() -> None:
    many, few = ([came(400.0)] * count for count in (200, round(MOST_OF_A_MOMENT)))
    others = [came(150.0, asked) for asked in range(1, 60)]
    assert find_widening([*many, *others]) == find_widening([*few, *others]) == 1.0
    apart = [came(400.0, -asked) for asked in range(200)]
    assert find_widening([*apart, *others]) == 3.0


def test_invented_answers_make_intervals_ten_times_as_wide_at_most() -> None:
    assert find_widening([came(1e6, asked) for asked in range(1000)]) == MOST_WIDENING == 10.0


def test_pods_that_still_wait_count_for_what_is_known() -> None:
    """Half started in the middle of the interval; the others still wait, as late as that or far later."""
    begun = [came(150.0, asked) for asked in range(40)]
    waiting = [came(150.0, asked, over=False) for asked in range(40, 80)]
    late = [came(500.0, asked) for asked in range(80, 90)]
    assert find_widening([*begun, *waiting]) == 1.0
    assert find_widening([*begun, *[each._replace(over=True) for each in waiting], *late]) == 1.0
    assert find_widening([*begun, *waiting, *late]) == 4.0, (
        "those that wait will be like others that got as far"
    )


@given(st.lists(st.tuples(*[st.floats(0.0, 1e6) | st.just(np.inf)] * 3), min_size=1), st.floats(1.0, 10.0))
def test_wider_intervals_hold_the_narrower_ones(given_ends: list[tuple[float, ...]], factor: float) -> None:
    low, median, high = np.sort(np.array(given_ends), axis=1).T
    wider_low, wider_high = widen_interval(low, median, high, factor)
    assert (wider_low <= low + 1e-6).all()
    assert (wider_low >= 0.0).all()
    assert (wider_high >= high - 1e-6).all()
    assert (np.isinf(wider_high) == np.isinf(high)).all()
    same = widen_interval(low, median, high, 1.0)
    assert np.allclose(same[0], low)
    assert np.allclose(same[1], high)


def told(name: str, answer: str, **more: Any) -> Pod:
    made = pod(name, metadata={"annotations": {FIRST_EXPECTED: answer}, **more.pop("metadata", {})}, **more)
    return msgspec.convert(made, Pod, strict=False)


def begun_after(seconds: float, answer: str, **more: Any) -> Pod:
    made = pod(
        "begun", phase="Running", nodeName="n1", metadata={"annotations": {FIRST_EXPECTED: answer}}, **more
    )
    made["status"]["startTime"] = format_time(NOW + seconds)
    return msgspec.convert(made, Pod, strict=False)


def test_what_pods_were_told_is_read_beside_what_came_to_be() -> None:
    answer = describe_start(ExpectedStart("shop/a", 100.0, 50.0, 200.0, 3600.0), NOW)
    beyond = describe_start(ExpectedStart("shop/a", 100.0, 50.0, None, 3600.0), NOW)
    assert read_past_forecasts([begun_after(150.0, answer)], NOW + 900.0) == [came(150.0, NOW)]
    assert read_past_forecasts([told("waits", answer)], NOW + 900.0) == [came(900.0, NOW, over=False)]
    assert read_past_forecasts([begun_after(150.0, beyond)], NOW + 900.0) == [
        PastForecast(NOW, 50.0, 100.0, np.inf, 150.0, over=True)
    ]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": True}
    gang = [told(f"g-{number}", answer, metadata={"ownerReferences": [owner]}) for number in range(3)]
    assert len(read_past_forecasts(gang, NOW + 900.0)) == 1, "pods of a workload that were told together"


def test_answers_that_say_nothing_are_left_out() -> None:
    answer = describe_start(ExpectedStart("shop/a", 100.0, 50.0, 200.0, 3600.0), NOW)
    never = describe_start(ExpectedStart("shop/a", None, None, None, 3600.0), NOW)
    wrong = ("", "5", "[]", "{}", '{"computed": 5}', '{"computed": "soon", "median": "later"}', never)
    for text in wrong:
        assert read_past_forecasts([told("a", text)], NOW + 900.0) == []
    backward = describe_start(ExpectedStart("shop/a", 100.0, 150.0, 200.0, 3600.0), NOW)
    assert read_past_forecasts([told("a", backward)], NOW + 900.0) == []
    assert read_past_forecasts([told("a", answer)], NOW - 1.0) == [], "told in the future"
    assert read_past_forecasts([told("a", answer)], NOW + LONGEST + 1.0) == [], "told too long ago"
    assert read_past_forecasts([begun_after(-5.0, answer)], NOW + 900.0) == [], "told after it had begun"
    assert read_past_forecasts([told("a", answer, nodeName="n1")], NOW + 900.0) == [], "about to begin"
    assert read_past_forecasts([msgspec.convert(pod("a"), Pod, strict=False)], NOW) == []
