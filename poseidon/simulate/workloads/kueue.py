"""Reads the generator of Kueue's performance tests (``generator.yaml``): classes of workloads in queues of cohorts.

Each workload is one pod that asks for CPU, created every so many milliseconds. Quotas are read as nodes: a cohort's
nominal quota, the sum of its queues', is one node, as these tests have no nodes of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from poseidon.simulate.scenario.document import Trace
from poseidon.simulate.workloads.columns import ALONE, Work, WorkTemplate, order_work, plain_template

COHORT = "kueue.example/cohort"
"""The label that keeps workloads to the node of their cohort."""


def read_kueue(path: Path, part: Trace) -> tuple[Work, tuple[dict[str, Any], ...]]:  # noqa: ARG001  # as all readers
    """Return the workloads, and a node per cohort. Raises ``ValueError``."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    if isinstance(document, dict):
        document = document.get("cohorts")
    if not isinstance(document, list):
        raise ValueError("must hold cohorts, a list of classes of them")  # noqa: TRY004  # a fault of the file
    templates: list[WorkTemplate] = []
    nodes: list[dict[str, Any]] = []
    arrival, duration, template = [], [], []
    for cohort, quota, classes in _cohorts(document):
        nodes.append(_node(cohort, quota))
        for name, count, every, request, runs, priority in classes:
            found = plain_template(name, {"cpu": request})
            found.manifest["spec"] |= {"nodeSelector": {COHORT: cohort}, "priority": priority}
            for number in range(count):
                arrival.append(number * every)
                duration.append(runs)
                template.append(len(templates))
            templates.append(found)
    gang = np.full(len(arrival), ALONE, dtype=np.int64)
    columns = np.array(arrival, dtype=np.float64), np.array(duration, dtype=np.float64)
    return order_work(templates, *columns, np.array(template, dtype=np.int64), gang), tuple(nodes)


def _cohorts(
    document: list[dict[str, Any]],
) -> Iterator[tuple[str, int, list[tuple[str, int, float, str, float, int]]]]:
    """Yield each cohort's name, its quota in cores, and its classes of workloads."""
    for place, entry in enumerate(document):
        for number in range(int(entry.get("count", 1))):
            cohort = f"{entry.get('className', 'cohort')}-{place}-{number}"
            quota = 0
            classes = []
            for queues in entry.get("queuesSets", ()):
                many = int(queues.get("count", 1))
                quota += many * int(queues.get("nominalQuota", 0))
                for workloads in queues.get("workloadsSets", ()):
                    every = float(workloads.get("creationIntervalMs", 0)) / 1000.0
                    for each in workloads.get("workloads", ()):
                        shape = (
                            str(each.get("className", "workload")),
                            int(workloads.get("count", 1)),
                            every,
                            str(each.get("request", "1")),
                            float(each.get("runtimeMs", 1000)) / 1000.0,
                            int(each.get("priority", 0)),
                        )
                        classes += [shape] * many
            yield cohort, quota, classes


def _node(cohort: str, quota: int) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": cohort, COHORT: cohort}
    offered = {"cpu": str(quota), "pods": "1000000"}
    return {"metadata": {"name": cohort, "labels": labels}, "status": {"allocatable": offered}}
