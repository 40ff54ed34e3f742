"""The scenario of a burst: the nodes with their running pods, and the new pods.

The scenario follows from principles, not from results:

* *Requests differ from use.* In a cluster that was filled by requests, each node has the same requests, but true use
  is drawn uniformly between nothing and the estimate. Scheduling by requests cannot see that; reports show it.
* *Estimates* follow from requests by the overlay's defaults: 85 % of cpu, 70 % of memory. New pods never use more. The
  scheduler does not know how much less they use, so there are three *profiles*: exactly the estimate, which is hardest
  on the threshold; half of it to all; nothing to all.
* *All pods fit.* Running and new pods together request 82 % of the cluster, and 92 % of the rest of it when a
  fifth of the nodes takes none. Pods request memory in the proportion in which nodes have it.
* *Defaults.* With the overlay, it is added to the default configuration, with its default arguments. If the use of
  pods varies, ``usageRisk`` states by how much.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from firmament.configuration.document import SchedulerConfiguration
from poseidon.testbed.controllers.true_use import USAGE
from poseidon.testbed.seeding import NodeShape, node

Mode: TypeAlias = Literal["upstream", "failOpen", "failClosed", "estimate"]
Scheduling: TypeAlias = Literal["overlay", "default", "requests"]
Policy: TypeAlias = Literal["cpu_mem", "void"]
Profile: TypeAlias = tuple[float, float]

EXACTLY: Profile = (1.0, 1.0)
HALF: Profile = (0.5, 1.0)
ANYTHING: Profile = (0.0, 1.0)

START = 1_767_268_800.0
CORES = 16
GIB_PER_CORE = 4
FACTORS = {"cpu": 0.85, "memory": 0.70}
RUNNING_PER_NODE = 8
RUNNING_ESTIMATE = 0.35
"""Share of every node that its running pods use by estimates."""

NEW_REQUESTS = (500, 600, 700, 800)
"""Requests of a new pod in milli-cores: ten pods, a node's part of the burst, are estimated as 35 % of a node, as
are the running pods.
"""


class Noise(NamedTuple):
    """How far a pod's use varies, and a name that is equal for pods that vary together ("": the pod varies alone)."""

    share: float
    together: str


@dataclass(frozen=True, slots=True)
class Burst:
    """A burst of pods. Shares are of the nodes; times are in seconds."""

    nodes: int = 1000
    """Nodes."""
    pods: int = 10_000
    """Pods of the burst."""
    threshold: int = 65
    """Load threshold in percent."""
    lag: float = 60.0
    """Age of a measurement when the scheduler gets it."""
    interval: float = 60.0
    """Time between measurements."""
    waves: int = 10
    """Number of waves in which pods come."""
    wave_seconds: float = 10.0
    """Time between waves."""
    profile: Profile = HALF
    """Range of the share of its estimate that each new pod uses."""
    noise: float = 0.0
    """How far pods vary around their use."""
    alike: bool = False
    """Whether all pods of a size vary together."""
    deviation: float = 0.0
    """Percent of ``noise`` that the overlay is configured with (``usageRisk``)."""
    missing: float = 0.0
    """Share of nodes without metrics."""
    stale: float = 0.0
    """Share of nodes with only one report, from before the burst."""
    mode: Mode = "upstream"
    """Variant of the overlay."""
    scheduling: Scheduling = "overlay"
    """With the overlay ``load_threshold`` beside the base ``policy``; with the default configuration, whose
    policy reads measured use too; or by requests alone.
    """
    weight: int = 1
    """Weight of the overlay."""
    policy: Policy = "cpu_mem"
    """The base policy."""
    seed: int = 1
    """Seed of the random numbers."""


def configuration(burst: Burst) -> SchedulerConfiguration:
    """Return the scheduler's configuration: the settings of the scenario, and defaults."""
    thresholds = {"cpu": burst.threshold, "memory": 95}
    risk = {"deviation": {"cpu": burst.deviation}} if burst.deviation else {}
    overlay = {
        "name": "load_threshold",
        "weight": burst.weight,
        "args": {"usageThresholds": thresholds, "missingMetrics": burst.mode, "usageRisk": risk},
    }
    given: dict[str, Any] = {"costModels": [overlay] if burst.scheduling == "overlay" else []}
    if burst.scheduling == "overlay" and burst.policy != "cpu_mem":
        given["policy"] = {"name": burst.policy}
    if burst.scheduling == "requests":
        given["policy"] = {"name": "cpu_mem", "args": {"availability": "reservation"}}
    return SchedulerConfiguration.model_validate(given)


def running_nodes(burst: Burst, names: list[str], rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield nodes and the pods that already run on them."""
    shape = NodeShape(cpu=str(CORES), memory=f"{CORES * GIB_PER_CORE}Gi")
    request = running_request()
    for name, truth in zip(names, rng.uniform(0.0, 1.0, burst.nodes).tolist(), strict=True):
        yield node(name, shape)
        for index in range(RUNNING_PER_NODE):
            noise = Noise(burst.noise, f"running-{index}" if burst.alike else "")
            pod = _pod(f"running-{name}-{index}", request, truth, noise, scheduler="default-scheduler")
            pod["spec"]["nodeName"] = name
            conditions = [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2025-12-01T00:00:00Z"}
            ]
            pod["status"] = {"phase": "Running", "conditions": conditions}
            yield pod


def new_pods(burst: Burst, numbers: range, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the pods of a wave: four sizes, each pod using its own share of its expected use."""
    truths = rng.uniform(*burst.profile, len(numbers))
    for number, truth in zip(numbers, truths.tolist(), strict=True):
        request = _request_of(number)
        noise = Noise(burst.noise, f"new-{request}" if burst.alike else "")
        yield _pod(f"new-{number}", request, truth, noise, scheduler="poseidon")


def running_request() -> int:
    """Return the milli-cores that each running pod requests."""
    return round(RUNNING_ESTIMATE * CORES * 1000 / RUNNING_PER_NODE / FACTORS["cpu"])


def _request_of(number: int) -> int:
    return NEW_REQUESTS[number % len(NEW_REQUESTS)]


def estimate_of(name: str) -> float:
    """Return the milli-cores that a new pod is expected to use."""
    return _request_of(int(name.removeprefix("new-"))) * FACTORS["cpu"]


def _pod(name: str, request: int, truth: float, noise: Noise, *, scheduler: str) -> dict[str, Any]:
    """Return a pod that truly uses the share ``truth`` of the estimate for its request (milli-cores)."""
    used = int(request * FACTORS["cpu"] * truth)
    memory = request * GIB_PER_CORE * 1024 // 1000
    resources = {"requests": {"cpu": f"{request}m", "memory": f"{memory}Mi"}}
    usage = {
        "cpu": f"{used}m",
        "memory": f"{int(memory * FACTORS['memory'] * truth)}Mi",
        "noise": noise.share,
        "together": noise.together,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": {USAGE: json.dumps(usage)}},
        "spec": {
            "schedulerName": scheduler,
            "containers": [{"name": "main", "image": "none", "resources": resources}],
        },
    }
