"""Queues of Kueue and Jobs in them, drawn at random: each node is of the flavor of its zone."""

from __future__ import annotations

from random import Random

from tests.programs.simulation import workload
from tests.programs.simulation.api_server import Object

VERSION = "kueue.x-k8s.io/v1beta2"
LABEL = "kueue.x-k8s.io/queue-name"
RESOURCES = ("cpu", "memory", workload.GPU)
_UNITS = {"cpu": "m", "memory": "Mi"}
QUEUES = {"q0": "part", "q1": "part", "q2": "all", "alone": ""}
"""The cohort of each ClusterQueue."""
COHORTS = {"part": "all"}
"""The parent of each Cohort; "all" has no object."""


def amount(resource: str, number: int) -> str:
    """Write an amount in the units of this module."""
    return f"{number}{_UNITS.get(resource, '')}"


def flavor(zone: str) -> Object:
    """Return the flavor of the nodes of a zone, which has its name."""
    return {"metadata": {"name": zone}, "spec": {"nodeLabels": {workload.ZONE: zone}}}


def local_queue(queue: str) -> Object:
    """Return the LocalQueue of a ClusterQueue, which has its name."""
    metadata = {"name": queue, "namespace": workload.NAMESPACE}
    return {"metadata": metadata, "spec": {"clusterQueue": queue}}


def cohort(random: Random, name: str) -> Object:
    """Draw a Cohort, with quota of its own now and then."""
    groups = [_draw_group(random, shares=True)] if random.random() < 0.3 else []
    return {"metadata": {"name": name}, "spec": {"parentName": COHORTS[name], "resourceGroups": groups}}


def draw_spec(random: Random, queue: str) -> Object:
    """Draw the spec of a ClusterQueue."""
    in_cohort = {"cohortName": QUEUES[queue]} if QUEUES[queue] else {}
    borrow = {"borrowWithinCohort": {"policy": "LowerPriority"}} if random.random() < 0.2 else {}
    return {
        **in_cohort,
        "namespaceSelector": {},
        "queueingStrategy": random.choice(("BestEffortFIFO", "StrictFIFO")),
        "preemption": {
            "withinClusterQueue": random.choice(("Never", "LowerPriority", "LowerOrNewerEqualPriority")),
            "reclaimWithinCohort": random.choice(("Never", "LowerPriority", "Any")),
            **borrow,
        },
        "resourceGroups": [_draw_group(random, shares=bool(in_cohort))],
    }


def make_ample(spec: Object) -> Object:
    """Return the spec of a ClusterQueue with quota for all, of all flavors."""
    most = {"cpu": 900_000, "memory": 900_000, workload.GPU: 900}
    return {**spec, "resourceGroups": [_group(dict.fromkeys(workload.ZONES, most))]}


def _draw_group(random: Random, *, shares: bool) -> Object:
    zones = random.sample(workload.ZONES, random.randint(1, len(workload.ZONES)))
    drawn = {
        zone: {
            "cpu": random.choice((0, 500, 1000, 2000, 4000)),
            "memory": random.choice((0, 512, 1024, 4096)),
            workload.GPU: random.choice((0, 1, 2)),
        }
        for zone in zones
    }
    group = _group(drawn)
    for each in group["flavors"] if shares else ():
        for quota in each["resources"]:
            for limit, chance in (("borrowingLimit", 0.3), ("lendingLimit", 0.2)):
                if random.random() < chance:
                    quota[limit] = amount(quota["name"], random.choice((0, 1, 2)) * 500)
    return group


def _group(amounts: dict[str, dict[str, int]]) -> Object:
    flavors = [
        {
            "name": name,
            "resources": [{"name": key, "nominalQuota": amount(key, given[key])} for key in RESOURCES],
        }
        for name, given in amounts.items()
    ]
    return {"coveredResources": [*RESOURCES], "flavors": flavors}


def job(
    name: str, pods: int, asks: dict[str, str], queue: str, *, priority: int, labels: dict[str, str]
) -> Object:
    """Return a suspended Job."""
    container = {"name": "main", "resources": {"requests": asks}}
    spec = {"schedulerName": workload.OURS, "priority": priority, "containers": [container]}
    return {
        "metadata": {
            "name": name,
            "namespace": workload.NAMESPACE,
            "generation": 1,
            "labels": {LABEL: queue},
        },
        "spec": {
            "suspend": True,
            "parallelism": pods,
            "completions": pods,
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
        "status": {},
    }


def pod_of(job: Object, name: str) -> Object:
    """Return one more pod of a Job."""
    metadata, template = job["metadata"], job["spec"]["template"]
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"], "uid": metadata["uid"]}
    labels = {"job-name": metadata["name"], "controller-uid": metadata["uid"]}
    return {
        "metadata": {
            "name": name,
            "namespace": workload.NAMESPACE,
            "labels": {**template["metadata"]["labels"], **labels},
            "ownerReferences": [{**reference, "controller": True}],
        },
        "spec": dict(template["spec"]),
        "status": {"phase": "Pending"},
    }


def needs(job: Object) -> dict[str, int]:
    """Return what each pod of a Job asks for."""
    asked = job["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
    return workload.amounts(asked)


def count_missing(job: Object) -> int:
    """Return how many pods of a Job have not succeeded yet."""
    return max(0, int(job["spec"]["completions"]) - len(job["status"].get("counted", ())))


def is_complete(job: Object) -> bool:
    """Whether all pods of a Job have succeeded."""
    return count_missing(job) == 0
