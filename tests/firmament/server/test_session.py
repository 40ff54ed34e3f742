from __future__ import annotations

from typing import Any

import grpc
import pytest

from firmament.server.protocol_version import VERSION_MAJOR, VERSION_MINOR, ProtocolError, check_hello
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.firmament.server.driving import (
    Running,
    StreamEndedError,
    bound,
    eventually,
    machine,
    task_class,
    tasks,
)
from tests.support.core import without_preemption
from tests.support.waiting import stays

WORLD = (machine("m1"), machine("m2"), task_class())


async def test_tasks_are_placed_and_confirmed(running: Running):
    driver = running.driver()
    welcome = await driver.hello()
    assert (welcome.version_major, welcome.version_minor, welcome.reset_required) == (1, 2, True)
    assert welcome.server.startswith("firmament ")
    await driver.snapshot(*WORLD, tasks("a", "b"))
    await driver.events(tasks("c"))
    await driver.until(lambda: len(driver.placed) == 3 and driver.acked == 2)
    assert [result.round for result in driver.rounds] == list(range(1, len(driver.rounds) + 1))
    assert (await running.state()).assumed == 3
    await driver.report("ab", bound=True)
    await driver.report("c", bound=False, reason="refused", retry=False)

    async def confirmed() -> bool:
        state = await running.state()
        return (state.bound, state.assumed, state.pending) == (2, 0, 1)

    await eventually(confirmed)


async def test_what_runs_already_takes_its_room(running: Running):
    driver = await running.driving(
        machine("m1", cpu=300), task_class(), bound("m1", "x", "y"), tasks("a", "b")
    )
    await driver.until(lambda: len(driver.placed) + len(driver.unscheduled) == 2)
    assert len(driver.placed) == 1
    (message,) = driver.unscheduled.values()
    assert without_preemption(message) == (
        "0/1 nodes are available: 1 Insufficient cpu. m1 had room until a took it in the same round."
    )


async def test_no_round_before_the_snapshot_ends(running: Running):
    driver = running.driver()
    await driver.hello()
    await driver.send(snapshot_begin=pb.SnapshotBegin())
    await driver.events(*WORLD, tasks("a"))
    await driver.until(lambda: driver.acked == 1)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await running.stub.Schedule(pb.ScheduleRequest(cluster="c"))
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    done = "firmament_round_duration_seconds_count"
    await stays(lambda: running.metric(done, stage="total") == 0, 0.1)  # several batching windows
    await driver.send(snapshot_end=pb.SnapshotEnd())
    await driver.until(lambda: bool(driver.rounds))
    assert driver.rounds[0].round == 1
    assert set(driver.placed) == {"a"}


async def test_a_new_snapshot_replaces_the_former_one_at_its_end(running: Running):
    driver = await running.driving(*WORLD, tasks("a"))
    await driver.until(lambda: "a" in driver.placed)
    await driver.send(snapshot_begin=pb.SnapshotBegin())
    await driver.events(machine("n1"), task_class(2), bound("n1", "z", number=2))
    await driver.until(lambda: driver.acked == 3)
    assert (await running.state()).machines == 2
    await driver.send(snapshot_end=pb.SnapshotEnd())
    await driver.events(tasks("b", number=2))
    await driver.until(lambda: "b" in driver.placed)
    state = await running.state()
    assert (state.machines, state.assumed, state.bound) == (1, 1, 1)
    assert [result.round for result in driver.rounds] == [1, 2], "numbers go on, per cluster"


async def test_unschedulable_tasks_cause_no_rounds_until_something_helps(running: Running):
    driver = await running.driving(machine("m1", cpu=50), task_class(), tasks("a"))
    await driver.until(lambda: "a" in driver.unscheduled)
    rounds = (await running.state()).rounds

    async def none_began() -> bool:
        return (await running.state()).rounds == rounds

    await stays(none_began, 0.3)
    await driver.events(machine("m2"))
    await driver.until(lambda: "a" in driver.placed)
    assert driver.placed == {"a": "m2"}


async def test_clusters_are_apart(running: Running):
    first = await running.driving(*WORLD, tasks("a"), cluster="c1")
    second = await running.driving(machine("other"), task_class(), tasks("a"), cluster="c2")
    await first.until(lambda: bool(first.placed))
    await second.until(lambda: bool(second.placed))
    assert first.placed["a"] in {"m1", "m2"}
    assert second.placed == {"a": "other"}
    assert (await running.state("c1")).machines == 2


# --- greetings ------------------------------------------------------------------------------------------------


