"""Kills or ends bridges, solvers and an API server one after another under a steady load.

Reports for each end how long no pod was bound; finally whether every pod is bound, none twice, no node overcommitted,
and how many events there are per pod.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from benchmarks.judge.api import Api
from benchmarks.processes.end_to_end import EndToEndOptions, node_objects, pod_objects
from benchmarks.processes.parts.failover_processes import (
    FailoverOptions,
    RealServer,
    RestartedProcess,
    SimulatedServer,
    run_processes,
)
from poseidon.demo.binding_latency import PodName, PodTracker
from poseidon.demo.run import following
from poseidon.demo.seeding import create_in_bulk, ensure_namespace
from poseidon.demo.verification import Occupancy, read_occupancy
from poseidon.kube.client.errors import ApiError, KubeError
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.watch_options import ReflectorOptions

_TICK = 0.05
_COMPETITION = 3
_SETTLING = 1.0
"""Seconds between the restart of a process and the next end."""
_API_SERVER = "API server killed"
_ALONE = ("solver killed", "solver ended", "other solver killed", _API_SERVER)
_KINDS = ("leader killed", "leader ended", "standby killed", *_ALONE)
_QUICK = ReflectorOptions(backoff_cap=0.5)
"""Short back-off of the watch, so that bindings are seen soon after an outage."""


@dataclass(slots=True)
class Outage:
    """An outage: the process that was ended, and the seconds in which no pod created after the end was bound."""

    kind: str
    seconds: float


def run_failover(
    options: FailoverOptions, progress: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Run once and return the figures. Raises ``ChildDiedError``, ``KubeError`` or ``TimeoutError``."""
    folder = Path(tempfile.mkdtemp(prefix="poseidon-failover-"))
    try:
        return asyncio.run(_run(options, folder, progress))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _run(options: FailoverOptions, folder: Path, progress: Callable[[str], None]) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        server = (
            RealServer(options.binaries, folder) if options.binaries is not None else SimulatedServer(folder)
        )
        await stack.enter_async_context(server)
        transport = await stack.enter_async_context(
            Transport(load_settings(server.kubeconfig), clock=time.monotonic, user_agent="poseidon-bench")
        )
        pair = await stack.enter_async_context(run_processes(options, folder, server.kubeconfig))
        return await _Failover(options, transport, server, *pair, progress).measure()


