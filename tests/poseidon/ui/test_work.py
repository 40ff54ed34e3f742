"""The process that does what takes long, and what it is asked for."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from functools import partial

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from poseidon.testbed.kubeconfig import write_kubeconfig
from poseidon.ui.cures import Cures
from poseidon.ui.program_pages import get_configz_url
from poseidon.ui.work.curing import propose_cures
from poseidon.ui.work.inputs import ClusterInput, UnreadableInputError, read
from poseidon.ui.work.planning import explain_pod, plan_cluster
from poseidon.ui.work.process import BusyError, JobError, Worker
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.programs.end_to_end.scene import free_port
from tests.support.cluster import running_cluster
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("forked_programs")

NODES = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/zone: a}}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {topology.kubernetes.io/zone: b}}
spec: {unschedulable: true}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
---
"""


def pod_text(name, cpu, node=""):
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: a}}
spec:
  nodeName: "{node}"
  containers: [{{name: c, image: i, resources: {{requests: {{cpu: "{cpu}"}}}}}}]
---
"""


@pytest.fixture
def manifests(tmp_path):
    """Two nodes, one of them cordoned; one pod fits on the other, one does not."""
    file = tmp_path / "cluster.yaml"
    file.write_text(
        NODES + pod_text("fits", "1500m") + pod_text("waits", "1500m") + pod_text("runs", "100m", "n1")
    )
    return ClusterInput((str(file),), now=1_800_000_000.0)


def test_a_plan(manifests):
    found = plan_cluster(manifests)
    assert set(found.bindings.values()) == {"n1"}
    assert found.bindings.keys() | found.pending.keys() == {"a/fits", "a/waits"}
    (waits,) = found.pending
    assert found.pending[waits].startswith("0/2 nodes are available")
    flow = pb.RoundFlow.FromString(found.flows[0])
    assert (sum(cls.tasks for cls in flow.classes), sum(cls.placed for cls in flow.classes)) == (2, 1)
    told = explain_pod(manifests, waits)
    assert told is not None
    assert {each.machine: each.feasible for each in pb.Explanation.FromString(told).machines} == {
        "n1": False,
        "n2": False,
    }
    assert explain_pod(manifests, "a/nobody") is None


def test_cures(manifests):
    (waits,) = plan_cluster(manifests).pending
    found = propose_cures(manifests, waits)
    assert found["asOf"] == 1_800_000_000.0
    kinds = {each["kind"]: each for each in found["cures"]}
    assert kinds["uncordon-node"]["text"] == "uncordon node n2"
    assert kinds["uncordon-node"]["others"] == "no running pod is moved"
    (bound,) = plan_cluster(manifests).bindings
    assert propose_cures(manifests, bound)["note"] == "A round now gives it node n1."
    with pytest.raises(UnreadableInputError, match="not in the cluster any more"):
        propose_cures(manifests, "a/nobody")


def test_what_cannot_be_read(tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text("kind: Pod\nmetadata: []\n")
    with pytest.raises(UnreadableInputError):
        plan_cluster(ClusterInput((str(file),)))
    with pytest.raises(UnreadableInputError, match="cannot be read"):
        propose_cures(ClusterInput(kubeconfig=str(tmp_path / "nowhere")), "a/b")


LEAST_IMPORTANT = 19
"""How nice a process can be; so is the other one if this one is."""


def failing():
    raise ValueError("that was wrong")


async def test_jobs_are_done_one_after_another_by_one_process_that_is_less_important():
    worker = Worker()
    try:
        first, second = await asyncio.gather(worker.do(os.getpid, 60), worker.do(os.getpid, 60))
        assert first == second != os.getpid()
        assert await worker.do(partial(os.nice, 0), 60) > os.nice(0) or os.nice(0) == LEAST_IMPORTANT
        with pytest.raises(JobError, match="that was wrong"):
            await worker.do(failing, 60)
        # one that takes too long, or dies, is replaced
        with pytest.raises(JobError, match="job took more than 0 s"):
            await worker.do(partial(time.sleep, 60), 0.2)
        third = await worker.do(os.getpid, 60)
        assert third != first
        with pytest.raises(JobError, match="has ended"):
            await worker.do(partial(os._exit, 1), 60)
        assert await worker.do(os.getpid, 60) not in (first, third)
    finally:
        await worker.close()


async def test_a_job_that_nobody_waits_for_any_more_is_ended():
    worker = Worker()
    waiting = asyncio.create_task(worker.do(partial(time.sleep, 600), 600))
    await until(lambda: worker._process is not None and worker._process.is_alive(), within=30)
    process = worker._process
    assert process is not None
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await until(lambda: not process.is_alive(), within=30)
    await worker.close()


class Scripted:
    """Stands in for the process."""

    def __init__(self):
        self.asked = []
        self.release = asyncio.Event()

    async def do(self, job, seconds, begun=lambda: None):
        self.asked.append(job.args[1])
        begun()
        await self.release.wait()
        if self.asked[-1] == "a/bad":
            raise JobError("it failed")
        return {"asOf": 5.0, "cures": [{"text": "do this"}], "note": ""}


def told(cures, job):
    found = cures.state(job)
    assert found is not None
    return found


async def test_questions_are_kept_for_a_minute_and_bounded():
    clock = [0.0]
    worker = Scripted()
    cures = Cures(worker, ClusterInput(), lambda: clock[0])
    job = cures.ask("a/x")
    await asyncio.sleep(0)
    assert told(cures, job)["state"] == "working"
    assert cures.ask("a/x") == job
    worker.release.set()
    await until(lambda: told(cures, job)["state"] == "done", within=5)
    assert told(cures, job)["cures"] == [{"text": "do this"}]
    assert cures.ask("a/x") == job
    clock[0] = 61.0
    assert cures.ask("a/x") != job
    bad = cures.ask("a/bad")
    await until(lambda: told(cures, bad)["state"] == "failed", within=5)
    assert told(cures, bad)["error"] == "it failed"
    worker.release.clear()
    for number in range(8):
        cures.ask(f"b/{number}")
    with pytest.raises(BusyError):
        cures.ask("b/9")
    assert cures.state("nothing") is None
    worker.release.set()
    await until(lambda: not cures._tasks, within=5)


CONFIGURATION = """
apiVersion: firmament.io/v1alpha1
kind: SchedulerConfiguration
policy: {name: trivial}
"""


def policy(found):
    return found.configuration.model_dump()["policy"]["name"]


async def test_a_live_cluster_is_read_with_the_configuration_that_a_program_shows(tmp_path):
    async def shown(_: web.Request) -> web.Response:
        return web.Response(text=CONFIGURATION)

    app = web.Application()
    app.router.add_get("/configz", shown)
    async with running_cluster() as cluster, TestServer(app) as server:
        write_kubeconfig(tmp_path / "kubeconfig", cluster.url)
        here = get_configz_url(str(server.make_url("/metrics")))
        nobody = f"http://127.0.0.1:{free_port()}/configz"
        given = ClusterInput(kubeconfig=str(tmp_path / "kubeconfig"), configz=(nobody, here))
        found = await asyncio.to_thread(read, given)
        assert (policy(found), found.note) == ("trivial", "")
        found = await asyncio.to_thread(read, replace(given, configz=(nobody,)))
        assert (policy(found), "default" in found.note) == ("cpu_mem", True)
        file = tmp_path / "scheduler.yaml"
        file.write_text(CONFIGURATION.replace("trivial", "random"))
        found = await asyncio.to_thread(read, replace(given, config=str(file)))
        assert (policy(found), found.note) == ("random", "")
