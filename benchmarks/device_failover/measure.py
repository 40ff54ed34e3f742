"""Runs the measurement: creates batches of pods, kills a process during each, and checks the result."""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.device_failover.claims import ClaimWatch, follow_claims, list_results
from benchmarks.device_failover.workload import NAMESPACE, Draws, Object, list_scaffold
from benchmarks.environment import environment
from benchmarks.head_to_head.clusters import list_controllers
from benchmarks.judge.api import Api
from benchmarks.judge.control_plane import ControlPlane, ControlPlaneOptions
from benchmarks.judge.staged.scenario_parts import reason
from benchmarks.reports.sheets import Report, Sheet, number
from benchmarks.targets.watching import PodWatch, watching
from poseidon.demo.binding_latency import PodName
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from poseidon.testbed.harness.stack import Stack, StackOptions

_TICK = 0.01
_LET_IN = 8
"""Number of pods of a batch that may still wait when the next batch comes."""
_GOES_EARLY = 2
"""Number of pods of each batch that are deleted early, whatever their state."""


@dataclass(frozen=True, slots=True)
class DeviceFailoverOptions:
    """Options: ``claims`` in all, created in ``kills`` batches; each batch has one kill.

    ``binaries``: folder of a real control plane; None: simulate the API server. ``timeout``: seconds of each wait.
    """

    claims: int = 2000
    kills: int = 50
    nodes: int = 100
    binaries: Path | None = None
    timeout: float = 120.0
    seed: int = 1


def measure_device_failover(
    options: DeviceFailoverOptions, progress: Callable[[str], None] = lambda _: None
) -> Report:
    """Run once. Raises ``ControlPlaneError``, ``ChildDiedError``, ``KubeError`` or ``TimeoutError``."""
    folder = Path(tempfile.mkdtemp(prefix="poseidon-devices-"))
    try:
        return asyncio.run(_run(options, folder, progress))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _run(options: DeviceFailoverOptions, folder: Path, progress: Callable[[str], None]) -> Report:
    random = Random(options.seed)  # noqa: S311 - a reproducible order
    async with AsyncExitStack() as enter:
        stack = await enter.enter_async_context(_open(options, folder))
        settings = load_settings(stack.kubeconfig)
        transport = await enter.enter_async_context(
            Transport(settings, clock=time.monotonic, user_agent="poseidon-bench")
        )
        api = Api(transport)
        await api.prepare()
        await api.create(list_scaffold(options.nodes))
        claims = await enter.enter_async_context(follow_claims(transport, random))
        pods = await enter.enter_async_context(watching(transport, time.monotonic, NAMESPACE))
        await stack.start_solver()
        await stack.start_bridge()
        return await _Run(options, stack, api, claims, pods, random, progress).measure()


@asynccontextmanager
async def _open(options: DeviceFailoverOptions, folder: Path) -> AsyncGenerator[Stack]:
    """Provide the processes; those of the cluster are started."""
    async with AsyncExitStack() as enter:
        kubeconfig = None
        if options.binaries is not None:
            wanted = ControlPlaneOptions(controllers=list_controllers(), scheduler=False)
            plane = await enter.enter_async_context(ControlPlane(options.binaries, folder, wanted))
            kubeconfig = plane.kubeconfig
        of_stack = StackOptions(folder, kubeconfig=kubeconfig, more_for_cluster=("--devices",))
        stack = await enter.enter_async_context(Stack(of_stack))
        await stack.start_cluster()
        yield stack


