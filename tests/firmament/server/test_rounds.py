from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import time
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from firmament.configuration.document import RoundSection, SchedulerConfiguration
from protos.conventions.logs import JsonFormatter
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.firmament.server.driving import (
    SECONDS,
    Running,
    eventually,
    machine,
    running_server,
    task_class,
    tasks,
)
from tests.firmament.solvers.scripted_solvers import FAIL_WHILE, FAILING, SLOW, SLOW_SECONDS, SLOW_WHILE
from tests.support.time_limits import stretch

WORLD = (machine("m1"), machine("m2"), task_class())


async def test_health(running: Running):
    stub = health_pb2_grpc.HealthStub(running.channel)
    for service in ("", "firmament.v1.Scheduler"):
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=service))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING


async def test_health_checks_are_answered_during_a_long_solve(monkeypatch):
    monkeypatch.setenv(SLOW_SECONDS, "600")
    async with running_server(solver=SLOW) as running:
        driver = await running.driving(*WORLD, tasks("a"))
        await eventually(lambda: _solving(running))
        stub = health_pb2_grpc.HealthStub(running.channel)
        for _ in range(20):
            # Were the server kept from answering, this would fail in the end.
            await stub.Check(health_pb2.HealthCheckRequest(), timeout=stretch(SECONDS))
        assert not driver.rounds


async def test_a_failing_round_is_logged_once_counted_and_retried(monkeypatch, tmp_path: Path, caplog):
    trouble = tmp_path / "trouble"
    trouble.touch()
    monkeypatch.setenv(FAIL_WHILE, str(trouble))
    with caplog.at_level(logging.INFO, logger="firmament"):
        async with running_server(solver=FAILING) as running:
            driver = await running.driving(*WORLD, tasks("a"))
            await eventually(lambda: running.metric("firmament_round_failures_total") >= 3)
            await eventually(lambda: sum("round failed" in record.message for record in caplog.records) >= 3)
            trouble.unlink()
            await driver.until(lambda: "a" in driver.placed)
    failures = [record for record in caplog.records if "round failed" in record.message]
    assert [record.exc_info is not None for record in failures[:3]] == [True, False, False]
    assert "told to fail" in failures[0].message
    assert "retry_in=0.2s" in failures[1].message


async def test_events_go_on_during_a_solve(monkeypatch):
    monkeypatch.setenv(SLOW_SECONDS, "1.0")
    async with running_server(solver=SLOW) as running:
        driver = await running.driving(*WORLD, tasks("a"))
        await eventually(lambda: _solving(running))
        await driver.events(pb.Event(task_removed="a"), tasks("b"))
        await driver.until(lambda: driver.acked == 3)
        assert not driver.rounds, "acknowledged before the round ended"
        await driver.until(lambda: "b" in driver.placed)
        assert "a" not in driver.placed, "removed during the solve"


async def _solving(running: Running) -> bool:
    """Say whether the first round has begun."""
    return (await running.state()).rounds >= 1


async def test_rounds_take_their_time_while_the_driver_has_plenty_to_do(monkeypatch):
    monkeypatch.setenv(SLOW_SECONDS, "0.06")
    many = [f"t{number}" for number in range(600)]
    async with running_server(solver=SLOW) as running:
        large = machine("m1", cpu=10**6, pods=1000)
        driver = await running.driving(large, task_class(cpu=1), tasks("a"))
        await driver.until(lambda: "a" in driver.placed)
        started = time.monotonic()
        await driver.events(tasks(*many))
        await driver.until(lambda: many[0] in driver.placed)
        await driver.events(tasks("b"))
        await driver.until(lambda: "b" in driver.placed)
        assert len(driver.placed) == len(many) + 2
        # A round lasts 0.06 s at least, so the next begins 8 times as long after it, and lasts as long itself.
        assert time.monotonic() - started >= 0.54
        await driver.report(many)
        await driver.events(tasks("c"))
        await driver.until(lambda: "c" in driver.placed)


