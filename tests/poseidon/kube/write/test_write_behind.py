"""Writes that may wait."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from random import Random
from typing import TYPE_CHECKING, cast

import pytest
from prometheus_client import CollectorRegistry

from poseidon.kube.client.errors import ApiError, UnreachableError
from poseidon.kube.environment import Environment, KubeMetrics
from poseidon.kube.write.write_retries import WriteBehind, WriteBehindOptions
from tests.support.waiting import until

if TYPE_CHECKING:
    from poseidon.kube.client.transport import Transport


class Target:
    """Takes writes; ``fail`` is raised in turn."""

    def __init__(self):
        self.written = []
        self.fail = []
        self.quiet = asyncio.Event()
        self.quiet.set()
        self.go = asyncio.Event()
        self.go.set()
        self.registry = CollectorRegistry()
        self.in_flight = self.most_in_flight = self.waits = 0
        self.begun = None

    async def perform(self, write):
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        if self.begun is not None:
            self.begun(write)
        try:
            await self.go.wait()
        finally:
            self.in_flight -= 1
        if self.fail:
            raise self.fail.pop(0)
        self.written.append(write)

    async def wait_quiet(self):
        self.waits += 1
        await self.quiet.wait()

    def count(self, result):
        labels = {"kind": "note", "result": result}
        return self.registry.get_sample_value("poseidon_status_writes_total", labels) or 0


async def no_sleep(seconds):
    await asyncio.sleep(0)


@asynccontextmanager
async def writing(target, **options):
    queue = WriteBehind(
        "note",
        target.perform,
        Environment(cast("Transport", None), KubeMetrics(target.registry), Random(1), sleep=no_sleep),
        target.wait_quiet,
        WriteBehindOptions(**options),
    )
    running = asyncio.create_task(queue.run())
    try:
        yield queue
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_only_the_latest_write_of_a_key_is_made():
    target = Target()
    target.quiet.clear()
    async with writing(target, workers=2, patience=60) as queue:
        for index in range(10):
            queue.put("a", index)
        queue.put("b", 100)
        target.quiet.set()
        await queue.wait_drained()
    assert sorted(target.written) == [9, 100]


async def test_writes_of_a_key_never_overtake_each_other():
    target = Target()
    target.go.clear()
    async with writing(target, workers=4) as queue:
        queue.put("a", 1)
        await until(lambda: queue.waiting("a") is None)
        queue.put("a", 2)
        target.go.set()
        await queue.wait_drained()
    assert target.written == [1, 2]


async def test_urgent_work_goes_first_but_not_for_ever():
    target = Target()
    target.quiet.clear()
    async with writing(target, patience=0.05) as queue:
        queue.put("a", 1)
        await asyncio.sleep(0)
        assert not target.written
        await until(lambda: target.written == [1])


async def test_few_that_have_been_patient_enough_are_written_while_urgent_work_goes_on():
    target = Target()
    target.quiet.clear()
    target.go.clear()
    async with writing(target, workers=16, patience=0.05, late=2) as queue:
        for index in range(10):
            queue.put(index, index)
        await until(lambda: target.in_flight == 2)
        await asyncio.sleep(0)
        assert target.in_flight == 2
        target.go.set()
        await queue.wait_drained()
        assert target.most_in_flight == 2
    assert sorted(target.written) == list(range(10))


async def test_all_go_at_once_when_no_urgent_work_is_left_however_long_they_have_waited():
    target = Target()
    target.go.clear()
    async with writing(target, workers=16, patience=0.0, late=2) as queue:
        for index in range(10):
            queue.put(index, index)
        await until(lambda: target.in_flight == 10)
        target.go.set()
        await queue.wait_drained()


async def test_one_that_is_withdrawn_while_it_waits_for_its_turn_is_not_made():
    target = Target()
    target.quiet.clear()
    target.go.clear()
    async with writing(target, workers=16, patience=0.0, late=1) as queue:
        queue.put("a", 1)
        queue.put("b", 2)
        await until(lambda: target.in_flight == 1)
        queue.withdraw("b")
        target.go.set()
        await queue.wait_drained()
    assert target.written == [1]


async def test_patience_counts_from_submission():
    """However many wait, none waits for the patience of those before it."""
    target = Target()
    target.quiet.clear()
    async with writing(target, workers=1, patience=0.2) as queue:
        loop = asyncio.get_running_loop()
        for index in range(50):
            queue.put(index, index)
        began = loop.time()
        await queue.wait_drained()
        assert 0.15 < loop.time() - began < 5
    assert target.written == list(range(50))


async def test_a_later_write_of_a_key_inherits_its_place():
    target = Target()
    target.quiet.clear()
    async with writing(target, workers=1, patience=0.3) as queue:
        loop = asyncio.get_running_loop()
        began = loop.time()
        queue.put("a", 0)
        last = 0
        while not target.written and loop.time() < began + 10:
            last += 1
            queue.put("a", last)
            await asyncio.sleep(0.01)
    assert target.written


async def test_a_later_write_of_a_key_waits_no_longer_than_the_first_would_have():
    target = Target()
    target.quiet.clear()
    async with writing(target, workers=1, patience=0.02) as queue:
        target.begun = lambda write: queue.put("b", 2) if write == 0 else None
        queue.put("a", 0)
        queue.put("b", 1)
        await queue.wait_drained()
    assert (target.written, target.waits) == ([0, 2], 1)


async def test_a_key_that_was_withdrawn_and_put_again_is_still_written_one_at_a_time():
    target = Target()
    target.quiet.clear()
    target.go.clear()
    async with writing(target, workers=4, patience=60) as queue:
        queue.put("a", 1)
        queue.withdraw("a")
        queue.put("a", 2)
        for _ in range(5):
            await asyncio.sleep(0)
        target.quiet.set()
        await until(lambda: target.in_flight)
        queue.put("a", 3)
        for _ in range(5):
            await asyncio.sleep(0)
        target.go.set()
        await queue.wait_drained()
    assert (target.written, target.most_in_flight) == ([2, 3], 1)


async def test_nothing_is_left_to_write_once_all_is_withdrawn():
    target = Target()
    async with writing(target) as queue:
        queue.put("a", 1)
        drained = asyncio.create_task(queue.wait_drained())
        queue.withdraw("a")
        await asyncio.sleep(0)
        assert drained.done()


async def test_what_exceeds_the_bound_is_dropped_and_counted():
    target = Target()
    target.quiet.clear()
    async with writing(target, bound=2, patience=60) as queue:
        for key in "abc":
            queue.put(key, key)
        target.quiet.set()
        await queue.wait_drained()
    assert target.written == ["a", "b"]
    assert target.count("dropped") == 1


async def test_withdrawn_writes_are_not_made():
    target = Target()
    target.quiet.clear()
    async with writing(target, patience=60) as queue:
        queue.put("a", 1)
        queue.withdraw("a")
        queue.put("b", 2)
        queue.withdraw("b")
        queue.put("b", 3)
        target.quiet.set()
        await queue.wait_drained()
    assert target.written == [3]


async def test_a_write_that_another_one_has_outrun_is_made_again():
    target = Target()
    target.fail = [ApiError(409, "Conflict", "the object has been modified; please apply your changes")] * 2
    async with writing(target) as queue:
        queue.put("a", 1)
        await queue.wait_drained()
    assert target.written == [1]
    assert target.count("obsolete") == target.count("failed") == 0


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("AlreadyExists", 'events "a" already exists'),
        ("Conflict", "Precondition failed: UID in precondition: a, UID in object meta: b"),
        ("Conflict", "the UID in the precondition (a) does not match the UID in record (b)"),
    ],
)
async def test_what_is_there_already_or_is_another_by_now_is_forgotten(reason, message):
    target = Target()
    target.fail = [ApiError(409, reason, message)]
    async with writing(target) as queue:
        queue.put("a", 1)
        await queue.wait_drained()
    assert not target.written
    assert target.count("obsolete") == 1


async def test_transient_failures_are_retried_and_gone_objects_forgotten(caplog):
    target = Target()
    target.fail = [ApiError(503, "ServiceUnavailable", "busy"), UnreachableError("reset")]
    async with writing(target) as queue:
        queue.put("a", 1)
        await queue.wait_drained()
        assert target.written == [1]
        target.fail = [ApiError(404, "NotFound", "gone")]
        queue.put("b", 2)
        await queue.wait_drained()
        assert target.count("obsolete") == 1
        target.fail = [ApiError(403, "Forbidden", "no rights"), ApiError(403, "Forbidden", "no rights")]
        queue.put("c", 3)
        await queue.wait_drained()
        queue.put("d", 4)
        await queue.wait_drained()
    assert target.count("failed") == 2
    assert [r.levelname for r in caplog.records].count("WARNING") == 1