async def refused(running: Running, **hello) -> StreamEndedError:
    with pytest.raises(StreamEndedError) as caught:
        await running.driver().hello(**hello)
    return caught.value


async def test_versions(running: Running):
    for minor in (1, 2, 3):
        await running.driver().hello(minor=minor)
    for version in ({"major": 2}, {"major": 0}, {"minor": 0}, {"minor": 4}):
        ended = await refused(running, **version)
        assert ended.code is grpc.StatusCode.FAILED_PRECONDITION
        assert "this server speaks 1.2" in ended.details


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({}, ""),
        ({"version_minor": VERSION_MINOR - 1}, ""),
        ({"version_minor": VERSION_MINOR + 1}, ""),
        ({"version_minor": VERSION_MINOR - 2}, "protocol 1.0 is not spoken here"),
        ({"version_minor": VERSION_MINOR + 2}, "protocol 1.4 is not spoken here"),
        ({"version_major": VERSION_MAJOR + 1}, "protocol 2.2 is not spoken here"),
        ({"cluster": ""}, "Hello: cluster: is empty"),
        ({"cluster": "c" * 1024, "client": "p" * 1024}, ""),
        ({"cluster": "c" * 1025}, "Hello: cluster or client: has more than 1024 characters"),
        ({"client": "p" * 1025}, "Hello: cluster or client: has more than 1024 characters"),
    ],
)
def test_what_a_greeting_must_say(given: dict[str, Any], fault: str):
    said = {"version_major": VERSION_MAJOR, "version_minor": VERSION_MINOR, "cluster": "c", **given}
    message = pb.ClientMessage(hello=pb.Hello(**said))
    if not fault:
        assert check_hello(message) == message.hello
        return
    with pytest.raises(ProtocolError, match=fault) as caught:
        check_hello(message)
    early = caught.value.code is grpc.StatusCode.FAILED_PRECONDITION
    assert early is ("spoken" in fault), "a wrong version is no malformed message"


async def test_a_driver_is_welcomed_with_what_the_server_reads_in_order(running: Running):
    welcome = await running.driver().hello()
    assert welcome.reset_required
    assert welcome.takes_reports
    assert list(welcome.record_kinds) == sorted(welcome.record_kinds) != []


async def test_a_cluster_must_be_named(running: Running):
    ended = await refused(running, cluster="")
    assert ended.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "Hello: cluster: is empty" in ended.details


async def test_hello_comes_first_and_once(running: Running):
    hasty = running.driver()
    await hasty.send(snapshot_begin=pb.SnapshotBegin())
    assert (await hasty.end()).code is grpc.StatusCode.FAILED_PRECONDITION
    polite = running.driver()
    await polite.hello()
    await polite.send(hello=pb.Hello())
    assert "only once" in (await polite.end()).details


async def test_an_older_driver_is_refused(running: Running):
    driver = await running.driving(*WORLD, fencing=7)
    ended = await refused(running, fencing=6)
    assert ended.code is grpc.StatusCode.FAILED_PRECONDITION
    assert "fencing number 7; 6 is older" in ended.details
    await driver.events(tasks("a"))
    await driver.until(lambda: "a" in driver.placed)


@pytest.mark.parametrize("fencing", [7, 8])
async def test_a_newer_driver_takes_over(running: Running, fencing):
    old = await running.driving(*WORLD, fencing=7)
    new = await running.driving(*WORLD, tasks("a"), fencing=fencing)
    ended = await old.end()
    assert ended.code is grpc.StatusCode.ABORTED
    assert f"fencing number {fencing}" in ended.details
    await new.until(lambda: "a" in new.placed)


async def test_the_former_state_stays_until_the_new_driver_has_sent_its_own(running: Running):
    await running.driving(*WORLD)
    new = running.driver()
    await new.hello(fencing=2)
    assert (await running.state()).machines == 2
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await running.stub.Schedule(pb.ScheduleRequest(cluster="c"))
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION


# --- bad messages ---------------------------------------------------------------------------------------------


async def test_a_malformed_batch_changes_nothing_and_ends_the_stream(running: Running):
    driver = await running.driving(*WORLD)
    before = await running.state(with_tasks=True)
    await driver.events(machine("m3"), machine("m4", cpu=-5), tasks("a"))
    ended = await driver.end()
    assert ended.code is grpc.StatusCode.INVALID_ARGUMENT
    assert ended.details.startswith("EventBatch 3: event 1: Machine m4: allocatable[cpu]: -5 is negative")
    assert await running.state(with_tasks=True) == before
    again = await running.driving(*WORLD, tasks("a"))
    await again.until(lambda: "a" in again.placed)


