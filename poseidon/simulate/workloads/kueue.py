"""Reads the generator file of Kueue's performance tests: classes of workloads in queues of cohorts.

Each queue becomes a ClusterQueue with a LocalQueue in a namespace of its own. The queues have an effect only if the
configuration reads Kueue's queues. The workloads of a set are created one after another, each after an interval, also
the first one. If the trace limits creations, all objects are created at the pace of Kueue's test. A workload of
several pods is a gang. If the file describes a topology, its nodes are used. Without a topology, each cohort gets one
node with the sum of its queues' nominal quotas, because these tests have no nodes.

Required and preferred levels of the topology are read. For ``balanced`` workloads, the rule that distributes slices
over the domains of a level is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from poseidon.simulate.scenario.document import Trace
from poseidon.simulate.workloads.columns import ALONE, Work, WorkTemplate, order_work, plain_template
from poseidon.simulate.workloads.kueue_creations import time_creations

COHORT = "kueue.example/cohort"
"""The node label that confines workloads to the node of their cohort."""
FLAVOR = "default"
API_VERSION = "kueue.x-k8s.io/v1beta2"
QUEUE_NAME = "kueue.x-k8s.io/queue-name"
TOPOLOGY_GROUP, TOPOLOGY_VALUE = "tas-node-group", "tas"
"""The label, with its value, that all nodes of a topology get if the flavor names no label."""


class _Queue(NamedTuple):
    """A ClusterQueue, and the sets of workloads that are created in it."""

    name: str
    cohort: str
    settings: Mapping[str, Any]
    sets: Sequence[Mapping[str, Any]]


class _Columns(NamedTuple):
    """Columns of the work while it is being read, with one value per pod."""

    arrival: list[float]
    duration: list[float]
    template: list[int]
    gang: list[int]


def read_kueue(
    path: Path,
    part: Trace,
) -> tuple[Work, tuple[dict[str, Any], ...], tuple[dict[str, Any], ...]]:
    """Return the workloads, nodes and queue objects of a file. Raises ``ValueError`` if the file cannot be used."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    if isinstance(document, list):
        document = {"cohorts": document}
    if not isinstance(document, dict) or not isinstance(document.get("cohorts"), list):
        problem = "must be a list of cohort classes, or a map with such a list under cohorts"
        raise ValueError(problem)  # noqa: TRY004  # a fault of the file
    queues = list(_iter_queues(document["cohorts"]))
    nodes = list(_iter_topology_nodes(document))
    objects = [_describe_flavor(document)]
    templates: list[WorkTemplate] = []
    columns = _Columns([], [], [], [])
    every_set = [(queue, workloads) for queue in queues for workloads in queue.sets]
    created = iter(time_creations([queue.sets for queue in queues], len(nodes), part.creations))
    for queue in queues:
        objects += _describe_queue(queue)
    for queue, workloads in every_set:
        _create(workloads, queue, next(created), columns, templates, on_cohort=not nodes)
    if not nodes:
        nodes = list(_iter_cohort_nodes(queues))
    work = order_work(
        templates,
        np.array(columns.arrival, dtype=np.float64),
        np.array(columns.duration, dtype=np.float64),
        np.array(columns.template, dtype=np.int64),
        np.array(columns.gang, dtype=np.int64),
    )
    return work, tuple(nodes), tuple(objects)


def _iter_queues(cohorts: Sequence[Mapping[str, Any]]) -> Iterator[_Queue]:
    for place, entry in enumerate(cohorts):
        for number in range(int(entry.get("count", 1))):
            cohort = f"{entry.get('className', 'cohort')}-{place}-{number}"
            for index, queues in enumerate(entry.get("queuesSets", ())):
                for copy in range(int(queues.get("count", 1))):
                    name = f"{queues.get('className', 'cq')}-{index}-{copy}-{cohort}"
                    yield _Queue(name, cohort, queues, queues.get("workloadsSets", ()))


