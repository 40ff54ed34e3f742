"""How often a solver is asked for cures, which pods it may not move, and what is said of objects that nobody may read.

The solver here answers with moves that a test chooses, as long as it may make them.
"""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.live.cures import find_cures_of_pod
from poseidon.testbed.api_server.faults import Fault
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.live.test_solver import make_solver, serving
from tests.support.cluster import pod, running_cluster

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
PODS = "/api/v1/namespaces/default/pods"


class Mover(make_solver):  # type: ignore[misc]
    """Proposes to move each of some pods that it may move, or what ``always`` says."""

    def __init__(self) -> None:
        super().__init__("c")
        self.movable: dict[str, str] = {}
        self.asked: list[list[str]] = []
        self.stubborn = False
        self.others: list[pb.Cure] = []

    async def FindCures(self, request, context):  # noqa: N802 - the name in the protocol
        self.asked.append(list(request.fixed))
        found = pb.FoundCures(cures=self.others)
        for uid, name in self.movable.items():
            if self.stubborn or uid not in request.fixed:
                cure = found.cures.add(machine="n2")
                cure.steps.add(kind="move-others", amount_after=1)
                cure.moves.add(task=uid, name=name, source="n1", target="n2")
        return found


class Scene:
    def __init__(self, cluster: Any, transport: Transport, targets: list[str], solver: Mover) -> None:
        self.cluster, self.transport, self.targets, self.solver = cluster, transport, targets, solver
        self.uids: dict[str, str] = {}

    async def pod(self, name: str, *, owned: bool = False, **spec: Any) -> Any:
        made = pod(name, **spec)
        if owned:
            made["metadata"] |= {"ownerReferences": [OWNER], "labels": {"pod-template-hash": "x"}}
        found = msgspec.json.decode(await self.transport.post(PODS, msgspec.json.encode(made)))
        self.uids[name] = found["metadata"]["uid"]
        return found

    def offer(self, *names: str) -> None:
        self.solver.movable = {self.uids[name]: f"default/{name}" for name in names}

    async def ask(self, found: Any) -> tuple[list[tuple[str, list[str]]], list[str]]:
        """Return kinds and moved pods of the cures, and what cannot be read."""
        cures, problems = await find_cures_of_pod(
            self.transport, self.targets, "c", convert_object(found, Pod), 30.0, 0.0
        )
        return [(each.kind, [move.pod for move in each.moves]) for each in cures], list(problems)


@asynccontextmanager
async def scene():
    solver = Mover()
    async with (
        running_cluster() as cluster,
        Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport,
        serving(solver) as targets,
    ):
        for name in ("n1", "n2"):
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
            await transport.post("/api/v1/nodes", msgspec.json.encode(node))
        made = Scene(cluster, transport, targets, solver)
        await made.pod("web-0", owned=True, nodeName="n1")
        await made.pod("lone", nodeName="n1")
        yield made


async def test_a_pod_that_something_replaces_may_be_moved_and_the_solver_is_asked_once():
    async with scene() as s:
        s.offer("web-0")
        cures, problems = await s.ask(await s.pod("waits"))
        assert cures == [("move-others", ["default/web-0"])]
        assert (s.solver.asked, problems) == ([[]], [])


async def test_it_is_asked_again_without_the_pods_that_nothing_replaces():
    async with scene() as s:
        s.offer("web-0", "lone")
        cures, _ = await s.ask(await s.pod("waits"))
        assert cures == [("move-others", ["default/web-0"])]
        assert s.solver.asked == [[], [s.uids["lone"]]]


async def test_a_solver_that_insists_is_asked_four_times_and_its_moves_are_left_out():
    async with scene() as s:
        s.offer("web-0", "lone")
        s.solver.stubborn = True
        cures, _ = await s.ask(await s.pod("waits"))
        assert cures == [("move-others", ["default/web-0"])]
        assert len(s.solver.asked) == 4


async def test_cures_that_move_nobody_need_no_look_at_nodes():
    async with scene() as s:
        cure = pb.Cure(machine="n1")
        cure.steps.add(kind="more-nodes", machine="n1", amount_after=1)
        s.solver.others = [cure]
        cures, problems = await s.ask(await s.pod("waits"))
        assert [kind for kind, _ in cures] == ["more-nodes"]
        assert (len(s.solver.asked), problems) == (1, [])


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/api/v1/nodes", "nodes cannot be listed: "),
        ("/apis/policy/v1/namespaces/default/poddisruptionbudgets", ""),
    ],
)
async def test_collections_that_cannot_be_listed_are_named_once(path, said):
    async with scene() as s:
        found = await s.pod("waits")
        s.offer("lone", "web-0")
        s.cluster.faults.add(Fault(path, "GET", code=403, reason="Forbidden", message="not you"))
        _, problems = await s.ask(found)
        assert len(problems) == 1
        assert "cannot be listed: " in problems[0]
        assert problems[0].startswith(said)
