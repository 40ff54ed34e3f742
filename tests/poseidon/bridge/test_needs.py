"""What the solver's models need decides what of pods is read and sent, and a bridge begins anew when it changes."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from random import Random

import pytest

from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.runner import BridgeProcess
from poseidon.bridge.solver_stream.stream import needs_of
from poseidon.bridge.supervisor import Supervisor
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.lifecycle.phases import Stories
from poseidon.pods.visibility import WHEN_UNTOLD
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.scripted_solver import ScriptedSolver, running_solver
from tests.poseidon.bridge.solver_view import BOUND, PENDING
from tests.poseidon.bridge.test_bridge import QUICK, Api, api, cluster
from tests.support.time_limits import stretch
from tests.support.waiting import until

__all__ = ["api", "cluster"]  # fixtures
TIER = frozenset({"containers", "labels:tier"})


@asynccontextmanager
async def living(cluster, port, *, ask_seconds=10.0, **options):
    """Bridges to the solver at ``port``, for as long as they are needed."""
    async with Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport:
        lives = Supervisor(
            BridgeProcess(Environment(transport, random=Random(1)), Stories(time.monotonic)),
            BridgeOptions((f"127.0.0.1:{port}",), session=QUICK, **options),
            "default.needs",
            ask_seconds=stretch(ask_seconds),
        )
        stop = asyncio.Event()
        running = asyncio.create_task(lives.run(stop))
        try:
            yield lives
        finally:
            stop.set()
            await asyncio.wait_for(running, stretch(20))


async def labelled(api: Api, name: str, **labels: str) -> str:
    spec = {"schedulerName": "poseidon", "containers": [{"name": "main", "image": "none"}]}
    made = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
    }
    return str((await api.create("/api/v1/namespaces/default/pods", made))["metadata"]["uid"])


def shown(solver: ScriptedSolver, uid: str) -> pb.TaskClass:
    return pb.TaskClass.FromString(solver.view.tasks[uid].task_class)


async def test_pods_are_told_with_what_the_solver_needs_and_no_more(cluster, api):
    uid = await labelled(api, "p", tier="gold", app="web")
    solver = ScriptedSolver()
    solver.needs = TIER
    async with running_solver(solver) as port, living(cluster, port):
        await until(lambda: solver.synced and uid in solver.view.tasks)
        told = shown(solver, uid)
    assert dict(told.labels) == {"tier": "gold"}
    assert len(told.containers) == 1
    asked, driven = solver.hellos
    assert asked.ephemeral
    assert (asked.cluster, driven.cluster) == ("default.needs", "default")


async def test_other_needs_on_a_later_stream_are_met_before_the_snapshot(cluster, api):
    """Whatever is bound stays so, and once; what waits is told in the new classes."""
    first = await labelled(api, "one", tier="gold")
    solver = ScriptedSolver()
    async with running_solver(solver) as port, living(cluster, port) as lives:
        await until(lambda: solver.synced and first in solver.view.tasks)
        assert not shown(solver, first).labels
        before = lives.registry
        solver.round(only="n1")
        await until(lambda: any(report.bound for report in solver.reports))
        second = await labelled(api, "two", tier="iron")
        await until(lambda: second in solver.view.tasks)
        solver.needs = TIER
        snapshots, hellos = solver.streams, len(solver.hellos)
        solver.abort()
        await until(lambda: solver.streams >= snapshots + 2 and solver.synced)
        assert dict(shown(solver, first).labels) == {"tier": "gold"}
        assert dict(shown(solver, second).labels) == {"tier": "iron"}
        assert (solver.view.tasks[first].state, solver.view.tasks[second].state) == (BOUND, PENDING)
        assert len({each.fencing for each in solver.hellos[hellos:]}) == 2
        assert solver.hellos[-1].fencing > solver.hellos[hellos].fencing
        assert lives.registry is not before
    pods = await api.pods()
    assert pods["one"]["spec"]["nodeName"] == "n1"
    assert "nodeName" not in pods["two"]["spec"]


@pytest.mark.parametrize(("fencing", "later"), [(1 << 50, (1 << 50) + 1), (0, 0)])
async def test_a_later_bridge_has_a_higher_number_than_the_last_even_if_the_clock_is_behind(
    cluster, api, fencing, later
):
    """A bridge that only observes has none before and after."""
    uid = await labelled(api, "p", tier="gold")
    solver = ScriptedSolver()
    async with running_solver(solver) as port, living(cluster, port, fencing=fencing):
        await until(lambda: solver.synced and uid in solver.view.tasks)
        assert solver.hellos[-1].fencing == fencing
        solver.needs = TIER
        solver.abort()
        await until(lambda: uid in solver.view.tasks and bool(shown(solver, uid).labels))
        assert solver.hellos[-1].fencing == later


async def test_a_solver_that_comes_later_is_told_what_it_needs(cluster, api):
    uid = await labelled(api, "p", tier="gold")
    solver = ScriptedSolver()
    async with running_solver(solver) as port:
        pass
    async with living(cluster, port, ask_seconds=0.1) as lives:
        await until(lambda: not lives.explain_unready().startswith("asking"))
        solver.needs = TIER
        async with running_solver(solver, port):
            await until(lambda: solver.synced and uid in solver.view.tasks)
            assert dict(shown(solver, uid).labels) == {"tier": "gold"}


async def test_a_solver_too_old_to_say_gets_what_it_got_before(cluster, api):
    uid = await labelled(api, "p", taskType="sheep", app="web")
    solver = ScriptedSolver()
    solver.minor, solver.needs = 1, frozenset()
    async with running_solver(solver) as port, living(cluster, port):
        await until(lambda: solver.synced and uid in solver.view.tasks)
        told = shown(solver, uid)
    assert dict(told.labels) == {"taskType": "sheep"}
    assert (told.namespace, told.qos, len(told.containers)) == ("default", "BestEffort", 1)
    assert solver.streams == 2  # nothing had to be read anew


@pytest.mark.parametrize(
    ("said", "needs"),
    [
        ({"version_minor": 2, "needs": ["load"]}, {"load"}),
        ({"version_minor": 3}, set()),
        ({"version_minor": 1}, WHEN_UNTOLD),
        ({"record_kinds": ["AppGroup"]}, WHEN_UNTOLD | {"records:AppGroup"}),
    ],
)
def test_what_a_welcome_says(said, needs):
    assert needs_of(pb.Welcome(version_major=1, **said)) == needs
