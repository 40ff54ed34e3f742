"""When rounds begin, by a clock that moves when told to."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmament.server.driving.batching import (
    LONE_SECONDS,
    LONGEST_PACE_SECONDS,
    PACE,
    WORTH_WAITING,
    BatchingWindow,
)

WINDOW, QUIET = 0.020, 0.001


def batching(window: float = WINDOW) -> BatchingWindow:
    return BatchingWindow(window, QUIET)


def message(
    window: BatchingWindow, begin: float, end: float, *, events: bool = True, small: bool = False
) -> None:
    window.note_message_arrived(begin)
    window.note_message_applied(end, events=events, small=small)


def test_nothing_to_wait_for_when_nothing_has_changed():
    window = batching()
    window.note_look()
    assert window.compute_wait(5.0) == 0.0


def test_a_round_begins_once_a_burst_is_over():
    window = batching()
    message(window, 1.000, 1.004)
    window.note_look()
    assert window.compute_wait(1.004) == pytest.approx(QUIET)
    assert window.compute_wait(1.0045) == pytest.approx(QUIET / 2)
    assert window.compute_wait(1.005) == 0.0


def test_a_message_in_the_works_is_waited_for_up_to_the_window():
    window = batching()
    message(window, 1.000, 1.001)
    window.note_look()
    window.note_message_arrived(1.0015)
    assert window.compute_wait(1.010) == pytest.approx(0.011)
    assert window.compute_wait(1.021) == pytest.approx(0.0, abs=1e-9)
    window.note_message_applied(1.012, events=True)
    assert window.compute_wait(1.012) == pytest.approx(QUIET)


def test_messages_without_a_pause_are_one_burst_however_many():
    window = batching()
    for number in range(5):
        message(window, 1 + 0.003 * number, 1.0025 + 0.003 * number)
    window.note_look()
    assert window.compute_wait(1.0145) == pytest.approx(QUIET)


def test_an_endless_burst_is_cut_off_by_the_window():
    window = batching()
    message(window, 1.000, 1.001)
    window.note_look()
    for number in range(100):
        message(window, 1.001 + 0.001 * number, 1.002 + 0.001 * number)
    assert window.compute_wait(1.0209) > 0
    assert window.compute_wait(1.0211) == 0.0


def test_more_is_expected_soon_after_other_events():
    window = batching()
    message(window, 1.000, 1.001)
    window.note_look()
    window.restart(1.002)
    message(window, 1.010, 1.011)
    window.note_look()
    assert window.compute_wait(1.012) == pytest.approx(0.019)
    window.restart(1.030)
    message(window, 2.000, 2.001)
    window.note_look()
    assert window.compute_wait(2.001) == pytest.approx(QUIET)


def test_where_rounds_are_short_a_stream_is_waited_for_as_much_shorter():
    window = batching()
    message(window, 1.000, 1.001)
    window.note_look()
    window.restart(1.002)
    window.note_end(1.004)
    message(window, 1.005, 1.006)
    window.note_look()
    assert window.compute_wait(1.006) == pytest.approx(WORTH_WAITING * 0.002)
    message(window, 1.0114, 1.0118)
    assert window.compute_wait(1.0118) == pytest.approx(QUIET)
    window.note_message_arrived(1.0125)
    assert window.compute_wait(1.013) == pytest.approx(0.013)


def test_what_comes_less_often_than_short_rounds_would_wait_is_not_waited_for():
    window = batching()
    message(window, 1.000, 1.001)
    window.note_look()
    window.restart(1.002)
    window.note_end(1.004)
    message(window, 1.010, 1.011)
    window.note_look()
    assert window.compute_wait(1.011) == pytest.approx(QUIET)


def after_a_short_round() -> BatchingWindow:
    window = batching()
    message(window, 1.000, 1.000, small=True)
    window.note_look()
    window.restart(1.0)
    window.note_end(1.001)
    return window


def test_what_comes_alone_is_placed_at_once():
    window = after_a_short_round()
    message(window, 1.0001 + LONE_SECONDS, 1.0055, small=True)
    window.note_look()
    assert window.compute_wait(1.0055) == 0.0


def test_a_large_message_out_of_silence_begins_a_burst():
    window = after_a_short_round()
    message(window, 1.010, 1.011)
    window.note_look()
    assert window.compute_wait(1.011) == pytest.approx(QUIET)


@pytest.mark.parametrize("then", [1.0115, 1.0132], ids=["without a pause", "after a pause"])
def test_what_follows_a_message_out_of_silence_is_gathered(then: float):
    window = after_a_short_round()
    message(window, 1.010, 1.011, small=True)
    window.note_look()
    message(window, then, then, small=True)
    assert window.compute_wait(then) >= QUIET * 0.99


def test_a_message_in_the_works_is_waited_for_also_after_one_that_came_alone():
    window = after_a_short_round()
    message(window, 1.010, 1.011, small=True)
    window.note_look()
    window.note_message_arrived(1.0112)
    assert window.compute_wait(1.0113) > 0.0


def test_the_first_message_after_a_snapshot_does_not_come_alone():
    window = after_a_short_round()
    window.forget_arrivals()
    message(window, 1.010, 1.011, small=True)
    window.note_look()
    assert window.compute_wait(1.011) == pytest.approx(QUIET)


def test_where_rounds_are_long_a_stream_is_waited_for_no_longer_than_the_window():
    window = batching()
    message(window, 1.000, 1.001)
    window.note_look()
    window.restart(1.002)
    window.note_end(1.502)
    message(window, 1.503, 1.504)
    message(window, 1.506, 1.507)
    window.note_look()
    assert window.compute_wait(1.507) == pytest.approx(0.017)


def test_reports_of_bindings_announce_nothing():
    window = batching()
    message(window, 1.000, 1.001, events=False)
    message(window, 1.010, 1.011)
    window.note_look()
    assert window.compute_wait(1.011) == pytest.approx(QUIET)


def test_a_snapshot_announces_nothing():
    window = batching()
    message(window, 1.000, 1.005)
    window.note_message_arrived(1.006)
    window.forget_arrivals()
    window.note_message_applied(1.007, events=False)
    window.restart(1.008)
    message(window, 1.010, 1.011)
    window.note_look()
    assert window.compute_wait(1.011) == pytest.approx(QUIET)


def test_the_window_counts_from_the_change_that_brought_work():
    window = batching()
    message(window, 1.000, 1.001, events=False)
    window.note_look()  # there was none
    message(window, 1.500, 1.501)
    message(window, 1.510, 1.511)
    window.note_look()
    assert window.compute_wait(1.511) == pytest.approx(0.010)


def test_without_a_window_nothing_is_waited_for():
    window = batching(0.0)
    message(window, 1.0, 1.0)
    message(window, 1.0005, 1.0006)
    window.note_look()
    assert window.compute_wait(1.0006) == 0.0


def test_the_first_round_is_not_put_off():
    assert batching().get_slack(5.0) == 0.0


def test_a_busy_driver_is_given_time_by_the_length_of_the_last_round():
    window = batching()
    window.restart(1.000)
    window.note_end(1.010)
    assert window.get_slack(1.010) == pytest.approx(PACE * 0.010 - 0.010)
    assert window.get_slack(1.000 + PACE * 0.010) == pytest.approx(0.0, abs=1e-9)
    assert window.get_slack(9.0) == 0.0


def test_no_round_is_put_off_for_long():
    window = batching()
    window.restart(1.0)
    window.note_end(3.0)
    assert window.get_slack(1.0) == pytest.approx(LONGEST_PACE_SECONDS)
    assert window.get_slack(3.0) == 0.0


PAUSES = st.one_of(st.floats(0.0002, 0.0009), st.floats(0.0011, 0.019))


@given(st.lists(PAUSES, min_size=2, max_size=60))
def test_rounds_on_a_stream_of_arrivals_are_a_window_apart(pauses):
    """All but the first, which nothing announces, and whatever the pauses, if they are shorter than the window."""
    window, now, begun = batching(), 1.0, []
    arrivals = []
    for pause in pauses:
        now += pause
        arrivals.append(now)
    due: float | None = None
    for index, arrival in enumerate(arrivals):
        message(window, arrival, arrival)
        if due is None:
            window.note_look()
        upcoming = arrivals[index + 1] if index + 1 < len(arrivals) else arrival + 1.0
        due = arrival + window.compute_wait(arrival)
        if due <= upcoming:
            begun.append(due)
            window.restart(due)
            due = None
    gaps = [later - earlier for earlier, later in pairwise(begun[1:])]
    assert all(gap >= WINDOW - 1e-9 for gap in gaps)
    assert begun[-1] - arrivals[-1] <= WINDOW + 1e-9


@pytest.mark.parametrize(
    ("pause", "wait"),
    [
        (0.125, 0.25),  # the same burst
        (0.25, 0.5),  # a stream, for which a round waits as long as the window
        (0.4375, 0.5),
        (0.5, 0.25),  # too long ago
    ],
)
def test_pauses_of_exactly_the_quiet_time_end_a_burst_and_of_exactly_the_window_a_stream(
    pause: float, wait: float
):
    window = BatchingWindow(0.5, 0.25)
    message(window, 0.5, 1.0)
    window.note_look()
    message(window, 1.0 + pause, 1.0 + pause)
    window.note_look()
    assert window.compute_wait(1.0 + pause) == wait


@pytest.mark.parametrize(
    ("seconds", "pause", "small", "wait"),
    [
        (0.004, LONE_SECONDS, True, 0.0),
        (0.004, LONE_SECONDS, False, QUIET),
        (0.004, 0.0049, True, QUIET),
        (WINDOW, 0.010, True, WINDOW),  # more of the stream may come
    ],
)
def test_a_small_message_is_alone_after_a_silence_that_is_no_pause_of_a_stream(
    seconds: float, pause: float, small: bool, wait: float
):
    window = BatchingWindow(seconds, QUIET)
    message(window, 0.0, 0.0)
    window.note_look()
    message(window, pause, pause, small=small)
    window.note_look()
    assert window.compute_wait(pause) == pytest.approx(wait)


def test_after_a_long_round_what_comes_less_often_than_the_window_is_no_stream():
    window = batching()
    window.restart(0.0)
    window.note_end(1.0)
    message(window, 2.0, 2.0)
    window.note_look()
    message(window, 3.0, 3.0)
    window.note_look()
    assert window.compute_wait(3.0) == pytest.approx(QUIET)
