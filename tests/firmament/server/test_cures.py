"""The call ``FindCures``: changes that a running solver has tried, while its rounds go on."""

from __future__ import annotations

import asyncio

import grpc

from firmament.server import cures
from firmament.server.process_copy import ProcessCopy
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.firmament.server.driving import Running, machine, task_class, tasks
from tests.firmament.server.test_unary import code_of

WORLD = (machine("m1", cpu=250), machine("m2", cpu=250), task_class(), task_class(2, cpu=300))


def asking(task: str, cluster: str = "c", fixed: tuple[str, ...] = ()) -> pb.FindCuresRequest:
    return pb.FindCuresRequest(cluster=cluster, task=task, fixed=fixed)


async def test_cures_of_a_task_that_is_too_large(running: Running):
    driver = await running.driving(*WORLD, tasks("big", number=2))
    await driver.until(lambda: "big" in driver.unscheduled)
    found = (await running.stub.FindCures(asking("big"))).cures
    assert [each.steps[0].kind for each in found[:1]] == ["lower-request"]
    assert (found[0].steps[0].subject, found[0].steps[0].amount_before, found[0].steps[0].amount_after) == (
        "cpu",
        300,
        250,
    )
    assert {each.steps[0].kind for each in found} >= {"lower-request", "enlarge-node"}
    state = await running.state()
    assert (state.machines, state.pending) == (2, 1)  # what was tried was tried in a copy


async def test_moves_leave_tasks_that_are_fixed(running: Running):
    driver = await running.driving(*WORLD, tasks("a", "b"))
    await driver.until(lambda: len(driver.placed) == 2)
    await driver.events(task_class(3, cpu=200), tasks("c", number=3))
    await driver.until(lambda: "c" in driver.placed or "c" in driver.unscheduled)
    if "c" in driver.placed:  # both went to one machine
        await driver.events(tasks("d", number=3))
        await driver.until(lambda: "d" in driver.unscheduled)
    waits = "c" if "c" in driver.unscheduled else "d"
    moves = [each.moves for each in (await running.stub.FindCures(asking(waits))).cures if each.moves]
    for (move,) in moves:
        assert driver.placed[move.task] == move.source != move.target
    fixed = tuple(driver.placed)
    kept = (await running.stub.FindCures(asking(waits, fixed=fixed))).cures
    assert not any(each.moves for each in kept)


async def test_tasks_that_do_not_wait_have_no_cures(running: Running):
    driver = await running.driving(*WORLD, tasks("a"))
    await driver.until(lambda: "a" in driver.placed)
    assert not (await running.stub.FindCures(asking("a"))).cures
    assert (await code_of(running.stub.FindCures(asking("nobody")))) == (
        grpc.StatusCode.NOT_FOUND,
        "task 'nobody' is not known in cluster 'c'",
    )
    assert (await code_of(running.stub.FindCures(asking("a", cluster="x"))))[0] is grpc.StatusCode.NOT_FOUND


async def test_one_search_at_a_time_while_rounds_go_on(running: Running, monkeypatch):
    blocker = asyncio.Event()
    loop = asyncio.get_running_loop()
    search = ProcessCopy.result

    def wait_first(copy):
        asyncio.run_coroutine_threadsafe(blocker.wait(), loop).result()
        return search(copy)

    monkeypatch.setattr(ProcessCopy, "result", wait_first)
    driver = await running.driving(*WORLD, tasks("big", number=2))
    await driver.until(lambda: "big" in driver.unscheduled)
    first = asyncio.ensure_future(running.stub.FindCures(asking("big")))
    try:
        while True:
            code, details = await code_of(running.stub.FindCures(asking("big")))
            if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
                break
        assert details == "cures are being sought already; ask again in some seconds"
        await driver.events(tasks("small"))
        await driver.until(lambda: "small" in driver.placed)
        assert not first.done()
    finally:
        blocker.set()
    assert (await first).cures


async def test_a_search_that_fails_says_so_and_the_next_one_works(running: Running, monkeypatch, caplog):
    driver = await running.driving(*WORLD, tasks("big", number=2))
    await driver.until(lambda: "big" in driver.unscheduled)
    with monkeypatch.context() as patched:
        patched.setattr(cures, "SECONDS", 0.0)
        code, details = await code_of(running.stub.FindCures(asking("big")))
    assert (code, details) == (
        grpc.StatusCode.INTERNAL,
        "the search for cures took too long and was ended",
    )
    assert (await running.stub.FindCures(asking("big"))).cures