async def test_a_batch_without_events_is_no_arrival():
    window = 600.0
    configuration = SchedulerConfiguration(round=RoundSection(batching_window=window))
    async with running_server(configuration=configuration) as running:
        driver = await running.driving(*WORLD)
        started = time.monotonic()
        await driver.events()
        await driver.events(tasks("a"))
        await driver.until(lambda: "a" in driver.placed)
        assert time.monotonic() - started < stretch(10), "taken for a stream of arrivals, to be collected"


async def test_lines_about_sessions_have_a_pair_per_value(running: Running, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, logger="firmament"):
        await running.driving(*WORLD)
    (record,) = (each for each in caplog.records if each.getMessage().startswith("session opened"))
    line = json.loads(JsonFormatter().format(record))
    assert line["msg"] == "session opened"
    assert {"cluster", "client", "fencing"} <= line.keys()
    assert " " not in line["cluster"] + line["client"] + line["fencing"]


async def test_metrics(running: Running):
    driver = await running.driving(*WORLD, tasks("a", "b"))
    await driver.until(lambda: len(driver.placed) == 2)
    assert running.metric("firmament_round_tasks_total", outcome="placed") == 2
    assert running.metric("firmament_round_tasks_total", outcome="pending") == 0
    assert running.metric("firmament_rounds_total", certified="true") >= 1
    assert running.metric("firmament_rounds_total", certified="false") == 0
    assert running.metric("firmament_round_gap_ratio") == 0
    assert running.metric("firmament_round_cost_points") > 0
    assert running.metric("firmament_network_arcs") > 0
    for stage in ("snapshot", "network", "solve", "admit", "total"):
        assert running.metric("firmament_round_duration_seconds_count", stage=stage) == len(driver.rounds)
    assert running.metric("firmament_sessions") == 1
    assert running.metric("firmament_solver_restarts_total") == 0


async def test_draining_sends_the_round_in_progress(monkeypatch, tmp_path: Path):
    solves = tmp_path / "solves"
    solves.touch()
    monkeypatch.setenv(SLOW_WHILE, str(solves))
    async with running_server(solver=SLOW) as running:
        health = health_pb2_grpc.HealthStub(running.channel)
        driver = await running.driving(*WORLD, tasks("a"))
        await eventually(lambda: _solving(running))
        stopping = asyncio.create_task(running.server.stop(drain_seconds=stretch(SECONDS)))

        async def not_serving() -> bool:
            answer = await health.Check(health_pb2.HealthCheckRequest())
            return bool(answer.status == health_pb2.HealthCheckResponse.NOT_SERVING)

        await eventually(not_serving)
        late = running.driver()
        assert (await late.end()).code is grpc.StatusCode.UNAVAILABLE
        solves.unlink()
        ended = await driver.end()
        assert ended.code is grpc.StatusCode.UNAVAILABLE
        assert ended.details == "the server is shutting down"
        assert "a" in driver.placed
        await stopping


async def test_draining_gives_up_on_a_solve_that_takes_too_long(monkeypatch):
    monkeypatch.setenv(SLOW_SECONDS, "60")
    async with running_server(solver=SLOW) as running:
        await running.driving(*WORLD, tasks("a"))
        await eventually(lambda: _solving(running))
        started = time.monotonic()
        await running.server.stop(drain_seconds=0.3)
        assert time.monotonic() - started < stretch(5)


@pytest.mark.parametrize("killed", [1, 2])
async def test_rounds_survive_killed_solver_processes(running: Running, killed):
    driver = await running.driving(*WORLD, tasks("a"))
    await driver.until(lambda: "a" in driver.placed)
    for pid in running.server._solver.worker_pids()[:killed]:
        os.kill(pid, signal.SIGKILL)
    await driver.events(tasks("b"))
    await driver.until(lambda: "b" in driver.placed)
    assert running.metric("firmament_solver_restarts_total") >= 1
