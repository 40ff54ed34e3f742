"""What becomes of bindings."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from random import Random
from typing import cast

import msgspec
import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry

from poseidon.kube.client.errors import ApiError, KubeError, UnreachableError
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment, KubeMetrics
from poseidon.kube.write.binder import (
    Binder,
    BinderOptions,
    BindOutcome,
    BindRequest,
    BindResult,
    ConcurrencyOptions,
)
from tests.poseidon.kube.scripted_api import json, scripted, status
from tests.support.waiting import until

REQUEST = BindRequest("uid-1", "default", "web-1", "n1")


@asynccontextmanager
async def binding(url, options=None, slept=None, refusal=lambda _: "", clock=time.monotonic):
    outcomes: list[BindOutcome] = []

    async def sleep(seconds):
        if slept is not None:
            slept.append(seconds)
        await asyncio.sleep(0)

    async with Transport(ConnectionSettings(url), clock=time.monotonic) as transport:
        binder = Binder(
            Environment(transport, random=Random(1), clock=clock, sleep=sleep),
            outcomes.append,
            refusal=refusal,
            options=options,
        )
        running = asyncio.create_task(binder.run())
        try:
            yield binder, outcomes
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


def fixed(concurrency):
    return ConcurrencyOptions(initial=concurrency, least=concurrency, most=concurrency)


async def outcome_of(answer, options=None, slept=None, clock=time.monotonic):
    async with (
        scripted(answer) as (api, url),
        binding(url, options, slept, clock=clock) as (binder, outcomes),
    ):
        binder.submit(REQUEST)
        await binder.wait_idle()
        [outcome] = outcomes
    return outcome, api


async def test_bound():
    async def answer(request):
        return json({"kind": "Status", "status": "Success"}, 201)

    outcome, api = await outcome_of(answer)
    assert outcome == (REQUEST, BindResult.BOUND, "")
    [(method, path, _, body)] = api.requests
    assert (method, path) == ("POST", "/api/v1/namespaces/default/pods/web-1/binding")
    sent = msgspec.json.decode(body)
    assert sent["metadata"] == {"name": "web-1", "namespace": "default", "uid": "uid-1"}
    assert sent["target"]["name"] == "n1"


ASSIGNED = 'Operation cannot be fulfilled on pods/binding "web-1": pod web-1 is already assigned to node "{}"'


@pytest.mark.parametrize(
    ("code", "reason", "message", "result"),
    [
        (409, "Conflict", ASSIGNED.format("n1"), BindResult.BOUND),
        (409, "Conflict", ASSIGNED.format("n2"), BindResult.ELSEWHERE),
        (409, "Conflict", "pod web-1 is being deleted, cannot be assigned to a host", BindResult.GONE),
        (
            409,
            "Conflict",
            "Precondition failed: UID in precondition: a, UID in object meta: b",
            BindResult.GONE,
        ),
        (404, "NotFound", 'pods "web-1" not found', BindResult.GONE),
        (403, "Forbidden", "not allowed", BindResult.FAILED),
    ],
)
async def test_refusals_are_final(code, reason, message, result):
    async def answer(request):
        return status(code, reason, message)

    outcome, api = await outcome_of(answer)
    assert outcome.result is result
    assert bool(outcome.reason) == (result is not BindResult.BOUND)
    assert len(api.requests) == 1


async def test_transient_failures_are_retried_as_the_server_asks():
    answers = iter(
        [
            status(429, "TooManyRequests", "busy", headers={"Retry-After": "7"}),
            status(500, "InternalError", "oops"),
            json({}, 201),
        ]
    )

    async def answer(request):
        return next(answers)

    slept: list[float] = []
    outcome, api = await outcome_of(answer, slept=slept)
    assert outcome.result is BindResult.BOUND
    assert len(api.requests) == 3
    assert slept[0] == 7.0
    assert 0 < slept[1] < 1


async def test_a_busy_server_is_waited_for():
    now = [0.0]

    async def answer(request):
        now[0] += 2.0
        if now[0] < 25.0:
            return status(429, "TooManyRequests", "busy", headers={"Retry-After": "2"})
        return json({}, 201)

    outcome, api = await outcome_of(answer, BinderOptions(attempts=2), clock=lambda: now[0])
    assert outcome.result is BindResult.BOUND
    assert len(api.requests) == 13


async def test_a_busy_server_is_not_waited_for_for_ever():
    now = [0.0]

    async def answer(request):
        now[0] += 2.0
        return status(429, "TooManyRequests", "busy")

    outcome, api = await outcome_of(answer, BinderOptions(attempts=2), clock=lambda: now[0])
    assert outcome.result is BindResult.FAILED
    assert len(api.requests) == 14 + 2


async def test_a_write_that_came_in_between_is_no_reason_to_give_up():
    answers = iter([status(409, "Conflict", "the object has been modified"), json({}, 201)])

    async def answer(request):
        return next(answers)

    outcome, _ = await outcome_of(answer)
    assert outcome.result is BindResult.BOUND


async def test_it_gives_up_after_some_tries():
    async def answer(request):
        return status(503, "ServiceUnavailable", "no leader")

    outcome, api = await outcome_of(answer, BinderOptions(attempts=3))
    assert outcome.result is BindResult.FAILED
    assert "no leader" in outcome.reason
    assert len(api.requests) == 3


async def test_a_lost_answer_does_not_lose_the_binding():
    calls = []

    async def answer(request):
        calls.append(request)
        if len(calls) == 1:
            request.transport.abort()
            return web.Response()
        return status(409, "Conflict", ASSIGNED.format("n1"))

    outcome, _ = await outcome_of(answer)
    assert outcome.result is BindResult.BOUND
    assert len(calls) == 2


async def test_an_unreachable_server_fails_the_binding():
    async with binding("http://127.0.0.1:1", BinderOptions(attempts=2)) as (binder, outcomes):
        binder.submit(REQUEST)
        await binder.wait_idle()
    assert outcomes[0].result is BindResult.FAILED


async def test_bindings_run_in_parallel_within_the_limit():
    go = asyncio.Event()

    async def answer(request):
        await go.wait()
        return json({}, 201)

    async with scripted(answer) as (api, url):
        async with binding(url, BinderOptions(concurrency=fixed(8))) as (binder, outcomes):
            for index in range(50):
                binder.submit(BindRequest(f"u{index}", "default", f"p{index}", "n1"))
            await until(lambda: api.in_flight == 8)
            assert binder.unfinished == 50
            go.set()
            await binder.wait_idle()
            assert len(outcomes) == 50
        assert api.most_in_flight == 8


async def test_what_has_not_been_posted_can_be_left_undone():
    go = asyncio.Event()

    async def answer(request):
        await go.wait()
        return json({}, 201)

    async with (
        scripted(answer) as (api, url),
        binding(url, BinderOptions(concurrency=fixed(2))) as (binder, outcomes),
    ):
        for index in range(5):
            binder.submit(BindRequest(f"u{index}", "default", f"p{index}", "n1"))
        await until(lambda: api.in_flight == 2)
        assert binder.discard_waiting() == 3
        go.set()
        await binder.wait_idle()
        assert len(outcomes) == 2


async def test_a_binding_that_no_longer_fits_is_not_posted():
    async def answer(request):
        return json({}, 201)

    async with (
        scripted(answer) as (api, url),
        binding(url, refusal=lambda _: "full") as (one, outcomes),
    ):
        one.submit(REQUEST)
        await one.wait_idle()
    assert outcomes == [(REQUEST, BindResult.WITHHELD, "full")]
    assert api.requests == []


@pytest.mark.parametrize(
    ("first", "posts", "result"),
    [
        # Throttled: surely not carried out, so the node is looked at again.
        (429, 1, BindResult.WITHHELD),
        # It may have been carried out: only posting again says.
        (500, 2, BindResult.BOUND),
    ],
)
async def test_between_tries_it_is_looked_at_again_unless_the_first_may_have_worked(first, posts, result):
    answers = iter([status(first, "", "first"), json({}, 201)])
    verdicts = iter(["", "full"])

    async def answer(request):
        return next(answers)

    async with (
        scripted(answer) as (api, url),
        binding(url, refusal=lambda _: next(verdicts)) as (one, outcomes),
    ):
        one.submit(REQUEST)
        await one.wait_idle()
    assert outcomes[0].result is result
    assert len(api.requests) == posts


@pytest.mark.parametrize(("burst", "lull"), [(1, 0.3), (2, 0.1)], ids=["in a burst", "alone"])
async def test_it_is_quiet_only_a_while_after_the_last_binding(burst, lull):
    now = [100.0]
    slept = []

    async def sleep(seconds):
        slept.append(round(seconds, 3))
        now[0] += seconds
        await asyncio.sleep(0)

    async def answer(request):
        now[0] += 1.0
        return web.Response(status=201)

    async with (
        scripted(answer) as (_, url),
        Transport(ConnectionSettings(url), clock=time.monotonic) as transport,
    ):
        binder = Binder(
            Environment(transport, random=Random(1), clock=lambda: now[0], sleep=sleep),
            lambda _: None,
            options=BinderOptions(lull_seconds=0.3, lone_seconds=0.1, burst=burst),
        )
        # Nothing has been bound: nothing to wait for.
        await binder.wait_quiet()
        running = asyncio.create_task(binder.run())
        binder.submit(REQUEST)
        await binder.wait_quiet()
        assert slept == [lull]
        # The next binding begins another lull, which all writes wait for together.
        binder.submit(REQUEST)
        await asyncio.gather(*(binder.wait_quiet() for _ in range(20)))
        assert slept == [lull, lull]
        await binder.wait_quiet()
        assert slept == [lull, lull]
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


class Api:
    """Raises the given errors, one for each binding that is posted, and then accepts; notes which were urgent."""

    def __init__(self, *faults: KubeError) -> None:
        self.faults = list(faults)
        self.urgent: list[bool] = []

    async def post(self, path, body, *, urgent=False):
        self.urgent.append(urgent)
        if self.faults:
            raise self.faults.pop(0)
        await asyncio.sleep(0)
        return b"{}"


def answer_of(code, message="no"):
    return ApiError(code, "", message)


@pytest.mark.parametrize(
    ("fault", "limit", "looks"),
    [
        (UnreachableError("closed", idle_closed=True), 64, 1),
        (UnreachableError("reset"), 32, 1),
        (answer_of(503), 32, 1),
        (answer_of(429), 32, 2),
        (answer_of(409, "the object has been modified"), 64, 1),
    ],
    ids=["idle connection closed", "reset", "in trouble", "busy", "another write"],
)
async def test_after_a_failure_fewer_are_in_flight_if_the_server_has_too_much_to_do(fault, limit, looks):
    """The node is looked at again before the next try only if the server was too busy for this one."""
    registry, api = CollectorRegistry(), Api(fault)
    outcomes: list[BindOutcome] = []
    limits: list[float | None] = []
    looked: list[BindRequest] = []

    async def sleep(_seconds):
        limits.append(registry.get_sample_value("poseidon_bind_concurrency"))
        await asyncio.sleep(0)

    def look(request):
        looked.append(request)
        return ""

    binder = Binder(
        Environment(cast(Transport, api), KubeMetrics(registry), Random(1), lambda: 0.0, sleep=sleep),
        outcomes.append,
        refusal=look,
        options=BinderOptions(concurrency=ConcurrencyOptions(initial=64, shrink=0.5)),
    )
    running = asyncio.create_task(binder.run())
    binder.submit(REQUEST)
    await until(lambda: outcomes)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert outcomes == [BindOutcome(REQUEST, BindResult.BOUND)]
    assert (limits, len(looked)) == ([limit], looks)
    assert registry.get_sample_value("poseidon_bind_retries_total") == 1
    assert api.urgent == [True, True]


async def test_more_are_in_flight_once_many_have_been_bound_while_others_waited():
    registry = CollectorRegistry()
    outcomes: list[BindOutcome] = []
    ticks = iter(range(10_000))
    binder = Binder(
        Environment(cast(Transport, Api()), KubeMetrics(registry), Random(1), lambda: float(next(ticks))),
        outcomes.append,
        options=BinderOptions(concurrency=ConcurrencyOptions(initial=2, least=1)),
    )
    running = asyncio.create_task(binder.run())
    for index in range(12):
        binder.submit(BindRequest(f"u{index}", "default", f"p{index}", "n1"))
    await until(lambda: len(outcomes) == 12)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    limit = registry.get_sample_value("poseidon_bind_concurrency")
    assert limit is not None
    assert limit > 2


async def test_what_is_less_urgent_waits_even_if_no_binding_is_under_way_any_more():
    slept = []

    async def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    now = [100.0]
    binder = Binder(
        Environment(cast(Transport, Api()), random=Random(1), clock=lambda: now[0], sleep=sleep),
        lambda _: None,
        options=BinderOptions(lull_seconds=0.5, burst=1),
    )
    running = asyncio.create_task(binder.run())
    binder.submit(REQUEST)
    await binder.wait_idle()
    assert slept == []
    await binder.wait_quiet()
    assert slept == [0.5]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
