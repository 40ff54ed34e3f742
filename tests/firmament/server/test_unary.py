from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import grpc
import pytest

from protos.firmament.v1 import scheduler_pb2 as pb
from tests.firmament.server.driving import Running, eventually, machine, task_class, tasks
from tests.support.core import without_preemption

WORLD = (machine("m1", cpu=250), machine("m2", cpu=250), task_class())


async def code_of(call: Awaitable[Any]) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code(), caught.value.details() or ""


async def test_unknown_clusters_are_not_found(running: Running):
    await running.driving(*WORLD, cluster="known")
    stub = running.stub
    for call in (
        stub.Schedule(pb.ScheduleRequest(cluster="x")),
        stub.Explain(pb.ExplainRequest(cluster="x", task="a")),
        stub.ListState(pb.ListStateRequest(cluster="x")),
        stub.ExportNetwork(pb.ExportNetworkRequest(cluster="x")),
    ):
        code, details = await code_of(call)
        assert code is grpc.StatusCode.NOT_FOUND
        assert details == "cluster 'x' is not known; known: known"


async def test_a_cluster_must_be_named(running: Running):
    code, details = await code_of(running.stub.Schedule(pb.ScheduleRequest()))
    assert (code, details) == (grpc.StatusCode.INVALID_ARGUMENT, "cluster: is empty; name the cluster")


async def test_clusters_without_a_snapshot_have_no_answers(running: Running):
    await running.driver().hello()
    stub = running.stub
    for call in (
        stub.Schedule(pb.ScheduleRequest(cluster="c")),
        stub.Explain(pb.ExplainRequest(cluster="c", task="a")),
        stub.ListState(pb.ListStateRequest(cluster="c")),
        stub.ExportNetwork(pb.ExportNetworkRequest(cluster="c")),
    ):
        assert (await code_of(call))[0] is grpc.StatusCode.FAILED_PRECONDITION


async def test_listing(running: Running):
    driver = await running.driving(*WORLD, tasks("a", "b", "d", "e", "f"))
    await driver.until(lambda: len(driver.placed) + len(driver.unscheduled) == 5)
    assert list((await running.stub.ListState(pb.ListStateRequest())).clusters) == ["c"]
    counted = await running.state()
    assert (counted.machines, counted.assumed, counted.pending, counted.bound) == (2, 4, 1, 0)
    assert not counted.tasks
    listed = await running.state(with_tasks=True)
    assert sorted(task.uid for task in listed.tasks) == ["a", "b", "d", "e", "f"]
    (waiting,) = [task for task in listed.tasks if task.state != "ASSUMED"]
    assert without_preemption(waiting.message) == "0/2 nodes are available: 2 Insufficient cpu."
    free = {
        state.name: {each.resource: each.amount for each in state.free} for state in listed.machine_states
    }
    assert [free[name]["cpu"] for name in ("m1", "m2")] == [50, 50]
    assert [state.tasks for state in listed.machine_states] == [2, 2]


async def test_explaining(running: Running):
    driver = await running.driving(*WORLD, task_class(2, cpu=9000), tasks("big", number=2))
    await driver.until(lambda: "big" in driver.unscheduled)
    explanation = await running.stub.Explain(pb.ExplainRequest(cluster="c", task="big"))
    assert {verdict.machine: verdict.feasible for verdict in explanation.machines} == {
        "m1": False,
        "m2": False,
    }
    assert "Insufficient cpu" in explanation.machines[0].reasons
    code, details = await code_of(running.stub.Explain(pb.ExplainRequest(cluster="c", task="nobody")))
    assert (code, details) == (grpc.StatusCode.NOT_FOUND, "task 'nobody' is not known in cluster 'c'")


async def test_exporting_the_network(running: Running):
    driver = await running.driving(*WORLD)
    empty = await running.stub.ExportNetwork(pb.ExportNetworkRequest(cluster="c"))
    assert (empty.dimacs, empty.round) == ("", 0)
    await driver.events(tasks("a"))
    await driver.until(lambda: "a" in driver.placed)
    exported = await running.stub.ExportNetwork(pb.ExportNetworkRequest(cluster="c"))
    assert any(line.startswith("p min ") for line in exported.dimacs.splitlines())
    assert exported.round == driver.rounds[-1].round


async def test_a_round_on_demand_also_reaches_the_driver(running: Running):
    driver = await running.driving(*WORLD)
    result = await running.stub.Schedule(pb.ScheduleRequest(cluster="c"))
    assert not result.deltas
    await driver.until(lambda: bool(driver.rounds))
    assert driver.rounds[0] == result


async def test_without_a_driver_rounds_run_on_demand_only(running: Running):
    driver = await running.driving(*WORLD)
    await driver.events(tasks("a"))
    await driver.until(lambda: "a" in driver.placed)
    await driver.report("a", bound=False, reason="refused", retry=True)

    async def waits() -> bool:
        return (await running.state()).pending == 1

    await eventually(waits)
    driver.call.cancel()
    await eventually(lambda: running.metric("firmament_sessions") == 0)
    rounds = (await running.state()).rounds

    async def placed_by_hand() -> bool:
        result = await running.stub.Schedule(pb.ScheduleRequest(cluster="c"))
        return [delta.task for delta in result.deltas] == ["a"]

    # The failed binding is backed off for a second; a driverless cluster must not place it by itself meanwhile.
    await eventually(placed_by_hand)
    assert (await running.state()).rounds > rounds
