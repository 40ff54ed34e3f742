"""Runs the judge: starts the control plane, judges one random cluster after another, and collects the verdicts."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.judge.api import Api
from benchmarks.judge.claims import run_claims
from benchmarks.judge.control_plane import ControlPlane, ControlPlaneOptions
from benchmarks.judge.deciding import by_processes, plan
from benchmarks.judge.judging import Judge
from benchmarks.judge.kubelets import Kubelets
from benchmarks.judge.random_cluster.generation import random_cluster
from benchmarks.judge.random_cluster.objects import RandomCluster
from benchmarks.judge.staged.queued_jobs import CONFIGURATION as QUEUED
from benchmarks.judge.staged.scenario_parts import ScenarioError
from benchmarks.judge.staged.scenarios import SCENARIOS
from benchmarks.judge.verdicts import SeedResult
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from poseidon.testbed.harness.stack import Stack, StackOptions

CONFIGURATION = """\
apiVersion: firmament.io/v1alpha1
kind: SchedulerConfiguration
round: {refreshReasonsAfter: 1}
announcements: {countsAfter: 1}
"""
"""Configuration of both processes: messages are compared, so their figures must be recent."""


KEEPING = """\
apiVersion: firmament.io/v1alpha1
kind: SchedulerConfiguration
moves: {keepPlaces: true}
"""
"""Configuration of both processes in scenarios."""

_CONFIGURATIONS = {"queued-jobs": QUEUED}
"""Configurations of scenarios that need another one."""


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Options: a plan decides ``seeds`` clusters, both processes decide ``live``; ``keep``: keep data and logs."""

    binaries: Path
    seeds: Sequence[int]
    live: Sequence[int]
    keep: bool = False


async def run_judge(options: JudgeOptions, progress: Callable[[SeedResult], None]) -> list[SeedResult]:
    """Judge all seeds. Raises ``ControlPlaneError``, ``KubeError``, ``ChildDiedError`` or ``TimeoutError``."""
    folder = Path(tempfile.mkdtemp(prefix="poseidon-judge-"))
    results: list[SeedResult] = []
    try:
        async with _prepare(options.binaries, folder) as (api, kubeconfig):
            if options.live:
                config = folder / "configuration.yaml"
                config.write_text(CONFIGURATION, encoding="utf-8")
                running = StackOptions(
                    folder, kubeconfig=kubeconfig, config=config, cluster_name="judge", log_level="debug"
                )
                async with Stack(running) as stack:
                    await stack.start_servers()
                    await stack.start_bridge()
                    for seed in options.live:
                        results.append(await _one(api, seed, stack))
                        progress(results[-1])
            for seed in options.seeds:
                results.append(await _one(api, seed, None))
                progress(results[-1])
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return results


@asynccontextmanager
async def _prepare(binaries: Path, folder: Path) -> AsyncGenerator[tuple[Api, Path]]:
    async with ControlPlane(binaries, folder) as plane:
        settings = load_settings(plane.kubeconfig)
        async with Transport(settings, clock=time.monotonic, user_agent="poseidon-judge") as transport:
            api = Api(transport, plane.kubeconfig)
            await api.prepare()
            claims = asyncio.create_task(run_claims(api))
            try:
                yield api, plane.kubeconfig
            finally:
                claims.cancel()
                with suppress(asyncio.CancelledError):
                    await claims


async def run_scenarios(binaries: Path, names: Sequence[str], progress: Callable[[str], None]) -> bool:
    """Run scenarios, each in a cluster of its own; return whether all had the expected outcome."""
    good = True
    for name in names:
        folder = Path(tempfile.mkdtemp(prefix="poseidon-judge-"))
        try:
            told = await _scenario(binaries, folder, name)
        except ScenarioError as error:
            good, told = False, f"failed: {error}"
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        progress(f"{name}: {told}")
    return good


async def _scenario(binaries: Path, folder: Path, name: str) -> str:
    async with ControlPlane(binaries, folder, ControlPlaneOptions("*", kubelets=True)) as plane:
        settings = load_settings(plane.kubeconfig)
        async with Transport(settings, clock=time.monotonic, user_agent="poseidon-judge") as transport:
            api = Api(transport, plane.kubeconfig)
            await api.prepare()
            kubelets = Kubelets(api, tuple(f"n{index}" for index in range(6)))
            await kubelets.register()
            running = asyncio.create_task(kubelets.run())
            try:
                config = folder / "configuration.yaml"
                config.write_text(_CONFIGURATIONS.get(name, KEEPING), encoding="utf-8")
                options = StackOptions(
                    folder, kubeconfig=plane.kubeconfig, config=config, cluster_name="judge"
                )
                async with Stack(options) as stack:
                    await stack.start_servers()
                    await stack.start_bridge()
                    return await stack.guard(SCENARIOS[name](api, kubelets))
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)


async def _one(api: Api, seed: int, stack: Stack | None) -> SeedResult:
    cluster = random_cluster(seed)
    await api.wipe()
    logged = 0 if stack is None else stack.bridge.log.stat().st_size
    await _load(api, cluster)
    if stack is None:
        decision = await plan(api)
    else:
        decision = await by_processes(api, stack, cluster.waiting, logged)
    await api.delete(cluster.waiting)
    result = SeedResult(seed, "plan" if stack is None else "processes")
    judge = Judge(api, cluster, decision, result)
    await judge.reset_claims()
    await judge.judge()
    return result


async def _load(api: Api, cluster: RandomCluster) -> None:
    for part in (cluster.nodes, cluster.scaffold, cluster.running, cluster.waiting):
        await api.create(part)
