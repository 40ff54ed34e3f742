"""Runs the measurement: one scheduler after another admits the same Jobs on a new control plane."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import yaml

from benchmarks.environment import environment
from benchmarks.job_admission.schedulers import KUEUE, Running, run_kueue, run_ours
from benchmarks.job_admission.simulated_jobs import SimulatedJobs, simulate_jobs
from benchmarks.job_admission.workload import JobSchedule, make_job_schedule
from benchmarks.job_admission.writes import POLICY, count_writes, find_longest_delay, read_writes
from benchmarks.judge.api import Api
from benchmarks.judge.control_plane import ControlPlane, ControlPlaneOptions
from benchmarks.judge.random_cluster.objects import Object
from benchmarks.processes.parts.usage import UsageSampler
from benchmarks.quality.kueue_generators import find_optimum
from benchmarks.reports.sheets import NOTHING, Report, Sheet, number
from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport

KUEUES_LIMIT = (50.0, 100)
"""Requests a second, and at once, of the client in Kueue's performance tests."""
_TICK = 0.05
_KINDS = ("ClusterQueue", "ResourceFlavor", "LocalQueue", "WorkloadPriorityClass")
_SETTLING_SECONDS = 6.0
"""How long statuses are written after the last Job has ended; such writes count."""


@dataclass(frozen=True, slots=True)
class AdmissionOptions:
    """Options of the measurement: the generator, definitions, programs and limits."""

    generator: Path
    """A file ``generator.yaml`` of Kueue's performance tests."""
    crds: Path
    """Folder of the definitions of Kueue's objects."""
    binaries: Path
    """Folder of a control plane's programs."""
    kueue: Path | None = None
    """Kueue's manager."""
    schedulers: tuple[str, ...] = ()
    """Who admits, one after another."""
    per_second: float | None = None
    """Kueue's limit of requests; None: none."""
    nodes: int = 10
    """Nodes, each as large as all quotas together."""
    timeout: float = 600.0
    """Seconds until a run is given up."""


def measure_admission(options: AdmissionOptions, progress: Callable[[str], None] = lambda _: None) -> Report:
    """Run each scheduler once. Raises ``ControlPlaneError``, ``ChildDiedError``, ``KubeError`` or ``TimeoutError``.

    The folder of a run that fails is kept, as its logs say why; ``progress`` names it.
    """
    document = yaml.safe_load(options.generator.read_text(encoding="utf-8"))
    definitions = read_definitions(options.crds)
    runs = []
    for scheduler in options.schedulers:
        progress(scheduler)
        folder = Path(tempfile.mkdtemp(prefix="poseidon-admission-"))
        try:
            runs.append(asyncio.run(_run(options, document, definitions, scheduler, folder)))
        except Exception:
            progress(f"failed; logs and data are kept in {folder}")
            raise
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "kind": "job-admission",
        "environment": environment(),
        "generator": str(options.generator),
        "perSecond": options.per_second,
        "optimum": round(find_optimum(document), 1),
        "runs": runs,
    }


async def _run(
    options: AdmissionOptions, document: Any, definitions: list[Object], scheduler: str, folder: Path
) -> dict[str, Any]:
    schedule = make_job_schedule(
        document, "default-scheduler" if scheduler == KUEUE else "poseidon", options.nodes
    )
    wanted = ControlPlaneOptions(scheduler=False, audit=POLICY)
    async with AsyncExitStack() as enter:
        plane = await enter.enter_async_context(ControlPlane(options.binaries, folder, wanted))
        settings = load_settings(plane.kubeconfig)
        transport = await enter.enter_async_context(
            Transport(settings, clock=time.monotonic, user_agent="poseidon-bench")
        )
        api = Api(transport)
        await api.create(definitions)
        await _wait(
            options, plane, lambda: _are_served(transport, api, definitions), "Kueue's objects are not served"
        )
        await api.create(schedule.scaffold)
        running = await enter.enter_async_context(_admitting(options, scheduler, plane.kubeconfig, folder))
        await _wait(options, running, lambda: _are_active(api), "the queues did not become active")
        jobs = await enter.enter_async_context(simulate_jobs(transport, api, time.monotonic))
        usage = UsageSampler(lambda: {**running.roots(), **plane.pids})
        usage.begin()
        before, begun = len(read_writes(plane.audit_log, running.agents)), time.monotonic()
        jobs.begin(schedule)

        async def all_ended() -> bool:
            plane.check()
            jobs.check()
            usage.sample()
            return len(jobs.ended) == schedule.size

        await _wait(options, running, all_ended, "not all Jobs have ended")
        await asyncio.sleep(_SETTLING_SECONDS)
        figures = _make_figures(scheduler, schedule, jobs, begun)
        figures["usage"] = usage.end()
        writes = read_writes(plane.audit_log, running.agents)[before:]
        figures["writes"] = count_writes(writes)
        figures["delayAtKueuesLimit"] = round(
            find_longest_delay([each.at for each in writes], *KUEUES_LIMIT), 2
        )
        return figures


@asynccontextmanager
async def _admitting(
    options: AdmissionOptions, scheduler: str, kubeconfig: Path, folder: Path
) -> AsyncGenerator[Running]:
    if scheduler == KUEUE:
        assert options.kueue is not None
        async with run_kueue(options.kueue, kubeconfig, folder, options.per_second) as running:
            yield running
    else:
        async with run_ours(kubeconfig, folder) as running:
            yield running


