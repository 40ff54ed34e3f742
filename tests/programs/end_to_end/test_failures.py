"""Either process dies, or is late: nothing is lost, and nothing happens twice."""

from __future__ import annotations

import asyncio
import signal

import pytest

from tests.programs.end_to_end.scene import SECONDS, free_port, names, scene
from tests.support.time_limits import stretch
from tests.support.waiting import until

NODES, PODS = 50, 500


@pytest.mark.parametrize("bound", [0, 150])
async def test_the_solver_is_killed_in_the_middle(tmp_path, bound):
    """It dies when all pods are waiting, or while bindings of its first round are being posted and more pods come."""
    async with scene(tmp_path) as s:
        await s.nodes(NODES)
        await s.start(own_solver=True)
        await s.until_solver(lambda counts: counts.machines == NODES)
        reached = s.binding_reached(max(bound, 1))
        await s.pods(names("early", PODS // 2), cpu="250m")
        if bound:
            await asyncio.wait_for(reached.wait(), stretch(SECONDS))
        s.stack.solver.signal(signal.SIGKILL)
        assert s.count_bound() < PODS // 2
        await s.pods(names("late", PODS // 2), cpu="500m")
        assert await s.stack.solver.wait() == -signal.SIGKILL
        await s.stack.start_solver()
        await s.until_bound(PODS)
        s.check_sound()
        assert s.conflicts() == 0
        counts = await s.until_solver(lambda counts: counts.bound == PODS)
        assert (counts.pending, counts.assumed) == (0, 0)
        await until(lambda: len(s.events("Scheduled")) == PODS, within=SECONDS)
        assert set(s.events("Scheduled").values()) == {1}
        assert s.stack.bridge.alive


async def test_the_bridge_is_killed_in_the_middle(tmp_path):
    async with scene(tmp_path) as s:
        await s.nodes(NODES)
        await s.start()
        await s.until_solver(lambda counts: counts.machines == NODES)
        reached = s.binding_reached(150)
        await s.pods(names("p", PODS), cpu="250m")
        await asyncio.wait_for(reached.wait(), stretch(SECONDS))
        s.stack.bridge.signal(signal.SIGKILL)
        assert s.count_bound() < PODS
        assert await s.stack.bridge.wait() == -signal.SIGKILL
        await s.stack.start_bridge()
        await s.until_bound(PODS)
        s.check_sound()
        counts = await s.until_solver(lambda counts: counts.bound == PODS)
        assert (counts.pending, counts.assumed) == (0, 0)


async def test_the_solver_starts_late(tmp_path):
    async with scene(tmp_path) as s:
        await s.nodes(5)
        await s.pods(names("p", 20))
        s.stack.solver_address = f"127.0.0.1:{free_port()}"
        await s.stack.start_bridge()
        # It has tried in vain, and says so once.
        await until(lambda: "no stream to the solver" in s.log("bridge"), within=SECONDS)
        await s.stack.start_solver()
        await s.until_bound(20)
        s.check_sound()
        assert s.stack.bridge.alive


async def test_the_api_server_starts_late(tmp_path):
    async with scene(tmp_path) as s:
        port = int(s.cluster.url.rpartition(":")[2])
        await s.cluster.stop()
        await s.start()
        await until(lambda: "api server request failed" in s.log("bridge"), within=SECONDS)
        await s.nodes(5)
        await s.pods(names("p", 20))
        await s.open(port)
        await s.until_bound(20)
        s.check_sound()


@pytest.mark.parametrize("forgets", [False, True])
async def test_the_api_server_goes_away_for_a_while(tmp_path, forgets):
    """When it is back it may have forgotten all old versions, so that every watch is answered with 410."""
    async with scene(tmp_path) as s:
        port = int(s.cluster.url.rpartition(":")[2])
        await s.nodes(NODES)
        await s.start()
        await s.until_solver(lambda counts: counts.machines == NODES)
        reached = s.binding_reached(100)
        await s.pods(names("p", PODS), cpu="250m")
        await asyncio.wait_for(reached.wait(), stretch(SECONDS))
        await s.cluster.stop()
        assert s.count_bound() < PODS
        if forgets:
            s.operations.store.go_on_after(s.operations.store.revision + 1000)
        await s.open(port)
        await until(lambda: len(s.placed()) == PODS, within=SECONDS)
        s.check_sound()
        await until(lambda: len(s.events("Scheduled")) == PODS, within=SECONDS)
        told = s.events("Scheduled") + s.events("FailedScheduling")
        assert max(told.values()) <= 2
        assert s.stack.bridge.alive


@pytest.mark.parametrize("process", ["bridge", "solver"])
async def test_sigterm_in_the_middle_drains(tmp_path, process):
    async with scene(tmp_path) as s:
        await s.nodes(NODES)
        await s.start(own_solver=process == "solver")
        await s.until_solver(lambda counts: counts.machines == NODES)
        reached = s.binding_reached(100)
        await s.pods(names("p", PODS), cpu="250m")
        await asyncio.wait_for(reached.wait(), stretch(SECONDS))
        child = s.stack.bridge if process == "bridge" else s.stack.solver
        child.signal(signal.SIGTERM)
        assert await asyncio.wait_for(child.wait(), stretch(SECONDS)) == 0
        assert "Traceback" not in s.log(process)
        if process == "bridge":
            # Every binding that it had posted is announced too.
            assert len(s.placed()) == s.count_bound() == len(s.events("Scheduled"))
            await s.stack.start_bridge()
        else:
            await s.stack.start_solver()
        await s.until_bound(PODS)
        s.check_sound()
        assert s.conflicts() == 0
