"""The limit goes where the server makes the most of it, and yields when told to."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.kube.client.errors import ApiError
from poseidon.kube.write.binder import (
    AdaptiveLimit,
    BindRequest,
    BindResult,
    ConcurrencyOptions,
    binding_body,
    judge,
)
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


class Steps:
    """A limit of 10, up to 20, whose periods last a second and take 20 answers at least."""

    def __init__(self) -> None:
        self.now = 0.0
        options = ConcurrencyOptions(
            initial=10,
            least=5,
            most=20,
            period_seconds=1.0,
            growth=1.25,
            worth=0.25,
            shrink=0.5,
            hold_periods=2,
        )
        self.limit = AdaptiveLimit(lambda: self.now, options)

    def period(self, answers: int, seconds: float = 1.0) -> int:
        """The limit after so many answers within these seconds."""
        for _ in range(answers - 1):
            self.limit.note_success(1)
        self.now += seconds
        self.limit.note_success(1)
        return self.limit()


def test_a_step_up_stays_if_the_rate_grows_enough():
    steps = Steps()
    assert steps.limit() == 10
    assert steps.period(100) == 12
    assert steps.period(125) == 15, "a quarter more is just enough"
    assert steps.period(156) == 12, "less is not"
    assert [steps.period(120), steps.period(120)] == [12, 12], "no step for a while"
    assert steps.period(120) == 15
    assert steps.period(200) == 18
    assert steps.period(300) == 20
    assert steps.period(400) == 20


def test_a_step_up_is_one_at_least():
    now = [0.0]
    limit = AdaptiveLimit(lambda: now[0], ConcurrencyOptions(initial=1, least=1))
    for _ in range(2):
        now[0] += 1.0
        limit.note_success(1)
    assert limit() == 2


def test_a_period_that_is_too_short_says_nothing():
    steps = Steps()
    assert steps.period(19) == 10, "too few answers"
    assert steps.period(1, 0.0) == 12, "twenty answers in a second"
    assert steps.period(99, 0.9) == 12, "too little time"
    steps.limit.note_success(0)
    assert steps.period(99, 0.9) == 12, "it began anew when nothing waited"


def test_refusals_count_once_a_period_and_keep_the_limit_low_for_a_while():
    steps = Steps()
    steps.period(100)
    steps.limit.note_rejection()
    assert steps.limit() == 6
    steps.now += 0.9
    steps.limit.note_rejection()
    assert steps.limit() == 6
    assert [steps.period(100), steps.period(100), steps.period(100)] == [6, 6, 7]
    for _ in range(4):
        steps.now += 1.0
        steps.limit.note_rejection()
    assert steps.limit() == 5


ASSIGNED = 'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "{}"'


@pytest.mark.parametrize(
    ("code", "message", "result", "reason"),
    [
        (404, "pods p not found", BindResult.GONE, "the pod is gone"),
        (409, ASSIGNED.format("n1"), BindResult.BOUND, ""),
        (409, ASSIGNED.format("n2"), BindResult.ELSEWHERE, "already assigned to node n2"),
        (
            409,
            "pod p is being deleted, cannot be assigned to a host",
            BindResult.GONE,
            "the pod is being deleted",
        ),
        (
            409,
            "Precondition failed: UID in precondition: a, UID in object meta: b",
            BindResult.GONE,
            "another pod has taken its name",
        ),
        (409, "try again", BindResult.FAILED, "409 Conflict: try again"),
        (403, "being deleted", BindResult.FAILED, "403 Conflict: being deleted"),
        (500, ASSIGNED.format("n1"), BindResult.FAILED, f"500 Conflict: {ASSIGNED.format('n1')}"),
    ],
)
def test_what_a_refusal_of_a_binding_means(code, message, result, reason):
    request = BindRequest("u", "ns", "p", "n1")
    assert judge(request, ApiError(code, "Conflict", message)) == (request, result, reason)


def test_a_binding_is_for_one_pod_alone():
    assert json.loads(binding_body(BindRequest("u", "ns", "p", "n1"))) == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p", "namespace": "ns", "uid": "u"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    }