def read_definitions(crds: Path) -> list[Object]:
    """Return the definitions of objects in the files of a folder."""
    return [
        document
        for file in sorted(crds.glob("*.yaml"))
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8"))
        if document and document.get("kind") == "CustomResourceDefinition"
    ]


async def _are_served(transport: Transport, api: Api, definitions: Sequence[Object]) -> bool:
    """Return whether all defined objects can be listed, and found by programs that ask what is served."""
    for each in definitions:
        spec = each["spec"]
        for version in (one["name"] for one in spec["versions"] if one["served"]):
            found = await transport.find(f"/apis/{spec['group']}/{version}")
            resources = json.loads(found)["resources"] if found else ()
            if not any(resource["name"] == spec["names"]["plural"] for resource in resources):
                return False
    return all([await _is_served(api, kind) for kind in _KINDS])


async def _is_served(api: Api, kind: str) -> bool:
    try:
        await api.list_objects(kind)
    except ApiError as error:
        if error.not_found or error.transient:
            return False
        raise
    return True


async def _are_active(api: Api) -> bool:
    """Return whether all ClusterQueues and LocalQueues have the condition that they admit."""
    queues = [each for kind in ("ClusterQueue", "LocalQueue") for each in await api.list_objects(kind)]
    return all(_is_active(each) for each in queues)


def _is_active(queue: Object) -> bool:
    conditions = queue.get("status", {}).get("conditions") or ()
    return any((each["type"], each["status"]) == ("Active", "True") for each in conditions)


class _Checked(Protocol):
    """The running programs of a measurement, which are checked for unexpected ends."""

    def check(self) -> None:
        """Raise an error if one of the programs has ended."""


async def _wait(
    options: AdmissionOptions, running: _Checked, holds: Callable[[], Awaitable[bool]], complaint: str
) -> None:
    late = time.monotonic() + options.timeout
    while not await holds():
        running.check()
        if time.monotonic() > late:
            raise TimeoutError(f"{complaint} within {options.timeout:g} s")
        await asyncio.sleep(_TICK)


def _make_figures(scheduler: str, schedule: JobSchedule, jobs: SimulatedJobs, begun: float) -> dict[str, Any]:
    waits = np.array(jobs.waits)
    return {
        "scheduler": scheduler,
        "jobs": schedule.size,
        "queues": schedule.queues,
        "admissions": sum(map(len, jobs.admitted.values())),
        "seconds": round(max(jobs.ended.values()) - begun, 1),
        "waitSeconds": {
            "mean": round(float(waits.mean()), 2),
            "p99": round(float(np.percentile(waits, 99)), 2),
        },
        "refusedReports": jobs.refused[:5],
    }


def job_admission_sheets(report: Report) -> list[Sheet]:
    """Return a table with a column per scheduler."""
    runs = report["runs"]
    rows = [
        ["Jobs", *(number(run["jobs"]) for run in runs)],
        ["admissions, with those after an eviction", *(number(run["admissions"]) for run in runs)],
        ["seconds until the last has ended", *(number(run["seconds"], 1) for run in runs)],
        ["wait for the first admission, mean", *(f"{run['waitSeconds']['mean']:.2f} s" for run in runs)],
        ["wait for the first admission, p99", *(f"{run['waitSeconds']['p99']:.2f} s" for run in runs)],
        ["its processor seconds", *(number(_sum_seconds(run, own=True), 1) for run in runs)],
        [
            "processor seconds of etcd and API server",
            *(number(_sum_seconds(run, own=False), 1) for run in runs),
        ],
        [
            f"longest delay of a write at {KUEUES_LIMIT[0]:g}/s",
            *(f"{run['delayAtKueuesLimit']:.2f} s" for run in runs),
        ],
        ["writes for each admission", *(_share(sum(run["writes"].values()), run) for run in runs)],
    ]
    rows += [
        [f"  {what}", *(_share(run["writes"].get(what, 0), run) for run in runs)] for what in _order(runs)
    ]
    limit = (
        "no limit of requests"
        if report["perSecond"] is None
        else f"Kueue sends {report['perSecond']:g} requests/s"
    )
    caption = f"{report['generator']}, {runs[0]['queues']} queues, {limit}, optimum {report['optimum']} s"
    return [Sheet(caption, ("what", *(run["scheduler"] for run in runs)), rows)]


_OF_THE_CLUSTER = ("etcd", "kube-apiserver", "driver")


def _sum_seconds(run: dict[str, Any], *, own: bool) -> float:
    """Return the processor seconds of the admitting programs, or of the cluster."""
    return sum(
        used["cpuSeconds"]
        for name, used in run["usage"].items()
        if (name.removesuffix(" workers") not in _OF_THE_CLUSTER) is own and name != "driver"
    )


def _order(runs: Iterable[dict[str, Any]]) -> list[str]:
    """Return all kinds of writes, the most frequent first."""
    most: dict[str, int] = {}
    for run in runs:
        for what, count in run["writes"].items():
            most[what] = max(most.get(what, 0), count)
    return sorted(most, key=lambda what: (-most[what], what))


def _share(count: int, run: dict[str, Any]) -> str:
    return NOTHING if not run["admissions"] else f"{count / run['admissions']:.2f}"
