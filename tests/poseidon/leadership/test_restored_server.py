"""An API server that comes back with an older state: bridges notice, read everything anew, and go on."""

from __future__ import annotations

import shutil
from contextlib import AsyncExitStack

import pytest

from poseidon.testbed.api_server.options import ClusterOptions
from poseidon.testbed.api_server.server import SimulatedCluster
from poseidon.testbed.objects.resources import NODES
from tests.poseidon.bridge.scripted_solver import running_solver
from tests.poseidon.bridge.test_bridge import Api, bound_pods
from tests.poseidon.leadership.test_standby import Member, Solver
from tests.support.waiting import until

GOES_ON_WITHIN = 15.0


class Server:
    """A cluster whose state can be copied, and taken back to a copy of it."""

    def __init__(self, folder):
        self._journal, self._copy = folder / "journal", folder / "copy"
        self._port = 0

    async def start(self):
        self.cluster = SimulatedCluster(ClusterOptions(journal=self._journal))
        await self.cluster.start(port=self._port)
        self._port = int(self.cluster.url.rpartition(":")[2])

    def save(self):
        shutil.copyfile(self._journal, self._copy)

    async def stop(self):
        await self.cluster.stop()
        self.revision = self.cluster.operations.store.revision

    async def restore(self, *, ahead=False):
        """Come back with the copy; ``ahead``: it has been written to so often that no version tells."""
        shutil.copyfile(self._copy, self._journal)
        self.cluster = SimulatedCluster(ClusterOptions(journal=self._journal))
        store = self.cluster.operations.store
        assert store.revision < self.revision
        while ahead and store.revision <= self.revision + 50:
            store.go_on_after(self.revision + 100)
            node = store.collection(NODES.collection)
            store.replace(node, node.records()[0], _touched(store.objects(node)[0], store.revision))
        await self.cluster.start(port=self._port)


def _touched(node, revision):
    return {**node, "metadata": {**node["metadata"], "annotations": {"touched": str(revision)}}}


@pytest.fixture
async def server(tmp_path):
    server = Server(tmp_path)
    await server.start()
    yield server
    await server.cluster.stop()


@pytest.fixture
async def api(server):
    api = Api(server.cluster.url)
    await api.node("n1")
    yield api
    await api.transport.close()


@pytest.fixture
async def stack():
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
async def solver(stack):
    solver = Solver()
    solver.place_all = True
    solver.observers = "needs."
    solver.port = await stack.enter_async_context(running_solver(solver))
    return solver


async def until_bound(api, *names):
    async def bound():
        return set(names) <= set(await bound_pods(api))

    await until(bound, within=GOES_ON_WITHIN)


@pytest.mark.parametrize("ahead", [False, True], ids=["behind", "overtaken"])
@pytest.mark.parametrize("led", [False, True], ids=["before anybody led", "while somebody led"])
async def test_what_was_bound_since_is_bound_again_and_new_pods_are(server, api, solver, stack, led, ahead):
    members = []
    if led:
        members.append(Member("first", server.cluster.url, solver.port, stack))
        await api.pod("before")
        await until_bound(api, "before")
        solver.place_all = False
    for index in range(5):
        await api.pod(f"old-{index}")
    server.save()
    solver.place_all = True
    while len(members) < 2:
        members.append(Member(f"member-{len(members)}", server.cluster.url, solver.port, stack))
    for index in range(5):
        await api.pod(f"gone-{index}")
    await until_bound(api, *(f"{name}-{index}" for name in ("old", "gone") for index in range(5)))
    await server.stop()
    await server.restore(ahead=ahead)
    for index in range(20):
        await api.pod(f"new-{index}")
    await until_bound(api, *(f"new-{index}" for index in range(20)), *(f"old-{index}" for index in range(5)))
    assert not any(name.startswith("gone") for name in await bound_pods(api))