def _create(
    workloads: Mapping[str, Any],
    queue: _Queue,
    created: Sequence[float],
    columns: _Columns,
    templates: list[WorkTemplate],
    *,
    on_cohort: bool,
) -> None:
    """Add the workloads of a set one after another, one of each class in turn."""
    classes = workloads.get("workloads", ())
    first = len(templates)
    templates += [_describe_class(each, queue, on_cohort=on_cohort) for each in classes]
    for number, when in enumerate(created):
        place = number % len(classes)
        pods = int(classes[place].get("podCount") or 1)
        columns.arrival.extend([when] * pods)
        columns.duration.extend([float(classes[place].get("runtimeMs", 1000)) / 1000.0] * pods)
        columns.template.extend([first + place] * pods)
        columns.gang.extend([len(columns.gang) if pods > 1 else ALONE] * pods)


def _describe_class(each: Mapping[str, Any], queue: _Queue, *, on_cohort: bool) -> WorkTemplate:
    name = str(each.get("className", "workload"))
    metadata = {"namespace": queue.name, "labels": {QUEUE_NAME: queue.name}}
    found = plain_template(name, {"cpu": str(each.get("request", "1"))}, metadata)
    found.manifest["spec"]["priority"] = int(each.get("priority", 0))
    if on_cohort:
        found.manifest["spec"]["nodeSelector"] = {COHORT: queue.cohort}
    level, constraint = str(each.get("tasLevel") or ""), each.get("tasConstraint")
    return found._replace(
        within=level if constraint == "required" else "",
        rather_within=level if constraint == "preferred" else "",
    )


def _describe_queue(queue: _Queue) -> list[dict[str, Any]]:
    """Return a ClusterQueue, and the LocalQueue in its namespace."""
    settings = queue.settings
    quota = {"name": "cpu", "nominalQuota": str(settings.get("nominalQuota", 0))}
    if settings.get("borrowingLimit") not in (None, ""):
        quota["borrowingLimit"] = str(settings["borrowingLimit"])
    preemption = {
        name: settings[name] for name in ("reclaimWithinCohort", "withinClusterQueue") if name in settings
    }
    spec = {
        "namespaceSelector": {},
        "cohortName": queue.cohort,
        "preemption": preemption,
        "resourceGroups": [
            {"coveredResources": ["cpu"], "flavors": [{"name": FLAVOR, "resources": [quota]}]}
        ],
    }
    return [
        _describe("ClusterQueue", {"name": queue.name}, spec),
        _describe("LocalQueue", {"name": queue.name, "namespace": queue.name}, {"clusterQueue": queue.name}),
    ]


def _describe_flavor(document: Mapping[str, Any]) -> dict[str, Any]:
    spec = {}
    if document.get("topology"):
        spec["nodeLabels"] = {_name_group(document): TOPOLOGY_VALUE}
    return _describe("ResourceFlavor", {"name": FLAVOR}, spec)


def _describe(kind: str, metadata: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def _name_group(document: Mapping[str, Any]) -> str:
    return str((document.get("resourceFlavor") or {}).get("nodeLabel") or TOPOLOGY_GROUP)


def _iter_topology_nodes(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the nodes of the file's topology, one for each path from the top level to the lowest level."""
    levels = (document.get("topology") or {}).get("levels", ())
    if not levels:
        return
    capacity = levels[-1].get("capacity") or {}
    offered = {
        "cpu": str(capacity.get("cpu") or 96), "memory": str(capacity.get("memory") or "256Gi"), "pods": "110"
    }  # fmt: skip
    for way in product(*(range(int(level.get("count", 1))) for level in levels)):
        domains = [f"{level['name']}-{number}" for level, number in zip(levels, way, strict=True)]
        name = "-".join(domains)
        labels = {str(level["nodeLabel"]): domain for level, domain in zip(levels, domains, strict=True)}
        labels |= {_name_group(document): TOPOLOGY_VALUE, "kubernetes.io/hostname": name}
        yield {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": offered}}


def _iter_cohort_nodes(queues: Sequence[_Queue]) -> Iterator[dict[str, Any]]:
    quotas: dict[str, int] = {}
    for queue in queues:
        quotas[queue.cohort] = quotas.get(queue.cohort, 0) + int(queue.settings.get("nominalQuota", 0))
    for cohort, quota in quotas.items():
        labels = {"kubernetes.io/hostname": cohort, COHORT: cohort}
        offered = {"cpu": str(quota), "pods": "1000000"}
        yield {"metadata": {"name": cohort, "labels": labels}, "status": {"allocatable": offered}}