class _Failover:
    def __init__(
        self,
        options: FailoverOptions,
        transport: Transport,
        server: SimulatedServer | RealServer,
        solvers: list[RestartedProcess],
        bridges: list[RestartedProcess],
        progress: Callable[[str], None],
    ) -> None:
        self._options = options
        self._transport = transport
        self._server = server
        self._solvers, self._bridges = solvers, bridges
        self._progress = progress
        self._namespace = f"failover-{time.time_ns():x}"
        self._tracker = PodTracker(time.monotonic)
        self._pods = pod_objects(EndToEndOptions(pods=10_000_000, seed=options.seed), self._namespace)
        self._random = Random(options.seed)  # noqa: S311 - a reproducible order
        self._ending: RestartedProcess | None = None
        self._arriving = True
        self._there: list[str] = []
        self.ended_by_themselves = 0

    async def measure(self) -> dict[str, Any]:
        """Fill the cluster, end processes, wait until all pods are bound, and verify."""
        options, transport = self._options, self._transport
        await ensure_namespace(transport, self._namespace)
        nodes = list(node_objects(options.nodes))
        if options.binaries is None:
            await create_in_bulk(transport, nodes)
        else:
            await Api(transport).create(nodes)
        for bridge in self._bridges:
            await bridge.start()
        async with following(Environment(transport, reflector=_QUICK), self._tracker):
            load = asyncio.create_task(self._load())
            removing = asyncio.create_task(self._remove_oldest())
            tending = asyncio.create_task(self._restart_bridges())
            try:
                await self._wait_until(lambda: self._tracker.bound > 0, "no pod was bound")
                outages = [await self._end(kind) for kind in self._draw_ends()]
                self._arriving = False
                await load  # do not cancel this request, because the pod is counted already
                await self._wait_until(lambda: self._tracker.bound == self._tracker.expected, "pods are left")
            finally:
                for each in (load, removing, tending):
                    each.cancel()
                await asyncio.gather(load, removing, tending, return_exceptions=True)
        await asyncio.sleep(_SETTLING)  # events
        return self._figures(outages, await read_occupancy(transport), await self._most_events())

    def _draw_ends(self) -> list[str]:
        """Return which process ends when: each kind of end about as often as the others, in random order."""
        known = _KINDS if self._options.bridges > 1 else _ALONE
        kinds = [known[index % len(known)] for index in range(self._options.ends)]
        self._random.shuffle(kinds)
        return kinds

    async def _load(self) -> None:
        """Create pods at a steady rate until the last end is over."""
        begun, created = time.monotonic(), 0
        while self._arriving:
            due = int((time.monotonic() - begun) * self._options.rate) - created
            for pod in [next(self._pods) for _ in range(due)]:
                if self._options.binaries is not None and created % _COMPETITION == 0:
                    pod["spec"]["schedulerName"] = "default-scheduler"
                else:
                    self._tracker.about_to_create([PodName(self._namespace, pod["metadata"]["name"])])
                    self._there.append(pod["metadata"]["name"])
                await self._create(pod)
                created += 1
            await asyncio.sleep(_TICK)

    async def _remove_oldest(self) -> None:
        """Delete bound pods, oldest first, so that nodes have room for those that wait after an outage."""
        while True:
            for name in self._there[: max(0, len(self._there) - self._options.keep)]:
                if self._tracker.is_bound(PodName(self._namespace, name)):
                    await self._delete(name)
                    self._there.remove(name)
            await asyncio.sleep(_TICK)

    async def _create(self, pod: dict[str, Any]) -> None:
        """Create a pod, with as many attempts as needed."""
        while True:
            try:
                await self._transport.post(
                    f"/api/v1/namespaces/{self._namespace}/pods", msgspec.json.encode(pod)
                )
            except ApiError as error:
                if error.conflict:
                    return  # an earlier attempt created the pod, but its answer was lost
            except KubeError:
                pass
            else:
                return
            await asyncio.sleep(_TICK)

    async def _delete(self, name: str) -> None:
        """Delete a pod, with as many attempts as needed."""
        path = f"/api/v1/namespaces/{self._namespace}/pods/{name}"
        while True:
            try:
                await self._transport.delete(path, b'{"gracePeriodSeconds":0}')
            except ApiError as error:
                if error.not_found:
                    return
            except KubeError:
                pass
            else:
                return
            await asyncio.sleep(_TICK)

    async def _restart_bridges(self) -> None:
        """Restart bridges that have ended by themselves, as a kubelet does: a bridge that loses its Lease ends."""
        while True:
            await asyncio.sleep(_TICK)
            for bridge in self._bridges:
                if not bridge.child.alive and bridge is not self._ending:
                    self.ended_by_themselves += 1
                    await bridge.start()

    # --- ends ------------------------------------------------------------------------------------------------

    async def _end(self, kind: str) -> Outage:
        """End a process, wait until pods are bound again, restart the process, and wait until it is ready."""
        await asyncio.sleep(_SETTLING + self._random.random())
        if kind == _API_SERVER:
            return await self._end_api_server(kind)
        self._ending = victim = await self._victim(kind)
        before = self._tracker.expected
        begun = time.monotonic()
        victim.child.signal(signal.SIGTERM if kind.endswith("ended") else signal.SIGKILL)
        await self._wait_until(
            lambda: self._tracker.has_bound_since(before), f"{kind}: no pod was bound any more"
        )
        outage = Outage(kind, time.monotonic() - begun)
        self._progress(f"{kind}: {outage.seconds:.2f} s")
        await victim.child.wait()
        await victim.start()
        ready = "standing by" if victim in self._bridges else "listening on"
        await self._wait_until(
            lambda: victim.says(ready) or victim.says("leading lease"), f"{victim.name} is not ready"
        )
        self._ending = None
        if victim in self._bridges:
            await asyncio.sleep(_SETTLING)  # the standby is reading the cluster
        return outage

    async def _end_api_server(self, kind: str) -> Outage:
        """Kill and restart the API server; bridges that have lost their Lease meanwhile are back when this returns."""
        begun = time.monotonic()
        await self._server.away(self._options.down)
        before = self._tracker.expected
        await self._wait_until(
            lambda: self._tracker.has_bound_since(before), f"{kind}: no pod was bound any more"
        )
        outage = Outage(kind, time.monotonic() - begun)
        self._progress(f"{kind}: {outage.seconds:.2f} s")
        await self._wait_until(self._all_are_ready, "not all bridges are ready")
        return outage

    def _all_are_ready(self) -> bool:
        ready = ("standing by", "leading lease", "stream open")
        return all(
            bridge.child.alive and any(bridge.says(words) for words in ready) for bridge in self._bridges
        )

    async def _victim(self, kind: str) -> RestartedProcess:
        leader = await self._leader()
        if kind.startswith("leader"):
            return leader
        if kind.startswith("standby"):
            return next(each for each in self._bridges if each is not leader)
        used = leader.says("stream open")[-1].partition("solver=")[2].partition(" ")[0]
        serves = next(each for each in self._solvers if each.arguments[-1] == used)
        return (
            serves
            if kind.startswith("solver")
            else next(each for each in self._solvers if each is not serves)
        )

    async def _leader(self) -> RestartedProcess:
        found: list[RestartedProcess] = []

        def look() -> bool:
            found[:] = [each for each in self._bridges if each.child.alive and each.says("stream open")]
            return len(found) == 1

        await self._wait_until(look, "not one bridge leads")
        return found[0]

    async def _wait_until(self, holds: Callable[[], object], complaint: str) -> None:
        late = time.monotonic() + self._options.timeout
        while not holds():
            if time.monotonic() > late:
                raise TimeoutError(f"{complaint} within {self._options.timeout:g} s")
            await asyncio.sleep(_TICK / 5)

    # --- figures ---------------------------------------------------------------------------------------------

    async def _most_events(self) -> int:
        """Return the largest number of events about one pod, repetitions included."""
        counts: Counter[str] = Counter()
        path, query = f"/api/v1/namespaces/{self._namespace}/events", {"limit": "5000"}
        while True:
            page = msgspec.json.decode(await self._transport.get(path, query))
            for event in page["items"]:
                counts[event["involvedObject"]["uid"]] += event.get("count") or 1
            if not page["metadata"].get("continue"):
                return max(counts.values(), default=0)
            query["continue"] = page["metadata"]["continue"]

    def _figures(self, outages: Sequence[Outage], occupancy: Occupancy, most_events: int) -> dict[str, Any]:
        tracker, options = self._tracker, self._options
        by_kind = {kind: sorted(each.seconds for each in outages if each.kind == kind) for kind in _KINDS}
        return {
            "cluster": "simulated" if options.binaries is None else "real",
            "nodes": occupancy.nodes,
            "bridges": options.bridges,
            "rate": options.rate,
            "podsKept": options.keep,
            "leaseSeconds": options.lease,
            "outages": {
                kind: {
                    "ends": len(found),
                    "medianSeconds": round(found[len(found) // 2], 3),
                    "longestSeconds": round(found[-1], 3),
                }
                for kind, found in by_kind.items()
                if found
            },
            "pods": tracker.expected,
            "bound": tracker.bound,
            "boundTwice": tracker.bound_twice,
            "mostEventsOfOnePod": most_events,
            "bridgesEndedByThemselves": self.ended_by_themselves,
            "overcommittedNodes": occupancy.overcommitted_nodes,
            "overcommitted": list(occupancy.overcommitted[:10]),
        }
