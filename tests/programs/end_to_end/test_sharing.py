"""Another scheduler binds pods in the same cluster: nothing of ours is lost, and nobody's node is overfull for long."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from poseidon.testbed.api_server.faults import Fault
from poseidon.testbed.controllers.controller_loop import drive
from poseidon.testbed.controllers.kubelet import KubeletSimulation
from poseidon.testbed.objects.resources import NODES, PODS
from poseidon.testbed.seeding import NodeShape
from tests.programs.end_to_end.books import overcommitted
from tests.programs.end_to_end.scene import SECONDS, Scene, names, scene
from tests.support.foreign_scheduler import ForeignScheduler
from tests.support.waiting import until

Object = dict[str, Any]
SMALL = NodeShape("small", cpu="4", memory="16Gi")


@asynccontextmanager
async def kubelets(s: Scene) -> AsyncIterator[None]:
    """Let bound pods run, or be refused."""
    store = s.operations.store
    running = asyncio.create_task(drive(KubeletSimulation(store)))
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@asynccontextmanager
async def working(scheduler: ForeignScheduler) -> AsyncIterator[None]:
    """Let another scheduler work."""
    loop = asyncio.get_running_loop()

    async def work() -> None:
        while True:
            due = scheduler.advance(loop.time())
            await asyncio.sleep(max(0.0, due - loop.time()))

    running = asyncio.create_task(work())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def recreating(folder: Path) -> Path:
    """Write a configuration by which pods without a controller are created again."""
    file = folder / "recreating.yaml"
    file.write_text(
        "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\nrecovery: {recreateBarePods: true}\n"
    )
    return file


def alive(s: Scene, prefix: str) -> dict[str, Object]:
    """Pods that run or wait, by name."""
    return {
        pod["metadata"]["name"]: pod
        for pod in s.listed(PODS)
        if pod["metadata"]["name"].startswith(prefix) and pod["status"]["phase"] != "Failed"
    }


def settled(s: Scene, room: int, ours: int) -> bool:
    """All room is used, and what is left of ours says why it waits."""
    running = [pod for pod in s.listed(PODS) if pod["status"]["phase"] == "Running"]
    waiting = [pod for pod in alive(s, "ours").values() if not pod["spec"].get("nodeName")]
    told = [pod for pod in waiting if pod["status"].get("conditions")]
    return len(running) == room and len(alive(s, "ours")) == ours and len(told) == len(waiting)


async def test_two_schedulers_fill_a_cluster_together(tmp_path):
    nodes, each = 25, 80
    async with scene(tmp_path, config=recreating(tmp_path)) as s, kubelets(s):
        await s.nodes(nodes, [SMALL])
        await s.start()
        await s.until_solver(lambda counts: counts.machines == nodes)
        # News takes its time: a binding of ours that is on its way does not see what the other one does.
        s.cluster.faults.add(Fault(".*/pods/ours-.*/binding", delay=0.1))
        other = ForeignScheduler(s.operations.store, "other", interval=0.02, pace=4)
        async with working(other):
            for index in range(4):
                part = slice(index * each // 4, (index + 1) * each // 4)
                await s.pods(names("ours", each)[part], cpu="1")
                await s.pods(names("theirs", each)[part], cpu="1", schedulerName="other")
            # 100 of 160 fit; who gets how many is up to the race.
            await until(lambda: settled(s, nodes * 4, each), within=SECONDS)
        assert other.bound > 0
        assert overcommitted(s.listed(NODES), s.listed(PODS)) == []
        bound = Counter(path for path, status in s.bindings.elements() if status == 201)
        for name, pod in alive(s, "ours").items():
            path = f"/api/v1/namespaces/default/pods/{name}/binding"
            annotations = pod["metadata"].get("annotations", {})
            recreated = int(annotations.get("poseidon.firmament.io/recreations", 0))
            # Once for each time that it existed, and not yet if it waits.
            assert bound[path] == recreated + bool(pod["spec"].get("nodeName"))
        await s.until_solver(lambda counts: (counts.assumed, counts.bound) == (0, nodes * 4))


async def test_a_pod_that_loses_the_race_is_told_recreated_and_placed(tmp_path):
    async with scene(tmp_path, config=recreating(tmp_path)) as s, kubelets(s):
        await s.nodes(1, [SMALL])
        await s.start()
        await s.until_solver(lambda counts: counts.machines == 1)
        held = s.cluster.faults.add(Fault(".*/pods/ours-0000/binding", times=1, hold=True))
        await s.pods(["ours-0000"], cpu="3")
        await until(lambda: held.hits, within=SECONDS)
        first = s.operations.get(PODS, "default", "ours-0000").uid
        # Its binding is on the way when another scheduler takes the place.
        await s.pods(["theirs-0000"], cpu="2", schedulerName="other", nodeName="node-00000")
        held.release()
        await until(lambda: s.events("Refused"), within=SECONDS)
        assert s.events("Refused") == {"ours-0000": 1}

        def successor():
            pod = alive(s, "ours").get("ours-0000")
            return pod if pod is not None and pod["metadata"]["uid"] != first else None

        pod: Any = await until(successor, within=SECONDS)
        assert pod["metadata"]["annotations"] == {"poseidon.firmament.io/recreations": "1"}
        await s.nodes(1, [SMALL], prefix="more")
        await until(lambda: s.placed().get("ours-0000") == "more-00000", within=SECONDS)
        assert overcommitted(s.listed(NODES), s.listed(PODS)) == []
        await s.until_solver(lambda counts: counts.bound == 2 and not counts.pending)


async def test_a_binding_that_no_longer_fits_is_not_posted(tmp_path):
    workers = 64
    async with scene(tmp_path) as s, kubelets(s):
        await s.nodes(1, [NodeShape("big", cpu="64")], prefix="big")
        await s.start()
        await s.until_solver(lambda counts: counts.machines == 1)
        # All workers of the bridge are busy, so that the last binding has to wait.
        held = s.cluster.faults.add(Fault(".*/pods/busy-.*/binding", hold=True))
        await s.pods(names("busy", workers), cpu="100m")
        await until(lambda: held.hits == workers, within=SECONDS)
        await s.nodes(1, [SMALL], prefix="small")
        await s.pods(["late"], cpu="3", nodeSelector={"kubernetes.io/hostname": "small-00000"})
        await s.until_solver(lambda counts: counts.assumed == workers + 1)
        await s.pods(["theirs"], cpu="2", schedulerName="other", nodeName="small-00000")
        await s.until_solver(lambda counts: counts.bound == 1)
        held.release()
        await until(lambda: s.events("FailedScheduling")["late"], within=SECONDS)
        assert "late" not in s.placed()
        assert not any("/late/" in path for path, _ in s.bindings), "nothing was posted"
        s.operations.delete(PODS, "default", "theirs")
        await until(lambda: s.placed().get("late") == "small-00000", within=SECONDS)
        s.check_sound()
        assert not s.events("Refused")
