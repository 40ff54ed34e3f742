"""Pods that are evicted together: whether the others may stay, by what is known of one of them."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

import pytest

from poseidon.kube.client.errors import ApiError, UnreachableError
from poseidon.kube.write.joint_evictions import JointEviction


async def answer(error: BaseException | None) -> None:
    if error is not None:
        raise error


def unit(*uids: str) -> JointEviction:
    made = JointEviction()
    made.unfinished.update(uids)
    return made


@pytest.mark.parametrize(
    ("requested", "stay"), [((), True), (("z",), True), (("b",), False), (("a", "b"), False)]
)
async def test_all_stay_once_nobody_needs_the_place_of_any(requested, stay):
    assert await unit("a", "b").stays(requested) is stay


@pytest.mark.parametrize(
    ("error", "stay"),
    [
        (None, False),
        (UnreachableError("reset"), False),
        (asyncio.CancelledError(), False),
        (ApiError(504, "Timeout", "timed out"), False),
        (ApiError(404, "NotFound", "pods a not found"), False),
        (
            ApiError(409, "Conflict", "Precondition failed: UID in precondition: a, UID in object meta: b"),
            False,
        ),
        (ApiError(429, "TooManyRequests", "busy"), True),
        (ApiError(500, "InternalError", "no leader"), True),
        (ApiError(403, "Forbidden", "no"), True),
    ],
    ids=["asked", "lost", "cancelled", "timed out", "gone", "replaced", "busy", "in trouble", "forbidden"],
)
async def test_others_stay_only_if_the_one_that_was_asked_to_leave_surely_does_not(error, stay):
    found = unit("a", "b")
    with nullcontext() if error is None else pytest.raises(type(error)), found.ask():
        await answer(error)
    assert await found.stays(()) is stay


@pytest.mark.parametrize("refused", [False, True])
async def test_an_answer_that_is_due_is_waited_for(refused):
    found = unit("a", "b")
    answered = asyncio.Event()
    error = ApiError(429, "TooManyRequests", "busy") if refused else None

    async def ask():
        with found.ask():
            await answered.wait()
            await answer(error)

    with pytest.raises(ApiError), found.ask():
        await answer(ApiError(429, "TooManyRequests", "busy"))  # an earlier answer is none to this one
    asking = asyncio.create_task(ask())
    await asyncio.sleep(0)
    staying = asyncio.create_task(found.stays(()))
    for _ in range(3):
        await asyncio.sleep(0)
        assert not staying.done()
    answered.set()
    await asyncio.gather(asking, return_exceptions=True)
    assert await staying is refused


async def test_a_pod_that_is_wanted_again_ends_the_wait():
    found, requested = unit("a", "b"), set[str]()
    answered = asyncio.Event()

    async def ask():
        with found.ask():
            await answered.wait()
            raise ApiError(429, "TooManyRequests", "busy")

    asking = asyncio.create_task(ask())
    await asyncio.sleep(0)
    staying = asyncio.create_task(found.stays(requested))
    await asyncio.sleep(0)
    requested.add("b")
    answered.set()
    await asyncio.gather(asking, return_exceptions=True)
    assert await staying is False
