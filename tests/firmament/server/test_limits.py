"""What a client may do to the server at most."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import grpc
import pytest

from firmament.configuration.document import SchedulerConfiguration
from firmament.configuration.sections import LimitSection
from firmament.server.question_pool import QuestionPool, TooManyQuestionsError
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.firmament.server.driving import (
    Running,
    StreamEndedError,
    bound,
    eventually,
    machine,
    running_server,
    task_class,
    tasks,
)


async def test_a_compressed_message_is_refused_unread(running: Running):
    await running.driving(machine("m1"))
    call = running.channel.unary_unary(
        "/firmament.v1.Scheduler/Explain",
        request_serializer=bytes,
        response_deserializer=pb.Explanation.FromString,
    )
    bomb = bytes(60 * 2**20)  # of which 60 kB are sent
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(bomb, compression=grpc.Compression.Gzip)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert "'gzip' is disabled" in (caught.value.details() or "")
    assert (await running.state()).machines == 1


def limited(**limits: Any) -> SchedulerConfiguration:
    return SchedulerConfiguration(limits=LimitSection(**limits))


async def test_a_stream_that_says_nothing_is_closed():
    async with running_server(configuration=limited(hello_timeout=0.2)) as running:
        ended = await running.driver().end()
        assert ended.code is grpc.StatusCode.DEADLINE_EXCEEDED
        assert "no Hello within 0.2 s" in ended.details
        assert running.metric("firmament_refusals_total", reason="hello") == 1
        driver = await running.driving(machine("m1"), task_class(), tasks("a"))
        await driver.until(lambda: "a" in driver.placed)


async def test_streams_beyond_the_limit_are_refused_until_one_ends():
    async with running_server(configuration=limited(streams=2)) as running:
        await running.driving(machine("m1"), cluster="one")
        silent = running.driver()
        await eventually(lambda: running.server._service._streams == 2)
        ended = await running.driver().end()
        assert ended.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "as many as limits.streams allows" in ended.details
        silent.call.cancel()
        await eventually(lambda: running.server._service._streams == 1)
        await running.driving(machine("m1"), cluster="two")


async def test_clusters_beyond_the_limit_are_refused_until_one_has_no_session():
    async with running_server(configuration=limited(clusters=1)) as running:
        first = await running.driving(machine("m1"), cluster="one")
        with pytest.raises(StreamEndedError, match=r"RESOURCE_EXHAUSTED: 1 clusters have sessions"):
            await running.driver().hello(cluster="two")
        await running.driving(machine("m1"), cluster="one", fencing=2)
        assert (await first.end()).code is grpc.StatusCode.ABORTED
        assert (await running.state("one")).clusters == ["one"]


@pytest.mark.parametrize(
    ("limit", "most", "events"),
    [
        ("machines", 2, [machine("m3")]),
        ("classes", 1, [task_class(2, cpu=7)]),
        ("tasks", 3, [tasks("c", "d")]),
        ("tasks", 3, [tasks("c"), bound("m1", "d")]),
        ("tasks", 3, [pb.Event(job=pb.Job(id=str(number))) for number in range(4)]),
        ("records", 1, [pb.Event(record=pb.Record(key=pb.RecordKey(kind="K", name="n"), payload=b"{}"))]),
    ],
)
async def test_a_cluster_grows_to_the_limit_and_no_further(limit, most, events):
    known = pb.Event(record=pb.Record(key=pb.RecordKey(kind="K", name="known"), payload=b"{}"))
    world = (machine("m1"), machine("m2"), task_class(), tasks("a", "b"), known)
    async with running_server(configuration=limited(**{limit: most})) as running:
        other = await running.driving(*world, cluster="other")
        driver = await running.driving(*world)
        await driver.events(*world)  # nothing new
        await driver.until(lambda: driver.acked == driver.sequence and driver.placed.keys() == {"a", "b"})
        before = await running.state(with_tasks=True)
        await driver.events(*events)
        ended = await driver.end()
        assert ended.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert f"would exceed {most} per cluster" in ended.details
        assert (await running.state(with_tasks=True)).machine_states == before.machine_states
        await other.events(tasks("a"))
        await other.until(lambda: other.acked == other.sequence)


async def test_a_message_beyond_the_limit_ends_its_stream_alone():
    async with running_server(configuration=limited(message_bytes=2**20)) as running:
        other = await running.driving(machine("m1"), task_class(), cluster="other")
        driver = await running.driving(machine("m1"))
        await driver.send(snapshot_begin=pb.SnapshotBegin())
        await driver.events(pb.Event(job=pb.Job(id="j", name="x" * 2**20)))
        assert (await driver.end()).code is grpc.StatusCode.RESOURCE_EXHAUSTED
        await other.events(tasks("a"))
        await other.until(lambda: "a" in other.placed)


async def test_questions_are_bounded_and_answered_beside_the_loops_own_threads():
    questions, gate = QuestionPool(most=2), threading.Event()
    asked = [asyncio.create_task(questions.ask(gate.wait)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(TooManyQuestionsError, match="2 questions are under way"):
        await questions.ask(lambda: 1)
    asked[0].cancel()
    await asyncio.sleep(0)
    with pytest.raises(TooManyQuestionsError):
        await questions.ask(lambda: 1)  # its thread has not noticed that nobody waits any more
    assert await asyncio.to_thread(lambda: 2) == 2
    gate.set()
    assert await asked[1]
    assert await questions.ask(threading.current_thread) is not threading.current_thread()
    questions.close()


async def test_sessions_go_on_while_all_questions_wait():
    async with running_server(configuration=limited(questions=4)) as running:
        held = running.server._service._registry
        driver = await running.driving(machine("m1"), task_class())
        await running.driving(machine("m1"), task_class(), cluster="busy")
        with held.get("busy")._lock:  # as while a large round of it is opened
            calls = [running.stub.Explain(pb.ExplainRequest(cluster="busy", task="x")) for _ in range(4)]
            asked = [asyncio.ensure_future(_code(call)) for call in calls]
            await eventually(lambda: running.server._service._questions._open == 4)
            refused = await _code(running.stub.ListState(pb.ListStateRequest(cluster="c")))
            assert refused is grpc.StatusCode.RESOURCE_EXHAUSTED
            await driver.events(tasks("a"))
            await driver.until(lambda: "a" in driver.placed)
        assert set(await asyncio.gather(*asked)) == {grpc.StatusCode.NOT_FOUND}


async def _code(call):
    return await call.code()
