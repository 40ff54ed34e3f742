"""Malformed input to the running processes: refused in clear words, with nothing changed."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from poseidon.testbed.harness.child import Child
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc
from tests.firmament.server.driving import Driver, bound, machine, task_class, tasks
from tests.programs.end_to_end.scene import SECONDS, scene
from tests.support import preloaded
from tests.support.time_limits import stretch

# --- gRPC -----------------------------------------------------------------------------------------------------


@asynccontextmanager
async def driven_solver(tmp_path):
    """Start the solver, and yield its channel and stub; a cluster ``c`` of one full machine is known."""
    async with scene(tmp_path) as s:
        await s.stack.start_solver()
        async with grpc.aio.insecure_channel(s.stack.solver_address) as channel:
            stub = scheduler_pb2_grpc.SchedulerStub(channel)
            driver = await snapshot(stub, 1)
            await driver.call.done_writing()
            assert (await driver.end()).code is grpc.StatusCode.OK
            yield channel, stub
            assert s.stack.solver.alive
            assert "Traceback" not in s.log("solver")


async def snapshot(stub, fencing):
    """Open a session whose snapshot is in use: three tasks wait, one is bound, a round was in vain."""
    driver = Driver(stub.Session())
    await driver.hello(fencing=fencing)
    await driver.snapshot(machine("m", cpu=100), task_class(), tasks("a", "b", "c"), bound("m", "d"))
    await driver.events()
    await driver.until(lambda: driver.acked == driver.sequence and bool(driver.rounds))
    return driver


async def state(stub):
    """Return everything that the solver holds, in a form that can be compared."""
    answer = await stub.ListState(pb.ListStateRequest(cluster="c", with_tasks=True))
    return answer.SerializeToString(deterministic=True)


def batch(*events, sequence=3):
    return pb.ClientMessage(events=pb.EventBatch(sequence=sequence, events=events))


def amounts(**resources):
    return [pb.Quantity(resource=name, amount=amount) for name, amount in resources.items()]


SOUND = tasks("new")
MALFORMED = {
    "a sequence number is left out": batch(SOUND, sequence=4),
    "a sequence number comes again": batch(SOUND, sequence=2),
    "an unknown class": batch(SOUND, tasks("x", number=77)),
    "an unknown class of bound tasks": batch(SOUND, bound("m", "x", number=77)),
    "a negative request": batch(SOUND, pb.Event(task_class=pb.TaskClass(id=5, requests=amounts(cpu=-1)))),
    "a negative capacity": batch(SOUND, pb.Event(machine=pb.Machine(name="n", allocatable=amounts(cpu=-1)))),
    "an absurd capacity": batch(
        SOUND, pb.Event(machine=pb.Machine(name="n", allocatable=amounts(memory=2**62)))
    ),
    "a machine without a name": batch(SOUND, pb.Event(machine=pb.Machine(allocatable=amounts(cpu=1)))),
    "a task without a uid": batch(SOUND, tasks("")),
    "an event without content": batch(SOUND, pb.Event()),
    "a message without content": pb.ClientMessage(),
}


async def test_malformed_messages_change_nothing(tmp_path):
    async with driven_solver(tmp_path) as (channel, stub):
        health = health_pb2_grpc.HealthStub(channel)
        for fencing, (what, message) in enumerate(MALFORMED.items(), start=2):
            driver = await snapshot(stub, fencing)
            before = await state(stub)
            await driver.call.write(message)
            ended = await driver.end()
            assert ended.code is grpc.StatusCode.INVALID_ARGUMENT, what
            assert ended.details, what
            assert await state(stub) == before, what
            answer = await health.Check(health_pb2.HealthCheckRequest())
            assert answer.status == health_pb2.HealthCheckResponse.SERVING, what


@pytest.mark.parametrize("greeted", [False, True])
async def test_bytes_that_are_no_message_are_refused(tmp_path, greeted):
    async with driven_solver(tmp_path) as (channel, stub):
        before = await state(stub)
        call = channel.stream_stream("/firmament.v1.Scheduler/Session")()
        if greeted:
            hello = pb.Hello(version_major=1, version_minor=2, cluster="c", fencing=2)
            await call.write(pb.ClientMessage(hello=hello).SerializeToString())
            assert pb.ServerMessage.FromString(await call.read()).WhichOneof("body") == "welcome"
        await call.write(b"\xff\xff\xff nonsense")
        async with asyncio.timeout(stretch(SECONDS)):
            assert await call.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert await state(stub) == before


# --- commands -------------------------------------------------------------------------------------------------


async def command(program, *arguments, folder):
    """Run a command to its end; return status and all that it printed."""
    child = Child(program, program, arguments, folder / "log", preloaded.fork)
    await child.start()
    async with asyncio.timeout(stretch(SECONDS)):
        return await child.wait(), child.log.read_text()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "kubeconfig"),
        ("just words", "kubeconfig"),
        (
            "apiVersion: v1\nkind: Config\ncurrent-context: gone\ncontexts: []\nclusters: []\nusers: []\n",
            "gone",
        ),
        (
            """{apiVersion: v1, kind: Config, current-context: x, users: [{name: u, user: {}}],
            contexts: [{name: x, context: {cluster: c, user: u}}],
            clusters: [{name: c, cluster: {server: "ftp://nowhere"}}]}""",
            "cluster.server: 'ftp://nowhere' is not an http(s) URL",
        ),
    ],
    ids=["no YAML", "no mapping", "no such context", "no URL"],
)
async def test_a_bad_kubeconfig_is_one_line(tmp_path, text, told):
    path = tmp_path / "config"
    path.write_text(text)
    status, said = await command("poseidon", "run", "--kubeconfig", str(path), folder=tmp_path)
    assert status == 2
    assert said.count("\n") == 1, said
    assert str(path) in said
    assert told in said


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("firmament", "serve"), "polcy: {}"),
        (("firmament", "serve"), "policy: {name: nonsense}"),
        (("poseidon", "run"), "polcy: {}"),
        # The bridge need not have the models: what it reads of them are two overlays' arguments.
        (("poseidon", "run"), "costModels: [{name: topology, args: {nodeLabels: rack}}]"),
    ],
)
async def test_a_bad_configuration_is_one_line(tmp_path, line, words):
    path = tmp_path / "bad.yaml"
    path.write_text(f"apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n{line}\n")
    status, said = await command(*words, "--config", str(path), folder=tmp_path)
    assert status == 2
    assert said.count("\n") == 1, said
    assert said.startswith(f"{path}: ")
    assert line.partition(":")[0] in said
