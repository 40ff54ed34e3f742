"""Fencing numbers: who may take over from whom, and until when."""

from __future__ import annotations

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmament.server.access.fencing import AHEAD_SECONDS, GRACE_SECONDS, Fencing
from tests.firmament.server.driving import Running, StreamEndedError, eventually, machine

NOW = 1_800_000_000.0
LARGEST = 2**64 - 1


class Clocks:
    def __init__(self) -> None:
        self.seconds = 0.0

    def wall(self) -> float:
        return NOW + self.seconds

    def monotonic(self) -> float:
        return self.seconds


def fencing() -> tuple[Fencing, Clocks]:
    clocks = Clocks()
    return Fencing(clocks.wall, clocks.monotonic), clocks


def test_while_a_driver_is_attached_an_older_one_is_refused():
    fence, clocks = fencing()
    fence.attach(7)
    clocks.seconds = 1e6
    assert [fence.may_take_over(number) for number in (6, 7, 8)] == [False, True, True]


def test_the_number_of_a_broken_stream_counts_for_a_while():
    fence, clocks = fencing()
    fence.attach(7)
    fence.detach()
    clocks.seconds = GRACE_SECONDS - 0.1
    assert [fence.may_take_over(number) for number in (6, 7)] == [False, True]
    clocks.seconds = GRACE_SECONDS
    assert fence.may_take_over(0)


def test_after_a_goodbye_anybody_may_drive():
    fence, _ = fencing()
    fence.attach(7)
    fence.detach()
    fence.end_grace_period()
    assert fence.may_take_over(0)


def test_a_number_far_ahead_of_the_clock_counts_as_lower_than_plausible_ones():
    fence, _ = fencing()
    plausible = round(NOW * 1000)
    fence.attach(plausible)
    assert not fence.may_take_over(LARGEST)
    assert fence.may_take_over(round((NOW + AHEAD_SECONDS) * 1000))
    fence.attach(LARGEST)
    assert fence.may_take_over(plausible)


@given(
    numbers=st.lists(
        st.one_of(
            st.integers(0, LARGEST),
            st.integers(-5, 5).map(lambda hours: round((NOW + hours * 3600) * 1000)),
            st.integers(0, 3),
        ),
        min_size=2,
        max_size=2,
        unique=True,
    )
)
def test_of_two_drivers_that_keep_trying_exactly_one_prevails(numbers):
    """Else they would take the cluster from each other for ever, or neither could ever have it."""
    takes_over = []
    for attached, newcomer in (numbers, numbers[::-1]):
        fence, _ = fencing()
        fence.attach(attached)
        takes_over.append(fence.may_take_over(newcomer))
    assert sorted(takes_over) == [False, True]


# --- at the server ---------------------------------------------------------------------------------------------


async def test_one_hello_with_the_largest_number_locks_nobody_out(running: Running):
    live = await running.driving(machine("m1"), fencing=1000)
    with pytest.raises(StreamEndedError) as caught:
        await running.driver().hello(fencing=LARGEST)
    assert caught.value.code is grpc.StatusCode.FAILED_PRECONDITION
    assert "not plausible" in caught.value.details
    await live.events(machine("m2"))
    await live.until(lambda: live.acked == live.sequence)
    await running.driver().hello(cluster="other", fencing=LARGEST)
    await running.driving(machine("m1"), cluster="other", fencing=1000)


async def test_a_refused_driver_may_drive_once_the_newer_one_has_said_goodbye(running: Running):
    newer = await running.driving(machine("m1"), fencing=7)
    with pytest.raises(StreamEndedError, match="may take over when that driver is gone"):
        await running.driver().hello(fencing=6)
    await newer.call.done_writing()
    assert (await newer.end()).code is grpc.StatusCode.OK
    await running.driving(machine("m1"), fencing=6)


async def test_a_driver_whose_stream_broke_is_waited_for(running: Running):
    newer = await running.driving(machine("m1"), fencing=7)
    newer.call.cancel()
    await eventually(lambda: running.metric("firmament_sessions") == 0)
    with pytest.raises(StreamEndedError, match="unless that driver is back within 10 s"):
        await running.driver().hello(fencing=6)
    await running.driving(machine("m1"), fencing=7)