async def test_a_batch_that_the_core_refuses_changes_nothing(running: Running):
    driver = await running.driving(*WORLD)
    await driver.events(machine("m3"), tasks("a", number=99))
    ended = await driver.end()
    assert ended.code is grpc.StatusCode.INVALID_ARGUMENT
    assert ended.details.startswith("EventBatch 3: ")
    assert "99" in ended.details
    assert (await running.state()).machines == 2


async def test_a_malformed_batch_in_a_snapshot_leaves_the_former_state(running: Running):
    driver = await running.driving(*WORLD)
    await driver.send(snapshot_begin=pb.SnapshotBegin())
    await driver.events(machine("n1"))
    await driver.events(machine(""))
    assert (await driver.end()).code is grpc.StatusCode.INVALID_ARGUMENT
    assert (await running.state()).machines == 2


@pytest.mark.parametrize(
    ("sequence", "fault"), [(2, "2 follows 2; send 3"), (4, "4 follows 2; send 3"), (0, "0 follows 2")]
)
async def test_sequence_numbers_grow_by_one(running: Running, sequence, fault):
    driver = await running.driving(*WORLD)
    await driver.events(machine("m3"), sequence=sequence)
    ended = await driver.end()
    assert ended.code is grpc.StatusCode.INVALID_ARGUMENT
    assert fault in ended.details
    assert (await running.state()).machines == 2


async def test_events_need_a_snapshot(running: Running):
    driver = running.driver()
    await driver.hello()
    await driver.events(machine("m1"))
    ended = await driver.end()
    assert ended.code is grpc.StatusCode.FAILED_PRECONDITION
    assert "SnapshotBegin" in ended.details


async def test_a_snapshot_must_begin_before_it_ends(running: Running):
    driver = running.driver()
    await driver.hello()
    await driver.send(snapshot_end=pb.SnapshotEnd())
    assert (await driver.end()).code is grpc.StatusCode.FAILED_PRECONDITION


async def test_an_empty_message_is_refused(running: Running):
    driver = await running.driving(*WORLD)
    await driver.send()
    ended = await driver.end()
    assert ended.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "ClientMessage: body" in ended.details


async def test_malformed_reports_are_refused(running: Running):
    driver = await running.driving(*WORLD)
    await driver.send(reports=pb.BindingReports(reports=[pb.BindingReport(task="a")]))
    ended = await driver.end()
    assert ended.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "machine: is empty" in ended.details


# --- endings --------------------------------------------------------------------------------------------------


async def test_a_driver_that_closes_its_side_gets_the_rest(running: Running):
    driver = await running.driving(*WORLD)
    await driver.events(machine("m3"))
    await driver.call.done_writing()
    ended = await driver.end()
    assert ended.code is grpc.StatusCode.OK
    assert driver.acked == 3


async def test_an_older_driver_may_take_over_once_the_newer_one_has_said_goodbye(running: Running):
    driver = await running.driving(*WORLD, fencing=7)
    await driver.call.done_writing()
    await driver.end()
    older = running.driver()
    assert (await older.hello(fencing=6)).reset_required


@pytest.mark.parametrize("ephemeral", [False, True])
async def test_a_cluster_may_ask_to_be_forgotten_with_its_last_driver(running: Running, ephemeral: bool):
    driver = running.driver()
    hello = pb.Hello(version_major=1, version_minor=2, cluster="c", fencing=1, ephemeral=ephemeral)
    await driver.send(hello=hello)
    await driver.snapshot(*WORLD)
    await driver.events()
    await driver.until(lambda: driver.acked == driver.sequence)
    await driver.call.done_writing()
    await driver.end()

    async def is_settled() -> bool:
        try:
            return (await running.state()).machines == 2 and not ephemeral
        except grpc.aio.AioRpcError as error:
            return ephemeral and error.code() is grpc.StatusCode.NOT_FOUND

    await eventually(is_settled)


async def test_state_outlives_the_driver_but_rounds_do_not(running: Running):
    driver = await running.driving(*WORLD)
    await driver.events(tasks("a"))
    await driver.until(lambda: "a" in driver.placed and driver.acked == 3)
    await driver.report("a", bound=False, retry=True)
    driver.call.cancel()
    await eventually(lambda: running.metric("firmament_sessions") == 0)
    state = await running.state()
    assert (state.machines, state.pending + state.assumed) == (2, 1)


async def test_many_small_batches_are_acknowledged_in_the_end(running: Running):
    driver = await running.driving(*WORLD)
    for number in range(200):
        await driver.events(machine(f"x{number}"))
    await driver.until(lambda: driver.acked == 202)
    assert (await running.state()).machines == 202
