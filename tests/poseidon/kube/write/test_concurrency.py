"""The limit goes where the server makes the most of it, and yields when told to."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.kube.write.binder import AdaptiveLimit, ConcurrencyOptions
from tests.support.effort import examples

OPTIONS = ConcurrencyOptions()


class Server:
    """Answers at a rate that depends on how many requests are in flight, on a clock of its own."""

    def __init__(self, rate):
        self.rate = rate
        self.now = 0.0
        self.limit = AdaptiveLimit(lambda: self.now, OPTIONS)
        self.seen = []

    def work(self, seconds, waiting=1000):
        end = self.now + seconds
        while self.now < end:
            self.now += 1 / self.rate(self.limit())
            self.limit.note_success(waiting)
            self.seen.append(self.limit())


def saturated_at(capacity, latency=0.05):
    """Each request takes ``latency`` until the server is full; from there on more in flight only wait longer."""
    return lambda in_flight: min(in_flight, capacity) / latency


def test_it_climbs_where_latency_is_all_that_counts():
    server = Server(saturated_at(10_000))
    server.work(30)
    assert server.limit() == OPTIONS.most


def test_it_stays_where_more_brings_nothing():
    server = Server(saturated_at(40))
    server.work(60)
    assert server.limit() <= OPTIONS.initial * OPTIONS.growth
    assert sum(limit == OPTIONS.initial for limit in server.seen) > 0.8 * len(server.seen)


@settings(max_examples=examples(20))
@given(capacity=st.integers(OPTIONS.least, 2 * OPTIONS.most))
def test_whatever_the_server_can_do_is_used(capacity):
    server = Server(saturated_at(capacity))
    server.work(30)
    assert max(server.seen) <= OPTIONS.most
    best = min(capacity, OPTIONS.most)
    # Each step has to bring 5 %, so the last one may be missing.
    assert server.rate(server.limit()) >= 0.75 * server.rate(best)


def test_it_comes_back_after_the_server_was_in_trouble():
    server = Server(saturated_at(100))
    server.work(30)
    before = server.limit()
    for _ in range(20):
        server.limit.note_rejection()
        server.now += OPTIONS.period_seconds
    assert server.limit() == OPTIONS.least
    server.work(120)
    assert server.rate(server.limit()) >= 0.75 * server.rate(before)


def test_many_refusals_at_the_same_time_count_once():
    server = Server(saturated_at(100))
    for _ in range(50):
        server.limit.note_rejection()
    assert server.limit() == int(OPTIONS.initial * OPTIONS.shrink)


@pytest.mark.parametrize("waiting", [0])
def test_without_work_that_waits_nothing_is_learnt(waiting):
    server = Server(saturated_at(10_000))
    server.work(20, waiting)
    assert server.limit() == OPTIONS.initial
