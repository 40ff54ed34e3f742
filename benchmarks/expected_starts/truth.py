"""Describes a simulated cluster at one moment as its API server would, and when its waiting tasks got nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from poseidon.kube.api.metadata import format_time
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod
from poseidon.manifests.loader import Manifests
from poseidon.simulate.engine import Simulation
from poseidon.simulate.forecasts.past_forecasts import FIRST_EXPECTED
from poseidon.simulate.tasks import TaskProgress
from poseidon.simulate.workloads.columns import ALONE, Float64, Int64

NAMESPACE = "default"
KEPT = 24 * 3600.0
"""Seconds for which the API server keeps pods that have ended, as with ``ttlSecondsAfterFinished: 86400``."""
GANG, GANG_SIZE = "gang.scheduling.koordinator.sh/name", "gang.scheduling.koordinator.sh/min-available"
"""Annotations that name a pod's gang and the gang's size."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The tasks of a simulation at one moment, by number."""

    now: float
    """Seconds since the beginning."""
    state: NDArray[np.int8]
    """``TaskProgress`` of each task."""
    machine: Int64
    """Machine of each task that runs."""
    begun: Float64
    """Seconds since the beginning at which each task began last."""
    ends: Float64
    """Seconds since the beginning at which each task that runs will end, or at which it has ended."""
    waiting: Int64
    """The tasks that wait for their first node; one task per gang."""


def note_moment(simulation: Simulation) -> Moment:
    """Return the present moment of a simulation."""
    tasks = simulation.tasks
    ends = tasks.begun + tasks.left
    return Moment(
        simulation.now,
        tasks.state.copy(),
        tasks.machine.copy(),
        tasks.begun.copy(),
        ends,
        _find_waiting(simulation),
    )


def _find_waiting(simulation: Simulation) -> Int64:
    tasks = simulation.tasks
    waiting = tasks.find(TaskProgress.WAITING)
    waiting = waiting[tasks.first_begun[waiting] < 0.0]
    gang = tasks.work.gang[waiting]
    _, first = np.unique(np.where(gang == ALONE, -1 - waiting, gang), return_index=True)
    return waiting[np.sort(first)]


def name_of(task: int) -> str:
    """Return the name of a task's pod."""
    return f"{NAMESPACE}/t{task}"


def describe_cluster(
    simulation: Simulation, moment: Moment, nodes: Sequence[Node], answers: Mapping[int, str]
) -> Manifests:
    """Return the nodes and pods of a simulation at a moment: running and waiting pods, and recently ended ones.

    ``answers``: expected starts that tasks were told before, as in the annotation of their pods.
    """
    state = moment.state
    ended_of_late = (state == TaskProgress.ENDED) & (moment.ends >= moment.now - KEPT)
    alive = (state == TaskProgress.WAITING) | (state == TaskProgress.RUNNING)
    pods = tuple(_describe_pods(simulation, moment, np.flatnonzero(alive | ended_of_late), answers))
    return Manifests(tuple(nodes), (), pods, (), (), is_live=True)


def _describe_pods(
    simulation: Simulation, moment: Moment, which: Int64, answers: Mapping[int, str]
) -> Iterator[Pod]:
    work, begin = simulation.tasks.work, simulation.clock.begin
    sizes = np.bincount(work.gang[work.gang >= 0]) if (work.gang >= 0).any() else np.zeros(0, dtype=np.int64)
    for task in which.tolist():
        template = work.templates[int(work.template[task])]
        gang, state = int(work.gang[task]), int(moment.state[task])
        owner = f"{template.name}-{task if gang == ALONE else gang}"
        annotations = dict(template.manifest.get("metadata", {}).get("annotations", {}))
        if gang != ALONE:
            annotations |= {GANG: owner, GANG_SIZE: str(int(sizes[gang]))}
        if task in answers:
            annotations[FIRST_EXPECTED] = answers[task]
        metadata = {
            **template.manifest.get("metadata", {}),
            "name": f"t{task}",
            "namespace": NAMESPACE,
            "uid": name_of(task),
            "annotations": annotations,
            "creationTimestamp": format_time(begin + float(work.arrival[task])),
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": owner, "controller": True}
            ],
        }
        spec, status = dict(template.manifest.get("spec", {})), {"phase": "Pending"}
        if state != TaskProgress.WAITING:
            status = _describe_run(begin, float(moment.begun[task]), float(moment.ends[task]), state)
            if state == TaskProgress.RUNNING:
                spec["nodeName"] = simulation.machines.names[int(moment.machine[task])]
        yield msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, Pod, strict=False)


def _describe_run(begin: float, begun: float, end: float, state: int) -> dict[str, Any]:
    """Return the status of a pod that runs or has ended."""
    started = format_time(begin + begun)
    if state == TaskProgress.RUNNING:
        return {"phase": "Running", "startTime": started}
    terminated = {"startedAt": started, "finishedAt": format_time(begin + end), "exitCode": 0}
    containers = [{"name": "main", "state": {"terminated": terminated}}]
    return {"phase": "Succeeded", "startTime": started, "containerStatuses": containers}