class _Run:
    def __init__(
        self,
        options: DeviceFailoverOptions,
        stack: Stack,
        api: Api,
        claims: ClaimWatch,
        pods: PodWatch,
        random: Random,
        progress: Callable[[str], None],
    ) -> None:
        self._options, self._stack, self._api = options, stack, api
        self._claims, self._pods = claims, pods
        self._random, self._progress = random, progress
        self._draws = Draws(options.nodes, random)
        self._living: deque[list[Object]] = deque()
        self._killed = {"bridge": 0, "solver": 0}

    async def measure(self) -> Report:
        """Kill processes, and return what was found."""
        begun = time.monotonic()
        for number_of_kill in range(self._options.kills):
            await self._add_batch(number_of_kill)
            victim = self._random.choice(("bridge", "solver"))
            await self._kill(victim)
            await self._wait(lambda: self._pods.unbound <= _LET_IN, "pods were not bound")
            told = f"{number_of_kill + 1} of {self._options.kills}: {victim} killed"
            self._progress(f"{told}, {self._draws.claims} claims, {len(self._claims.faults)} faults")
        await self._wait(lambda: not self._pods.unbound, "pods were not bound")
        lost = await self._wait_for_order()
        claims = self._draws.claims
        await self._create(self._draws.fill())
        await self._wait(lambda: not self._pods.unbound, "some devices were given to nobody")
        lost += await self._wait_for_order()
        full = sum(len(list_results(each)) for each in self._claims.claims.values())
        await self._delete([pod for each in self._living for pod in each])
        lost += await self._wait_for_order()
        return {
            "kind": "device-failover",
            "environment": environment(),
            "cluster": "simulated" if self._options.binaries is None else "real",
            "nodes": self._options.nodes,
            "kills": self._killed,
            "claims": claims,
            "claimsAfterwards": self._draws.claims - claims,
            "bound": self._pods.bound,
            "boundTwice": self._pods.bound_twice,
            "given": self._claims.given,
            "failedToPrepare": self._claims.failed,
            "devicesWhenFull": full,
            "givenTwice": self._claims.faults,
            "lost": lost,
            "seconds": round(time.monotonic() - begun, 1),
        }

    # --- pods ------------------------------------------------------------------------------------------------

    async def _add_batch(self, batch: int) -> None:
        """Create the claims of a batch, after deleting as many old pods as needed.

        Claims without room even then come with the next batch.
        """
        options = self._options
        due = options.claims * (batch + 1) // options.kills
        made: list[list[Object]] = []
        gone: list[Object] = []
        while self._draws.claims < due:
            drawn = self._draws.draw()
            if drawn:
                made.append(drawn)
            elif self._living:
                gone += self._forget(self._living.popleft())
            else:
                break
        await self._delete(gone)
        for each in made:
            await self._create(each)

    async def _create(self, objects: list[Object]) -> None:
        """Create a claim and its pods, or pods whose claims are made from templates."""
        pods = [each for each in objects if each["kind"] == "Pod"]
        self._living.append(pods)
        await self._api.create(each for each in objects if each["kind"] != "Pod")
        self._pods.announce(PodName(NAMESPACE, each["metadata"]["name"]) for each in pods)
        await self._api.create(pods)

    def _forget(self, pods: list[Object]) -> list[Object]:
        for each in pods:
            self._draws.forget(each["metadata"]["name"])
        return pods

    async def _delete(self, pods: list[Object]) -> None:
        self._forget(pods)
        self._pods.forget(PodName(NAMESPACE, each["metadata"]["name"]) for each in pods)
        await self._api.delete(pods)

    # --- kills -----------------------------------------------------------------------------------------------

    async def _kill(self, victim: str) -> None:
        """Kill a process when some claims of the batch have devices, then restart it."""
        seen = self._claims.given + self._random.randrange(self._pods.unbound + 1)
        await self._wait(lambda: self._claims.given >= seen or not self._pods.unbound, "no claim got devices")
        early = [each for each in self._living if self._random.random() < _GOES_EARLY / len(self._living)]
        for each in early:
            self._living.remove(each)
        deleting = asyncio.create_task(self._delete([pod for each in early for pod in each]))
        await asyncio.sleep(self._random.random() * _TICK)
        child = self._stack.bridge if victim == "bridge" else self._stack.solver
        child.signal(signal.SIGKILL)
        await child.wait()
        self._killed[victim] += 1
        await deleting
        await (self._stack.start_bridge() if victim == "bridge" else self._stack.start_solver())

    async def _wait(self, holds: Callable[[], bool], complaint: str) -> None:
        late = time.monotonic() + self._options.timeout
        while not holds():
            for each in (self._stack.bridge, self._stack.solver):
                if not each.alive:
                    raise each.failure()
            if time.monotonic() > late:
                raise TimeoutError(
                    f"{complaint} within {self._options.timeout:g} s: {await self._describe_waiting()}"
                )
            await asyncio.sleep(_TICK)

    async def _describe_waiting(self) -> str:
        """Return some of the waiting pods, with reasons."""
        pods = [each for each in await self._api.list_objects("Pod") if _is_of(each)]
        waiting = [each for each in pods if not each["spec"].get("nodeName")]
        return "; ".join(f"{each['metadata']['name']}: {reason(each)}" for each in waiting[:5])

    # --- what must hold --------------------------------------------------------------------------------------

    async def _wait_for_order(self) -> list[str]:
        """Wait until pods and claims agree, which needs controllers; return the remaining faults."""
        late = time.monotonic() + self._options.timeout
        while True:
            wrong = find_disorder(
                [each for each in await self._api.list_objects("Pod") if _is_of(each)],
                [each for each in await self._api.list_objects("ResourceClaim") if _is_of(each)],
            )
            if not wrong or time.monotonic() > late:
                return wrong
            await asyncio.sleep(0.5)


def _is_of(each: Object) -> bool:
    return bool(each["metadata"]["namespace"] == NAMESPACE)


def find_disorder(pods: list[Object], claims: list[Object]) -> list[str]:
    """Return a line for each pod without its devices, and for each device allocated to a claim without pods."""
    by_uid = {each["metadata"]["uid"]: each for each in pods}
    wrong, served = [], set()
    for claim in claims:
        name, status = claim["metadata"]["name"], claim.get("status") or {}
        places = {each["pool"] for each in list_results(claim)}
        users = [each["uid"] for each in status.get("reservedFor") or ()]
        if places and not users:
            wrong.append(f"{name} has devices for nobody")
        for uid in users:
            pod = by_uid.get(uid)
            node = pod["spec"].get("nodeName") if pod is not None else None
            if places != {node}:
                wrong.append(f"{name} has devices of {sorted(places)} for a pod on {node}")
            served.add(uid)
    for uid, pod in by_uid.items():
        if uid not in served:
            wrong.append(f"{pod['metadata']['name']} has no devices")
    return wrong


def device_failover_sheets(report: Report) -> list[Sheet]:
    """Return tables of what was done, and of faults."""
    kills = report["kills"]
    rows = [
        ["bridge / solver killed", f"{kills['bridge']} / {kills['solver']}"],
        ["claims", number(report["claims"])],
        ["claims for all devices afterwards", number(report["claimsAfterwards"])],
        ["pods bound / bound twice", f"{report['bound']:,} / {report['boundTwice']}"],
        ["allocations", number(report["given"])],
        ["of these, drivers could not prepare", number(report["failedToPrepare"])],
        ["devices had by claims when full", number(report["devicesWhenFull"])],
        ["devices given twice", number(len(report["givenTwice"]))],
        ["devices or pods lost", number(len(report["lost"]))],
        ["seconds", number(report["seconds"])],
    ]
    caption = f"Devices while processes are killed, {report['nodes']:,} nodes ({report['cluster']})"
    return [Sheet(caption, ("what", "figure"), rows, [*report["givenTwice"][:10], *report["lost"][:10]])]
