"""Reads KServe's InferenceService and Knative's Service, if they state a minimum number of pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from poseidon.kube.api.decoding import MalformedObjectError
from poseidon.manifests.workloads.common.fields import (
    NotKnownError,
    Value,
    find,
    items,
    mapping,
    name_of,
    namespace_of,
    number,
)
from poseidon.manifests.workloads.common.pod_sets import Known, PodSet, number_names

_KSERVE, _KNATIVE = "serving.kserve.io", "serving.knative.dev"
_LEAST = ("autoscaling.knative.dev/min-scale", "autoscaling.knative.dev/minScale")
_FIRST = ("autoscaling.knative.dev/initial-scale", "autoscaling.knative.dev/initialScale")
_MADE_BY_KNATIVE = ("Configuration", "Revision", "Deployment")
_NO_PODS = frozenset(
    {"minReplicas", "maxReplicas", "scaleTarget", "scaleMetric", "labels", "annotations", "workerSpec"}
)
_POD_ONLY = frozenset({"tensorParallelSize", "pipelineParallelSize"})


def read_inference_service(value: Value, known: Known) -> Iterator[PodSet]:
    """Yield the pods of an InferenceService's predictor, transformer and explainer."""
    name, namespace = name_of(value), namespace_of(value)
    if known.list_owned(namespace, ("InferenceService", name)):
        return
    for component in ("predictor", "transformer", "explainer"):
        part = mapping(value, "spec", component)
        if not part:
            continue
        prefix = f"{name}-{component}"
        labels = {**mapping(value, "metadata", "labels"), **mapping(part, "labels")}
        yield PodSet(
            names=number_names(prefix, number(part, "minReplicas", default=1)),
            template={"metadata": {"labels": labels}, "spec": _pod(part)},
            owner=("Deployment", prefix),
            marks={f"{_KSERVE}/inferenceservice": name, "component": component},
            labels={"app": f"isvc.{prefix}"},
        )


def _pod(part: Value) -> dict[str, Any]:
    """Return the pod of a component, whose model or server is one of the containers."""
    pod = {field: given for field, given in part.items() if field not in _NO_PODS | _POD_ONLY}
    containers = list(items(part, "containers"))
    for field, given in part.items():
        # `model`, or a server's name such as `sklearn`, holds the fields of a container.
        if isinstance(given, dict) and (
            "modelFormat" in given or "storageUri" in given or "runtimeVersion" in given
        ):
            del pod[field]
            server = {key: given[key] for key in ("image", "resources", "ports", "env") if key in given}
            containers.insert(0, {"name": "kserve-container", **server})
    pod["containers"] = containers
    return pod


def read_knative_service(value: Value, known: Known) -> Iterator[PodSet]:
    """Yield the least number of pods of a Knative Service; raise ``NotKnownError`` if it states none."""
    name, namespace = name_of(value), namespace_of(value)
    if any(each.kind in _MADE_BY_KNATIVE for each in known.list_owned(namespace, ("Service", name))):
        return
    template = mapping(value, "spec", "template")
    annotations = mapping(template, "metadata", "annotations")
    counts = [_read_scale(key, find(annotations, key)) for key in _LEAST + _FIRST if key in annotations]
    if not counts:
        raise NotKnownError(
            f"its number of pods follows its use; state one in the annotation {_LEAST[0]} of its template"
        )
    yield PodSet(
        names=number_names(f"{name}-deployment", max(counts)),
        template=template,
        owner=("Service", name),
        marks={f"{_KNATIVE}/service": name},
    )


def _read_scale(key: str, given: object) -> int:
    if not str(given).isascii() or not str(given).isdecimal() or len(str(given)) > 6:
        raise MalformedObjectError(key, f"{str(given)[:40]!r} is no number of pods")
    return int(str(given))
