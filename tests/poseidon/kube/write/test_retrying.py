"""How often a request is made again, and after which pause."""

from __future__ import annotations

from random import Random

from poseidon.kube.client.errors import ApiError, UnreachableError
from poseidon.kube.write.write_retries import RetryOptions, Tries

OPTIONS = RetryOptions(attempts=3, throttled_seconds=10.0, backoff_initial=1.0, backoff_cap=4.0)
BUSY = ApiError(429, "TooManyRequests", "busy", retry_after=7.0)


def test_pauses_grow_and_end_after_the_attempts():
    tries = Tries(OPTIONS, Random(1))
    first, second = tries.pause(UnreachableError("lost")), tries.pause(ApiError(503, "", "down"))
    assert first is not None
    assert second is not None
    assert 0.5 <= first <= 1.0 <= second <= 2.0
    assert tries.pause(UnreachableError("lost")) is None


def test_a_refusal_is_final_unless_the_caller_knows_better():
    assert Tries(OPTIONS, Random(1)).pause(ApiError(403, "Forbidden", "no")) is None
    assert Tries(OPTIONS, Random(1)).pause(ApiError(409, "Conflict", "changed"), may_help=True) is not None
    assert Tries(OPTIONS, Random(1)).pause(ApiError(500, "", "down"), may_help=False) is None


def test_the_server_may_ask_for_a_longer_pause():
    assert Tries(OPTIONS, Random(1)).pause(BUSY) == 7.0


def test_a_busy_server_does_not_use_up_attempts_for_a_while():
    now = 100.0
    tries = Tries(OPTIONS, Random(1), lambda: now)
    assert all(tries.pause(BUSY) is not None for _ in range(50))
    now = 111.0
    assert [tries.pause(BUSY) is None for _ in range(3)] == [False, False, True]


def test_without_a_clock_a_busy_server_uses_up_attempts():
    tries = Tries(OPTIONS, Random(1))
    assert [tries.pause(BUSY) is None for _ in range(3)] == [False, False, True]


def test_patience_with_a_busy_server_counts_from_when_the_request_began():
    tries = Tries(OPTIONS, Random(1), lambda: 100.0, since=90.0)
    assert [tries.pause(BUSY) is None for _ in range(3)] == [False, False, True]
