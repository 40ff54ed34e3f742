"""A scene: the API server in this process, where every request can be counted; solver and bridge as processes."""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from poseidon.demo.solver_client import SolverClient
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.testbed.api_server.operations import Operations
from poseidon.testbed.api_server.options import ClusterOptions
from poseidon.testbed.api_server.server import SimulatedCluster
from poseidon.testbed.harness.child import Launch
from poseidon.testbed.harness.stack import Stack, StackOptions
from poseidon.testbed.kubeconfig import write_kubeconfig
from poseidon.testbed.objects.resources import EVENTS, NODES, PODS, ResourceType
from poseidon.testbed.seeding import NodeShape, create_nodes, create_pods
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.programs.end_to_end.books import overcommitted, placements
from tests.programs.end_to_end.shared_solver import SharedSolvers
from tests.support import preloaded
from tests.support.cluster import binding, pod
from tests.support.time_limits import stretch
from tests.support.waiting import until

Object = dict[str, Any]

SECONDS = 40.0
SOLVERS = SharedSolvers()
SHAPES = (NodeShape("small", cpu="4", memory="16Gi"), NodeShape("large", cpu="16", memory="64Gi"))


class Scene:
    """``bindings`` counts those that were posted by path and status, ``writes`` all requests that may change something,
    ``patches`` those that patch an object, by path.

    Creating nodes and pods through the methods here makes no requests.
    """

    def __init__(
        self,
        folder: Path,
        options: ClusterOptions | None = None,
        config: Path | None = None,
        launch: Launch = preloaded.fork,
        more_for_bridge: tuple[str, ...] = (),
    ) -> None:
        self.cluster = SimulatedCluster(options, observer=self._observe)
        self._folder, self._config = folder, config
        self._cluster_name = folder.name
        self.stack = Stack(
            StackOptions(
                folder,
                kubeconfig=folder / "kubeconfig",
                config=config,
                cluster_name=self._cluster_name,
                more_for_bridge=more_for_bridge,
                launch=launch,
            )
        )
        self.bindings: Counter[tuple[str, int]] = Counter()
        self.writes = 0
        self.patches: Counter[str] = Counter()
        self._on_binding: Callable[[int], None] = lambda _: None

    # --- the cluster -----------------------------------------------------------------------------------------

    @property
    def operations(self) -> Operations:
        return self.cluster.operations

    async def open(self, port: int = 0) -> None:
        """Let the API server listen."""
        await self.cluster.start(port=port)
        write_kubeconfig(self.stack.kubeconfig, self.cluster.url)

    async def nodes(
        self, count: int, shapes: Iterable[NodeShape] = SHAPES, prefix: str = "node"
    ) -> list[str]:
        return await create_nodes(self.operations, count, list(shapes), prefix=prefix)

    async def pods(self, names: Iterable[str], **spec: Any) -> None:
        await create_pods(self.operations, (pod(name, **spec) for name in names))

    async def bind(self, name: str, node: str) -> None:
        """Bind a pod as another scheduler does."""
        settings = ConnectionSettings(self.cluster.url)
        async with Transport(settings, clock=time.monotonic) as transport:
            path = f"/api/v1/namespaces/default/pods/{name}/binding"
            await transport.post(path, msgspec.json.encode(binding(name, node)))

    def listed(self, resource: ResourceType) -> list[Object]:
        """Return all objects of a kind."""
        store = self.operations.store
        return store.objects(store.collection(resource.collection))

    def placed(self) -> dict[str, str]:
        return placements(self.listed(PODS))

    def count_bound(self) -> int:
        """Return how many bindings have succeeded; cheap."""
        return sum(count for (_, status), count in self.bindings.items() if status == 201)

    # --- expectations ----------------------------------------------------------------------------------------

    async def until_bound(self, count: int) -> None:
        await until(lambda: self.count_bound() >= count and len(self.placed()) >= count, within=SECONDS)

    def check_sound(self) -> None:
        """No pod was bound twice, no node holds more than it offers."""
        assert max(self.bindings.values(), default=0) == 1, "a binding was posted twice"
        assert overcommitted(self.listed(NODES), self.listed(PODS)) == []

    def conflicts(self) -> int:
        return sum(count for (_, status), count in self.bindings.items() if status == 409)

    def events(self, reason: str) -> Counter[str]:
        """Return the events of a reason, by pod, each counted as often as it says it happened."""
        found: Counter[str] = Counter()
        for event in self.listed(EVENTS):
            if event["reason"] == reason:
                found[event["involvedObject"]["name"]] += event.get("count", 1)
        return found

    # --- the processes ---------------------------------------------------------------------------------------

    async def start(self, *, own_solver: bool = False) -> None:
        """Start the bridge; and the solver if it is to be this scene's own, to be killed or listened to."""
        if own_solver:
            await self.stack.start_solver()
        else:
            self.stack.solver_address = SOLVERS.address(self._folder, self._config)
        await self.stack.start_bridge()

    async def solver_counts(self) -> pb.ListStateResponse:
        async with SolverClient(self.stack.solver_address, self._cluster_name) as client:
            return await client.counts()

    async def until_solver(self, condition: Callable[[pb.ListStateResponse], bool]) -> pb.ListStateResponse:
        """Wait until the solver's counts satisfy the condition."""
        async with (
            SolverClient(self.stack.solver_address, self._cluster_name) as client,
            asyncio.timeout(stretch(SECONDS)),
        ):
            return await client.wait_for(condition)

    async def until_solver_has_bound(self, count: int) -> pb.ListStateResponse:
        return await self.until_solver(lambda counts: counts.bound == count)

    def log(self, what: str) -> str:
        """Return the log of ``solver`` or ``bridge``."""
        child = self.stack.solver if what == "solver" else self.stack.bridge
        return child.log.read_text() if child.log.exists() else ""

    def binding_reached(self, count: int) -> asyncio.Event:
        """Return an event that is set in the moment in which so many bindings have been answered."""
        reached = asyncio.Event()
        self._on_binding = lambda answered: reached.set() if answered >= count else None
        return reached

    def _observe(self, method: str, path: str, status: int) -> None:
        if method == "GET":
            return
        self.writes += 1
        if method == "PATCH":
            self.patches[path] += 1
        if path.endswith("/binding"):
            self.bindings[path, status] += 1
            self._on_binding(self.count_bound())


@asynccontextmanager
async def scene(
    folder: Path,
    options: ClusterOptions | None = None,
    config: Path | None = None,
    launch: Launch = preloaded.fork,
    more_for_bridge: tuple[str, ...] = (),
) -> AsyncIterator[Scene]:
    """Set a scene whose API server listens; processes are started by the test, and ended here."""
    made = Scene(folder, options, config, launch, more_for_bridge)
    await made.open()
    try:
        async with made.stack:
            yield made
    finally:
        await made.cluster.stop()


def names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}-{index:04d}" for index in range(count)]


def free_port() -> int:
    """Return a port that nothing listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
