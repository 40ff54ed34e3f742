"""Reads SparkApplication (sparkoperator.k8s.io): a driver and executors, whose requests Spark writes in its own
form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from poseidon.kube.api.decoding import MalformedObjectError
from poseidon.manifests.workloads.common.fields import Value, find, mapping, name_of, number, text
from poseidon.manifests.workloads.common.pod_sets import Known, PodSet, number_names

_ENDED = frozenset({"COMPLETED", "FAILED", "SUBMISSION_FAILED"})
_MEMORY = re.compile(r"(\d+)([kmgtp]?)b?", re.ASCII | re.IGNORECASE)
_MEBIBYTES = {"": 1, "k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2, "p": 1024**3}
_LEAST_OVERHEAD = 384
"""Least memory overhead of a pod, in mebibytes."""

_PLAIN = ("affinity", "tolerations", "nodeSelector", "schedulerName", "hostNetwork", "initContainers")
"""Fields of driver and executor that are also fields of a pod."""


def read_spark_application(value: Value, known: Known) -> Iterator[PodSet]:  # noqa: ARG001 - asked alike
    """Yield the driver and the executors of a SparkApplication."""
    name, spec = name_of(value), mapping(value, "spec")
    if text(value, "status", "applicationState", "state") in _ENDED or find(spec, "suspend") is True:
        return
    dynamic = mapping(spec, "dynamicAllocation")
    executors = number(spec, "executor", "instances", default=1)
    if dynamic.get("enabled") is True:
        least = number(dynamic, "minExecutors", default=0)
        executors = max(number(dynamic, "initialExecutors", default=least), least)
    for role, names in (
        ("driver", (f"{name}-driver",)),
        ("executor", number_names(f"{name}-exec", executors, 1)),
    ):
        yield PodSet(
            names=names,
            template=_template(spec, role),
            owner=("SparkApplication", name),
            marks={"sparkoperator.k8s.io/app-name": name, "spark-role": role},
            labels={"spark-app-name": name},
            once=True,
        )


def _template(spec: Value, role: str) -> Value:
    part = mapping(spec, role)
    template = mapping(part, "template")
    pod: dict[str, Any] = {**mapping(template, "spec")}
    for field in _PLAIN:
        given = find(part, field)
        given = given if given is not None else find(spec, field) if field == "nodeSelector" else None
        if given is not None:
            pod[field] = given
    scheduler, priority = (
        text(spec, "batchScheduler"),
        text(spec, "batchSchedulerOptions", "priorityClassName"),
    )
    if scheduler:
        pod.setdefault("schedulerName", scheduler)
    if priority:
        pod.setdefault("priorityClassName", priority)
    own = {"name": f"spark-kubernetes-{role}", "image": text(part, "image") or text(spec, "image")}
    containers = [each for each in pod.get("containers") or () if isinstance(each, dict)]
    first = {**(containers[0] if containers else {}), **own, "resources": _resources(spec, part)}
    sidecars = find(part, "sidecars") or []
    pod["containers"] = [first, *containers[1:], *(sidecars if isinstance(sidecars, list) else [])]
    labels = {**mapping(template, "metadata", "labels"), **mapping(part, "labels")}
    return {"metadata": {"labels": labels, "annotations": mapping(part, "annotations")}, "spec": pod}


def _resources(spec: Value, part: Value) -> Value:
    cores = find(part, "coreRequest")
    requests: dict[str, Any] = {"cpu": cores if cores is not None else number(part, "cores", default=1)}
    limits: dict[str, Any] = {}
    if (limit := find(part, "coreLimit")) is not None:
        limits["cpu"] = limit
    memory = _mebibytes(part, "memory", 1024)
    overhead = _mebibytes(part, "memoryOverhead", 0)
    if find(part, "memoryOverhead") is None:
        factor = _factor(spec)
        overhead = max(int(memory * factor), _LEAST_OVERHEAD)
    requests["memory"] = limits["memory"] = f"{memory + overhead}Mi"
    gpu = mapping(part, "gpu")
    if gpu:
        limits[text(gpu, "name")] = requests[text(gpu, "name")] = number(gpu, "quantity", default=1)
    return {"requests": requests, "limits": limits}


def _factor(spec: Value) -> float:
    """Return the overhead as a share of a pod's memory, which is larger for programs that do not run in a JVM."""
    given = find(spec, "memoryOverheadFactor")
    try:
        return (
            float(given) if given is not None else 0.1 if text(spec, "type") in ("Java", "Scala", "") else 0.4
        )
    except (TypeError, ValueError):
        raise MalformedObjectError("spec.memoryOverheadFactor", "expected a number") from None


def _mebibytes(part: Value, field: str, default: int) -> int:
    given = find(part, field)
    if given is None:
        return default
    matched = _MEMORY.fullmatch(str(given)) if len(str(given)) < 30 else None
    if matched is None:
        raise MalformedObjectError(
            field, f"{str(given)[:40]!r} is no amount of memory; write one such as 512m or 4g"
        )
    return int(int(matched[1]) * _MEBIBYTES[matched[2].lower()])
