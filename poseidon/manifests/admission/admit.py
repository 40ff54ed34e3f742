"""Admits pods in the API server's order: default limits, runtime classes, limit checks, quotas.

Pods that an API server has stored (they have a ``resourceVersion``), or that run, have passed admission before, and
are left alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from msgspec.structs import replace

from poseidon.kube.api.namespaces import LimitRange, ResourceQuota
from poseidon.kube.api.nodes import RuntimeClass
from poseidon.kube.api.pods import Pod, PodSpec
from poseidon.manifests.admission.limit_ranges import complete_spec, violations
from poseidon.manifests.admission.quotas import ResourceQuotaUse
from poseidon.manifests.admission.runtime_classes import RuntimeClassMismatchError, apply_runtime_class
from poseidon.manifests.controllers.volumes import was_held
from poseidon.manifests.warning_phrases import list_names, suggest_printing
from poseidon.pods.tasks import get_qualified_name


@dataclass(slots=True)
class Admission:
    """Result of admission: ``pods`` as the API server would store them, and why others are ``refused``, by uid."""

    pods: list[Pod] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def play_admission(
    pods: Iterable[Pod],
    runtime_classes: Iterable[RuntimeClass],
    limit_ranges: Iterable[LimitRange],
    quotas: Sequence[ResourceQuota],
    workloads: Mapping[str, str] | None = None,
) -> Admission:
    """Admit ``pods`` in order; quotas first count the pods that the cluster already has.

    ``workloads`` maps the uid of a pod to a workload that is resumed as a whole; its pods are admitted together or
    not at all. The pods of a workload have to follow each other in ``pods``.
    """
    done = Admission()
    classes = {each.metadata.name: each for each in runtime_classes}
    ranges: dict[str, list[LimitRange]] = defaultdict(list)
    for each in limit_ranges:
        ranges[each.metadata.namespace].append(each)
    if not classes and not ranges and not quotas:
        done.pods = list(pods)
        _name_missing(done, classes)
        return done
    found = list(pods)
    quota_use = ResourceQuotaUse(quotas, [pod for pod in found if _is_admitted(pod)])
    for workload, members in groupby(found, lambda pod: (workloads or {}).get(pod.metadata.uid, "")):
        admitted = [
            pod if _is_admitted(pod) else _admit(pod, classes, ranges, quota_use, done) for pod in members
        ]
        done.pods += admitted
        if workload:
            _refuse_whole(admitted, quota_use, done)
    done.warnings.extend(quota_use.warn_of_unknown_scopes())
    _name_missing(done, classes)
    return done


def _is_admitted(pod: Pod) -> bool:
    return was_held(pod.metadata) or bool(pod.spec.node_name) or pod.terminal


def _admit(
    pod: Pod,
    classes: dict[str, RuntimeClass],
    ranges: dict[str, list[LimitRange]],
    quota_use: ResourceQuotaUse,
    done: Admission,
) -> Pod:
    """Return a pod with what admission adds to it; if the pod is refused, add the reason to ``done``."""
    spec: PodSpec = pod.spec
    faults: list[str] = []
    for each in ranges.get(pod.metadata.namespace, ()):
        spec = complete_spec(spec, each)
    try:
        spec = apply_runtime_class(spec, classes.get(spec.runtime_class_name))
    except RuntimeClassMismatchError as error:
        faults.append(str(error))
    if not faults:
        for each in ranges.get(pod.metadata.namespace, ()):
            faults += violations(spec, each)
    admitted = pod if spec is pod.spec else replace(pod, spec=spec)
    if not faults and (problem := quota_use.admit(admitted)):
        faults.append(problem)
    if faults:
        done.refused[pod.metadata.uid] = faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"
    return admitted


def _refuse_whole(members: Sequence[Pod], quota_use: ResourceQuotaUse, done: Admission) -> None:
    """If one pod of a workload is refused, refuse all of its pods, and subtract them from the use of quotas."""
    why = next((done.refused[pod.metadata.uid] for pod in members if pod.metadata.uid in done.refused), "")
    if why:
        for pod in members:
            if not _is_admitted(pod) and pod.metadata.uid not in done.refused:
                quota_use.withdraw(pod)
                done.refused[pod.metadata.uid] = why


def _name_missing(done: Admission, classes: dict[str, RuntimeClass]) -> None:
    """Warn of runtime classes that pods name and that the input lacks."""
    users: dict[str, str] = {}
    for pod in done.pods:
        name = pod.spec.runtime_class_name
        if name and name not in classes and not _is_admitted(pod):
            users.setdefault(name, get_qualified_name(pod.metadata))
    if users:
        first, be = next(iter(users.values())), "is" if len(users) == 1 else "are"
        done.warnings.append(
            f"Pod {first}: spec.runtimeClassName: RuntimeClass {list_names(map(repr, sorted(users)))} {be} not in the "
            "input, so overhead, node selector and tolerations that it may add are left out; "
            f"{suggest_printing('runtimeclasses', namespaced=False)}"
        )
