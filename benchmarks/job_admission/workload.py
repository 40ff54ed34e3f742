"""Makes queues and suspended Jobs from a generator of Kueue's performance tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.judge.random_cluster.objects import HOSTNAME, Object, make_object

KUEUE = "kueue.x-k8s.io/v1beta2"
RUNTIME = "poseidon.example/runtime-ms"
"""Annotation of a Job: how long it runs, in milliseconds."""
FLAVOR = "rf"
_QUEUE, _PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"


@dataclass(frozen=True, slots=True)
class Stream:
    """Jobs that are created one after another, each ``pause`` seconds after the one before."""

    pause: float
    jobs: Sequence[Object]


@dataclass(frozen=True, slots=True)
class JobSchedule:
    """Objects that are there from the start, and the Jobs that come."""

    scaffold: Sequence[Object]
    streams: Sequence[Stream]

    @property
    def size(self) -> int:
        """Number of Jobs."""
        return sum(len(each.jobs) for each in self.streams)

    @property
    def queues(self) -> int:
        """Number of ClusterQueues."""
        return sum(each["kind"] == "ClusterQueue" for each in self.scaffold)


def make_job_schedule(document: Mapping[str, Any], scheduler: str, nodes: int) -> JobSchedule:
    """Return what a generator describes, for pods of a scheduler; ``nodes``, each as large as all quotas together."""
    scaffold: list[Object] = [
        make_object("ResourceFlavor", FLAVOR, KUEUE, spec={}),
        *(_make_priority(value) for value in sorted(set(_list_priorities(document)))),
    ]
    streams: list[Stream] = []
    cores = 0.0
    for cohort in _iter_repeated(document["cohorts"]):
        for index, (number, queues) in enumerate(_iter_numbered(cohort["queuesSets"])):
            name = f"{queues['className']}-{index}-{number}-{cohort['name']}"
            cores += float(queues["nominalQuota"])
            scaffold += _make_queue(name, cohort["name"], queues)
            for place, wanted in enumerate(queues["workloadsSets"]):
                streams.append(_make_stream(name, place, wanted, scheduler))
    return JobSchedule([*scaffold, *(_make_node(f"n{index}", cores) for index in range(nodes))], streams)


def _iter_repeated(sets: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for number, each in _iter_numbered(sets):
        yield {**each, "name": f"{each['className']}-{number}"}


def _iter_numbered(sets: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for each in sets:
        for number in range(int(each.get("count", 1))):
            yield number, each


def _list_priorities(document: Mapping[str, Any]) -> Iterator[int]:
    for cohort in document["cohorts"]:
        for queues in cohort["queuesSets"]:
            for wanted in queues["workloadsSets"]:
                yield from (int(each["priority"]) for each in wanted["workloads"])


def _make_priority(value: int) -> Object:
    return make_object("WorkloadPriorityClass", f"p{value}", KUEUE, value=value)


def _make_queue(name: str, cohort: str, queues: Mapping[str, Any]) -> Iterator[Object]:
    amount = {"name": "cpu", "nominalQuota": str(queues["nominalQuota"])}
    if "borrowingLimit" in queues:
        amount["borrowingLimit"] = str(queues["borrowingLimit"])
    spec = {
        "cohortName": cohort,
        "namespaceSelector": {},
        "resourceGroups": [
            {"coveredResources": ["cpu"], "flavors": [{"name": FLAVOR, "resources": [amount]}]}
        ],
        "preemption": {
            key: queues[key] for key in ("reclaimWithinCohort", "withinClusterQueue") if key in queues
        },
    }
    yield make_object("ClusterQueue", name, KUEUE, spec=spec)
    yield make_object("Namespace", name)
    local = make_object("LocalQueue", name, KUEUE, spec={"clusterQueue": name})
    local["metadata"]["namespace"] = name
    yield local


def _make_stream(queue: str, place: int, wanted: Mapping[str, Any], scheduler: str) -> Stream:
    jobs = [
        _make_job(f"{each['className']}-{place}-{number}-{index}", queue, each, scheduler)
        for number in range(int(wanted.get("count", 1)))
        for index, each in enumerate(wanted["workloads"])
    ]
    return Stream(float(wanted.get("creationIntervalMs", 0)) / 1000.0, jobs)


def _make_job(name: str, queue: str, wanted: Mapping[str, Any], scheduler: str) -> Object:
    pods = int(wanted.get("podCount") or 1)
    container = {
        "name": "main",
        "image": "pause",
        "resources": {"requests": {"cpu": str(wanted["request"])}},
    }
    template = {"spec": {"schedulerName": scheduler, "restartPolicy": "Never", "containers": [container]}}
    spec = {"suspend": True, "parallelism": pods, "completions": pods, "template": template}
    job = make_object("Job", name, "batch/v1", spec=spec)
    job["metadata"] |= {
        "namespace": queue,
        "labels": {_QUEUE: queue, _PRIORITY: f"p{int(wanted['priority'])}"},
        "annotations": {RUNTIME: str(wanted["runtimeMs"])},
    }
    return job


def _make_node(name: str, cores: float) -> Object:
    node = make_object("Node", name)
    node["metadata"]["labels"] = {HOSTNAME: name}
    offered = {"cpu": str(max(1, round(cores))), "memory": "1Ti", "pods": "100000"}
    ready = {"type": "Ready", "status": "True", "reason": "Played", "message": ""}
    node["status"] = {"capacity": offered, "allocatable": offered, "conditions": [ready]}
    return node
